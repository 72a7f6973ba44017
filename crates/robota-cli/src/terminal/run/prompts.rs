//! The prompts of earlier sessions in a folder, in `~/.robota/history.jsonl`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How many prompts are offered again.
const KEPT: usize = 500;
/// The size above which the file is started again.
const LIMIT: u64 = 8 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Prompt {
    display: String,
    project: String,
}

/// The prompts of a folder.
#[derive(Debug, Clone)]
pub(super) struct Prompts {
    file: PathBuf,
    project: String,
}

impl Prompts {
    /// Names the file of a user; none without a home folder.
    pub(super) fn new(home: Option<&Path>, project: &Path) -> Option<Self> {
        let file = home?.join(".robota").join("history.jsonl");
        Some(Self { file, project: project.display().to_string() })
    }

    /// Returns the prompts of this folder, the oldest first. A file that cannot be read has none.
    pub(super) fn read(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let prompts = text.lines().filter_map(|line| serde_json::from_str::<Prompt>(line).ok());
        let own = prompts.filter(|prompt| prompt.project == self.project);
        let mut texts: Vec<_> = own.map(|prompt| prompt.display).collect();
        // A prompt that was entered several times in a row is offered once.
        texts.dedup();
        texts.drain(..texts.len().saturating_sub(KEPT));
        texts
    }

    /// Adds a prompt. Its loss is no reason to disturb the user.
    pub(super) fn add(&self, text: &str) {
        let _ = self.try_add(text);
    }

    fn try_add(&self, text: &str) -> std::io::Result<()> {
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let large = std::fs::metadata(&self.file).is_ok_and(|file| file.len() > LIMIT);
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(!large).write(true).truncate(large);
        #[cfg(unix)]
        // Prompts can contain secrets.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let prompt = Prompt { display: text.to_owned(), project: self.project.clone() };
        let line = format!("{}\n", serde_json::to_string(&prompt)?);
        // One write of a whole line, so that the lines of several programs do not mix.
        options.open(&self.file)?.write_all(line.as_bytes())
    }
}

#[cfg(test)]
mod tests;
