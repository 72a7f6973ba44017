//! Answers requests of the host that change MCP servers.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use robota_core::ids::{CallId, RandomIds};
use robota_core::message::{ToolInput, ToolUse};
use robota_sdk::mcp::configured;
use robota_sdk::{McpSetup, SessionMcp};
use robota_stream_json::ControlErrorCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::host::Reply;
use super::requests::{LaterReply, Requests, failed};

/// How long a call for the host may take.
// This default and the bounds of `timeout_ms` are those of the protocol.
const DEFAULT_CALL_MS: u64 = 120_000;

/// A call for the host.
#[derive(Debug, Deserialize)]
pub(super) struct McpCall {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    expires_at: Option<Value>,
    #[serde(default)]
    input_files: Option<Value>,
    #[serde(default)]
    output_files: Option<Value>,
}

impl Requests {
    /// Replaces the servers that the host manages. Before the first message they are checked and
    /// kept; the session then starts with them.
    pub(super) fn set_mcp_servers(&mut self, servers: Map<String, Value>) -> LaterReply {
        let Some(mcp) = self.mcp().cloned() else {
            let reply = self.keep_mcp_servers(servers);
            return Box::pin(std::future::ready(Ok(reply)));
        };
        let mut replaced = mcp.replace(&self.setup.project, &servers);
        Box::pin(async move {
            replaced.errors.extend(mcp.connect(&replaced.added).await);
            Ok(json!({
                "added": replaced.added,
                "removed": replaced.removed,
                "errors": replaced.errors,
            }))
        })
    }

    fn keep_mcp_servers(&mut self, servers: Map<String, Value>) -> Value {
        let kept = &mut self.host_setup;
        // Strict, because the answer is about these servers only, not about those of files.
        let setup = McpSetup { replaceable: servers.clone(), strict: true, ..McpSetup::default() };
        let found = configured(&self.setup.project, &setup);
        let usable: BTreeSet<_> = found.configs.into_iter().map(|config| config.name).collect();
        let before: BTreeSet<_> =
            // The servers of `initialize` are managed by the host too, so the list replaces them.
            kept.replaceable.keys().cloned().chain(kept.mcp_servers.drain(..)).collect();
        kept.replaceable = servers;
        kept.replaceable.retain(|name, _| usable.contains(name));
        let errors: Map<_, _> =
            found.errors.into_iter().map(|error| (error.name, error.message.into())).collect();
        json!({
            "added": usable.difference(&before).collect::<Vec<_>>(),
            "removed": before.difference(&usable).collect::<Vec<_>>(),
            "errors": errors,
        })
    }

    /// Turns a server off, or on again, until the end of the session.
    pub(super) fn toggle_mcp_server(&self, name: String, enabled: bool) -> LaterReply {
        self.with_mcp("mcp_toggle", async move |mcp| {
            mcp.servers().set_enabled(&name, enabled).await.map(|_| json!({})).map_err(failed)
        })
    }

    /// Connects to a server again.
    pub(super) fn reconnect_mcp_server(&self, name: String) -> LaterReply {
        self.with_mcp("mcp_reconnect", async move |mcp| {
            mcp.servers().reconnect(&name).await.map(|_| json!({})).map_err(failed)
        })
    }

    /// Reads a resource that is made for a host to show.
    pub(super) fn read_mcp_resource(&self, server: String, uri: String) -> LaterReply {
        // Models read other resources with a tool, to which the permissions apply.
        if !uri.starts_with("ui://") {
            let why = format!("mcp_read_resource reads resources with ui:// addresses, not {uri}");
            return Box::pin(std::future::ready(Err((ControlErrorCode::InvalidRequest, why))));
        }
        self.with_mcp("mcp_read_resource", async move |mcp| {
            let result = mcp.servers().read_resource(&server, &uri).await.map_err(failed)?;
            Ok(json!({"contents": result.get("contents").cloned().unwrap_or_else(|| json!([]))}))
        })
    }

    /// Calls a tool for the host, if the permissions allow it.
    pub(super) fn call_mcp_tool(&self, request: McpCall) -> LaterReply {
        let refuse = |why: &str| {
            let error = (ControlErrorCode::UnsupportedRequest, format!("mcp_call: {why}"));
            Box::pin(std::future::ready(Err(error))) as LaterReply
        };
        if request.input_files.is_some() || request.output_files.is_some() {
            return refuse("input_files and output_files are not supported");
        }
        if request.expires_at.is_some() {
            return refuse("expires_at is not supported");
        }
        let Some(session) = self.session().cloned() else {
            return refuse("MCP servers start with the first message");
        };
        let id = CallId::mint(&RandomIds);
        let input = ToolInput::Json(Value::Object(request.arguments));
        let call = ToolUse::new(id.clone(), id.as_str(), request.tool, input);
        if let Some(approver) = &self.approver {
            // There is no line about this call to wait for.
            approver.announce_printed(id);
        }
        let limit = request.timeout_ms.map_or(DEFAULT_CALL_MS, |limit| limit.clamp(1_000, 600_000));
        let limit = Duration::from_millis(limit);
        self.with_mcp("mcp_call", async move |mcp| {
            mcp.call_for_host(&session, call, limit).await.map_err(failed)
        })
    }

    fn with_mcp<F>(&self, subtype: &str, ask: impl FnOnce(SessionMcp) -> F) -> LaterReply
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        match self.mcp().cloned() {
            Some(mcp) => Box::pin(ask(mcp)),
            None => {
                let why = format!("{subtype}: MCP servers start with the first message");
                Box::pin(std::future::ready(Err((ControlErrorCode::Failed, why))))
            }
        }
    }
}
