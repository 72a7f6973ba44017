//! Runs the hooks about the questions of MCP servers, before the user sees them and before the server
//! gets the answer.

use std::sync::Arc;

use robota_core::hook::{EventDecision, HookData, HookElicitation};
use robota_core::ids::SessionId;
use robota_mcp::client::{ElicitAnswer, Elicitation, ElicitationKind, Elicitor};
use serde_json::Value;

use crate::interactive::OpenSessions;
use crate::notice::Notice;

/// Asks the hooks of a session, and then the elicitor that asks the user.
pub(crate) struct HookedElicitor {
    pub(crate) session: SessionId,
    pub(crate) open: OpenSessions,
    /// Whether the session starts with such hooks. They cannot run before it is open; until then
    /// questions are declined.
    pub(crate) has_hooks: bool,
    pub(crate) asks: Arc<dyn Elicitor>,
    pub(crate) on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
}

#[async_trait::async_trait]
impl Elicitor for HookedElicitor {
    async fn ask(&self, question: Elicitation) -> ElicitAnswer {
        let server = question.server.clone();
        let (mode, url, elicitation_id, requested_schema) = match &question.kind {
            ElicitationKind::Form { schema, .. } => ("form", None, None, Some(schema.clone())),
            ElicitationKind::Address { url, id } => ("url", Some(url.clone()), id.clone(), None),
        };
        let asked = HookData::Elicitation {
            mcp_server_name: server.clone(),
            message: question.message.clone(),
            mode,
            url,
            elicitation_id: elicitation_id.clone(),
            requested_schema,
        };
        let answer = match self.run(&server, asked).await {
            Some(answer) => answer,
            None => self.asks.ask(question).await,
        };
        let (action, content) = match &answer {
            // An address that was opened has no content.
            ElicitAnswer::Accept(Value::Null) => ("accept", None),
            ElicitAnswer::Accept(content) => ("accept", Some(content.clone())),
            ElicitAnswer::Decline => ("decline", None),
            ElicitAnswer::Cancel => ("cancel", None),
        };
        let mcp_server_name = server.clone();
        let answered =
            HookData::ElicitationResult { mcp_server_name, mode, elicitation_id, action, content };
        self.run(&server, answered).await.unwrap_or(answer)
    }

    fn shows_addresses(&self) -> bool {
        self.asks.shows_addresses()
    }
}

impl HookedElicitor {
    /// Runs the hooks of an event. Returns the answer that they give; none if they leave it as it is.
    async fn run(&self, server: &str, data: HookData) -> Option<ElicitAnswer> {
        let Some(session) = self.open.get(&self.session) else {
            if self.has_hooks {
                self.declined(server, "hooks cannot run before the session is open");
            }
            return self.has_hooks.then_some(ElicitAnswer::Decline);
        };
        let report = session.session().config().run_hooks(data).await;
        if let EventDecision::Block { reason } = report.decision {
            self.declined(server, &reason);
            return Some(ElicitAnswer::Decline);
        }
        report.elicitation.map(|answer| match answer {
            HookElicitation::Accept(content) => ElicitAnswer::Accept(Value::Object(content)),
            HookElicitation::Decline => ElicitAnswer::Decline,
            HookElicitation::Cancel => ElicitAnswer::Cancel,
        })
    }

    fn declined(&self, server: &str, reason: &str) {
        let text = format!("a question of the MCP server `{server}` was declined: {reason}");
        (self.on_notice)(Notice::Note(text));
    }
}
