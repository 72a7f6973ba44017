//! The skills and agents of a checkout that ask for more than text, for the user to decide.

use std::path::PathBuf;

use robota_core::permission::Mode;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{TrustStore, server_start};
use crate::agents::{AgentDefinition, Agents, with_requested_fields};
use crate::clean::visible;
use crate::layer::LayerScope;
use crate::reader::ContextReader;
use crate::skills::Skills;

/// A skill or an agent of a checkout that asks for something that needs trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRequest {
    /// The file without links, by which trust is recorded.
    pub file: PathBuf,
    /// The hash of its content, for [`TrustStore::grant_file`].
    pub hash: String,
    /// What it asks for, such as ``runs `git log` ``.
    pub requests: Vec<String>,
    /// Whether the user trusts the file with this content.
    pub trusted: bool,
}

/// Returns the skills and agents of the checkout that ask for something that needs trust. Reads all
/// of them.
///
/// ```
/// use robota_config::{ContextReader, Places, TrustStore, file_requests};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// # let (home, project) = (home.path(), project.path());
/// std::fs::create_dir_all(project.join(".claude/commands"))?;
/// std::fs::write(project.join(".claude/commands/log.md"), "Summarise: !`git log`\n")?;
/// let places = Places::new(home, project);
/// let found = file_requests(&ContextReader::new(&places), &TrustStore::load(&places));
/// assert_eq!(found[0].requests, ["runs `git log`"]);
/// assert!(!found[0].trusted);
/// # Ok(()) }
/// ```
#[must_use]
pub fn file_requests(reader: &ContextReader, trust: &TrustStore) -> Vec<FileRequest> {
    let mut found = Vec::new();
    let skills = Skills::find(reader);
    for skill in skills.all().filter(|skill| skill.needs_trust()) {
        // What cannot be read cannot ask for anything.
        let Ok(body) = skills.open(&skill.name, trust) else { continue };
        let asked = &body.skill.requests;
        let runs = body.commands().into_iter().map(|it| format!("runs `{}`", visible(it)));
        let allows = asked.allowed_tools.iter().map(|it| format!("allows `{}`", visible(it)));
        let hooks = asked.hooks.iter().flat_map(hook_requests);
        let requests = runs.chain(allows).chain(hooks).collect();
        found.push(FileRequest {
            file: body.file,
            hash: body.hash,
            requests,
            trusted: body.trusted,
        });
    }
    for agent in Agents::load(reader, trust, Vec::new()).iter() {
        let file = agent.origin.file.as_deref().and_then(|file| file.canonicalize().ok());
        if let (Some(file), Some(hash), LayerScope::Project) =
            (file, agent.hash.clone(), agent.origin.layer.scope())
        {
            let requests = agent_requests(reader, agent);
            found.push(FileRequest { file, hash, requests, trusted: agent.trusted });
        }
    }
    found.retain(|file| !file.requests.is_empty());
    found
}

/// Returns what the fields of an agent that need trust ask for.
fn agent_requests(reader: &ContextReader, agent: &AgentDefinition) -> Vec<String> {
    // The file changed while it was read; the names of the fields are still true.
    let Some(asked) = with_requested_fields(reader, agent) else { return agent.requests.clone() };
    let mut found = Vec::new();
    for field in &agent.requests {
        match field.as_str() {
            "hooks" => found.extend(asked.hooks.iter().flat_map(hook_requests)),
            "mcpServers" => found.extend(asked.mcp_servers.iter().flat_map(server_requests)),
            "permissionMode" => {
                let mode = asked.permission_mode.map_or("default", Mode::name);
                found.push(format!("permission mode `{mode}`"));
            }
            "initialPrompt" => {
                let text = asked.initial_prompt.as_deref().map(visible).unwrap_or_default();
                found.push(format!("enters `{text}` as your first prompt"));
            }
            "memory" => found.push("the agent's memory of all projects".to_owned()),
            other => found.push(other.to_owned()),
        }
    }
    found
}

/// Returns what each MCP server of an agent runs, or its name if it is configured elsewhere.
fn server_requests(servers: &Value) -> Vec<String> {
    let line = |name: &str, server: &Value| match server.as_object().map(server_start) {
        Some(Value::String(start)) => {
            format!("MCP server {}: `{}`", visible(name), visible(&start))
        }
        Some(_) | None => format!("MCP server {}", visible(name)),
    };
    let named = |servers: &Map<String, Value>| -> Vec<String> {
        servers.iter().map(|(name, server)| line(name, server)).collect()
    };
    let found = match servers {
        Value::Object(servers) => named(servers),
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match item {
                Value::Object(servers) => named(servers),
                Value::String(name) => vec![line(name, &Value::Null)],
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    };
    if found.is_empty() { vec!["has MCP servers".to_owned()] } else { found }
}

/// Returns what each hook of a skill or an agent does.
fn hook_requests(hooks: &Value) -> Vec<String> {
    let events = hooks.as_object().into_iter().flatten();
    let mut found = Vec::new();
    for (event, groups) in events {
        // One group may stand without a list, as where the hooks are read to be run.
        let groups = match groups {
            Value::Array(groups) => groups.iter().collect(),
            group => vec![group],
        };
        let all = groups.into_iter().filter_map(|group| group.get("hooks")?.as_array()).flatten();
        found.extend(
            all.map(|hook| format!("runs `{}` at {}", visible(&hook_action(hook)), visible(event))),
        );
    }
    if found.is_empty() {
        found.push("has hooks".to_owned());
    }
    found
}

/// Returns what a hook runs, sends to or asks: the field that counts for its type, and all arguments.
/// The others could hide it.
fn hook_action(hook: &Value) -> String {
    let text = |key| hook.get(key).and_then(Value::as_str);
    let action = match text("type") {
        Some("command") => text("command"),
        Some("http") => text("url"),
        Some("prompt" | "agent") => text("prompt"),
        _ => None,
    };
    let args = hook.get("args").and_then(Value::as_array).into_iter().flatten();
    let args = args.filter_map(Value::as_str);
    std::iter::once(action.unwrap_or("?")).chain(args).collect::<Vec<_>>().join(" ")
}
