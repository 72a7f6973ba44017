//! MCP servers in a headless run: those in the host, and their state in lines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_config::McpScope;
use robota_core::event::{Envelope, Event};
use robota_core::ids::CallId;
use robota_core::message::{Block, ToolUse};
use robota_mcp::client::{
    ElicitAnswer, Elicitation, ElicitationKind, Elicitor, HostChannel, ServerReport, ServerStatus,
};
use robota_sdk::{McpSetup, SessionMcp};
use robota_stream_json::{ElicitationMode, HostRequest, McpServer, McpServerError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::host::Host;
use super::options::RunOptions;
use super::requests::HostSetup;
use crate::setup::Setup;

/// How long a message to a server in the host may take. Calls have limits of their own.
const HOST_LIMIT: Duration = Duration::from_secs(2 * 3_600);

/// The field of a call that names the call of the model.
const TOOL_USE_ID: &str = "claudecode/toolUseId";

/// Knows the ids of calls that the host sees: those of the model.
#[derive(Default)]
pub(crate) struct CallIds(Mutex<HashMap<String, String>>);

impl CallIds {
    /// Takes an event of the session.
    pub(super) fn observe(&self, envelope: &Envelope) {
        let pair = |call: &ToolUse| (call.call.to_string(), call.public_id().to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &envelope.event {
            // Services may give the same id again in a later answer.
            Event::ModelRequested(_) => known.clear(),
            // A call may run before its answer is complete.
            Event::ToolCalled(data) => known.extend([pair(&data.tool_use)]),
            Event::AssistantMessage(data) => {
                let calls = data.message.content.iter().filter_map(|block| match block {
                    Block::ToolUse(call) => Some(pair(call)),
                    _ => None,
                });
                *known = calls.collect();
            }
            _ => {}
        }
    }

    /// Returns our id of a call of the last answer; none if it has no such call.
    pub(super) fn call(&self, public: &str) -> Option<CallId> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(_, id)| *id == public);
        found.map(|(call, _)| CallId::from(call.clone()))
    }

    /// Returns the model's id of a call of the last answer; none if it has no such call.
    pub(super) fn public(&self, call: &CallId) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(call.as_str()).cloned()
    }

    /// Replaces our id of a call in a message by that of the model.
    fn translate(&self, message: &mut Value) {
        let Some(id) = message.pointer_mut(&format!("/params/_meta/{}", escaped(TOOL_USE_ID)))
        else {
            return;
        };
        if let Some(public) = id.as_str().and_then(|call| self.public(&CallId::from(call))) {
            *id = Value::from(public);
        }
    }
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
        self.calls.translate(&mut message);
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
