//! Glob: finds files by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use globset::GlobBuilder;
use ignore::WalkState;
use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use robota_exec::LinkFreeDir;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::arguments::{EarlyOutcome, parse, schema_of, whole_number};
use crate::blocking::run_blocking;
use crate::file::ResolvedPath;
use crate::tool_workspace::ToolWorkspace;
use crate::walk::{Walk, modified, newest_first};

const DESCRIPTION: &str = "Finds files by a pattern such as `src/**/*.{ts,tsx}`, newest first. \
    Skips files that git ignores, and hidden files unless the pattern names them.";

const DEFAULT_LIMIT: u64 = 500;
const MAX_LIMIT: u64 = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    /// The folder to search; the working directory if absent.
    #[serde(default)]
    path: Option<String>,
    /// How many files to return: 500 if absent.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<u64>,
}

/// The tool Glob: finds files by name.
pub struct Glob {
    spec: Arc<ToolSpec>,
    workspace: ToolWorkspace,
}

impl Glob {
    /// Creates the tool. It searches in the working directory of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "Glob".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), workspace: workspace.clone() }
    }

    async fn find(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (root, pattern) = self.split_root(input.path.as_deref(), &input.pattern);
        let root = self.workspace.granted(&context.call, &root)?;
        let Ok(folder) = LinkFreeDir::open(&root.target, false) else {
            let text = format!("{} is not a folder that exists", root.given.display());
            return Err(ToolOutcome::failed("not_found", text).into());
        };
        let cancel = context.scope.cancel.clone();
        let workspace = self.workspace.clone();
        let (total, shown) = run_blocking(move || {
            let found = find(&workspace, &root, &pattern, &cancel)?;
            // Checked lazily: only for files that are returned, not for everything that was found.
            // A folder that was replaced by a link during the walk may lead out of the folder.
            let readable =
                |below: &&PathBuf| folder.contains(below) && workspace.may_read(&root.join(below));
            let shown: Vec<_> = found
                .iter()
                .filter(readable)
                .take(limit)
                .map(|below| workspace.display_path(&root.given.join(below)))
                .collect();
            Ok::<_, InvalidInput>((found.len(), shown))
        })
        .await??;
        let mut text: String = shown.iter().map(|path| format!("{path}\n")).collect();
        if shown.is_empty() {
            text.push_str("[no file matches]\n");
        } else if total > limit {
            text.push_str(&format!("[{} of {total} shown, newest first]\n", shown.len()));
        }
        Ok(ToolOutcome::ok(text)
            .with_metadata("files", shown.len())
            .with_metadata("truncated", total > limit))
    }

    /// Returns the folder in which to search, and the pattern below it.
    fn split_root(&self, path: Option<&str>, pattern: &str) -> (PathBuf, String) {
        split_root(&self.workspace.cwd.join(path.unwrap_or_default()), pattern)
    }
}

/// Splits a pattern into the folder before its first wildcard and the rest, so that only that folder
/// is searched.
fn split_root(root: &Path, pattern: &str) -> (PathBuf, String) {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(slash) => {
            let (folder, rest) = pattern.split_at(slash + 1);
            (root.join(folder), rest.to_owned())
        }
        None => (root.to_owned(), pattern.to_owned()),
    }
}

fn find(
    workspace: &ToolWorkspace,
    root: &ResolvedPath,
    pattern: &str,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>, InvalidInput> {
    let invalid = |error: globset::Error| InvalidInput(format!("`pattern` is invalid: {error}"));
    // `*` must not match a slash, or `src/*.rs` would find files of all folders below.
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(invalid)?;
    let glob = glob.compile_matcher();
    // A folder that the user named by a hidden name is meant, with what is in it.
    let hidden = root
        .given
        .strip_prefix(&workspace.cwd)
        .unwrap_or(Path::new(""))
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        || pattern.split('/').any(|part| part.starts_with('.'));
    let found: Mutex<Vec<(Option<SystemTime>, PathBuf)>> = Mutex::default();
    Walk { root: &root.target, hidden, glob: None, file_type: None }.build()?.run(|| {
        let mut batch = Batch { found: Vec::new(), all: &found };
        let glob = &glob;
        Box::new(move |entry| {
            if cancel.is_cancelled() {
                return WalkState::Quit;
            }
            // Folders that cannot be read are skipped.
            let Ok(entry) = entry else { return WalkState::Continue };
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                return WalkState::Continue;
            }
            let Ok(below) = entry.path().strip_prefix(&root.target) else {
                return WalkState::Continue;
            };
            if glob.is_match(below) {
                batch.found.push((modified(entry.path()), below.to_owned()));
            }
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    newest_first(&mut found, |(time, path)| (*time, path));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The files that one thread has found. They are added to the common list once, when the thread
/// ends, so that threads do not contend for the lock.
struct Batch<'a, T> {
    found: Vec<T>,
    all: &'a Mutex<Vec<T>>,
}

impl<T> Drop for Batch<'_, T> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.found);
    }
}

#[async_trait::async_trait]
impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        let mut judged = input.as_object()?.clone();
        let path = judged.get("path").and_then(Value::as_str);
        let (root, _) = self.split_root(path, judged.get("pattern")?.as_str()?);
        self.workspace.grants.record(call, root, &mut judged, "file_path");
        Some(Value::Object(judged))
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.find(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
