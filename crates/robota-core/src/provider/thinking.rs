//! Whether a model reasons before it answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whether a model reasons before it answers. It is an option of model calls; each wire encodes it
/// in its own way.
///
/// ```
/// use robota_core::provider::Thinking;
///
/// assert_eq!(Thinking::tokens(0), Thinking::Off);
/// let option = Thinking::tokens(2_048).option();
/// assert_eq!(Thinking::from_option(&option), Some(Thinking::Tokens(2_048)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// As much as the model wants.
    On,
    /// The model answers without reasoning, if it can.
    Off,
    /// At most about this many tokens, where the model takes a number.
    Tokens(u64),
}

impl Thinking {
    /// The options of model calls have the setting under this name.
    pub const OPTION: &'static str = "robota_thinking";

    /// The name of the option that says whether services show the reasoning, where they have a choice:
    /// `summarized` or `omitted`.
    pub const DISPLAY: &'static str = "robota_thinking_display";

    /// Returns the meaning of a number of tokens: none means off.
    #[must_use]
    pub fn tokens(tokens: u64) -> Self {
        if tokens == 0 { Self::Off } else { Self::Tokens(tokens) }
    }

    /// Returns the value of the option.
    #[must_use]
    pub fn option(self) -> Value {
        // Plain data always serialises.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads the value of the option.
    #[must_use]
    pub fn from_option(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}
