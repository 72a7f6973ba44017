//! What can go wrong with files. The texts are read by models: each says what to do next.

use std::io;
use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};

use crate::file::Nearest;

/// A failure to read or change a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Nothing is there.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{} is {what}, not a file", path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// It is not text.
    #[error("{} is a binary file (it has NUL bytes)", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
    },
    /// It is a picture that cannot be shown.
    #[error("{} is a picture of {len} bytes; pictures over {most} bytes are not shown", path.display())]
    LargePicture {
        /// The file.
        path: PathBuf,
        /// Its size.
        len: u64,
        /// The limit.
        most: u64,
    },
    /// The text cannot be written in the encoding the file has.
    #[error("{} is written in {encoding}, which has not all characters of the new text", path.display())]
    Unencodable {
        /// The file.
        path: PathBuf,
        /// Its encoding.
        encoding: &'static str,
    },
    /// A rule keeps it from being read.
    #[error("{} may not be read: a permission rule denies it", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// What was there could not be kept, so it was not changed.
    #[error("{} was not changed: what is there could not be saved first ({message})", path.display())]
    NoCheckpoint {
        /// The file.
        path: PathBuf,
        /// What was said.
        message: String,
    },
    /// The first line asked for lies behind the last one.
    #[error("{} has {lines} lines; offset {offset} is past its end", path.display())]
    PastEnd {
        /// The file.
        path: PathBuf,
        /// The line asked for.
        offset: u64,
        /// The lines it has.
        lines: u64,
    },
    /// It is too large to be changed this way.
    #[error("{} has {len} bytes; files over {most} bytes are not edited", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        len: u64,
        /// The limit.
        most: u64,
    },
    /// It was not read before.
    #[error("{} was not read yet: Read it, then edit what is there", path.display())]
    NotRead {
        /// The file.
        path: PathBuf,
    },
    /// Somebody changed it in the meantime.
    #[error("{} was changed since it was read: Read it again, then edit what is there now", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The text to replace is not there.
    #[error("old_string is not in {}; nothing was changed.{}", path.display(), hint_of(nearest.as_ref()))]
    Absent {
        /// The file.
        path: PathBuf,
        /// What comes closest.
        nearest: Option<Nearest>,
    },
    /// The text to replace is there more than once.
    #[error(
        "old_string is {count} times in {} ({}); nothing was changed. Give more of the lines \
         around the one you mean, or set replace_all",
        path.display(),
        lines_of(lines, *count)
    )]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// How often, overlaps included.
        count: u64,
        /// On which lines, the first few.
        lines: Vec<u64>,
    },
    /// The text to replace is empty.
    #[error("old_string is empty: give the text that new_string replaces")]
    NothingToFind,
    /// The edit changes nothing.
    #[error(
        "new_string is the same as old_string: nothing would change (a file keeps its own line \
         endings)"
    )]
    NoChange,
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn hint_of(nearest: Option<&Nearest>) -> String {
    match nearest {
        Some(nearest) => format!(" {nearest}"),
        None => " Nothing similar is there either: Read the file again".to_owned(),
    }
}

fn lines_of(lines: &[u64], count: u64) -> String {
    let named: Vec<_> = lines.iter().map(u64::to_string).collect();
    let more = if (lines.len() as u64) < count { ", ..." } else { "" };
    format!("lines {}{more}", named.join(", "))
}

impl FileError {
    /// A stable word for each failure.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "not_found",
            Self::NotAFile { .. } => "not_a_file",
            Self::Binary { .. } => "binary_file",
            Self::LargePicture { .. } => "too_large",
            Self::Unencodable { .. } => "unencodable",
            Self::Denied { .. } => "denied",
            Self::NoCheckpoint { .. } => "no_checkpoint",
            Self::PastEnd { .. } => "past_end",
            Self::TooLarge { .. } => "too_large",
            Self::NotRead { .. } => "not_read",
            Self::Changed { .. } => "changed_since_read",
            Self::Absent { .. } => "no_match",
            Self::Ambiguous { .. } => "ambiguous",
            Self::NothingToFind => "empty_old_string",
            Self::NoChange => "no_change",
            Self::Io { .. } => "io",
        }
    }

    /// Wraps what the system said, telling apart what is simply not there.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
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
            Self::NotAFile { .. } => "give the path of a file",
            Self::Binary { .. } => "use a command that understands its format",
            Self::TooLarge { .. } => "change it with a command, such as sed",
            Self::LargePicture { .. } => "make a smaller copy with a command",
            Self::Unencodable { .. } => {
                "use characters it has, or convert the file first, with iconv for example"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
