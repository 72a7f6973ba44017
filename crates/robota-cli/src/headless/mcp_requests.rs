//! Answers requests of the host that change MCP servers.

use std::collections::BTreeSet;
use std::future::Future;

use robota_sdk::mcp::configured;
use robota_sdk::{McpSetup, SessionMcp};
use robota_stream_json::ControlErrorCode;
use serde_json::{Map, Value, json};

use super::host::Reply;
use super::requests::{LaterReply, Requests, failed};

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
        let setup = McpSetup { replaceable: servers.clone(), strict: true, ..McpSetup::default() };
        let found = configured(&self.setup.project, &setup);
        let usable: BTreeSet<_> = found.configs.into_iter().map(|config| config.name).collect();
        let before: BTreeSet<_> =
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
