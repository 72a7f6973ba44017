//! MCP servers in a headless run: those in the host, and their state in lines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use robota_config::McpScope;
use robota_core::event::{Envelope, Event};
use robota_core::ids::CallId;
use robota_core::message::{Block, Message, ToolUse};
use robota_mcp::client::{
    ElicitAnswer, Elicitation, ElicitationKind, Elicitor, HostChannel, ServerReport, ServerStatus,
};
use robota_sdk::{McpSetup, SessionMcp};
use robota_stream_json::{ElicitationMode, HostRequest, McpServer, McpServerError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::host::Host;
use super::options::RunOptions;
use super::requests::HostSetup;
use crate::setup::Setup;

/// How long a message to a server in the host may take. Calls have limits of their own.
const HOST_LIMIT: Duration = Duration::from_secs(2 * 3_600);

/// The field of a call that names the call of the model.
const TOOL_USE_ID: &str = "claudecode/toolUseId";

/// How long a request about a call waits for the line of the call. It waits so long if this run does not print
/// the lines of the turn, and if a call that only reads starts while its answer is still streamed.
const LINE_LIMIT: Duration = Duration::from_secs(5);

/// Knows the calls of the model that the host sees: their ids, and which of them were printed.
#[derive(Default)]
pub(crate) struct CallIds {
    /// The calls of the last answer, by our id.
    known: Mutex<HashMap<CallId, KnownCall>>,
    /// Notified when calls were printed or forgotten.
    changed: Notify,
}

struct KnownCall {
    /// The model's id.
    public: String,
    /// Whether its line was printed.
    printed: bool,
}

impl CallIds {
    /// Takes an event of the session, in the task of the session: before anything else happens because
    /// of it.
    pub(super) fn observe(&self, envelope: &Envelope) {
        let mut known = self.lock();
        let known_call = |known: &HashMap<CallId, KnownCall>, call: &ToolUse| {
            let printed = known.get(&call.call).is_some_and(|call| call.printed);
            (call.call.clone(), KnownCall { public: call.public_id().to_owned(), printed })
        };
        match &envelope.event {
            // Services may give the same id again in a later answer.
            Event::ModelRequested(_) => {
                known.clear();
                self.changed.notify_waiters();
            }
            // A call may run before its answer is complete.
            Event::ToolCalled(data) => {
                let call = known_call(&known, &data.tool_use);
                known.extend([call]);
            }
            Event::AssistantMessage(data) => {
                let calls = calls_of(&data.message).map(|call| known_call(&known, call));
                *known = calls.collect();
            }
            _ => {}
        }
    }

    /// Takes an answer whose lines were printed.
    pub(super) fn printed(&self, answer: &Message) {
        let mut known = self.lock();
        for call in calls_of(answer) {
            if let Some(call) = known.get_mut(&call.call) {
                call.printed = true;
            }
        }
        self.changed.notify_waiters();
    }

    /// Waits until the line of a call was printed, because hosts look for the call there. A call that is
    /// not one of the last answer has no line.
    pub(super) async fn wait_until_printed(&self, public: &str) {
        let printed = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                // Registered before the check: a line that is printed between the two would otherwise
                // be missed.
                changed.as_mut().enable();
                if !self.lock().values().any(|call| call.public == public && !call.printed) {
                    return;
                }
                changed.await;
            }
        };
        let _ = tokio::time::timeout(LINE_LIMIT, printed).await;
    }

    /// Returns our id of a call of the last answer; none if it has no such call.
    pub(super) fn call(&self, public: &str) -> Option<CallId> {
        let known = self.lock();
        known.iter().find(|(_, known)| known.public == public).map(|(call, _)| call.clone())
    }

    /// Returns the model's id of a call of the last answer; none if it has no such call.
    pub(super) fn public(&self, call: &CallId) -> Option<String> {
        self.lock().get(call).map(|known| known.public.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, KnownCall>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces our id of a call in a message by that of the model, which it returns.
    fn translate(&self, message: &mut Value) -> Option<String> {
        let id = message.pointer_mut(&format!("/params/_meta/{}", escaped(TOOL_USE_ID)))?;
        let public = id.as_str().and_then(|call| self.public(&CallId::from(call)))?;
        *id = Value::from(public.clone());
        Some(public)
    }
}

fn calls_of(message: &Message) -> impl Iterator<Item = &ToolUse> {
    message.content.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    })
}

/// Returns a key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Reaches servers in the host.
struct HostServers {
    host: Arc<Host>,
    calls: Arc<CallIds>,
}

#[async_trait::async_trait]
impl HostChannel for HostServers {
    async fn send(&self, server: &str, mut message: Value) -> Result<Value, String> {
        if let Some(call) = self.calls.translate(&mut message) {
            self.calls.wait_until_printed(&call).await;
        }
        let request = HostRequest::McpMessage { server_name: server, message: &message };
        let answer = self.host.ask(request, HOST_LIMIT).await;
        let mut answer = answer.map_err(|error| error.to_string())?;
        Ok(answer.get_mut("mcp_response").map(Value::take).unwrap_or_default())
    }
}

/// Returns what a run adds to the configured servers. `calls` has to see the events of the session.
pub(super) fn setup(
    options: &RunOptions,
    (host, calls): (&Arc<Host>, &Arc<CallIds>),
    given: &HostSetup,
) -> McpSetup {
    let servers = HostServers { host: host.clone(), calls: calls.clone() };
    McpSetup {
        arguments: options.mcp_config.clone(),
        strict: options.strict_mcp,
        host_servers: given.mcp_servers.clone(),
        replaceable: given.replaceable.clone(),
        host: options.stream_input.then(|| Arc::new(servers) as _),
        elicitor: options.stream_input.then(|| {
            let (host, limit) = (host.clone(), options.host_timeout);
            Arc::new(HostElicitor { host, limit }) as _
        }),
        ..McpSetup::default()
    }
}

/// Asks the host about questions of servers.
struct HostElicitor {
    host: Arc<Host>,
    limit: Duration,
}

/// The answer of a host.
#[derive(Deserialize)]
struct HostElicitation {
    action: String,
    #[serde(default)]
    content: Value,
}

#[async_trait::async_trait]
impl Elicitor for HostElicitor {
    async fn ask(&self, question: Elicitation) -> ElicitAnswer {
        let (mode, url, elicitation_id, requested_schema) = match &question.kind {
            ElicitationKind::Form { schema, .. } => {
                (ElicitationMode::Form, None, None, Some(schema))
            }
            ElicitationKind::Address { url, id } => {
                (ElicitationMode::Url, Some(url.as_str()), id.as_deref(), None)
            }
        };
        let request = HostRequest::Elicitation {
            mcp_server_name: &question.server,
            message: &question.message,
            mode,
            url,
            elicitation_id,
            requested_schema,
        };
        // A host that cannot ask its user answers with an error.
        let Ok(answer) = self.host.ask(request, self.limit).await else {
            return ElicitAnswer::Decline;
        };
        match serde_json::from_value::<HostElicitation>(answer) {
            Ok(answer) if answer.action == "accept" => ElicitAnswer::Accept(answer.content),
            Ok(answer) if answer.action == "cancel" => ElicitAnswer::Cancel,
            _ => ElicitAnswer::Decline,
        }
    }
}

/// Returns the servers as a line lists them.
pub(super) fn servers(mcp: Option<&SessionMcp>) -> Vec<McpServer> {
    let reports = mcp.map(|mcp| mcp.servers().reports()).unwrap_or_default();
    reports
        .into_iter()
        .map(|report| McpServer {
            status: status(&report).to_owned(),
            source: source(mcp, &report).to_owned(),
            name: report.name,
        })
        .collect()
}

/// Returns where a server is configured; `sdk` for a server in the host.
fn source(mcp: Option<&SessionMcp>, report: &ServerReport) -> &'static str {
    match report.transport {
        "sdk" => "sdk",
        _ => mcp.and_then(|mcp| mcp.scope(&report.name)).map_or("dynamic", McpScope::name),
    }
}

/// Returns the servers of a session that does not exist yet.
pub(super) fn pending_reply(setup: &Setup, options: &RunOptions, given: &HostSetup) -> Value {
    let arguments = McpSetup {
        arguments: options.mcp_config.clone(),
        strict: options.strict_mcp,
        host_servers: given.mcp_servers.clone(),
        replaceable: given.replaceable.clone(),
        ..McpSetup::default()
    };
    let found = robota_sdk::mcp::configured(&setup.project, &arguments);
    let servers: Vec<_> = found
        .configs
        .iter()
        .map(|server| {
            let scope = found.scopes.get(&server.name).map(|scope| scope.name());
            json!({"name": server.name, "status": "pending", "scope": scope, "tools": []})
        })
        .collect();
    json!({"mcpServers": servers})
}

/// Returns the entries that cannot be used.
pub(super) fn errors(mcp: Option<&SessionMcp>) -> Vec<McpServerError> {
    let errors = mcp.map(SessionMcp::errors).unwrap_or_default();
    errors
        .iter()
        .map(|error| McpServerError {
            name: error.name.clone(),
            kind: error.code.to_owned(),
            message: error.message.clone(),
        })
        .collect()
}

/// Returns the servers for a host that asks.
pub(super) fn status_reply(mcp: Option<&SessionMcp>) -> Value {
    let Some(mcp) = mcp else { return json!({"mcpServers": []}) };
    let servers: Vec<_> = mcp
        .servers()
        .reports()
        .into_iter()
        .map(|report| {
            let tools: Vec<_> = report.tools.iter().map(|name| json!({"name": name})).collect();
            json!({
                "name": report.name,
                "status": status(&report),
                "serverInfo": report.server_info,
                "error": report.error,
                "scope": mcp.scope(&report.name).map(|scope| scope.name()),
                "source": source(Some(mcp), &report),
                "tools": tools,
            })
        })
        .collect();
    json!({"mcpServers": servers})
}

fn status(report: &ServerReport) -> &'static str {
    match report.status {
        ServerStatus::Pending | ServerStatus::Starting => "pending",
        ServerStatus::Connected => "connected",
        ServerStatus::NeedsAuth => "needs-auth",
        ServerStatus::Failed => "failed",
        ServerStatus::Disabled => "disabled",
    }
}

#[cfg(test)]
mod tests;
