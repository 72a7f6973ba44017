//! The MCP servers of a plugin.

use serde_json::{Map, Value};

use super::InstalledPlugin;
use crate::clean::one_line;
use crate::mcp::{Servers, servers_of};
use crate::trust::server_start;

impl InstalledPlugin {
    /// Returns the MCP servers by name, and what is wrong with them. The names have that of the plugin
    /// in front, so that their tools are `mcp__plugin_PLUGIN_SERVER__TOOL`.
    #[must_use]
    pub fn mcp_servers(&self) -> (Servers, Vec<String>) {
        let (mut servers, mut problems) = (Servers::default(), Vec::new());
        let given = match &self.manifest.mcp_servers {
            None => vec![Value::from("./.mcp.json")],
            Some(Value::Array(parts)) => parts.clone(),
            Some(one) => vec![one.clone()],
        };
        for part in given {
            let read = match part {
                Value::String(path) => self.read_json(&path),
                Value::Object(_) => Ok(Some(part)),
                _ => Err("`mcpServers` is a path, an object, or a list of them".to_owned()),
            };
            match read {
                Ok(None) => {}
                Ok(Some(value)) => self.add_servers(&value, &mut servers, &mut problems),
                Err(problem) => problems.push(problem),
            }
        }
        (servers, problems)
    }

    fn add_servers(&self, value: &Value, servers: &mut Servers, problems: &mut Vec<String>) {
        let mut value = value.clone();
        self.fill_in(&mut value);
        for (name, fields) in servers_of(&value, problems) {
            servers.insert(format!("plugin_{}_{name}", self.manifest.name), fields);
        }
    }
}

/// Returns what a server does when it is started, for the user.
pub(super) fn request(name: &str, fields: &Map<String, Value>) -> String {
    let name = one_line(name);
    let start = server_start(fields);
    match start.as_str().map(one_line) {
        Some(start) if fields.get("command").is_some_and(Value::is_string) => {
            format!("starts the MCP server `{name}`: {start}")
        }
        Some(start) => format!("connects to the MCP server `{name}`: {start}"),
        None => format!("has the MCP server `{name}`"),
    }
}
