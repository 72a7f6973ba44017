//! Prompts of servers, as commands.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::RequestLimits;
use super::rounds;
use super::server::Server;
use crate::catalog::{PromptArgument, PromptDefinition};
use crate::error::McpError;
use crate::names::{prompt_names, shown};

/// Runs a prompt of a server as a command: `/mcp__server__prompt argument …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCommand {
    /// The name of the command, without the slash.
    pub name: String,
    /// What the prompt is for, as the server describes it.
    pub description: String,
    /// The arguments, for people: `<needed>` and `[optional]`.
    pub argument_hint: String,
    pub(super) server: String,
    pub(super) definition: PromptDefinition,
}

/// Returns the prompts of a server.
pub(super) fn commands(server: &Arc<Server>) -> Vec<PromptCommand> {
    let prompts = server.prompts();
    let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    let names = prompt_names(server.name(), &names);
    let command = |(name, definition): (String, PromptDefinition)| {
        let hint = |argument: &PromptArgument| {
            let shown = shown(&argument.name);
            if argument.required { format!("<{shown}>") } else { format!("[{shown}]") }
        };
        let hints: Vec<_> = definition.arguments.iter().map(hint).collect();
        PromptCommand {
            name,
            description: definition.description.clone(),
            argument_hint: hints.join(" "),
            server: server.name().to_owned(),
            definition,
        }
    };
    names.into_iter().zip(prompts).map(command).collect()
}

/// Returns the text of a prompt.
pub(super) async fn get(
    server: &Arc<Server>,
    command: &PromptCommand,
    arguments: &str,
    cancel: &CancellationToken,
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
    let params = [("name", json!(name)), ("arguments", Value::Object(given))];
    let params = params.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    let limits = RequestLimits::SHORT;
    let result = rounds::request(server, "prompts/get", params, limits, cancel).await?;
    let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<_> = messages.filter_map(|message| text(message.get("content")?)).collect();
    let text = texts.join("\n\n");
    // A model that gets an empty prompt answers something that the user did not ask for.
    if text.trim().is_empty() {
        return Err(McpError::Invalid {
            server: server.name().to_owned(),
            problem: format!("its prompt `{}` has no text", shown(name)),
        });
    }
    Ok(text)
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
