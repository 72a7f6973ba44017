//! Runs tools for the program itself, such as the commands of a skill, through the same gate as the
//! calls of a model.

use std::sync::Arc;

use robota_core::ids::{CallId, RandomIds};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Verdict;
use robota_core::tool::{Tool, ToolContext, ToolOutcome};
use robota_session::Session;
use serde_json::Value;

/// Tools behind the gate of a session. Nobody is asked.
#[derive(Clone)]
pub(crate) struct GatedTools(Vec<Arc<dyn Tool>>);

impl GatedTools {
    /// Creates them.
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self(tools)
    }

    /// Runs a tool for a session.
    ///
    /// # Errors
    /// If there is no such tool, or the gate does not allow the call; the text says why.
    pub(crate) async fn run(
        &self,
        session: &Session,
        name: &str,
        input: Value,
    ) -> Result<ToolOutcome, String> {
        self.run_by(session, name, input, &[Verdict::Allow]).await
    }

    /// Runs a tool with arguments that the user typed, which answers the question of the gate. What
    /// the gate denies does not run.
    ///
    /// # Errors
    /// If there is no such tool, or the gate denies the call; the text says why.
    pub(crate) async fn run_for_user(
        &self,
        session: &Session,
        name: &str,
        input: Value,
    ) -> Result<ToolOutcome, String> {
        self.run_by(session, name, input, &[Verdict::Allow, Verdict::Ask]).await
    }

    async fn run_by(
        &self,
        session: &Session,
        name: &str,
        input: Value,
        enough: &[Verdict],
    ) -> Result<ToolOutcome, String> {
        let tool = self.0.iter().find(|tool| tool.spec().name == name);
        let tool = tool.ok_or_else(|| format!("the tool {name} is not available"))?;
        let call = CallId::mint(&RandomIds);
        let judged = tool.gate_input(&call, &input).unwrap_or_else(|| input.clone());
        let tool_use = ToolUse::new(call.clone(), "skill", name, ToolInput::Json(judged));
        let judgement = session.permissions().judge(&tool_use, tool.spec()).await;
        if !enough.contains(&judgement.verdict) {
            return Err(judgement.reason);
        }
        let context = ToolContext { call, grant: judgement.grant, ..ToolContext::detached() };
        Ok(tool.run(input, context).await)
    }
}
