//! The outcome of a tool call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::{ResultBlock, ToolResult, ToolUse};

/// Says whether a call ran, which decides whether it may have had effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DidRun {
    /// The call ran to its end, with or without success.
    #[default]
    Yes,
    /// The call did not run, so it had no effects.
    No,
    /// Not known: the call had started, and its end was not recorded.
    Maybe,
}

/// The outcome of a call. Denial, failure, timeout and panic are outcomes too.
///
/// ```
/// use robota_core::tool::{DidRun, ToolOutcome};
///
/// let refused = ToolOutcome::not_run("denied", "The user said no.");
/// assert_eq!((refused.ok, refused.ran), (false, DidRun::No));
/// assert_eq!(ToolOutcome::ok("3").text(), "3");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(
    description = "The outcome of a call. Denial, failure, timeout and panic are outcomes too."
)]
pub struct ToolOutcome {
    /// Whether the tool reported success.
    pub ok: bool,
    /// Whether the call ran, did not run, or may have run.
    #[serde(default)]
    pub ran: DidRun,
    /// The content that the model sees.
    pub content: Vec<ResultBlock>,
    /// A stable code of the failure: `unknown_tool`, `denied`, `timeout`, …; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Values for users and tools; never sent to a model.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl ToolOutcome {
    /// Creates the outcome of a call that succeeded.
    pub fn ok(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            ran: DidRun::Yes,
            content: vec![ResultBlock::text(text)],
            error_code: None,
            metadata: Map::new(),
        }
    }

    /// Creates the outcome of a call that failed.
    pub fn failed(code: &str, text: impl Into<String>) -> Self {
        Self { ok: false, error_code: Some(code.to_owned()), ..Self::ok(text) }
    }

    /// Creates the outcome of a call that did not run.
    pub fn not_run(code: &str, text: impl Into<String>) -> Self {
        Self { ran: DidRun::No, ..Self::failed(code, text) }
    }

    /// Adds a value under a key, or replaces the one that is there.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the text of all text parts, joined without a separator.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.content {
            if let ResultBlock::Text(part) = block {
                text.push_str(&part.text);
            }
        }
        text
    }

    /// Returns the result for that call, as the model sees it.
    #[must_use]
    pub fn to_result(&self, call: &ToolUse) -> ToolResult {
        let mut metadata = self.metadata.clone();
        if let Some(code) = &self.error_code {
            metadata.insert("error_code".to_owned(), code.as_str().into());
        }
        ToolResult {
            call: call.call.clone(),
            id: call.id.clone(),
            name: call.name.clone(),
            content: self.content.clone(),
            is_error: !self.ok,
            metadata,
            extra: Map::new(),
        }
    }
}
