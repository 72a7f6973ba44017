//! JSON kept byte for byte.

use serde::de::IgnoredAny;

/// JSON that is carried, not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Checks that the text is JSON and keeps it as it is.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<IgnoredAny>(text)?;
        Ok(Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
