//! Glob: files by name.

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

use crate::arguments::{Early, parse, schema_of, whole_number};
use crate::blocking::run_blocking;
use crate::walk::{Walk, modified, newest_first};
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Finds files by a pattern such as `src/**/*.{ts,tsx}`, newest first. \
    Leaves out what git ignores, and hidden files unless the pattern names them.";

const DEFAULT_LIMIT: u64 = 500;
const MOST_LIMIT: u64 = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    /// The folder to look in; the working directory if absent.
    #[serde(default)]
    path: Option<String>,
    /// How many to show: 500 if absent.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<u64>,
}

/// Finds files.
pub struct Glob {
    spec: ToolSpec,
    place: Workplace,
}

impl Glob {
    /// A tool that looks in a workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "Glob".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, place: place.clone() }
    }

    async fn find(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let root = self.place.cwd.join(input.path.as_deref().unwrap_or_default());
        let (root, pattern) = rooted(&root, &input.pattern);
        if !root.exists() {
            let text = format!("{} does not exist", root.display());
            return Err(ToolOutcome::failed("not_found", text).into());
        }
        let cancel = context.scope.cancel.clone();
        let place = self.place.clone();
        let found = run_blocking(move || find(&place, &root, &pattern, &cancel)).await??;
        let total = found.len();
        // The rules are asked about what is shown, not about everything there is.
        let may = |path: &&PathBuf| self.place.grant.may_read(path);
        let shown: Vec<_> =
            found.iter().filter(may).take(limit).map(|path| self.place.shown(path)).collect();
        let mut text: String = shown.iter().map(|path| format!("{path}\n")).collect();
        if shown.is_empty() {
            text.push_str("[no file fits]\n");
        } else if total > limit {
            text.push_str(&format!("[{} of {total} shown, newest first]\n", shown.len()));
        }
        Ok(ToolOutcome::ok(text)
            .with_metadata("files", shown.len())
            .with_metadata("truncated", total > limit))
    }
}

/// A pattern that leads somewhere by itself: the folder before its first wildcard, and the rest.
fn rooted(root: &Path, pattern: &str) -> (PathBuf, String) {
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
    place: &Workplace,
    root: &Path,
    pattern: &str,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>, InvalidInput> {
    let wrong = |error: globset::Error| InvalidInput(format!("`pattern` cannot be used: {error}"));
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(wrong)?;
    let glob = glob.compile_matcher();
    let hidden = root
        .strip_prefix(&place.cwd)
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
            // What cannot be looked into has nothing to show.
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

/// What one thread found; handed over once, at its end.
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
        self.find(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
