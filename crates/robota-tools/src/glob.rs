//! Glob: finds files by name.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use globset::GlobBuilder;
use ignore::WalkState;
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::arguments::{EarlyOutcome, parse, schema_of, whole_number};
use crate::blocking::run_blocking;
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

/// The Glob tool.
pub struct Glob {
    spec: ToolSpec,
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
        Self { spec, workspace: workspace.clone() }
    }

    async fn find(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let root = self.workspace.cwd.join(input.path.as_deref().unwrap_or_default());
        let (root, pattern) = split_root(&root, &input.pattern);
        if !root.exists() {
            let text = format!("{} does not exist", root.display());
            return Err(ToolOutcome::failed("not_found", text).into());
        }
        let cancel = context.scope.cancel.clone();
        let workspace = self.workspace.clone();
        let found = run_blocking(move || find(&workspace, &root, &pattern, &cancel)).await??;
        let total = found.len();
        // Checked lazily: only for files that are returned, not for everything that was found.
        let readable = |path: &&PathBuf| self.workspace.access_check.may_read(path);
        let shown: Vec<_> = found
            .iter()
            .filter(readable)
            .take(limit)
            .map(|path| self.workspace.display_path(path))
            .collect();
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
    root: &Path,
    pattern: &str,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>, InvalidInput> {
    let invalid = |error: globset::Error| InvalidInput(format!("`pattern` is invalid: {error}"));
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(invalid)?;
    let glob = glob.compile_matcher();
    let hidden = root
        .strip_prefix(&workspace.cwd)
        .unwrap_or(Path::new(""))
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        || pattern.split('/').any(|part| part.starts_with('.'));
    let found: Mutex<Vec<(Option<SystemTime>, PathBuf)>> = Mutex::default();
    Walk { root, hidden, glob: None, file_type: None }.build()?.run(|| {
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
            let path = entry.path();
            if glob.is_match(path.strip_prefix(root).unwrap_or(path)) {
                batch.found.push((modified(path), entry.into_path()));
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

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.find(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
