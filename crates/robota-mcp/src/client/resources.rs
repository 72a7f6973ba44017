//! The tools that list and read resources of servers.

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::connection::RequestLimits;
use super::servers::McpServers;
use super::session_tools::{LIST_RESOURCES, READ_RESOURCE};
use super::{list, outcome};
use crate::text::clean_line;

/// At most this many resources are listed.
const MAX_LISTED: usize = 200;

pub(super) struct ListResources {
    spec: ToolSpec,
    servers: McpServers,
}

impl ListResources {
    pub(super) fn new(servers: McpServers) -> Self {
        let spec = ToolSpec {
            name: LIST_RESOURCES.to_owned(),
            description: "Lists resources of MCP servers with their addresses.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {"server": {"type": "string", "description": "Only this server"}},
                "additionalProperties": false,
            }),
            class: Class::Inspect,
        };
        Self { spec, servers }
    }
}

#[async_trait::async_trait]
impl Tool for ListResources {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _: ToolContext) -> ToolOutcome {
        let wanted = input.get("server").and_then(Value::as_str);
        let mut lines = Vec::new();
        for server in self.servers.all() {
            if !server.has_resources() || wanted.is_some_and(|wanted| wanted != server.name()) {
                continue;
            }
            let listed = match server.connection().await {
                Ok(connection) => list::list(&connection, "resources/list", "resources").await,
                Err(error) => Err(error),
            };
            match listed {
                Ok(listed) => lines.extend(listed.items.iter().map(|it| line(server.name(), it))),
                // One server that fails must not hide the resources of the others.
                Err(error) => lines.push(error.to_string()),
            }
        }
        let more = lines.len().saturating_sub(MAX_LISTED);
        lines.truncate(MAX_LISTED);
        if more > 0 {
            lines.push(format!("[and {more} more]"));
        }
        match (lines.is_empty(), wanted) {
            (false, _) => ToolOutcome::ok(lines.join("\n")),
            (true, Some(server)) if self.servers.find(server).is_none() => {
                ToolOutcome::not_run("not_found", format!("there is no MCP server `{server}`"))
            }
            (true, _) => ToolOutcome::ok("there are no resources"),
        }
    }
}

fn line(server: &str, resource: &Value) -> String {
    let text =
        |key: &str| clean_line(resource.get(key).and_then(Value::as_str).unwrap_or_default(), 300);
    format!("{server}: {} {} {}", text("uri"), text("name"), text("description")).trim().to_owned()
}

pub(super) struct ReadResource {
    spec: ToolSpec,
    servers: McpServers,
}

impl ReadResource {
    pub(super) fn new(servers: McpServers) -> Self {
        let spec = ToolSpec {
            name: READ_RESOURCE.to_owned(),
            description: "Reads a resource of an MCP server.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {"server": {"type": "string"}, "uri": {"type": "string"}},
                "required": ["server", "uri"],
                "additionalProperties": false,
            }),
            // The server decides what reading means, and the address is an argument that the model
            // chooses.
            class: Class::Execute,
        };
        Self { spec, servers }
    }
}

#[async_trait::async_trait]
impl Tool for ReadResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(server) = self.servers.find(text("server")) else {
            let text = format!("there is no MCP server `{}`", text("server"));
            return ToolOutcome::not_run("not_found", text);
        };
        let result = match server.connection().await {
            Ok(connection) => {
                let params = json!({"uri": text("uri")});
                let (limits, cancel) = (RequestLimits::CALL, &context.scope.cancel);
                connection.request("resources/read", params, limits, cancel, None).await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(result) => {
                let contents = result.get("contents").and_then(Value::as_array);
                let mut blocks = Vec::new();
                for content in contents.into_iter().flatten().take(100) {
                    blocks.extend(outcome::resource(content, &*context.scope.blobs).await);
                }
                if blocks.is_empty() {
                    return ToolOutcome::ok("[the resource is empty]");
                }
                ToolOutcome { content: blocks, ..ToolOutcome::ok("") }
            }
            Err(error) => outcome::failed(&error),
        }
    }
}
