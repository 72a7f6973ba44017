//! Finds the session files of other agents.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::ImportSource;
use super::lines::text;

/// How deep folders are searched: Codex has year, month and day.
const MAX_DEPTH: usize = 4;

/// The maximum number of files that are found.
const MAX_FILES: usize = 10_000;

/// How much of a file is read to describe it.
const HEAD_BYTES: u64 = 64 * 1024;

/// Refers to a session file of another agent.
///
/// ```
/// use robota_sdk::import::SessionFile;
///
/// fn newest(files: &[SessionFile]) -> Option<&SessionFile> {
///     files.iter().max_by_key(|file| file.modified)
/// }
/// # let _ = newest;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// The path, below the folder that was searched.
    pub path: PathBuf,
    /// When the file was changed last, as the file system says.
    pub modified: SystemTime,
    /// Its size in bytes when it was found.
    pub bytes: u64,
}

/// Finds the session files of an agent below its folder (`~/.claude/projects` or
/// `~/.codex/sessions`), newest first. Links are not followed.
#[must_use]
pub fn find_files(agent: ImportSource, folder: &Path) -> Vec<SessionFile> {
    let mut files = Vec::new();
    search(agent, folder, 0, &mut files);
    files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    files
}

fn search(agent: ImportSource, folder: &Path, depth: usize, files: &mut Vec<SessionFile>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        if files.len() >= MAX_FILES {
            return;
        }
        let (Ok(kind), Some(name)) =
            (entry.file_type(), entry.file_name().to_str().map(str::to_owned))
        else {
            continue;
        };
        // A session of Claude Code may have a folder of its own, with its subagents.
        let is_subagents = agent == ImportSource::Claude && name == "subagents";
        if kind.is_dir() && depth < MAX_DEPTH && !is_subagents {
            search(agent, &entry.path(), depth + 1, files);
        } else if kind.is_file()
            && is_session(agent, &name)
            && let Ok(metadata) = entry.metadata()
        {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push(SessionFile { path: entry.path(), modified, bytes: metadata.len() });
        }
    }
}

fn is_session(agent: ImportSource, name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".jsonl") else { return false };
    match agent {
        // Older versions wrote subagents to the folder of the sessions, as `agent-*.jsonl`.
        ImportSource::Claude => !stem.starts_with("agent-"),
        ImportSource::Codex => stem.starts_with("rollout-"),
    }
}

impl SessionFile {
    /// Returns the working folder of the session, from the first lines of its file.
    #[must_use]
    pub fn cwd(&self) -> Option<String> {
        let mut head = Vec::new();
        std::fs::File::open(&self.path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
        // The last line may be cut at the limit. It is then no JSON, and left out.
        head.split(|byte| *byte == b'\n').find_map(|line| {
            let line: Value = serde_json::from_slice(line).ok()?;
            let payload = line.get("payload").unwrap_or(&line);
            text(payload, "cwd").map(str::to_owned)
        })
    }
}
