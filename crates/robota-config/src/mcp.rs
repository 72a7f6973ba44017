//! The MCP servers that files and arguments configure, with their precedence. What an entry means is
//! not decided here.
//!
//! Servers of the checkout (`.mcp.json`) apply only in a trusted folder. The user's own servers are in
//! `~/.robota/mcp.json` and in the file of the same form that Claude Code writes, `~/.claude.json`:
//! `mcpServers` for all folders, `projects.<folder>.mcpServers` for one.

mod access;
mod write;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use access::{McpAccess, McpServerMatch, Reached};
pub use write::{McpWriteError, add_server, remove_server};

use crate::files::read_bounded;
use crate::layer::Layer;
use crate::places::{Places, SettingSource};
use crate::plugins::Plugin;
use crate::settings::Settings;

/// Servers by name, with the fields of each.
pub(crate) type Servers = IndexMap<String, Map<String, Value>>;

/// Where a server is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpScope {
    /// By an argument of this run.
    Dynamic,
    /// By the user, for this folder.
    Local,
    /// By the settings.
    Settings,
    /// By the checkout.
    Project,
    /// By the user, for all folders.
    User,
    /// By a plugin.
    Plugin,
}

impl McpScope {
    /// Returns the name of the scope.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Local => "local",
            Self::Settings => "settings",
            Self::Project => "project",
            Self::User => "user",
            Self::Plugin => "plugin",
        }
    }
}

/// A configured server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpEntry {
    /// Its name.
    pub name: String,
    /// Where it is configured.
    pub scope: McpScope,
    /// The file; none for an argument.
    pub file: Option<PathBuf>,
    /// The entry, as it is written.
    pub fields: Map<String, Value>,
}

/// The servers of `.mcp.json`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectServers {
    /// The entries by name; none if the folder is not trusted.
    pub entries: Servers,
    /// The names of entries that wait for trust.
    pub waiting: Vec<String>,
    /// Why the file cannot be used.
    pub problem: Option<String>,
}

/// The configured servers of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpListing {
    /// The servers that apply, highest precedence first. Each name is there once.
    pub entries: Vec<McpEntry>,
    /// What is wrong with files and arguments, for the user.
    pub problems: Vec<String>,
    /// Servers of the checkout that wait for trust.
    pub waiting: Vec<String>,
}

/// The part of a file that configures servers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServersFile {
    mcp_servers: Servers,
    projects: IndexMap<String, FolderServers>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FolderServers {
    mcp_servers: Servers,
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
        match &self.claude_dir {
            Some(folder) => Some(folder.join(".claude.json")),
            None => self.home.as_deref().map(|home| home.join(".claude.json")),
        }
    }
}

/// Returns the configured servers. `arguments` are files or JSON; with `strict` nothing else is used.
#[must_use]
pub fn mcp_servers(
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
    let own = [places.mcp_file(), places.claude_state()];
    let mut own: Vec<_> = own
        .into_iter()
        .flatten()
        .filter_map(|path| match read_file(&path) {
            Ok(file) => file.map(|file| (path, file)),
            Err(problem) => {
                listing.problems.push(problem);
                None
            }
        })
        .collect();
    if places.includes(SettingSource::Local) {
        let folder = places.cwd.display().to_string();
        for (path, file) in &mut own {
            let servers = file.projects.shift_remove(&folder).unwrap_or_default().mcp_servers;
            listing.extend(McpScope::Local, Some(path), servers);
        }
    }
    let of_settings = settings.values.mcp_servers.clone();
    listing.extend(McpScope::Settings, None, of_settings);
    listing.add_project(places, settings);
    if places.includes(SettingSource::User) {
        for (path, file) in own {
            listing.extend(McpScope::User, Some(&path), file.mcp_servers);
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

    /// Adds the servers of plugins that the user enabled.
    pub fn add_plugins<'a>(&mut self, plugins: impl IntoIterator<Item = &'a Plugin>) {
        for plugin in plugins {
            let (servers, problems) = plugin.mcp_servers();
            let name = &plugin.manifest.name;
            self.problems.extend(problems.iter().map(|it| format!("the plugin `{name}`: {it}")));
            self.extend(McpScope::Plugin, Some(&plugin.root), servers);
        }
    }

    fn add_project(&mut self, places: &Places, settings: &Settings) {
        let project = &settings.project_servers;
        self.problems.extend(project.problem.clone());
        let values = &settings.values;
        let disabled = values.disabled_mcpjson_servers.clone().unwrap_or_default();
        let enabled = values.enabled_mcpjson_servers.clone().unwrap_or_default();
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
    /// Reads the content of `.mcp.json`.
    pub(crate) fn read(content: Option<&[u8]>, trusted: bool) -> Self {
        let Some(content) = content else { return Self::default() };
        match serde_json::from_slice::<ServersFile>(content) {
            Ok(file) if trusted => Self { entries: file.mcp_servers, ..Self::default() },
            Ok(file) => Self { waiting: file.mcp_servers.into_keys().collect(), ..Self::default() },
            Err(error) => Self {
                problem: Some(format!(".mcp.json is not valid: {error}")),
                ..Self::default()
            },
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
    let value: Value = serde_json::from_slice(&text)
        .map_err(|error| format!("the configuration of MCP servers is not valid JSON: {error}"))?;
    if !value.get("mcpServers").is_some_and(Value::is_object) {
        return Err("the configuration of MCP servers has no object `mcpServers`".to_owned());
    }
    let servers: ServersFile = serde_json::from_value(value)
        .map_err(|error| format!("the configuration of MCP servers is not valid: {error}"))?;
    Ok((file, servers.mcp_servers))
}

fn read_file(path: &Path) -> Result<Option<ServersFile>, String> {
    let content = read_bounded(path);
    let content = content.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Some(content) = content else { return Ok(None) };
    serde_json::from_slice(&content)
        .map(Some)
        .map_err(|error| format!("{} is not valid: {error}", path.display()))
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
