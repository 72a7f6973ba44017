//! Calls tools of MCP servers for the program that hosts a session, without a turn of the model.

use std::time::Duration;

use robota_core::approve::{Answer, Question};
use robota_core::gate::{Judgement, Source};
use robota_core::hook::{
    AfterChange, EventDecision, HookAnswer, HookData, HookReply, PreToolDecision,
};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Verdict;
use robota_core::tool::{Tool, ToolOutcome};
use robota_mcp::McpError;
use robota_mcp::client::McpServers;
use robota_session::Session;
use serde_json::{Map, Value, json};

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
#[non_exhaustive]
pub enum McpCallError {
    /// No connected server has a tool with this name.
    #[error("no MCP server has the tool `{0}`")]
    Unknown(String),
    /// A rule, a hook or the user refused the call. It did not run.
    #[error("the tool did not run: {0}")]
    NotRun(String),
    /// The tool ran, and a hook after it withheld the result.
    #[error("the tool ran, and a hook withholds its result: {0}")]
    Withheld(String),
    /// The server did not answer in time.
    #[error("the tool did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The server could not be reached, or answered with an error.
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
        let tool = found.ok_or_else(|| McpCallError::Unknown(call.name.clone()))?;
        if let Some(outcome) = approve(session, &mut call, &**tool).await? {
            let content = json!([{"type": "text", "text": outcome.text()}]);
            return Ok(json!({"content": content, "isError": !outcome.ok}));
        }
        let arguments = call.input.json().cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let calling = self.servers().call(&call.name, arguments.clone());
        let started = tokio::time::Instant::now();
        let result = tokio::time::timeout(limit, calling).await;
        let took = started.elapsed();
        let result = result.map_err(|_| McpCallError::TimedOut(limit))??;
        let after = HookData::PostToolUse {
            tool_name: call.name.clone(),
            tool_input: arguments,
            tool_use_id: call.public_id().to_owned(),
            tool_output: McpServers::result_text(&result).await,
            tool_response: result.clone(),
            duration_ms: Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        };
        match session.config().run_hooks(after).await.decision {
            EventDecision::Continue { .. } => Ok(result),
            EventDecision::Block { reason } => Err(McpCallError::Withheld(reason)),
        }
    }
}

/// Decides about a call in the order of the gate: rules and mode, hooks, the user. Hooks and the user may
/// change its arguments, which are judged again. Returns the outcome of a call that a hook answered
/// instead of the tool.
async fn approve(
    session: &Session,
    call: &mut ToolUse,
    tool: &dyn Tool,
) -> Result<Option<ToolOutcome>, McpCallError> {
    // A denied call runs no hook.
    let mut judged = judge(session, call, tool).await?;
    let HookReply { answer, stop, .. } =
        session.config().run_pre_tool(call.clone(), judged.verdict).await;
    let HookAnswer::PreToolUse(decision) = answer else {
        return Err(McpCallError::NotRun("a hook answered for another event".to_owned()));
    };
    let then = match decision {
        PreToolDecision::Deny { reason } => return Err(McpCallError::NotRun(reason)),
        _ if stop.is_some() => return Err(McpCallError::NotRun(stop.unwrap_or_default())),
        PreToolDecision::Answer { outcome } => return Ok(Some(outcome)),
        PreToolDecision::Continue => AfterChange::Judge,
        PreToolDecision::Allow { reason } => AfterChange::Allow { reason },
        PreToolDecision::Ask(question) => AfterChange::Ask(question),
        PreToolDecision::Change { input, then } => {
            call.input = ToolInput::Json(input);
            judged = judge(session, call, tool).await?;
            then
        }
    };
    match then {
        AfterChange::Ask(question) => {
            judged.verdict = Verdict::Ask;
            judged.reason = question.reason;
        }
        // A hook's allow does not replace the answer of the user, who does not see this call otherwise.
        AfterChange::Allow { .. } | AfterChange::Judge => {}
    }
    if judged.verdict == Verdict::Ask {
        ask(session, call, tool, judged).await?;
    }
    Ok(None)
}

async fn judge(
    session: &Session,
    call: &ToolUse,
    tool: &dyn Tool,
) -> Result<Judgement, McpCallError> {
    let judged = session.permissions().judge_allowing(&[], call, tool).await;
    match judged.verdict {
        Verdict::Allow | Verdict::Ask => Ok(judged),
        Verdict::Deny => Err(McpCallError::NotRun(judged.reason)),
    }
}

async fn ask(
    session: &Session,
    call: &mut ToolUse,
    tool: &dyn Tool,
    judged: Judgement,
) -> Result<(), McpCallError> {
    let question = Question {
        call: call.clone(),
        class: judged.class,
        reason: judged.reason.clone(),
        rules: judged.rules,
        needs_user: judged.source == Source::Tool,
        metadata: Map::new(),
        agent: None,
        task: None,
    };
    match session.permissions().ask(question).await.without_hook().0 {
        Answer::Allow { .. } | Answer::Remember { .. } | Answer::Update { input: None, .. } => {
            Ok(())
        }
        Answer::AllowChanged { input, .. } | Answer::Update { input: Some(input), .. } => {
            call.input = ToolInput::Json(input);
            judge(session, call, tool).await.map(drop)
        }
        Answer::Deny { note } => Err(McpCallError::NotRun(note.unwrap_or(judged.reason))),
        Answer::DenyAndStop { reason } | Answer::Unanswered { reason } => {
            Err(McpCallError::NotRun(reason))
        }
        // Taken off above.
        Answer::ByHook { .. } => Err(McpCallError::NotRun(judged.reason)),
    }
}
