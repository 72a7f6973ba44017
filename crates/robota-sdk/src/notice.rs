//! Messages for the user that are not errors of the call that returns them.

use std::fmt;

/// Holds a message for the user. Clients decide where it appears.
///
/// ```
/// use robota_sdk::Notice;
///
/// assert_eq!(Notice::Note("nothing to do".to_owned()).to_string(), "nothing to do");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something of the user's set-up is wrong and was left out.
    Error(String),
    /// Something that the user may want to know.
    Note(String),
    /// What the user can do about the notice before.
    Hint(String),
}

impl Notice {
    pub(crate) fn note(text: &str) -> Self {
        Self::Note(text.to_owned())
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(text) | Self::Note(text) | Self::Hint(text) => f.write_str(text),
        }
    }
}
