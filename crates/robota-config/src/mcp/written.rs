//! The servers that files contain, whether or not they apply in the working folder.

use serde_json::{Map, Value};

use super::servers_of;
use crate::files::read_bounded;
use crate::json::read_value;
use crate::places::Places;
use crate::settings::Settings;

/// Returns the entries of every scope, also those that another one hides, that belong to another folder in
/// the user's files, or that wait for trust. A file that cannot be read has none.
#[must_use]
pub fn written_servers(places: &Places, settings: &Settings) -> Vec<(String, Map<String, Value>)> {
    let mut all = vec![settings.values.mcp_servers.clone()];
    let project = Some(places.cwd.join(".mcp.json"));
    for file in [project, places.mcp_file(), places.claude_state()].into_iter().flatten() {
        let Some(content) = read_bounded(&file).ok().flatten() else { continue };
        let Ok(value) = read_value(&content) else { continue };
        all.push(servers_of(&value, &mut Vec::new()));
        let folders = value.get("projects").and_then(Value::as_object);
        for folder in folders.into_iter().flat_map(|folders| folders.values()) {
            if folder.get("mcpServers").is_some() {
                all.push(servers_of(folder, &mut Vec::new()));
            }
        }
    }
    all.into_iter().flatten().collect()
}
