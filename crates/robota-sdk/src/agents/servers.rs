//! The MCP servers of an agent: those of its session, or those that its definition names.

use std::sync::Arc;

use robota_config::Settings;
use robota_config::agents::AgentDefinition;
use robota_core::tool::ToolSource;
use robota_mcp::client::{McpServers, ServerInstructions, SessionTools};
use robota_mcp::names::server_part;
use serde_json::{Map, Value, json};

use super::{AgentParts, ToolLimits, tools};
use crate::mcp::{
    self, DEFAULT_WAIT, GivenInstructions, LateInstructions, McpChoice, McpSetup, SessionMcp,
};
use crate::notice::Notice;
use crate::project::Project;

/// The servers that a definition names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NamedServers {
    /// Servers of the session.
    pub(crate) names: Vec<String>,
    /// Servers that are started for the agent alone.
    pub(crate) own: Map<String, Value>,
}

impl NamedServers {
    /// Reads the field `mcpServers`: an object, or a list of names and objects. None for a definition
    /// that has all servers of the session.
    pub(crate) fn of(definition: &AgentDefinition) -> Option<Self> {
        let mut named = Self::default();
        let mut add = |name: &str, config: &Value| match config {
            // `{"name": {}}` names a server of the session, as the plain name does: an empty object
            // starts nothing.
            Value::Object(config) if !config.is_empty() => {
                named.own.insert(name.to_owned(), Value::Object(config.clone()));
            }
            _ => named.names.push(name.to_owned()),
        };
        match definition.mcp_servers.as_ref()? {
            Value::Object(servers) => servers.iter().for_each(|(name, it)| add(name, it)),
            Value::Array(servers) => servers.iter().for_each(|server| match server {
                Value::String(name) => add(name, &Value::Null),
                Value::Object(servers) => servers.iter().for_each(|(name, it)| add(name, it)),
                _ => {}
            }),
            Value::String(name) => add(name, &Value::Null),
            _ => {}
        }
        Some(named)
    }

    /// Returns the configuration of the servers that are started for the agent, or why they are not.
    pub(crate) fn started(
        self,
        choice: &McpChoice,
        settings: &Settings,
    ) -> Option<Result<String, String>> {
        if self.own.is_empty() {
            return None;
        }
        if let Some(managed) = &settings.managed_servers {
            let why = managed.refusal();
            return Some(Err(format!("its MCP servers are not started: {why}")));
        }
        if choice.strict {
            let names: Vec<_> = self.own.keys().map(String::as_str).collect();
            let names = names.join(", ");
            return Some(Err(format!(
                "its MCP servers are not started, because only those of the arguments may be used: \
                 {names}"
            )));
        }
        Some(Ok(json!({ "mcpServers": self.own }).to_string()))
    }
}

/// Returns whether a definition names a server of its session, or tools of it.
pub(super) fn names_server(definition: &AgentDefinition, server: &str) -> bool {
    let of_servers = NamedServers::of(definition);
    let named = of_servers.is_some_and(|named| named.names.iter().any(|name| name == server));
    let part = server_part(server);
    let is_tool_of = |entry: &String| {
        let tool = entry.split('(').next().unwrap_or_default().trim();
        // The end of the part is checked, because `mcp__docs` must not match tools of a server
        // `docs-old`.
        let rest = tool.strip_prefix("mcp__").and_then(|tool| tool.strip_prefix(part.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
    };
    named || definition.tools.iter().flatten().any(is_tool_of)
}

/// The MCP servers of one agent. Clones share them.
#[derive(Clone, Default)]
pub(super) struct AgentServers {
    /// Those of the session, and those that were started for the agent, with the tools that it may use.
    used: Vec<(SessionMcp, SessionTools)>,
}

impl AgentServers {
    /// Returns the tools that the agent may use.
    pub(super) fn sources(&self) -> impl Iterator<Item = Arc<dyn ToolSource>> {
        self.used.iter().map(|(_, tools)| -> Arc<dyn ToolSource> { Arc::new(tools.clone()) })
    }

    /// Returns the servers, those of the session first: a server of the agent must not answer for one that
    /// a hook of the user asks.
    pub(super) fn all(&self) -> Vec<McpServers> {
        self.used.iter().map(|(mcp, _)| mcp.servers.clone()).collect()
    }

    /// Returns the instructions of the servers whose tools the agent may use, and that no rule denies.
    pub(super) fn instructions(&self) -> Vec<ServerInstructions> {
        let mut found = Vec::new();
        for (mcp, tools) in &self.used {
            let mut all = mcp.instructions();
            if all.is_empty() {
                continue;
            }
            let tools = tools.tools();
            all.retain(|one| {
                // A server whose tools the agent does not have should not instruct it.
                let prefix = format!("mcp__{}__", server_part(&one.server));
                tools.iter().any(|tool| tool.spec().name.starts_with(&prefix))
            });
            found.append(&mut all);
        }
        found
    }

    /// Returns what gives the agent the instructions that its system prompt does not have; `first` is what
    /// it has. None for an agent without servers.
    pub(super) fn late_instructions(
        &self,
        first: Vec<ServerInstructions>,
    ) -> Option<LateInstructions> {
        let servers = self.clone();
        let known = move || servers.instructions();
        let late = || LateInstructions::new(known, first, GivenInstructions::default());
        (!self.used.is_empty()).then(late)
    }
}

impl AgentParts {
    /// Returns the MCP servers of an agent. Servers of its own are started.
    pub(super) async fn servers(
        &self,
        definition: &AgentDefinition,
        only: Option<&[String]>,
        project: &Project,
    ) -> AgentServers {
        // Also with a read-only sandbox: none of these tools is known to change files.
        let tools = |mcp: &SessionMcp, servers: Option<Vec<String>>| {
            let (limits, only) = (ToolLimits::of(definition), only.map(<[String]>::to_vec));
            let named = servers.clone();
            let tools = mcp.allowed().only(move |name| {
                is_of_server(named.as_deref(), name) && tools::has(&limits, only.as_deref(), name)
            });
            // The tools for resources serve all servers; those of this agent have only these.
            tools.only_servers(move |server| {
                let part = server_part(server);
                servers
                    .as_ref()
                    .is_none_or(|names| names.iter().any(|name| server_part(name) == part))
            })
        };
        let named = NamedServers::of(definition);
        let mut servers = AgentServers::default();
        if let Some(mcp) = &self.mcp {
            let names = named.as_ref().map(|named| named.names.clone());
            servers.used.push((mcp.clone(), tools(mcp, names)));
        }
        if let Some(own) =
            named.and_then(|named| named.started(&self.mcp_choice, &project.settings))
        {
            if let Err(refused) = &own {
                let text = format!("the agent `{}`: {refused}", definition.name);
                (self.on_notice)(Notice::Note(text));
            }
            let setup = McpSetup {
                arguments: own.into_iter().collect(),
                // Only the servers of the definition. Those of the session are in the list already.
                strict: true,
                ..McpSetup::default()
            };
            let (supervisor, environment) = (&self.supervisor, &self.environment);
            let options = mcp::options(project, supervisor, environment, self.on_notice.clone());
            let mut notices = Vec::new();
            let started = SessionMcp::start(project, &setup, options, &mut notices);
            notices.into_iter().for_each(|notice| (self.on_notice)(notice));
            if let Some(mcp) = started {
                // The definition has these servers because the agent uses them.
                mcp.servers.settled(DEFAULT_WAIT).await;
                let tools = tools(&mcp, None);
                servers.used.push((mcp, tools));
            }
        }
        servers
    }
}

/// Returns whether a tool belongs to one of these servers; without a list every tool does.
fn is_of_server(servers: Option<&[String]>, tool: &str) -> bool {
    let Some(servers) = servers else { return true };
    // The search for tools and the tools for resources have no prefix and serve all servers.
    let Some(rest) = tool.strip_prefix("mcp__") else { return !servers.is_empty() };
    servers.iter().any(|name| rest.starts_with(&format!("{}__", server_part(name))))
}

#[cfg(test)]
mod tests;
