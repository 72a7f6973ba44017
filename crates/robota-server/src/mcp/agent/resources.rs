//! The conversations of agents as resources: `robota://session/ID`, as Markdown.

use robota_core::ids::SessionId;
use robota_mcp::server::{ResourceBody, ResourceInfo, ServedResource};
use tokio::sync::broadcast;

use super::AgentTools;

/// How the addresses of sessions begin.
const PREFIX: &str = "robota://session/";
const MARKDOWN: &str = "text/markdown";
/// How many changes are kept for a host that reads slowly.
pub(super) const KEPT_CHANGES: usize = 256;

/// Returns the address of a session.
pub(super) fn uri(session: &SessionId) -> String {
    format!("{PREFIX}{session}")
}

impl AgentTools {
    /// Lists the sessions of agents that are open.
    pub(in crate::mcp) fn resources(&self) -> Vec<ResourceInfo> {
        let mut ids: Vec<_> = self.lock().keys().cloned().collect();
        ids.sort_unstable();
        let info = |id: String| ResourceInfo {
            uri: format!("{PREFIX}{id}"),
            name: format!("session {id}"),
            description: "The conversation of an agent, as Markdown.".to_owned(),
            media_type: Some(MARKDOWN.to_owned()),
        };
        ids.into_iter().map(info).collect()
    }

    /// Describes the addresses of sessions.
    pub(in crate::mcp) fn resource_templates(&self) -> Vec<ResourceInfo> {
        let template = || ResourceInfo {
            uri: format!("{PREFIX}{{session}}"),
            name: "session".to_owned(),
            description: "The conversation of an agent that agent_start started, as Markdown."
                .to_owned(),
            media_type: Some(MARKDOWN.to_owned()),
        };
        self.is_offered().then(template).into_iter().collect()
    }

    /// Reads the conversation of an agent; none if it is not open.
    pub(in crate::mcp) async fn read_resource(&self, uri: &str) -> Option<ServedResource> {
        let agent = self.get(uri.strip_prefix(PREFIX)?).ok()?;
        let exported = agent.session.execute_command("export", "").await?;
        Some(ServedResource {
            uri: uri.to_owned(),
            media_type: Some(MARKDOWN.to_owned()),
            body: ResourceBody::Text(exported.message),
        })
    }

    /// Returns a receiver of the addresses of resources that change.
    pub(in crate::mcp) fn changes(&self) -> broadcast::Receiver<String> {
        self.changed.subscribe()
    }

    /// Announces that a resource changed.
    pub(in crate::mcp) fn announce(&self, uri: String) {
        // Fails only if no host listens.
        let _ = self.changed.send(uri);
    }
}
