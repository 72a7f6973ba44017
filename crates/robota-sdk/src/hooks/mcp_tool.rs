//! Runs hooks that call a tool of an MCP server of the session.

use std::time::Duration;

use robota_core::hook::{HookDefinition, HookExecutor, HookExit, McpToolHook};
use robota_mcp::client::McpServers;
use robota_mcp::names::tool_name;
use robota_policy::Policy;
use serde_json::{Map, Value};

use super::within;

/// Runs hooks that call a tool of an MCP server of the session, over its connection. The text of the
/// result is the output of the hook; an error of the tool or of the server is a failure.
///
/// ```
/// use robota_mcp::client::McpServers;
/// use robota_sdk::hooks::McpToolHooks;
///
/// fn executor(servers: &McpServers) -> McpToolHooks {
///     McpToolHooks::new([servers.clone()])
/// }
/// # let _ = executor;
/// ```
pub struct McpToolHooks {
    servers: Vec<McpServers>,
    policy: Option<Policy>,
}

impl McpToolHooks {
    /// Creates an executor for the tools of these servers. Of servers with the same name the first one
    /// is called.
    pub fn new(servers: impl IntoIterator<Item = McpServers>) -> Self {
        Self { servers: servers.into_iter().collect(), policy: None }
    }

    /// Refuses tools that a rule denies.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    async fn call(&self, hook: &McpToolHook, payload: &str) -> Result<HookExit, String> {
        let event: Value = serde_json::from_str(payload)
            .map_err(|error| format!("its input is not JSON: {error}"))?;
        let input = filled(&Value::Object(hook.input.clone()), &event)?;
        let name = tool_name(&hook.server, &hook.tool);
        if self.policy.as_ref().is_some_and(|policy| policy.denies_tool(&name)) {
            return Err(format!("a rule denies the tool `{name}`"));
        }
        let named = self.servers.iter().find(|servers| servers.has(&hook.server));
        let servers =
            named.ok_or_else(|| format!("the session has no MCP server `{}`", hook.server))?;
        let result = servers.call_tool(&hook.server, &hook.tool, input).await;
        let result = result.map_err(|error| error.to_string())?;
        let text = text_of(&result);
        match result.get("isError") {
            Some(Value::Bool(true)) => Err(format!("the tool failed: {text}")),
            _ => Ok(HookExit::code(0, text, "")),
        }
    }
}

#[async_trait::async_trait]
impl HookExecutor for McpToolHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        let HookDefinition::McpTool(hook) = definition else {
            return HookExit::failed("the hook is not a call of an MCP tool");
        };
        within(timeout, self.call(hook, payload)).await
    }
}

/// Returns the texts of a result; those of a result that has only data is the data as JSON.
fn text_of(result: &Value) -> String {
    let parts = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<_> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    match result.get("structuredContent") {
        Some(data) if texts.is_empty() => data.to_string(),
        _ => texts.join("\n"),
    }
}

/// Returns the arguments with the fields of the event that their texts name.
fn filled(value: &Value, event: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => fill(text, event)?,
        Value::Array(items) => {
            items.iter().map(|item| filled(item, event)).collect::<Result<_, _>>()?
        }
        Value::Object(fields) => {
            let mut all = Map::new();
            for (name, value) in fields {
                all.insert(name.clone(), filled(value, event)?);
            }
            Value::Object(all)
        }
        other => other.clone(),
    })
}

/// Replaces `${path}` in a text. A text that is nothing else becomes the field itself, so that numbers
/// and objects keep their type.
fn fill(text: &str, event: &Value) -> Result<Value, String> {
    let field = |path: &str| {
        let missing = || format!("the event has no field `{}`", path.escape_debug());
        path.split('.').try_fold(event, step).ok_or_else(missing)
    };
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, (path, after))) = next_placeholder(rest) {
        let value = field(path)?;
        if before.is_empty() && after.is_empty() && filled.is_empty() {
            return Ok(value.clone());
        }
        filled.push_str(before);
        match value {
            Value::String(text) => filled.push_str(text),
            other => filled.push_str(&other.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(Value::String(filled))
}

/// Splits a text at its first placeholder: what is before it, its path, and what is after it.
fn next_placeholder(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, rest) = text.split_once("${")?;
    Some((before, rest.split_once('}')?))
}

fn step<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    }
}

#[cfg(test)]
mod tests;
