//! A position in a journal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A position in a journal, written `epoch-seq` (`3-1042`). Sequence numbers are monotonic and
/// never restart. Each process that opens the journal for writing begins a new epoch. So the store
/// can detect a reader whose cursor points to events that were lost in a power failure: another
/// epoch has reused their numbers.
///
/// ```
/// use robota_core::event::Cursor;
///
/// let cursor: Cursor = "3-1042".parse()?;
/// assert_eq!((cursor.epoch, cursor.seq), (3, 1042));
/// assert_eq!(cursor.to_string(), "3-1042");
/// # Ok::<(), robota_core::event::CursorError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
#[schemars(
    description = "A position in a journal, written `epoch-seq` (`3-1042`). Sequence numbers are monotonic and\nnever restart. Each process that opens the journal for writing begins a new epoch. So the store\ncan detect a reader whose cursor points to events that were lost in a power failure: another\nepoch has reused their numbers."
)]
pub struct Cursor {
    /// The opening of the journal in which the event was written.
    pub epoch: u32,
    /// The sequence number of the event.
    pub seq: u64,
}

/// A text that is not a valid cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor; one looks like `3-1042` (epoch-seq)")]
pub struct CursorError(String);

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Padded as a whole, so that tables can align cursors.
        f.pad(&format!("{}-{}", self.epoch, self.seq))
    }
}

impl std::str::FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        text.split_once('-')
            .filter(|(epoch, seq)| number(epoch) && number(seq))
            .and_then(|(epoch, seq)| {
                Some(Self { epoch: epoch.parse().ok()?, seq: seq.parse().ok()? })
            })
            .ok_or_else(|| CursorError(text.to_owned()))
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
