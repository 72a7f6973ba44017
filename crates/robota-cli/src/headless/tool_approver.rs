//! Lets a tool of an MCP server decide about calls that need approval (`--permission-prompt-tool`).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use robota_core::approve::{Answer, Approver, Question};
use robota_mcp::client::McpServers;
use robota_sdk::SessionMcp;
use serde_json::{Map, Value, json};

use super::decisions::Decisions;

/// Asks the tool.
pub(crate) struct ToolApprover {
    tool: String,
    limit: Duration,
    decisions: Arc<Decisions>,
    /// The servers, which exist after the session was opened.
    servers: OnceLock<McpServers>,
}

impl ToolApprover {
    /// Creates an approver that asks this tool.
    pub(super) fn new(tool: String, limit: Duration, decisions: Arc<Decisions>) -> Self {
        Self { tool, limit, decisions, servers: OnceLock::new() }
    }

    /// Sets the servers.
    pub(super) fn connect(&self, mcp: Option<&SessionMcp>) {
        if let Some(mcp) = mcp {
            let _ = self.servers.set(mcp.servers().clone());
        }
    }

    async fn decide(&self, question: &Question) -> Result<Value, String> {
        let tool = &self.tool;
        let servers = self.servers.get().ok_or_else(|| format!("there is no MCP tool {tool}"))?;
        let no_input = Value::Object(Map::new());
        let arguments = json!({
            "tool_name": question.call.name,
            "input": question.call.input.json().unwrap_or(&no_input),
            "tool_use_id": question.call.public_id(),
        });
        // Without the gate of the session: the tool decides about calls, so no other tool can
        // decide about it.
        let calling = tokio::time::timeout(self.limit, servers.call(tool, arguments));
        let result = calling.await.map_err(|_| format!("{tool} did not answer"))?;
        let text = McpServers::result_text(&result.map_err(|error| error.to_string())?).await;
        serde_json::from_str(&text).map_err(|_| format!("the answer of {tool} is not JSON: {text}"))
    }
}

#[async_trait::async_trait]
impl Approver for ToolApprover {
    async fn asks_user(&self, _question: &Question) -> bool {
        self.decisions.may_ask()
    }

    async fn ask(&self, question: Question) -> Answer {
        if let Some(answer) = self.decisions.unasked(&question) {
            return answer;
        }
        let answer = match self.decide(&question).await {
            Ok(decision) => {
                let answer = self.decisions.answer(&question, decision).await;
                answer.map_err(|error| format!("the answer of {} is not valid: {error}", self.tool))
            }
            Err(problem) => Err(problem),
        };
        answer.unwrap_or_else(|problem| Answer::Unanswered {
            reason: format!("it needs approval, and {problem}"),
        })
    }
}
