//! Replaces servers of a running session.

use std::collections::BTreeMap;

use robota_mcp::client::McpServers;
use serde_json::{Map, Value};

use super::{ConfiguredServers, EntryReader, SessionMcp};
use crate::project::Project;

/// What [`SessionMcp::replace`] changed.
///
/// ```
/// let replaced = robota_sdk::mcp::McpReplaced::default();
/// assert!(replaced.added.is_empty() && replaced.removed.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpReplaced {
    /// The servers that are new or have another configuration.
    pub added: Vec<String>,
    /// The servers that no entry names any longer.
    pub removed: Vec<String>,
    /// Why entries are not used, by name.
    pub errors: BTreeMap<String, String>,
}

impl SessionMcp {
    /// Replaces the servers of earlier calls, those of [`McpSetup::replaceable`] and those in the host
    /// program by these entries of `mcpServers`. A server of the settings stays unless an entry has
    /// its name. New servers are not started; see [`SessionMcp::connect`].
    ///
    /// [`McpSetup::replaceable`]: super::McpSetup::replaceable
    pub fn replace(&self, project: &Project, entries: &Map<String, Value>) -> McpReplaced {
        let mut found = ConfiguredServers::default();
        EntryReader::new(project).read_replaceable(entries, &mut found);
        let errors = found.errors.into_iter().map(|error| (error.name, error.message));
        let mut replaced = McpReplaced { errors: errors.collect(), ..McpReplaced::default() };
        // Locked until the end, so that two calls do not mix their servers.
        let mut configured = self.configured();
        for name in std::mem::take(&mut configured.replaceable) {
            if !found.scopes.contains_key(&name) {
                configured.scopes.remove(&name);
                if self.servers.remove(&name) {
                    replaced.removed.push(name);
                }
            }
        }
        for config in found.configs {
            let name = config.name.clone();
            configured.replaceable.insert(name.clone());
            match self.servers.config(&name) {
                // The same entry again keeps its connection.
                Some(running) if running == config => continue,
                Some(_) => {
                    self.servers.remove(&name);
                }
                None => {}
            }
            match self.servers.add(config) {
                Ok(()) => {
                    configured.scopes.extend(found.scopes.remove_entry(&name));
                    replaced.added.push(name);
                }
                Err(error) => {
                    replaced.errors.insert(name, error.to_string());
                }
            }
        }
        replaced
    }

    /// Connects to servers, at once, and returns why some cannot be reached, by name.
    pub async fn connect(&self, names: &[String]) -> BTreeMap<String, String> {
        let connect = async |servers: &McpServers, name: &String| {
            let error = servers.check(name).await.err()?;
            Some((name.clone(), error.to_string()))
        };
        let all = names.iter().map(|name| connect(&self.servers, name));
        futures::future::join_all(all).await.into_iter().flatten().collect()
    }
}
