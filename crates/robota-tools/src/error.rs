//! Errors of file operations. Models read the messages, so each says what to do next.

use std::io;
use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};

use crate::file::NearestMatch;

/// Why a file could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The path is not a regular file.
    #[error("{} is {what}, not a file", path.display())]
    NotAFile {
        /// The path as it was given.
        path: PathBuf,
        /// The actual kind, such as `a directory`.
        what: &'static str,
    },
    /// The file is not text.
    #[error("{} is a binary file (it has NUL bytes)", path.display())]
    Binary {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file is a PDF file.
    #[error("{} is a PDF file, which is not shown in this way; the command `pdftotext{range} -layout FILE -` prints its text", path.display())]
    Pdf {
        /// The path as it was given.
        path: PathBuf,
        /// The options of `pdftotext` for the pages that were asked for; empty for all pages.
        range: String,
    },
    /// The file is an image that is too large to be shown.
    #[error("{} is an image of {len} bytes; images over {max} bytes are not shown", path.display())]
    ImageTooLarge {
        /// The path as it was given.
        path: PathBuf,
        /// Its size in bytes.
        len: u64,
        /// The maximum size in bytes.
        max: u64,
    },
    /// The encoding of the file cannot represent the new text.
    #[error("{} is encoded as {encoding}, which does not have all characters of the new text", path.display())]
    Unencodable {
        /// The path as it was given.
        path: PathBuf,
        /// Its encoding, by its name for people.
        encoding: &'static str,
    },
    /// A permission rule or the sandbox denies reading the file.
    #[error("{} may not be read: a permission rule denies it", path.display())]
    Denied {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A link in the path changed after the call was judged.
    #[error("{} leads to another file than when the call was judged", path.display())]
    Redirected {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The checkpoint of the file failed, so it was not changed.
    #[error("{} was not changed, because its current content could not be saved first ({message})", path.display())]
    NoCheckpoint {
        /// The path as it was given.
        path: PathBuf,
        /// The error message of the checkpoint.
        message: String,
    },
    /// The first requested line is after the last line of the file.
    #[error("{} has {lines} lines; offset {offset} is past its end", path.display())]
    PastEnd {
        /// The path as it was given.
        path: PathBuf,
        /// The requested line, counted from 1.
        offset: u64,
        /// The number of lines of the file.
        lines: u64,
    },
    /// The file is too large to be edited.
    #[error("{} has {len} bytes; files over {max} bytes are not edited", path.display())]
    TooLarge {
        /// The path as it was given.
        path: PathBuf,
        /// Its size in bytes.
        len: u64,
        /// The maximum size in bytes.
        max: u64,
    },
    /// The session has not read the file.
    #[error("{} was not read yet: Read it before you change it", path.display())]
    NotRead {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file was changed since the session read it.
    #[error("{} was changed since it was read: Read it again before you change it", path.display())]
    Changed {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The editor of the user has changes of the file that are not saved.
    #[error(
        "{} has changes in the editor that are not saved; nothing was changed. Ask the user to save \
         it, then Read it again",
        path.display()
    )]
    Unsaved {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file does not contain the text to replace.
    #[error("old_string was not found in {}; nothing was changed.{}", path.display(), hint_of(nearest.as_ref()))]
    Absent {
        /// The path as it was given.
        path: PathBuf,
        /// The most similar lines of the file; none if nothing is similar.
        nearest: Option<NearestMatch>,
    },
    /// The file contains the text to replace more than once.
    #[error(
        "old_string occurs {count} times in {} ({}); nothing was changed. Include more lines \
         around the occurrence you mean, or set replace_all",
        path.display(),
        lines_of(lines, *count)
    )]
    Ambiguous {
        /// The path as it was given.
        path: PathBuf,
        /// The number of occurrences, including overlapping ones.
        count: u64,
        /// The lines of the first few occurrences.
        lines: Vec<u64>,
    },
    /// The text to replace is empty.
    #[error("old_string is empty: pass the text that new_string replaces")]
    NothingToFind,
    /// The edit changes nothing.
    #[error(
        "new_string is the same as old_string: nothing would change (a file keeps its own line \
         endings)"
    )]
    NoChange,
    /// The system reported an error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: `read`, `write`, …
        action: &'static str,
        /// The path as it was given.
        path: PathBuf,
        /// The error of the system, with its number.
        source: io::Error,
    },
}

fn hint_of(nearest: Option<&NearestMatch>) -> String {
    match nearest {
        Some(nearest) => format!(" {nearest}"),
        None => " The file has no similar text: Read it again".to_owned(),
    }
}

fn lines_of(lines: &[u64], count: u64) -> String {
    let named: Vec<_> = lines.iter().map(u64::to_string).collect();
    let more = if (lines.len() as u64) < count { ", ..." } else { "" };
    format!("lines {}{more}", named.join(", "))
}

impl FileError {
    /// Returns a stable code for each kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "not_found",
            Self::NotAFile { .. } => "not_a_file",
            Self::Binary { .. } | Self::Pdf { .. } => "binary_file",
            Self::ImageTooLarge { .. } => "too_large",
            Self::Unencodable { .. } => "unencodable",
            Self::Denied { .. } => "denied",
            Self::Redirected { .. } => "redirected",
            Self::NoCheckpoint { .. } => "no_checkpoint",
            Self::PastEnd { .. } => "past_end",
            Self::TooLarge { .. } => "too_large",
            Self::NotRead { .. } => "not_read",
            Self::Changed { .. } => "changed_since_read",
            Self::Unsaved { .. } => "unsaved_in_editor",
            Self::Absent { .. } => "no_match",
            Self::Ambiguous { .. } => "ambiguous",
            Self::NothingToFind => "empty_old_string",
            Self::NoChange => "no_change",
            Self::Io { .. } => "io",
        }
    }

    /// Converts an I/O error. "Not found" becomes [`FileError::Missing`].
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            // Whatever was tried: for the model the path is wrong.
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { action, path, source },
        }
    }
}

impl Diagnose for FileError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NothingToFind | Self::NoChange => ErrorKind::Validation,
            _ => ErrorKind::ToolExecution,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing { .. } => "check the path; relative paths start at the working directory",
            Self::NotAFile { .. } => "pass the path of a file",
            Self::Redirected { .. } => "something changes links in this path; try again",
            Self::Binary { .. } => "use a command that understands its format",
            Self::TooLarge { .. } => "change it with a command, such as sed",
            Self::ImageTooLarge { .. } => "create a smaller copy with a command",
            Self::Unencodable { .. } => {
                "use only characters of that encoding, or convert the file first, for example with iconv"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
