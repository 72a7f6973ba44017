//! Everything that a server offers: the built-in tools, the agent, and what the program adds.

use std::sync::Arc;

use robota_mcp::server::{
    ResourceInfo, Served, ServedCall, ServedResource, ServedResources, ServedResult, ServedTool,
    ServedTools,
};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use super::agent::AgentTools;
use super::tool_session::ToolSession;

/// Everything that a server offers.
pub(super) struct Offered {
    session: ToolSession,
    agent: AgentTools,
    own: Option<Served>,
}

impl Offered {
    pub(super) fn new(session: ToolSession, agent: AgentTools, own: Option<Served>) -> Self {
        Self { session, agent, own }
    }

    /// Returns it in the form that the protocol serves.
    pub(super) fn served(self: &Arc<Self>) -> Served {
        let own_resources = self.own.as_ref().is_some_and(|own| own.resources.is_some());
        let resources = (self.agent.is_offered() || own_resources)
            .then(|| self.clone() as Arc<dyn ServedResources>);
        let prompts = self.own.as_ref().and_then(|own| own.prompts.clone());
        Served { tools: self.clone(), resources, prompts }
    }

    /// Forwards the changes of the program's resources until the task is ended.
    pub(super) fn announce_own(self: Arc<Self>) -> AbortHandle {
        let forwarding = async move {
            let own = self.own.as_ref().and_then(|own| own.resources.as_ref()?.changes());
            let Some(mut changes) = own else { return };
            loop {
                match changes.recv().await {
                    Ok(uri) => self.agent.announce(uri),
                    Err(broadcast::error::RecvError::Lagged(lost)) => {
                        tracing::warn!(lost, "changes of resources were not announced");
                    }
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        };
        tokio::spawn(forwarding).abort_handle()
    }

    pub(super) async fn close(&self) {
        // First the session of the tools: it ends the processes that hosts started.
        self.session.close().await;
        self.agent.close().await;
    }

    // The names of the agent count even if the agent is not offered, so that a program cannot pose
    // as it.
    fn is_built_in(&self, tool: &str) -> bool {
        AgentTools::has(tool) || self.session.list().iter().any(|built_in| built_in.name == tool)
    }
}

#[async_trait::async_trait]
impl ServedTools for Offered {
    fn list(&self) -> Vec<ServedTool> {
        let mut tools = self.session.list();
        tools.extend(self.agent.list());
        if let Some(own) = &self.own {
            let own = own.tools.list().into_iter();
            tools.extend(own.filter(|tool| !self.is_built_in(&tool.name)));
        }
        // Sorted, because hosts put the list into the prompt of their model, and a changed order
        // would miss its cache.
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }

    async fn call(&self, call: ServedCall) -> ServedResult {
        match &self.own {
            _ if AgentTools::has(&call.tool) => self.agent.call(call).await,
            Some(own) if !self.is_built_in(&call.tool) => own.tools.call(call).await,
            _ => self.session.call(call).await,
        }
    }

    async fn undelivered(&self, tool: &str, result: ServedResult) {
        match &self.own {
            _ if AgentTools::has(tool) => self.agent.undelivered(tool, &result).await,
            Some(own) if !self.is_built_in(tool) => own.tools.undelivered(tool, result).await,
            _ => {}
        }
    }
}

#[async_trait::async_trait]
impl ServedResources for Offered {
    fn list(&self) -> Vec<ResourceInfo> {
        let mut resources = self.agent.resources();
        if let Some(own) = self.own.as_ref().and_then(|own| own.resources.as_ref()) {
            resources.extend(own.list());
        }
        resources
    }

    fn templates(&self) -> Vec<ResourceInfo> {
        let mut templates = self.agent.resource_templates();
        if let Some(own) = self.own.as_ref().and_then(|own| own.resources.as_ref()) {
            templates.extend(own.templates());
        }
        templates
    }

    async fn read(&self, uri: &str) -> Option<ServedResource> {
        if let Some(read) = self.agent.read_resource(uri).await {
            return Some(read);
        }
        self.own.as_ref()?.resources.as_ref()?.read(uri).await
    }

    fn changes(&self) -> Option<broadcast::Receiver<String>> {
        Some(self.agent.changes())
    }
}
