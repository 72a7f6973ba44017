//! Files and terminals of an editor that has the workspace open.
//!
//! The gate has judged a path before the editor is asked about it: an editor shows and changes what
//! a call may read and change, nothing more.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use robota_core::ids::CallId;
use tokio_util::sync::CancellationToken;

use crate::bash::{TerminalCommand, TerminalResult};
use crate::error::FileError;
use crate::file::{FileStamp, PlannedChange, commit, open_file};

/// Reads and writes files through an editor, and runs commands in its terminals.
#[async_trait::async_trait]
pub trait EditorFiles: Send + Sync {
    /// Returns the text of a file as the editor has it, saved or not; none if the editor does not
    /// return it.
    async fn read(&self, path: &Path) -> Option<String>;

    /// Writes the text of a file and saves it. Returns false if the editor does not.
    async fn write(&self, path: &Path, text: &str) -> bool;

    /// Returns whether the editor runs commands in terminals.
    fn has_terminals(&self) -> bool {
        false
    }

    /// Runs a command in a terminal that the user sees, until it ends. Returns none if the editor did
    /// not start it.
    async fn run(
        &self,
        _call: &CallId,
        _command: TerminalCommand,
        _cancel: &CancellationToken,
    ) -> Option<TerminalResult> {
        None
    }
}

/// Lets a builder take an editor that the caller shares.
#[async_trait::async_trait]
impl<T: EditorFiles + ?Sized> EditorFiles for Arc<T> {
    async fn read(&self, path: &Path) -> Option<String> {
        (**self).read(path).await
    }

    async fn write(&self, path: &Path, text: &str) -> bool {
        (**self).write(path, text).await
    }

    fn has_terminals(&self) -> bool {
        (**self).has_terminals()
    }

    async fn run(
        &self,
        call: &CallId,
        command: TerminalCommand,
        cancel: &CancellationToken,
    ) -> Option<TerminalResult> {
        (**self).run(call, command, cancel).await
    }
}

/// Refuses changes of files that have changes in the editor that are not saved: the user would lose
/// them.
pub(crate) async fn check_saved(
    editor: &dyn EditorFiles,
    planned: &[PlannedChange],
) -> Result<(), FileError> {
    for change in planned {
        let before = change.before.as_deref().map(std::str::from_utf8);
        // A file that is new or not UTF-8 cannot be open as text.
        let Some(Ok(before)) = before else { continue };
        let shown = editor.read(&change.path.given).await;
        if shown.is_some_and(|shown| plain(&shown) != plain(before)) {
            return Err(FileError::Unsaved { path: change.path.given.clone() });
        }
    }
    Ok(())
}

/// Returns a text without what editors hide: the byte order mark and the kind of line ends.
fn plain(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

/// Changes a file through the editor, so that the user can review the change there. Returns false if
/// the change must be made without it: several files, a new file, a file that is not UTF-8.
pub(crate) async fn write(editor: &dyn EditorFiles, planned: &[PlannedChange]) -> bool {
    let [change] = planned else { return false };
    let utf8 = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
    let existing = change.before.as_deref().is_some_and(utf8);
    match std::str::from_utf8(&change.after) {
        Ok(text) if existing => editor.write(&change.path.given, text).await,
        _ => false,
    }
}

/// Returns the stamps of changes that the editor made. What it did not write is written now.
///
/// # Errors
/// If the file cannot be read or written.
pub(crate) fn after_write(planned: &[PlannedChange]) -> Result<Written, FileError> {
    let [change] = planned else { return Ok(Written::exact(commit(planned)?)) };
    let (mut file, metadata) = open_file(&change.path)?;
    let mut found = Vec::new();
    file.read_to_end(&mut found).map_err(FileError::io("read", &change.path.given))?;
    drop(file);
    // The editor said yes and wrote nothing.
    if Some(&found) == change.before.as_ref() && found != change.after {
        return Ok(Written::exact(commit(planned)?));
    }
    let exact = found == change.after;
    Ok(Written { stamps: vec![FileStamp::of(&found, &metadata)], exact })
}

/// What was written, as it is in the files now.
pub(crate) struct Written {
    pub(crate) stamps: Vec<FileStamp>,
    /// Whether the files have exactly the planned content. An editor may format what it saves.
    pub(crate) exact: bool,
}

impl Written {
    pub(crate) fn exact(stamps: Vec<FileStamp>) -> Self {
        Self { stamps, exact: true }
    }
}

#[cfg(test)]
mod tests;
