//! The MCP servers that files and arguments configure, with their precedence. What an entry means is
//! not decided here.
//!
//! Servers of the checkout (`.mcp.json`) apply only in a trusted folder. The user's own servers are in
//! `~/.robota/mcp.json` and in the file of the same form that Claude Code writes, `~/.claude.json`:
//! `mcpServers` for all folders, `projects.<folder>.mcpServers` for one.

mod access;
mod managed;
mod write;
mod written;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use access::{McpAccess, McpServerMatch, Reached};
pub use managed::ManagedServers;
pub use write::{McpWriteError, RemovedServer, add_server, remove_server};
pub use written::written_servers;

use crate::clean::one_line;
use crate::files::read_bounded;
use crate::json::read_value;
use crate::layer::Layer;
use crate::places::{Places, SettingSource};
use crate::plugins::InstalledPlugin;
use crate::settings::Settings;

/// Servers by name, with the fields of each.
pub(crate) type Servers = IndexMap<String, Map<String, Value>>;

/// Where a server is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpScope {
    /// By the administrator, in `managed-mcp.json`. Then no other servers are used.
    Managed,
    /// By an argument of this run (`--mcp-config`).
    Dynamic,
    /// By the user, for this folder only.
    Local,
    /// By the key `mcpServers` of a settings file.
    Settings,
    /// By `.mcp.json` of the checkout, which needs trust.
    Project,
    /// By the user, for all folders.
    User,
    /// By a plugin that the user enabled.
    Plugin,
}

impl McpScope {
    /// Returns the name of the scope.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Dynamic => "dynamic",
            Self::Local => "local",
            Self::Settings => "settings",
            Self::Project => "project",
            Self::User => "user",
            Self::Plugin => "plugin",
        }
    }
}

/// Describes an MCP server as a file, a plugin or an argument configures it.
#[derive(Debug, Clone, PartialEq)]
pub struct McpEntry {
    /// The name by which `mcp` commands and permission rules mean it.
    pub name: String,
    /// Where it is configured, which decides its precedence.
    pub scope: McpScope,
    /// The file; none for an argument.
    pub file: Option<PathBuf>,
    /// The entry as it is written, with variables not replaced.
    pub fields: Map<String, Value>,
}

/// Holds the servers of `.mcp.json`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectServers {
    /// The entries by name; none if the folder is not trusted.
    pub entries: Servers,
    /// The names of entries that wait for trust.
    pub waiting: Vec<String>,
    /// Why the file, or an entry of it, cannot be used.
    pub problems: Vec<String>,
}

/// Lists the configured servers of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpListing {
    /// The servers that apply, highest precedence first. Each name is there once.
    pub entries: Vec<McpEntry>,
    /// What is wrong with files and arguments, for the user.
    pub problems: Vec<String>,
    /// The names of servers of the checkout that wait for trust.
    pub waiting: Vec<String>,
    /// The administrator's file, if it is the only source of servers.
    pub managed: Option<PathBuf>,
    /// The names of servers that are not used because the administrator allows no others.
    pub excluded: Vec<String>,
}

/// The servers of one of the user's files: for all folders, and for the working folder.
struct UserServers {
    path: PathBuf,
    all: Servers,
    local: Servers,
}

/// Returns the servers of a file: those of `mcpServers`, or of the file itself if it has no such key
/// and has servers. An entry that is not an object is left out and reported.
pub(crate) fn servers_of(file: &Value, problems: &mut Vec<String>) -> Servers {
    let is_server = |value: &Value| value.get("command").or(value.get("url")).is_some();
    let servers = match (file.get("mcpServers"), file) {
        (Some(Value::Object(servers)), _) => servers,
        (Some(Value::Null), _) => return Servers::default(),
        (Some(_), _) => {
            problems.push("`mcpServers` is not an object".to_owned());
            return Servers::default();
        }
        (None, Value::Object(servers)) if servers.values().any(is_server) => servers,
        (None, Value::Object(_)) => return Servers::default(),
        (None, _) => {
            problems.push("it is not an object".to_owned());
            return Servers::default();
        }
    };
    let mut found = Servers::default();
    for (name, fields) in servers {
        match fields {
            Value::Object(fields) => {
                found.insert(name.clone(), fields.clone());
            }
            _ => problems.push(format!("the server `{}` is not an object", one_line(name))),
        }
    }
    found
}

impl Places {
    /// Returns the file with the user's own servers.
    #[must_use]
    pub fn mcp_file(&self) -> Option<PathBuf> {
        self.home.as_deref().map(|home| home.join(".robota/mcp.json"))
    }

    /// Returns the folder with what the user approved of servers.
    #[must_use]
    pub fn mcp_folder(&self) -> Option<PathBuf> {
        self.home.as_deref().map(|home| home.join(".robota/mcp"))
    }

    fn claude_state(&self) -> Option<PathBuf> {
        // Claude Code moves the file with its folder.
        match &self.claude_dir {
            Some(folder) => Some(folder.join(".claude.json")),
            None => self.home.as_deref().map(|home| home.join(".claude.json")),
        }
    }
}

/// Returns the configured servers. `arguments` are files or JSON; with `strict` nothing else is used. If
/// the administrator configures servers, there are no others.
#[must_use]
pub fn mcp_servers(
    places: &Places,
    settings: &Settings,
    arguments: &[String],
    strict: bool,
) -> McpListing {
    let listing = unmanaged_servers(places, settings, arguments, strict);
    match &settings.managed_servers {
        Some(managed) => managed.replace(listing),
        None => listing,
    }
}

fn unmanaged_servers(
    places: &Places,
    settings: &Settings,
    arguments: &[String],
    strict: bool,
) -> McpListing {
    let mut listing = McpListing::default();
    for argument in arguments {
        match read_argument(places, argument) {
            Ok((file, servers)) => listing.extend(McpScope::Dynamic, file.as_deref(), servers),
            Err(problem) => listing.problems.push(problem),
        }
    }
    if strict {
        return listing;
    }
    // Both are the user's; the own file comes first.
    let own = [places.mcp_file(), places.claude_state()];
    let mut own: Vec<_> = own
        .into_iter()
        .flatten()
        .filter_map(|path| read_file(path, &places.cwd, &mut listing.problems))
        .collect();
    if places.includes(SettingSource::Local) {
        for file in &mut own {
            let servers = std::mem::take(&mut file.local);
            listing.extend(McpScope::Local, Some(&file.path), servers);
        }
    }
    let of_settings = settings.values.mcp_servers.clone();
    listing.extend(McpScope::Settings, None, of_settings);
    listing.add_project(places, settings);
    if places.includes(SettingSource::User) {
        for file in own {
            listing.extend(McpScope::User, Some(&file.path), file.all);
        }
    }
    listing
}

impl McpListing {
    /// Adds servers whose names are not taken.
    fn extend(&mut self, scope: McpScope, file: Option<&Path>, servers: Servers) {
        for (name, fields) in servers {
            if !self.entries.iter().any(|entry| entry.name == name) {
                self.entries.push(McpEntry { name, scope, file: file.map(Path::to_owned), fields });
            }
        }
    }

    /// Adds the servers of plugins that the user enabled, unless the administrator allows no others.
    pub fn add_plugins<'a>(&mut self, plugins: impl IntoIterator<Item = &'a InstalledPlugin>) {
        for plugin in plugins {
            let (servers, mut problems) = plugin.mcp_servers();
            if self.managed.is_some() {
                self.excluded.extend(servers.into_keys());
                continue;
            }
            if !servers.is_empty() {
                let created = plugin.create_data();
                problems.extend(created.err().map(|it| format!("its data folder: {it}")));
            }
            let name = &plugin.manifest.name;
            self.problems.extend(problems.iter().map(|it| format!("the plugin `{name}`: {it}")));
            self.extend(McpScope::Plugin, Some(&plugin.root), servers);
        }
    }

    fn add_project(&mut self, places: &Places, settings: &Settings) {
        let project = &settings.project_servers;
        self.problems.extend_from_slice(&project.problems);
        let values = &settings.values;
        let disabled = values.disabled_mcpjson_servers.clone().unwrap_or_default();
        let enabled = values.enabled_mcpjson_servers.clone().unwrap_or_default();
        // In a trusted folder all are used unless the settings say otherwise: the user saw them
        // when deciding.
        // Absent means true.
        let all = values.enable_all_project_mcp_servers != Some(false);
        let used = |name: &String| !disabled.contains(name) && (all || enabled.contains(name));
        self.waiting = project.waiting.iter().filter(|name| used(name)).cloned().collect();
        let servers = project.entries.clone().into_iter().filter(|(name, _)| used(name)).collect();
        self.extend(McpScope::Project, Some(&places.cwd.join(".mcp.json")), servers);
    }

    /// Returns the server with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&McpEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

impl ProjectServers {
    /// Reads the content of `.mcp.json`, or reports why there is none.
    pub(crate) fn read(file: Option<&Result<Vec<u8>, String>>, trusted: bool) -> Self {
        let content = match file {
            None => return Self::default(),
            Some(Err(reason)) => {
                let problems = vec![format!("cannot read .mcp.json: {reason}")];
                return Self { problems, ..Self::default() };
            }
            Some(Ok(content)) => content,
        };
        let mut problems = Vec::new();
        let servers = match read_value(content) {
            Ok(file) => servers_of(&file, &mut problems),
            Err(problem) => {
                problems.push(problem);
                Servers::default()
            }
        };
        let problems = problems.iter().map(|it| format!(".mcp.json is not valid: {it}")).collect();
        match trusted {
            true => Self { entries: servers, waiting: Vec::new(), problems },
            false => {
                let waiting = servers.into_keys().collect();
                Self { entries: Servers::default(), waiting, problems }
            }
        }
    }
}

/// Checks an argument of [`mcp_servers`].
///
/// # Errors
/// If it cannot be read; the text says why.
pub fn check_mcp_argument(places: &Places, argument: &str) -> Result<(), String> {
    read_argument(places, argument).map(|_| ())
}

/// Reads an argument: JSON, or the path of a file.
fn read_argument(places: &Places, argument: &str) -> Result<(Option<PathBuf>, Servers), String> {
    let (file, text) = if argument.trim_start().starts_with('{') {
        (None, argument.as_bytes().to_vec())
    } else {
        let path = places.cwd.join(argument);
        let content = read_bounded(&path);
        let content =
            content.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let content = content.ok_or_else(|| format!("file not found: {}", path.display()))?;
        (Some(path), content)
    };
    let value = read_value(&text)
        .map_err(|error| format!("the configuration of MCP servers is not valid JSON: {error}"))?;
    // Unlike in a file, servers without the key are not accepted: it is more likely a wrong file.
    if !value.get("mcpServers").is_some_and(Value::is_object) {
        return Err("the configuration of MCP servers has no object `mcpServers`".to_owned());
    }
    let mut problems = Vec::new();
    let servers = servers_of(&value, &mut problems);
    match problems.first() {
        // Unlike a file that is found, an argument can be corrected now.
        Some(problem) => Err(format!("the configuration of MCP servers is not valid: {problem}")),
        None => Ok((file, servers)),
    }
}

/// Reads one of the user's files; none if it does not exist or cannot be read, which is reported.
fn read_file(path: PathBuf, cwd: &Path, problems: &mut Vec<String>) -> Option<UserServers> {
    let content = match read_bounded(&path) {
        Ok(content) => content?,
        Err(error) => {
            problems.push(format!("cannot read {}: {error}", path.display()));
            return None;
        }
    };
    let mut found = Vec::new();
    let value = read_value(&content).unwrap_or_else(|problem| {
        found.push(problem);
        json!({})
    });
    // Claude Code keeps other things in the same file, so its servers have a key.
    let servers = |value: &Value, found: &mut Vec<String>| match value.get("mcpServers") {
        Some(_) => servers_of(value, found),
        None => Servers::default(),
    };
    let all = servers(&value, &mut found);
    // As Claude Code writes it, so that both programs find the same servers.
    let folder = cwd.display().to_string();
    let local = value.get("projects").and_then(|projects| projects.get(&folder));
    let local = local.map(|local| servers(local, &mut found)).unwrap_or_default();
    problems.extend(found.iter().map(|it| format!("{} is not valid: {it}", path.display())));
    Some(UserServers { path, all, local })
}

impl Places {
    fn includes(&self, source: SettingSource) -> bool {
        match source {
            SettingSource::User => self.reads(Layer::UserRobota),
            SettingSource::Project => self.reads(Layer::ProjectRobota),
            SettingSource::Local => self.reads(Layer::ProjectRobotaLocal),
        }
    }
}

#[cfg(test)]
mod tests;
