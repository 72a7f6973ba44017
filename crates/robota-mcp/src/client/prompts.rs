//! Prompts of servers, as commands.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::RequestLimits;
use super::server::Server;
use crate::catalog::PromptDefinition;
use crate::error::McpError;
use crate::names::server_part;

/// Runs a prompt of a server as a command: `/mcp__server__prompt argument …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCommand {
    /// The name of the command, without the slash.
    pub name: String,
    /// What the prompt is for, in the words of the server.
    pub description: String,
    /// The arguments, for people: `<needed>` and `[optional]`.
    pub argument_hint: String,
    pub(super) server: String,
    pub(super) definition: PromptDefinition,
}

/// Returns the prompts of a server.
pub(super) fn commands(server: &Arc<Server>) -> Vec<PromptCommand> {
    let command = |definition: PromptDefinition| {
        let characters = definition.name.chars();
        // A slash command ends at the first space.
        let part: String = characters.map(|it| if it.is_whitespace() { '_' } else { it }).collect();
        let hints: Vec<_> = definition
            .arguments
            .iter()
            .map(|it| if it.required { format!("<{}>", it.name) } else { format!("[{}]", it.name) })
            .collect();
        PromptCommand {
            name: format!("mcp__{}__{part}", server_part(server.name())),
            description: definition.description.clone(),
            argument_hint: hints.join(" "),
            server: server.name().to_owned(),
            definition,
        }
    };
    server.prompts().into_iter().map(command).collect()
}

/// Returns the text of a prompt.
pub(super) async fn get(
    server: &Arc<Server>,
    command: &PromptCommand,
    arguments: &str,
) -> Result<String, McpError> {
    let PromptDefinition { name, arguments: wanted, .. } = &command.definition;
    let mut given = Map::new();
    let mut rest = arguments.trim();
    for (at, argument) in wanted.iter().enumerate() {
        // The last argument takes the rest, so that it can be a sentence.
        let (word, more) = match rest.split_once(char::is_whitespace) {
            Some((word, more)) if at + 1 < wanted.len() => (word, more.trim_start()),
            _ => (rest, ""),
        };
        if word.is_empty() && argument.required {
            return Err(McpError::MissingArgument {
                command: command.name.clone(),
                argument: argument.name.clone(),
            });
        }
        if !word.is_empty() {
            given.insert(argument.name.clone(), json!(word));
        }
        rest = more;
    }
    let connection = server.connection().await?;
    let params = json!({"name": name, "arguments": given});
    let token = CancellationToken::new();
    let result =
        connection.request("prompts/get", params, RequestLimits::SHORT, &token, None).await?;
    let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<_> = messages.filter_map(|message| text(message.get("content")?)).collect();
    Ok(texts.join("\n\n"))
}

fn text(content: &Value) -> Option<String> {
    if let Value::Array(parts) = content {
        let parts: Vec<_> = parts.iter().filter_map(text).collect();
        return Some(parts.join("\n"));
    }
    let of = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    match content.get("type").and_then(Value::as_str) {
        Some("text") => of(content, "text"),
        Some("resource") => {
            let resource = content.get("resource")?;
            let uri = of(resource, "uri").unwrap_or_default();
            Some(format!("[resource {uri}]\n{}", of(resource, "text").unwrap_or_default()))
        }
        Some(kind) => Some(format!("[{kind}]")),
        None => None,
    }
}
