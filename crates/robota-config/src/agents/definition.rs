//! The definition of one agent.

use robota_core::permission::Mode;
use robota_core::task::Isolation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AgentModel;
use crate::frontmatter::{Fields, Header};
use crate::layer::{LayerScope, Origin};
use crate::report::Problem;

/// Which memory an agent reads and writes, by who shares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentMemory {
    /// For all projects of the user. A checkout needs trust to use it.
    User,
    /// For the project, shared with its other users.
    Project,
    /// For the project, not committed, so for this user alone.
    Local,
}

/// An agent that the model or the user can give tasks to, as its file or an argument defines it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentDefinition {
    /// The name by which the model and the user call it; unique in a folder.
    pub name: String,
    /// What it does, for the model that chooses an agent.
    pub description: String,
    /// Its system prompt, without the instructions of the project.
    pub prompt: String,
    /// Its model; that of its parent by default.
    pub model: AgentModel,
    /// The only tools it has; none means all tools of its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The tools it does not have. They are removed before `tools` applies.
    pub disallowed_tools: Vec<String>,
    /// Its permission mode; none means that of its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<Mode>,
    /// The most rounds of a run; none means no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The skills whose text it starts with.
    pub skills: Vec<String>,
    /// Its MCP servers: an object, or a list of names and objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Value>,
    /// Its hooks, as the settings have them; absent in an untrusted file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Value>,
    /// Its memory; none if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<AgentMemory>,
    /// Whether it runs in the background.
    pub background: bool,
    /// The effort of its model; none leaves it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Where it works; in the folder of its parent by default.
    pub isolation: Isolation,
    /// Whether it runs in a process of its own; none leaves it to the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_process: Option<bool>,
    /// Whether its prompt contains the instructions of the project.
    pub instructions: bool,
    /// Its colour in a terminal; none leaves it to the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The first input, if the main conversation runs as this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_prompt: Option<String>,
    /// The layer and file that it comes from.
    pub origin: Origin,
    /// The hash of its file, for [`crate::TrustStore::grant_file`], if it asks for something that needs
    /// trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The names of its fields that need trust.
    pub requests: Vec<String>,
    /// Whether its file may run commands and widen permissions. Otherwise the fields that could are
    /// absent, and the report names them.
    pub trusted: bool,
}

/// Fields of an untrusted file that have no effect.
const NEEDS_TRUST: &str = "has no effect, because the file is not trusted";

impl AgentDefinition {
    /// Reads a definition; none if it has no valid name.
    pub(super) fn read(
        header: &Header,
        prompt: &str,
        origin: &Origin,
        trusted: bool,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let mut fields = Fields::new(header, origin.layer, origin.file.as_deref());
        let name = name(&mut fields);
        let agent = name.map(|name| Self::fields(name, &mut fields, prompt, origin, trusted));
        problems.append(&mut fields.problems);
        agent
    }

    fn fields(
        name: String,
        fields: &mut Fields<'_>,
        prompt: &str,
        origin: &Origin,
        trusted: bool,
    ) -> Self {
        let description = fields.text("description").unwrap_or_else(|| {
            fields.warn(
                None,
                None,
                "`description` is missing, so no model can choose it".to_owned(),
            );
            String::new()
        });
        let mode = fields.choice(
            "permissionMode",
            "plan, default, dontAsk, acceptEdits or bypassPermissions",
            mode,
        );
        let memory = fields.choice("memory", "user, project or local", memory);
        let isolation = fields.choice("isolation", "worktree or none", isolation);
        let mut agent = Self {
            name,
            description,
            prompt: prompt.trim().to_owned(),
            model: fields.text("model").map(|text| AgentModel::parse(&text)).unwrap_or_default(),
            tools: tools(fields),
            disallowed_tools: fields.words("disallowedTools"),
            permission_mode: mode,
            max_turns: fields.number("maxTurns"),
            skills: fields.words("skills"),
            mcp_servers: fields.value("mcpServers"),
            hooks: fields.value("hooks"),
            memory,
            background: fields.flag("background").unwrap_or(false),
            effort: fields.text("effort"),
            isolation: isolation.unwrap_or_default(),
            own_process: fields.flag("ownProcess"),
            instructions: fields.flag("instructions").unwrap_or(true),
            color: fields.text("color"),
            initial_prompt: fields.text("initialPrompt"),
            origin: origin.clone(),
            hash: None,
            requests: Vec::new(),
            trusted,
        };
        agent.requests = agent.needs_trust();
        if !trusted {
            agent.withhold(fields);
        }
        agent
    }

    /// Adds the restrictions of a definition that this one replaces, unless this one is trusted.
    pub(super) fn keep_restrictions(&mut self, replaced: &Self) {
        // Definitions of one checkout have the same authors, so none of them protects the user.
        if self.trusted || replaced.origin.layer.scope() == LayerScope::Project {
            return;
        }
        for tool in &replaced.disallowed_tools {
            if !self.disallowed_tools.contains(tool) {
                self.disallowed_tools.push(tool.clone());
            }
        }
        if let Some(allowed) = &replaced.tools {
            // An untrusted file may have fewer tools than the one it replaces, not others.
            self.tools = match self.tools.take() {
                Some(own) => Some(own.into_iter().filter(|tool| allowed.contains(tool)).collect()),
                None => Some(allowed.clone()),
            };
        }
    }

    /// Returns what can run commands, widen permissions or reach files of other projects.
    fn needs_trust(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.hooks.is_some() {
            found.push("hooks".to_owned());
        }
        if self.mcp_servers.is_some() {
            found.push("mcpServers".to_owned());
        }
        // No mode is stricter than plan.
        if self.permission_mode.is_some_and(|mode| mode != Mode::Plan) {
            found.push("permissionMode".to_owned());
        }
        if self.memory == Some(AgentMemory::User) {
            // All projects of the user share it.
            found.push("memory".to_owned());
        }
        if self.initial_prompt.is_some() {
            // It is entered as if the user had typed it, so it can name commands and skills.
            found.push("initialPrompt".to_owned());
        }
        found
    }

    /// Removes the fields that need trust.
    fn withhold(&mut self, fields: &mut Fields<'_>) {
        for field in &self.requests {
            fields.warn_of(field, NEEDS_TRUST);
            match field.as_str() {
                "hooks" => self.hooks = None,
                "mcpServers" => self.mcp_servers = None,
                "permissionMode" => self.permission_mode = None,
                "initialPrompt" => self.initial_prompt = None,
                _ => self.memory = None,
            }
        }
    }
}

fn name(fields: &mut Fields<'_>) -> Option<String> {
    let Some(name) = fields.text("name") else {
        fields.warn(None, None, "not an agent: it has no `name` in a header".to_owned());
        return None;
    };
    // `:` separates the name of a plugin, and `-` would make the name an option.
    if name.contains(':') || name.starts_with('-') || name.contains('\n') {
        let message = "a name has no `:` and does not begin with `-`, so the agent is left out";
        fields.warn_of("name", message);
        return None;
    }
    Some(name)
}

/// Returns the only tools of an agent. A list without items is no tools; a field without a value is
/// all tools.
fn tools(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let given = fields.has("tools").then(|| fields.words("tools"))?;
    (!given.iter().any(|tool| tool == "*")).then_some(given)
}

fn mode(text: &str) -> Option<Mode> {
    if text == "manual" { Some(Mode::Default) } else { text.parse().ok() }
}

fn memory(text: &str) -> Option<AgentMemory> {
    match text {
        "user" => Some(AgentMemory::User),
        "project" => Some(AgentMemory::Project),
        "local" => Some(AgentMemory::Local),
        _ => None,
    }
}

fn isolation(text: &str) -> Option<Isolation> {
    match text {
        "worktree" => Some(Isolation::Worktree),
        "none" => Some(Isolation::None),
        _ => None,
    }
}
