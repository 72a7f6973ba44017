//! What a call came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::{ResultBlock, ToolResult, ToolUse};

/// Whether a call ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DidRun {
    /// It ran.
    #[default]
    Yes,
    /// It did not.
    No,
    /// It may have: it had started when the process died.
    Maybe,
}

/// What a call came to. Denial, failure, timeout and panic are outcomes like any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutcome {
    /// Whether it did what it was asked.
    pub ok: bool,
    /// Whether it ran at all.
    #[serde(default)]
    pub ran: DidRun,
    /// What the model is told.
    pub content: Vec<ResultBlock>,
    /// Why it failed, as a stable word: `unknown_tool`, `denied`, `timeout`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Facts about it for people and tools; never sent to a model.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl ToolOutcome {
    /// It did what it was asked.
    pub fn ok(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            ran: DidRun::Yes,
            content: vec![ResultBlock::text(text)],
            error_code: None,
            metadata: Map::new(),
        }
    }

    /// It failed.
    pub fn failed(code: &str, text: impl Into<String>) -> Self {
        Self { ok: false, error_code: Some(code.to_owned()), ..Self::ok(text) }
    }

    /// It did not run.
    pub fn not_run(code: &str, text: impl Into<String>) -> Self {
        Self { ran: DidRun::No, ..Self::failed(code, text) }
    }

    /// The same outcome with one more fact.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// All its words.
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

    /// As the model is told, for that call.
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
