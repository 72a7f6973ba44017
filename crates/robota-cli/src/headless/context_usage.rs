//! Answers how full the context window is, and with what (`get_context_usage`).

use std::path::PathBuf;

use robota_config::Layer;
use robota_config::agents::AgentDefinition;
use robota_core::catalogue::Catalogue;
use robota_core::tool::ToolSpec;
use robota_sdk::{InteractiveSession, SessionMcp};
use robota_session::SessionError;
use serde_json::{Value, json};

use super::meter::{Meter, token_usage};
use super::queries::source;

/// About how many bytes of a description are one token.
const BYTES_PER_TOKEN: u64 = 4;

/// A row of the use of the context window: id, name, tokens and colour.
type Row = (&'static str, &'static str, u64, &'static str);

/// Returns how full the context window is, and with what.
pub(super) async fn reply(
    session: &InteractiveSession,
    model: &str,
    meter: &Meter,
) -> Result<Value, SessionError> {
    let context = session.session().context();
    let state = context.state().await?;
    let (mut system, mut skills) = (0, 0);
    let mut files = Vec::new();
    for part in &session.conversation().loaded().parts {
        if part.name == "skills" {
            skills += part.tokens;
        // A part that was read from a file has its path as the name.
        } else if PathBuf::from(&part.name).is_absolute() {
            files.push(json!({"path": part.name, "type": "Project", "tokens": part.tokens}));
        } else {
            system += part.tokens;
        }
    }
    let memory = sum_of(&files);
    let late = session.mcp().map(SessionMcp::offered_specs).unwrap_or_default();
    let specs = session.tools().specs().iter().chain(&late);
    let (of_servers, own): (Vec<_>, Vec<_>) =
        specs.partition(|tool| server_of(&tool.name).is_some());
    let mcp_tools: Vec<_> = of_servers.into_iter().map(mcp_tool).collect();
    let agents: Vec<_> = custom_agents(session);
    let (of_mcp, of_agents) = (sum_of(&mcp_tools), sum_of(&agents));
    // The description of the tool that starts agents contains theirs.
    // Otherwise their tokens would count twice.
    let tools = own.into_iter().map(tool_tokens).sum::<u64>().saturating_sub(of_agents);
    let used = state.used_tokens;
    let rows = [
        ("system_prompt", "System prompt", system, "blue"),
        ("system_tools", "System tools", tools, "cyan"),
        ("mcp_tools", "MCP tools", of_mcp, "purple"),
        ("custom_agents", "Custom agents", of_agents, "orange"),
        ("memory_files", "Memory files", memory, "green"),
        ("skills", "Skills", skills, "yellow"),
    ];
    // What the service counted is more exact than the estimates of the parts.
    let parts = rows.iter().map(|(_, _, tokens, _)| tokens).sum::<u64>();
    let messages = ("messages", "Messages", used.saturating_sub(parts), "magenta");
    let rows: Vec<Row> = rows.into_iter().chain([messages]).collect();
    let total = rows.iter().map(|(_, _, tokens, _)| tokens).sum::<u64>();
    let window = state.max_tokens;
    let share = if window == 0 { 0.0 } else { total as f64 * 100.0 / window as f64 };
    let mut reply = usage_reply(&rows, (total, window), share, model);
    reply["memoryFiles"] = files.into();
    reply["mcpTools"] = mcp_tools.into();
    reply["agents"] = agents.into();
    reply["apiUsage"] = meter.last_usage().map_or(Value::Null, |usage| {
        let usage = token_usage(usage);
        json!({
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
        })
    });
    if let Some(share) = context.auto_compact() {
        reply["isAutoCompactEnabled"] = true.into();
        reply["autoCompactThreshold"] = json!((window as f64 * share) as u64);
    }
    Ok(reply)
}

/// Returns about how many tokens the description of a tool takes.
fn tool_tokens(tool: &ToolSpec) -> u64 {
    let schema = tool.input_schema.to_string().len();
    (tool.name.len() + tool.description.len() + schema) as u64 / BYTES_PER_TOKEN
}

fn sum_of(parts: &[Value]) -> u64 {
    parts.iter().filter_map(|part| part["tokens"].as_u64()).sum()
}

/// Returns the server in the name of a tool: `mcp__SERVER__TOOL`; none for another tool.
fn server_of(tool: &str) -> Option<&str> {
    tool.strip_prefix("mcp__")?.split_once("__").map(|(server, _)| server)
}

fn mcp_tool(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "serverName": server_of(&tool.name),
        "tokens": tool_tokens(tool),
        "isLoaded": true,
    })
}

/// Returns the agents that are not built in.
fn custom_agents(session: &InteractiveSession) -> Vec<Value> {
    let Some(runs) = session.agent_runs() else { return Vec::new() };
    let agents = runs.definitions().iter().filter(|agent| agent.origin.layer != Layer::BuiltIn);
    let agent = |agent: &AgentDefinition| {
        json!({
            "agentType": agent.name,
            "source": source(agent.origin.layer).0,
            "tokens": (agent.name.len() + agent.description.len()) as u64 / BYTES_PER_TOKEN,
        })
    };
    agents.map(agent).collect()
}

/// Returns the use of the window of a session that does not exist yet.
pub(super) fn empty_reply(model: &str) -> Value {
    usage_reply(&[], (0, Catalogue::builtin().context_window(model)), 0.0, model)
}

fn usage_reply(rows: &[Row], (used, window): (u64, u64), share: f64, model: &str) -> Value {
    let free = ("free_space", "Free space", window.saturating_sub(used), "grey");
    let row = |(id, name, tokens, color): &Row, kind: &str| json!({"id": id, "name": name, "tokens": tokens, "color": color, "kind": kind});
    let used_rows = rows.iter().filter(|(_, _, tokens, _)| *tokens > 0);
    let categories: Vec<_> =
        used_rows.map(|it| row(it, "used")).chain([row(&free, "free")]).collect();
    json!({
        "categories": categories,
        "totalTokens": used,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": share,
        // The published type requires it: a drawing of the categories, which is not made here.
        "gridRows": [],
        "model": model,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "isAutoCompactEnabled": false,
        "apiUsage": null,
    })
}
