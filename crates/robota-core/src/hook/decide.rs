//! Converts the merged output of hooks to a decision that the event allows.

use serde_json::Value;

use super::{
    AfterChange, BatchDecision, HookEvent, HookOutput, HookPermission, HookQuestion, HookVerdict,
    PostToolDecision, PreToolDecision, PromptDecision, StopDecision,
};
use crate::message::ResultBlock;
use crate::tool::ToolOutcome;

/// The decision of hooks at an event that is not a point of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventDecision {
    /// Nothing is blocked; the text, if any, is for the model.
    Continue {
        /// Text of the hooks that the model reads.
        context: Option<String>,
    },
    /// The action is blocked: no summary, no worktree. A subagent continues instead of ending, with
    /// the reason as its next message.
    Block {
        /// Why the action is blocked.
        reason: String,
    },
}

impl Default for EventDecision {
    fn default() -> Self {
        Self::Continue { context: None }
    }
}

impl HookOutput {
    /// Returns the decision at PreToolUse.
    #[must_use]
    pub fn into_pre_tool(self) -> PreToolDecision {
        // A stop prevents the call too, and its reason says more than that of a block.
        if let Some(reason) = self.stop.or(self.block) {
            return PreToolDecision::Deny { reason };
        }
        let then = match self.permission {
            None => AfterChange::Judge,
            Some(HookPermission { verdict: HookVerdict::Allow, reason }) => {
                AfterChange::Allow { reason }
            }
            Some(HookPermission { verdict: HookVerdict::Ask | HookVerdict::Defer, reason }) => {
                let reason = reason.unwrap_or_else(|| "a hook requires approval".to_owned());
                AfterChange::Ask(HookQuestion::new(reason))
            }
        };
        match (self.updated_input, then) {
            (Some(input), then) => PreToolDecision::Change { input: Value::Object(input), then },
            (None, AfterChange::Judge) => PreToolDecision::Continue,
            (None, AfterChange::Allow { reason }) => PreToolDecision::Allow { reason },
            (None, AfterChange::Ask(question)) => PreToolDecision::Ask(question),
        }
    }

    /// Returns the decision at PostToolUse, for a call with that outcome.
    #[must_use]
    pub fn into_post_tool(self, outcome: &ToolOutcome) -> PostToolDecision {
        if let Some(reason) = self.block {
            return PostToolDecision::Block { reason };
        }
        let Some(output) = self.updated_output else { return PostToolDecision::Continue };
        let content = match (text_parts(&output), output) {
            (Some(texts), _) => texts.into_iter().map(ResultBlock::text).collect(),
            (None, Value::String(text)) => vec![ResultBlock::text(text)],
            (None, value) => vec![ResultBlock::text(value.to_string())],
        };
        PostToolDecision::Replace { outcome: ToolOutcome { content, ..outcome.clone() } }
    }

    /// Returns the decision at PostToolBatch. A block stops the turn: all calls have ended.
    #[must_use]
    pub fn into_batch(self) -> BatchDecision {
        match self.stop.or(self.block) {
            Some(reason) => BatchDecision::Stop { reason },
            None => BatchDecision::Continue { context: self.context },
        }
    }

    /// Returns the decision at UserPromptSubmit.
    #[must_use]
    pub fn into_prompt(self) -> PromptDecision {
        match self.stop.or(self.block) {
            Some(reason) => PromptDecision::Block { reason },
            None => PromptDecision::Continue { context: self.context },
        }
    }

    /// Returns the decision at Stop. A hook that stops all work takes precedence over one that continues.
    #[must_use]
    pub fn into_stop(self) -> StopDecision {
        match (self.stop, self.block) {
            (None, Some(reason)) => StopDecision::Continue { reason },
            (Some(_), _) | (None, None) => StopDecision::Finish,
        }
    }

    /// Returns the decision at any other event.
    #[must_use]
    pub fn into_event(self, event: HookEvent) -> EventDecision {
        let stop = self.stop.filter(|_| event.is_gate());
        match stop.or(self.block) {
            Some(reason) => EventDecision::Block { reason },
            None => EventDecision::Continue { context: self.context },
        }
    }
}

/// Returns the texts of a result in the form of MCP: a list of parts, or an object with such a list as
/// its `content`; none if it has another form, or a part that is not text.
fn text_parts(output: &Value) -> Option<Vec<String>> {
    let parts = output.get("content").unwrap_or(output).as_array().filter(|it| !it.is_empty())?;
    let text = |part: &Value| match part.get("type")?.as_str()? {
        "text" => part.get("text")?.as_str().map(str::to_owned),
        _ => None,
    };
    parts.iter().map(text).collect()
}

#[cfg(test)]
mod tests;
