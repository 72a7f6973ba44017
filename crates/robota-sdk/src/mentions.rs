//! Files that a prompt mentions: `@path`, `@"path with spaces"`, `@path#L10-20`, or a folder.
//!
//! Each mentioned file is read through the gate of the session, like a call of the model, and added
//! to the prompt. A mention never asks the user: a file whose reading needs approval is not
//! attached. The text of the prompt stays as it was typed. Only text that the user typed mentions
//! files, not the content of a file that a client embedded ([`crate::PromptBlock`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_config::mentions::{LineRange, Mention, mention_of, mentions};
use robota_core::message::{Block, ResultBlock};
use robota_session::Session;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use crate::gated_tools::{GatedTools, NotRun, READ};
use crate::project::{self, Project};

/// The key of an input's metadata with its [`AttachedBlocks`].
pub(crate) const ATTACHMENTS: &str = "attachments";

/// The most files that one prompt attaches.
const MAX_ATTACHED: usize = 20;
/// The most bytes of one attached file.
const MAX_FILE_BYTES: usize = 64 * 1024;
/// The most bytes of all attached files.
const MAX_TOTAL_BYTES: usize = 256 * 1024;
/// The most entries of a folder that are listed.
const MAX_ENTRIES: usize = 200;

/// What a mention in a prompt led to.
///
/// ```
/// use robota_sdk::mentions::{Attached, Attachment};
///
/// let attachment = Attachment { path: "notes.md".to_owned(), attached: Attached::File };
/// assert_eq!(serde_json::to_value(attachment).unwrap(), serde_json::json!({
///     "path": "notes.md", "attached": "file",
/// }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The path as it was typed.
    pub path: String,
    /// What was added to the prompt.
    #[serde(flatten)]
    pub attached: Attached,
}

/// What was added to a prompt for a mention.
///
/// ```
/// use robota_sdk::mentions::Attached;
///
/// assert_eq!(Attached::default(), Attached::File);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "attached", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Attached {
    /// The text of a file, or the lines of it that were asked for.
    #[default]
    File,
    /// The beginning of the text of a file that is too long.
    Part,
    /// An image, as a block of its own.
    Image,
    /// The names in a folder, without the content of its files.
    Folder,
    /// Nothing: the file may not be read without a question, or there are too many mentions.
    Nothing {
        /// Why the file is not attached; clients show it to the user.
        reason: String,
    },
}

/// Returns the path of a `file:` address, decoded. None for other addresses, and for a file of another
/// machine.
///
/// ```
/// use robota_sdk::mentions::path_of_address;
///
/// # #[cfg(unix)]
/// assert_eq!(path_of_address("file:///w/My%20File.rs"), Some("/w/My File.rs".into()));
/// assert_eq!(path_of_address("https://example.com/a"), None);
/// ```
#[must_use]
pub fn path_of_address(address: &str) -> Option<PathBuf> {
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "file")?;
    url.to_file_path().ok()
}

/// Returns the mention of the file at a `file:` address. A fragment may select lines: `#L10`, `#L10-20`,
/// or `#L10:20` as some editors write it. None if there is no mention for the address.
///
/// ```
/// use robota_sdk::mentions::mention_of_address;
///
/// # #[cfg(unix)]
/// assert_eq!(mention_of_address("file:///w/a.rs#L3:5").as_deref(), Some("@/w/a.rs#L3-5"));
/// ```
#[must_use]
pub fn mention_of_address(address: &str) -> Option<String> {
    let path = path_of_address(address)?;
    let url = Url::parse(address).ok()?;
    let lines = url.fragment().and_then(|part| LineRange::parse(&part.replace(':', "-")));
    mention_of(path.to_str()?, lines)
}

/// Attaches the files that prompts mention.
#[derive(Clone)]
pub(crate) struct MentionReader {
    project: Arc<Project>,
    tools: GatedTools,
}

impl MentionReader {
    pub(crate) fn new(project: Arc<Project>, tools: GatedTools) -> Self {
        Self { project, tools }
    }

    /// Adds the files that the typed texts of a prompt mention to its content.
    pub(crate) async fn attach(
        &self,
        session: &Session,
        typed: &[String],
        content: &mut Vec<Block>,
    ) -> Vec<Attachment> {
        let mut found: Vec<(Mention, PathBuf)> = Vec::new();
        for text in typed {
            for mention in mentions(text) {
                // Only the existence is looked at here; the gate judges the read itself.
                let path = self.resolve(&mention.path);
                let same = |(it, _): &(Mention, PathBuf)| {
                    it.path == mention.path && it.lines == mention.lines
                };
                // `@name` has many meanings; without such a file it is text.
                if !found.iter().any(same) && path.exists() {
                    found.push((mention, path));
                }
            }
        }
        let (mut attachments, mut left) = (Vec::new(), MAX_TOTAL_BYTES);
        for (index, (mention, path)) in found.into_iter().enumerate() {
            let added = if index >= MAX_ATTACHED {
                Err(format!("a prompt attaches at most {MAX_ATTACHED} files"))
            } else if left == 0 {
                Err(format!("the files of a prompt have at most {MAX_TOTAL_BYTES} bytes"))
            } else if path.is_dir() {
                self.folder(session, &mention.path, &path).await
            } else {
                self.file(session, &mention, &path, left).await
            };
            let attached = match added {
                Ok(Added { blocks, bytes, attached }) => {
                    content.extend(blocks);
                    left = left.saturating_sub(bytes);
                    attached
                }
                Err(reason) => Attached::Nothing { reason },
            };
            attachments.push(Attachment { path: mention.path, attached });
        }
        attachments
    }

    /// Reads a file like a call of the model, so that the model may edit it. Returns nothing of it.
    pub(crate) async fn mark_read(&self, session: &Session, path: &Path) -> Result<(), String> {
        let input = json!({"file_path": self.project.cwd().join(path)});
        let outcome = self.tools.run(session, READ, input).await.map_err(NotRun::reason)?;
        if outcome.ok { Ok(()) } else { Err(outcome.text()) }
    }

    fn resolve(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.project.places.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.project.cwd().join(path),
        }
    }

    async fn file(
        &self,
        session: &Session,
        mention: &Mention,
        path: &Path,
        left: usize,
    ) -> Result<Added, String> {
        let mut input = json!({"file_path": path});
        if let Some(LineRange { first, last }) = mention.lines {
            input["offset"] = json!(first);
            input["limit"] = json!(last - first + 1);
        }
        let outcome = self.tools.run(session, READ, input).await.map_err(refusal)?;
        if !outcome.ok {
            return Err(outcome.text());
        }
        let images: Vec<_> = outcome.content.iter().filter_map(image).collect();
        let name = attribute(&mention.path);
        if !images.is_empty() {
            let label = Block::text(format!("<file path=\"{name}\"> is this image:"));
            let blocks = std::iter::once(label).chain(images).collect();
            // The limit is for text.
            return Ok(Added { blocks, bytes: 0, attached: Attached::Image });
        }
        let text = outcome.text();
        let kept = beginning(&text, MAX_FILE_BYTES.min(left));
        let lines = mention
            .lines
            .map_or_else(String::new, |lines| format!(" lines=\"{}-{}\"", lines.first, lines.last));
        let note = match text.len() - kept.len() {
            0 => String::new(),
            cut => format!("\n[{cut} bytes left out; read the file for the rest]"),
        };
        let attached = if note.is_empty() { Attached::File } else { Attached::Part };
        let block = format!("<file path=\"{name}\"{lines}>\n{kept}{note}\n</file>");
        Ok(Added { blocks: vec![Block::text(block)], bytes: kept.len(), attached })
    }

    /// Lists a folder, without what may not be read.
    async fn folder(&self, session: &Session, given: &str, path: &Path) -> Result<Added, String> {
        // The gate judges it as a search by the model; the names themselves are read below.
        let input = json!({"pattern": "*", "path": path});
        self.tools.check(session, "Glob", &input).await.map_err(refusal)?;
        let (folder, policy) = (path.to_owned(), self.project.policy.clone());
        let listed = tokio::task::spawn_blocking(move || {
            names(&folder, |path| policy.may_read(path, &*project::paths()))
        });
        let listed = listed.await.map_err(|error| error.to_string())?;
        let mut names = listed.map_err(|error| error.to_string())?;
        names.sort();
        let more = names.len().saturating_sub(MAX_ENTRIES);
        names.truncate(MAX_ENTRIES);
        let more = if more > 0 { format!("\n[and {more} more]") } else { String::new() };
        let text = format!(
            "<folder path=\"{}\">\n{}{more}\n</folder>",
            attribute(given),
            names.join("\n")
        );
        let bytes = text.len();
        Ok(Added { blocks: vec![Block::text(text)], bytes, attached: Attached::Folder })
    }
}

/// What a mention adds to a prompt.
struct Added {
    blocks: Vec<Block>,
    bytes: usize,
    attached: Attached,
}

/// Which blocks of an input are attached files. It is recorded with the input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AttachedBlocks {
    /// The number of blocks before them: what the user wrote.
    pub(crate) own: usize,
    /// The number of attached blocks.
    pub(crate) added: usize,
    /// What each mention led to, also those that added nothing.
    pub(crate) files: Vec<Attachment>,
}

impl AttachedBlocks {
    /// Returns what an input recorded.
    pub(crate) fn of(metadata: &serde_json::Map<String, Value>) -> Option<Self> {
        serde_json::from_value(metadata.get(ATTACHMENTS)?.clone()).ok()
    }

    /// Returns the range of the attached blocks.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.own..self.own.saturating_add(self.added)
    }
}

fn refusal(refused: NotRun) -> String {
    match refused {
        NotRun::NeedsApproval(reason) => format!("reading it needs approval: {reason}"),
        refused => refused.reason(),
    }
}

fn image(block: &ResultBlock) -> Option<Block> {
    match block {
        ResultBlock::Image(image) => Some(Block::Image(image.clone())),
        _ => None,
    }
}

fn names(folder: &Path, may_read: impl Fn(&Path) -> bool) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if may_read(&entry.path()) {
            let end = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            names.push(format!("{}{end}", entry.file_name().to_string_lossy()));
        }
    }
    Ok(names)
}

/// Returns a path as the value of an attribute.
fn attribute(path: &str) -> String {
    // A quote in the path would end the attribute, and a file could pretend to be another.
    path.replace('"', "&quot;").replace('<', "&lt;")
}

/// Returns the beginning of a text that has at most `limit` bytes.
fn beginning(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
