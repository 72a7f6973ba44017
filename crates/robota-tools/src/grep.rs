//! Grep: searches the content of files.

use std::sync::Arc;

mod search;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, HiddenArguments, parse, schema_of, whole_number};
use crate::blocking::run_blocking;
use crate::tool_workspace::ToolWorkspace;
use search::{Found, Request, search};

const DESCRIPTION: &str = "Searches files with a regular expression (Rust syntax). Skips files that \
    git ignores, hidden and binary files. Newest files come first.";

const DEFAULT_LIMIT: u64 = 250;
const MAX_LIMIT: u64 = 10_000;
const MAX_OFFSET: u64 = 100_000;
/// The most bytes of text that one call returns.
const MAX_SHOWN_BYTES: usize = 50_000;
/// Arguments that the tool accepts without showing them to models.
const HIDDEN: [&str; 4] = ["-n", "-o", "context", "offset"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    /// File or folder to search; the working directory if absent.
    #[serde(default)]
    path: Option<String>,
    /// Only files like `*.rs` or `!**/test/**`.
    #[serde(default)]
    glob: Option<String>,
    /// Only files of a type: rust, py, js, ...
    #[serde(default, rename = "type")]
    file_type: Option<String>,
    /// files_with_matches if absent.
    #[serde(default)]
    output_mode: Option<Mode>,
    /// Ignore case.
    #[serde(default, rename = "-i")]
    ignore_case: Option<bool>,
    /// Lines after each match.
    #[serde(default, rename = "-A", deserialize_with = "whole_number")]
    after: Option<u64>,
    /// Lines before each match.
    #[serde(default, rename = "-B", deserialize_with = "whole_number")]
    before: Option<u64>,
    /// Lines around each match.
    #[serde(default, rename = "-C", deserialize_with = "whole_number")]
    around: Option<u64>,
    /// Let a match span lines; `.` also matches line ends.
    #[serde(default)]
    multiline: Option<bool>,
    /// How many lines or files to return: 250 if absent.
    #[serde(default, deserialize_with = "whole_number")]
    head_limit: Option<u64>,
    /// Line numbers in the mode `content`: shown if absent.
    #[serde(default, rename = "-n")]
    line_numbers: Option<bool>,
    /// Only the text that matches, in the mode `content`.
    #[serde(default, rename = "-o")]
    only_matching: Option<bool>,
    /// Another name of `-C`.
    #[serde(default, deserialize_with = "whole_number")]
    context: Option<u64>,
    /// How many lines or files to leave out before the first one that is returned.
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<u64>,
}

/// The tool Grep: searches the content of files.
pub struct Grep {
    spec: Arc<ToolSpec>,
    hidden: HiddenArguments,
    workspace: ToolWorkspace,
}

impl Grep {
    /// Creates the tool. It searches in the working directory of the workspace.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let mut spec = ToolSpec {
            name: "Grep".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        let hidden = HiddenArguments::of(&mut spec, &HIDDEN);
        Self { spec: shared_spec(spec), hidden, workspace: workspace.clone() }
    }

    async fn grep(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let root = self.workspace.cwd.join(input.path.as_deref().unwrap_or_default());
        let root = self.workspace.granted(&context.call, &root)?;
        if !root.target.exists() {
            let text = format!("{} does not exist", root.given.display());
            return Err(ToolOutcome::failed("not_found", text).into());
        }
        let limit = match input.head_limit {
            None => DEFAULT_LIMIT,
            // Some models ask for all lines this way.
            Some(0) => MAX_LIMIT,
            Some(limit) => limit.min(MAX_LIMIT),
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let skip = input.offset.unwrap_or(0).min(MAX_OFFSET);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mode = input.output_mode.unwrap_or_default();
        let lines = |given: Option<u64>| {
            // More context than that is a reason to read the file.
            let lines = given.or(input.around).or(input.context).unwrap_or(0).min(100);
            usize::try_from(lines).unwrap_or(0)
        };
        let request = Request {
            root,
            pattern: input.pattern.clone(),
            glob: input.glob.clone(),
            file_type: input.file_type.clone(),
            ignore_case: input.ignore_case == Some(true),
            multiline: input.multiline == Some(true),
            before: lines(input.before),
            after: lines(input.after),
            mode,
            only_matching: input.only_matching == Some(true),
            limit: limit.saturating_add(skip),
            workspace: self.workspace.clone(),
            cancel: context.scope.cancel.clone(),
        };
        let found = run_blocking(move || search(&request)).await??;
        let numbers = input.line_numbers != Some(false);
        Ok(self.report(&found, mode, numbers, Page::new(skip, limit)))
    }

    fn report(&self, found: &Found, mode: Mode, numbers: bool, mut page: Page) -> ToolOutcome {
        let Found { files, unapproved } = found;
        let matches: u64 = files.iter().map(|file| file.matches).sum();
        let line_of = |path: &str, mark: char, number: u64, text: &str| {
            if numbers {
                format!("{path}{mark}{number}{mark}{text}")
            } else {
                format!("{path}{mark}{text}")
            }
        };
        for file in files {
            let path = self.workspace.display_path(&file.path);
            match mode {
                Mode::FilesWithMatches => page.line(&path),
                Mode::Count => page.line(&format!("{path}:{}", file.matches)),
                Mode::Content => {
                    for line in &file.lines {
                        match line {
                            search::Line::Gap => page.gap(),
                            search::Line::Match(number, text) => {
                                page.line(&line_of(&path, ':', *number, text));
                            }
                            search::Line::Context(number, text) => {
                                page.line(&line_of(&path, '-', *number, text));
                            }
                        }
                    }
                    page.more += file.more;
                    page.gap();
                }
            }
        }
        let (mut text, cut) = page.finish();
        if *unapproved > 0 {
            let files = if *unapproved == 1 { "file was" } else { "files were" };
            text.push_str(&format!(
                "[{unapproved} {files} not searched: reading needs approval. Read asks for it.]\n"
            ));
        }
        ToolOutcome::ok(text)
            .with_metadata("files", files.len())
            .with_metadata("matches", matches)
            .with_metadata("truncated", cut)
    }
}

/// Collects lines up to the limits of one call.
struct Page {
    text: String,
    lines: usize,
    /// The number of lines that are still to be left out.
    skip: usize,
    /// The maximum number of lines.
    limit: usize,
    /// The number of lines that did not fit.
    more: u64,
    /// Whether a separator is written before the next line.
    gap: bool,
}

impl Page {
    fn new(skip: usize, limit: usize) -> Self {
        Self { text: String::new(), lines: 0, skip, limit, more: 0, gap: false }
    }

    fn gap(&mut self) {
        // Only between lines: a page does not begin with a separator.
        self.gap = self.lines > 0;
    }

    fn line(&mut self, line: &str) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        // After the first line that did not fit no other is shown, not even a shorter one: a model
        // takes the output for the beginning of the result.
        if self.more > 0
            || self.lines >= self.limit
            || self.text.len() + line.len() > MAX_SHOWN_BYTES
        {
            self.more += 1;
            return;
        }
        if std::mem::take(&mut self.gap) {
            self.text.push_str("--\n");
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    fn finish(mut self) -> (String, bool) {
        if self.lines == 0 && self.more == 0 {
            self.text.push_str("[no match]\n");
        }
        if self.more > 0 {
            self.text.push_str(&format!("[{} more lines not shown]\n", self.more));
        }
        (self.text, self.more > 0)
    }
}

#[async_trait::async_trait]
impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.hidden.check(input)
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        let mut judged = input.as_object()?.clone();
        let root = judged.get("path").and_then(Value::as_str).unwrap_or_default();
        let root = self.workspace.cwd.join(root);
        // The policy judges the folder as a file that is read; rules for Read hold for searches too.
        self.workspace.grants.record(call, root, &mut judged, "file_path");
        Some(Value::Object(judged))
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.grep(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
