//! JSON that is stored byte for byte.

use serde::de::IgnoredAny;

/// JSON text that is passed on without being interpreted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Checks that the text is JSON and stores it unchanged.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<IgnoredAny>(text)?;
        Ok(Self(text.into()))
    }

    /// Returns the text of the event as it was read.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
