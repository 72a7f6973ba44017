//! The tools that list and read resources of servers.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestLimits};
use super::list::{Listed, list};
use super::server::Server;
use super::session_tools::{LIST_RESOURCES, READ_RESOURCE, SessionTools};
use super::{outcome, rounds};
use crate::error::McpError;
use crate::text::clean_line;

/// At most this many resources are listed.
const MAX_LISTED: usize = 200;

pub(super) struct ListResources {
    spec: ToolSpec,
    tools: SessionTools,
}

impl ListResources {
    pub(super) fn new(tools: SessionTools) -> Self {
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
        Self { spec, tools }
    }
}

#[async_trait::async_trait]
impl Tool for ListResources {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let wanted = input.get("server").and_then(Value::as_str);
        let servers = match wanted {
            Some(name) => self.tools.visible_server(name).into_iter().collect(),
            None => self.tools.visible_servers(),
        };
        let servers = servers.iter().filter(|server| server.has_resources());
        // All at once: a server that does not answer must not delay the others.
        let listing = futures::future::join_all(servers.map(lines_of));
        let Some(lists) = context.scope.cancel.run_until_cancelled(listing).await else {
            return ToolOutcome::not_run("cancelled", "the call was cancelled");
        };
        let mut lines = lists.concat();
        let more = lines.len().saturating_sub(MAX_LISTED);
        lines.truncate(MAX_LISTED);
        if more > 0 {
            lines.push(format!("[and {more} more]"));
        }
        match (lines.is_empty(), wanted) {
            (false, _) => ToolOutcome::ok(lines.join("\n")),
            (true, Some(server)) if self.tools.visible_server(server).is_none() => {
                ToolOutcome::not_run("not_found", format!("there is no MCP server `{server}`"))
            }
            (true, _) => ToolOutcome::ok("there are no resources"),
        }
    }
}

/// The resources of a server, and the templates of addresses. A server may fail to list one of them.
type Lists = (Result<Listed, McpError>, Result<Listed, McpError>);

/// Asks a server for its lists; once more over a new connection if it no longer accepts the first.
async fn lists(server: &Arc<Server>) -> Result<Lists, McpError> {
    async fn ask(connection: &Connection) -> Lists {
        tokio::join!(
            list(connection, "resources/list", "resources"),
            list(connection, "resources/templates/list", "resourceTemplates"),
        )
    }
    let connection = server.connection().await?;
    let lists = ask(&connection).await;
    for error in [lists.0.as_ref().err(), lists.1.as_ref().err()].into_iter().flatten() {
        if server.replace_outdated(&connection, error).await {
            return Ok(ask(&*server.connection().await?).await);
        }
    }
    Ok(lists)
}

/// Lists the resources of a server, and the templates of addresses.
async fn lines_of(server: &Arc<Server>) -> Vec<String> {
    let (resources, templates) = match lists(server).await {
        Ok(lists) => lists,
        // One server that fails must not hide the resources of the others.
        Err(error) => return vec![error.to_string()],
    };
    let mut lines = Vec::new();
    match resources {
        Ok(listed) => lines.extend(listed.items.iter().map(|it| line(server.name(), it, "uri"))),
        Err(error) => lines.push(error.to_string()),
    }
    match templates {
        Ok(listed) => {
            let templates = listed.items.iter().map(|it| line(server.name(), it, "uriTemplate"));
            lines.extend(templates.map(|line| line + " (template: replace what is in braces)"));
        }
        // Servers need not have templates.
        Err(McpError::Answer { .. }) => {}
        Err(error) => lines.push(error.to_string()),
    }
    lines
}

fn line(server: &str, resource: &Value, address: &str) -> String {
    let text =
        |key: &str| clean_line(resource.get(key).and_then(Value::as_str).unwrap_or_default(), 300);
    format!("{server}: {} {} {}", text(address), text("name"), text("description"))
        .trim()
        .to_owned()
}

/// Reads a resource, and returns the result of the server.
pub(super) async fn read(
    server: &Arc<Server>,
    uri: &str,
    limits: RequestLimits,
    cancel: &CancellationToken,
) -> Result<Value, McpError> {
    let params = std::iter::once(("uri".to_owned(), json!(uri))).collect();
    rounds::request(server, "resources/read", params, limits, cancel).await
}

pub(super) struct ReadResource {
    spec: ToolSpec,
    tools: SessionTools,
}

impl ReadResource {
    pub(super) fn new(tools: SessionTools) -> Self {
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
        Self { spec, tools }
    }
}

#[async_trait::async_trait]
impl Tool for ReadResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(server) = self.tools.visible_server(text("server")) else {
            let text = format!("there is no MCP server `{}`", text("server"));
            return ToolOutcome::not_run("not_found", text);
        };
        let (limits, cancel) = (RequestLimits::CALL, &context.scope.cancel);
        match read(&server, text("uri"), limits, cancel).await {
            Ok(result) => outcome::from_resource(&result, &context.scope).await,
            Err(error) => outcome::failed(&error),
        }
    }
}
