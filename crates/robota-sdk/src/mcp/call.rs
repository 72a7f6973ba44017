//! Calls tools of MCP servers for the program that hosts a session, without a turn of the model.

use std::time::Duration;

use robota_core::approve::{Answer, Question};
use robota_core::gate::Judgement;
use robota_core::hook::{EventDecision, HookData, HookPermission, HookVerdict};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Verdict;
use robota_core::tool::ToolSpec;
use robota_mcp::McpError;
use robota_mcp::client::McpServers;
use robota_session::Session;
use serde_json::{Map, Value};

use super::SessionMcp;

/// Why a call for the host has no result.
///
/// ```
/// use robota_sdk::McpCallError;
///
/// let error = McpCallError::Unknown("mcp__search__find".to_owned());
/// assert_eq!(error.to_string(), "no MCP server has the tool `mcp__search__find`");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum McpCallError {
    /// No server has the tool.
    #[error("no MCP server has the tool `{0}`")]
    Unknown(String),
    /// The call is not allowed.
    #[error("the tool did not run: {0}")]
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

/// Decides about a call in the order of the gate: rules and mode, hooks, the user. Hooks and the user may
/// change its arguments, which are judged again.
async fn approve(
    session: &Session,
    call: &mut ToolUse,
    spec: &ToolSpec,
) -> Result<(), McpCallError> {
    // A denied call runs no hook.
    let mut judged = judge(session, call, spec).await?;
    let report = session.config().run_hooks(HookData::pre_tool_use(call)).await;
    if let EventDecision::Block { reason } = report.decision {
        return Err(McpCallError::NotRun(reason));
    }
    if let Some(reason) = report.stop {
        return Err(McpCallError::NotRun(reason));
    }
    if let Some(input) = report.updated_input {
        call.input = ToolInput::Json(Value::Object(input));
        judged = judge(session, call, spec).await?;
    }
    match report.permission {
        Some(HookPermission { verdict: HookVerdict::Ask | HookVerdict::Defer, reason }) => {
            judged.verdict = Verdict::Ask;
            judged.reason = reason.unwrap_or(judged.reason);
        }
        // A hook's allow does not replace the answer of the user, who does not see this call otherwise.
        Some(HookPermission { verdict: HookVerdict::Allow, .. }) | None => {}
    }
    if judged.verdict == Verdict::Ask { ask(session, call, spec, judged).await } else { Ok(()) }
}

async fn judge(
    session: &Session,
    call: &ToolUse,
    spec: &ToolSpec,
) -> Result<Judgement, McpCallError> {
    let judged = session.permissions().judge(call, spec).await;
    match judged.verdict {
        Verdict::Allow | Verdict::Ask => Ok(judged),
        Verdict::Deny => Err(McpCallError::NotRun(judged.reason)),
    }
}

async fn ask(
    session: &Session,
    call: &mut ToolUse,
    spec: &ToolSpec,
    judged: Judgement,
) -> Result<(), McpCallError> {
    let question = Question {
        call: call.clone(),
        class: judged.class,
        reason: judged.reason.clone(),
        rules: judged.rules,
        metadata: Map::new(),
        agent: None,
    };
    match session.permissions().ask(question).await {
        Answer::Allow { .. } | Answer::Remember { .. } => Ok(()),
        Answer::AllowChanged { input, .. } => {
            call.input = ToolInput::Json(input);
            judge(session, call, spec).await.map(drop)
        }
        Answer::Deny { note } => Err(McpCallError::NotRun(note.unwrap_or(judged.reason))),
        Answer::Unanswered { reason } => Err(McpCallError::NotRun(reason)),
    }
}
