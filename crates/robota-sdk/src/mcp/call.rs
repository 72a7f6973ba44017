//! Calls tools of MCP servers for the program that hosts a session, without a turn of the model.

use std::time::Duration;

use robota_core::approve::{Answer, Question};
use robota_core::hook::{EventDecision, HookData};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Verdict;
use robota_core::tool::ToolSpec;
use robota_mcp::McpError;
use robota_mcp::client::McpServers;
use robota_session::Session;
use serde_json::{Map, Value};

use super::SessionMcp;

/// Why a call for the host has no result.
#[derive(Debug, thiserror::Error)]
pub enum McpCallError {
    /// No server has the tool.
    #[error("no MCP server has the tool `{0}`")]
    Unknown(String),
    /// The call is not allowed.
    #[error("The tool did not run: {0}")]
    NotRun(String),
    /// A hook withheld the result.
    #[error("the tool ran, and a hook withholds its result: {0}")]
    Withheld(String),
    /// The server did not answer in time.
    #[error("the tool did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The server failed.
    #[error(transparent)]
    Server(#[from] McpError),
}

impl SessionMcp {
    /// Calls a tool for the program that hosts the session. Rules, mode, hooks and the user decide about
    /// it as about a call of the model. The result, as the server returned it, does not become part of
    /// the conversation.
    ///
    /// # Errors
    /// If there is no such tool, the call is not allowed, or the server fails.
    pub async fn call_for_host(
        &self,
        session: &Session,
        mut call: ToolUse,
        limit: Duration,
    ) -> Result<Value, McpCallError> {
        let tools = self.source().tools();
        let found = tools.iter().find(|tool| tool.spec().name == call.name);
        let spec = found.ok_or_else(|| McpCallError::Unknown(call.name.clone()))?.spec();
        let report = session.config().run_hooks(HookData::pre_tool_use(&call)).await;
        if let EventDecision::Block { reason } = report.decision {
            return Err(McpCallError::NotRun(reason));
        }
        if let Some(input) = report.updated_input {
            call.input = ToolInput::Json(Value::Object(input));
        }
        approve(session, &mut call, spec).await?;
        let arguments = call.input.json().cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let calling = self.servers().call(&call.name, arguments.clone());
        let result = tokio::time::timeout(limit, calling).await;
        let result = result.map_err(|_| McpCallError::TimedOut(limit))??;
        let after = HookData::PostToolUse {
            tool_name: call.name.clone(),
            tool_input: arguments,
            tool_use_id: call.public_id().to_owned(),
            tool_output: McpServers::result_text(&result).await,
            tool_response: result.clone(),
        };
        match session.config().run_hooks(after).await.decision {
            EventDecision::Continue { .. } => Ok(result),
            EventDecision::Block { reason } => Err(McpCallError::Withheld(reason)),
        }
    }
}

/// Decides about a call; the user may change its arguments, which are judged again.
async fn approve(
    session: &Session,
    call: &mut ToolUse,
    spec: &ToolSpec,
) -> Result<(), McpCallError> {
    let permissions = session.permissions();
    let denied = |reason: String| Err(McpCallError::NotRun(reason));
    let judged = permissions.judge(call, spec).await;
    match judged.verdict {
        Verdict::Allow => return Ok(()),
        Verdict::Deny => return denied(judged.reason),
        Verdict::Ask => {}
    }
    let question = Question {
        call: call.clone(),
        class: judged.class,
        reason: judged.reason.clone(),
        rules: judged.rules,
        metadata: Map::new(),
        agent: None,
    };
    match permissions.ask(question).await {
        Answer::Allow { .. } | Answer::Remember { .. } => Ok(()),
        Answer::AllowChanged { input, .. } => {
            call.input = ToolInput::Json(input);
            let judged = permissions.judge(call, spec).await;
            if judged.verdict == Verdict::Deny { denied(judged.reason) } else { Ok(()) }
        }
        Answer::Deny { note } => denied(note.unwrap_or(judged.reason)),
        Answer::Unanswered { reason } => denied(reason),
    }
}
