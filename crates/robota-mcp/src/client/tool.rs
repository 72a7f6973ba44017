//! A tool of a server as a tool of a session.

use std::sync::Arc;
use std::time::Duration;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::Value;

use super::call::McpCall;
use super::outcome;
use super::server::Server;
use crate::catalog::ToolDefinition;
use crate::names::tool_names;
use crate::schema;

/// A tool of a server. Its class is always the strictest: the annotations of a server's tools grant
/// no permission. Rules decide.
pub(super) struct McpTool {
    spec: ToolSpec,
    call: McpCall,
    offered: bool,
    on_call: Arc<dyn Fn(&str) + Send + Sync>,
}

impl McpTool {
    /// Returns the specs of all usable tools of a server, with their definitions.
    pub(super) fn specs(server: &Arc<Server>) -> Vec<(ToolSpec, ToolDefinition)> {
        let tools = server.tools();
        let names: Vec<_> = tools.iter().map(ToolDefinition::name).collect();
        let names = tool_names(server.name(), &names);
        let named = names.into_iter().zip(tools);
        named
            .filter_map(|(name, definition)| {
                let input_schema = match schema::for_models(definition.input_schema()) {
                    Ok(schema) => schema,
                    Err(why) => {
                        tracing::warn!(tool = %name, "a tool is left out: {why}");
                        return None;
                    }
                };
                let description = definition.description();
                let class = Class::Execute;
                Some((ToolSpec { name, description, input_schema, class }, definition))
            })
            .collect()
    }

    pub(super) fn new(
        server: &Arc<Server>,
        (spec, definition): (ToolSpec, ToolDefinition),
        offered: bool,
        on_call: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Self {
        Self { spec, call: McpCall { server: server.clone(), definition }, offered, on_call }
    }
}

#[async_trait::async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Accepts any object: the server has the original schema and checks the rest.
    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        if input.is_object() {
            return Ok(());
        }
        Err(InvalidInput("the arguments must be an object".to_owned()))
    }

    fn timeout(&self) -> Option<Duration> {
        // The connection has its own limits, which progress extends.
        Some(Duration::from_secs(2 * 3_600))
    }

    fn offered(&self) -> bool {
        self.offered
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        (self.on_call)(&self.spec.name);
        let (cancel, progress) = (&context.scope.cancel, &context.progress);
        let id = context.call.to_string();
        match self.call.request(input, cancel, Some(progress), Some(&id)).await {
            Ok(result) => outcome::from_result(&result, &*context.scope.blobs).await,
            Err(error) => outcome::failed(&error),
        }
        .with_metadata("mcp_server", self.call.server.name())
    }
}
