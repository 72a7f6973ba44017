//! Adds servers to files and removes them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{McpScope, Servers, servers_of};
use crate::files::read_bounded;
use crate::managed::server_files;
use crate::places::Places;
use crate::write::atomic;

/// A server cannot be added or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpWriteError {
    /// The file cannot be read, parsed or written.
    #[error("{}: {problem}", file.display())]
    File {
        /// The file that stays as it is.
        file: PathBuf,
        /// What happened, as the operating system or the parser reports it.
        problem: String,
    },
    /// There is no such file for the scope.
    #[error("servers cannot be written to the scope `{}`", .0.name())]
    Scope(McpScope),
    /// The administrator configures the servers, and no others are used.
    #[error(
        "not added: the administrator of this machine allows only the MCP servers of {}",
        .0.display()
    )]
    Managed(PathBuf),
    /// There is a server of this name.
    #[error("there is already an MCP server `{name}` in {}; remove it first", file.display())]
    Exists {
        /// The name that another entry of the file has.
        name: String,
        /// The file in which the entry is.
        file: PathBuf,
    },
}

/// Adds a server and returns the file.
///
/// # Errors
/// If there is one of this name, the administrator allows no others, or the file cannot be written.
pub fn add_server(
    places: &Places,
    scope: McpScope,
    name: &str,
    entry: Map<String, Value>,
) -> Result<PathBuf, McpWriteError> {
    if let Some(managed) = server_files(places).pop() {
        // It would be in a file that nothing reads.
        return Err(McpWriteError::Managed(managed.path));
    }
    let file = file(places, scope)?;
    let mut content = read(&file)?;
    let servers = servers(&mut content, places, scope);
    // Never replaced: the entry may have a key that is nowhere else.
    if servers.get(name).is_some() {
        return Err(McpWriteError::Exists { name: name.to_owned(), file });
    }
    *below(servers, name) = Value::Object(entry);
    write(&file, &content)?;
    Ok(file)
}

/// A server that was removed from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedServer {
    /// The file that it was in.
    pub file: PathBuf,
    /// What was configured, so that it can be added again.
    pub entry: Value,
}

/// Removes a server and returns what was configured; none if it is not there.
///
/// # Errors
/// If the file cannot be read or written.
pub fn remove_server(
    places: &Places,
    scope: McpScope,
    name: &str,
) -> Result<Option<RemovedServer>, McpWriteError> {
    let file = file(places, scope)?;
    let mut content = read(&file)?;
    let servers = servers(&mut content, places, scope).as_object_mut();
    let Some(entry) = servers.and_then(|servers| servers.shift_remove(name)) else {
        return Ok(None);
    };
    write(&file, &content)?;
    Ok(Some(RemovedServer { file, entry }))
}

fn file(places: &Places, scope: McpScope) -> Result<PathBuf, McpWriteError> {
    let file = match scope {
        McpScope::Project => Some(places.cwd.join(".mcp.json")),
        McpScope::User | McpScope::Local => places.mcp_file(),
        McpScope::Managed | McpScope::Dynamic | McpScope::Settings | McpScope::Plugin => None,
    };
    file.ok_or(McpWriteError::Scope(scope))
}

/// Returns the object with the servers of a scope.
fn servers<'a>(content: &'a mut Value, places: &Places, scope: McpScope) -> &'a mut Value {
    let holder = match scope {
        McpScope::Local => {
            let folder = places.cwd.display().to_string();
            below(below(content, "projects"), &folder)
        }
        McpScope::Managed
        | McpScope::Dynamic
        | McpScope::Settings
        | McpScope::Project
        | McpScope::User
        | McpScope::Plugin => content,
    };
    let servers = below(holder, "mcpServers");
    if !servers.is_object() {
        *servers = json!({});
    }
    servers
}

/// Returns the value with this key of an object.
fn below<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    &mut value[key]
}

fn read(file: &Path) -> Result<Value, McpWriteError> {
    let failed = |problem: String| McpWriteError::File { file: file.to_owned(), problem };
    match read_bounded(file).map_err(|error| failed(error.to_string()))? {
        None => Ok(json!({})),
        Some(content) => {
            // A file with comments is read, but writing it would lose them.
            let value: Value = serde_json::from_slice(&content)
                .map_err(|error| failed(format!("it is not valid: {error}")))?;
            let servers = match value.get("mcpServers") {
                Some(_) => Servers::default(),
                None => servers_of(&value, &mut Vec::new()),
            };
            // A file of the short form gets the key that all other programs expect.
            Ok(if servers.is_empty() { value } else { json!({ "mcpServers": servers }) })
        }
    }
}

fn write(file: &Path, content: &Value) -> Result<(), McpWriteError> {
    let failed = |problem: String| McpWriteError::File { file: file.to_owned(), problem };
    let mut text =
        serde_json::to_string_pretty(content).map_err(|error| failed(error.to_string()))?;
    text.push('\n');
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| atomic::replace(file, text.as_bytes(), None));
    written.map_err(|error| failed(error.to_string()))
}
