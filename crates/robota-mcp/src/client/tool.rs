//! A tool of a server as a tool of a session.

use std::sync::Arc;
use std::time::Duration;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::call::McpCall;
use super::outcome;
use super::server::Server;
use crate::catalog::ToolDefinition;
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
    /// Returns what models see of a tool; none if its schema cannot be offered.
    pub(super) fn spec_of(name: &str, definition: &ToolDefinition) -> Option<ToolSpec> {
        match schema::for_models(definition.input_schema()) {
            Ok(input_schema) => Some(ToolSpec {
                name: name.to_owned(),
                description: definition.description(),
                input_schema,
                class: Class::Execute,
            }),
            Err(why) => {
                tracing::warn!(tool = %name, "a tool is left out: {why}");
                None
            }
        }
    }

    /// Returns the spec of a tool that models do not see. With many tools it would take long to make
    /// their schemas acceptable.
    pub(super) fn hidden_spec(name: String) -> ToolSpec {
        let input_schema = json!({"type": "object"});
        ToolSpec { name, description: String::new(), input_schema, class: Class::Execute }
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

    fn always_asks(&self) -> bool {
        self.call.definition.requires_user()
    }

    fn output_limit(&self) -> Option<usize> {
        self.call.definition.output_limit()
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
            Ok(result) => outcome::from_result(&result, &context.scope).await,
            Err(error) => outcome::failed(&error),
        }
        .with_metadata("mcp_server", self.call.server.name())
    }
}
