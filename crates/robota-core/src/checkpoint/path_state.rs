//! What is at a path at some time: the values that checkpoints record and restore.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::BlobRef;

/// What was or is at a path: the side of a change before or after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathState {
    /// Nothing is there. As a target, a restore removes what is there now.
    Missing,
    /// A regular file, with its content and mode.
    File {
        /// The hash of its content, and where a copy is stored.
        content: FileContent,
        /// Its permission bits; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A symbolic link, which is never followed.
    Link {
        /// The path it leads to, as it was written.
        target: String,
    },
    /// A folder; what is in it has states of its own.
    Folder {
        /// Its permission bits; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// Something whose content was not saved, so it cannot be restored.
    Unsaved {
        /// Why the content was not saved.
        reason: NotSaved,
    },
}

/// Identifies the content of a file by its hash, and says where a copy is stored if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContent {
    /// The SHA-256 of the content, in hexadecimal.
    pub hash: String,
    /// Where the content is stored; absent if only the hash is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedContent>,
}

/// Says where the content of a file is in the session's blobs. One blob can contain several files,
/// because storing many small blobs is slow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedContent {
    /// The blob of the session that contains the bytes, possibly among those of other files.
    pub blob: BlobRef,
    /// Where the content starts in the blob.
    #[serde(default)]
    pub offset: u64,
    /// The length of the content in bytes.
    pub len: u64,
}

/// Why the content at a path was not saved.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NotSaved {
    /// The file is larger than the limit for one file.
    TooLarge,
    /// A limit of the comparison was reached: number of files, bytes or time.
    OverLimit,
    /// The process may not read it, or reading failed.
    Unreadable,
    /// It is a pipe, a socket or a device.
    Special,
    /// Its name is not UTF-8, so the journal cannot contain it.
    BadName,
    /// A folder of its path is a symbolic link.
    LinkInPath,
}

impl std::fmt::Display for NotSaved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "larger than the limit for one file",
            Self::OverLimit => "beyond the limits of file checkpoints",
            Self::Unreadable => "cannot be read",
            Self::Special => "not a regular file",
            Self::BadName => "its name is not UTF-8",
            Self::LinkInPath => "a folder of its path is a symbolic link",
        })
    }
}

/// A path that checkpoints do not cover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotCovered {
    /// The path: absolute, or of a folder with everything below it.
    pub path: String,
    /// Why changes of the path are not covered.
    pub reason: NotSaved,
}

/// A change at a path that was made, or is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDelta {
    /// The absolute path of the file, link or folder.
    pub path: String,
    /// What was there before the change; a restore brings it back.
    pub before: PathState,
    /// What is there after the change.
    pub after: PathState,
}

/// The metadata that changes whenever a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileStat {
    /// The number of the file in its file system.
    pub inode: u64,
    /// The size in bytes, as the system reports it.
    pub size: u64,
    /// When the content changed last, in nanoseconds since 1970.
    pub modified: i64,
    /// When the content or the metadata changed last, in nanoseconds since 1970.
    pub changed: i64,
}

/// Describes one file, folder or link of a folder tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeEntry {
    /// The path, relative to the root of the tree.
    pub path: String,
    /// Its metadata when `state` was determined.
    pub stat: FileStat,
    /// What was found there, with the place of its stored content.
    pub state: PathState,
}

/// Lists what differs between two states of a folder tree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TreeChange {
    /// Entries that are new or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<TreeEntry>,
    /// The paths of entries that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

impl PathState {
    /// Returns whether both are known and the same: kind, content, link target, and mode where both
    /// have one.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        // Old records and other systems have no mode; it then says nothing.
        let modes = |a: &Option<u32>, b: &Option<u32>| a.is_none() || b.is_none() || a == b;
        match (self, other) {
            (Self::Missing, Self::Missing) => true,
            (Self::File { content: a, mode: m }, Self::File { content: b, mode: n }) => {
                a.hash == b.hash && modes(m, n)
            }
            (Self::Link { target: a }, Self::Link { target: b }) => a == b,
            (Self::Folder { mode: m }, Self::Folder { mode: n }) => modes(m, n),
            (
                Self::Missing
                | Self::File { .. }
                | Self::Link { .. }
                | Self::Folder { .. }
                | Self::Unsaved { .. },
                _,
            ) => false,
        }
    }

    /// Returns the state without the place of its content, for records that identify it only.
    #[must_use]
    pub fn identity(&self) -> Self {
        match self {
            Self::File { content, mode } => {
                let content = FileContent { hash: content.hash.clone(), saved: None };
                Self::File { content, mode: *mode }
            }
            other => other.clone(),
        }
    }
}
