//! The MCP servers of the administrator: `managed-mcp.json`. If it exists, there are no other servers.

use std::path::PathBuf;

use super::{McpListing, McpScope, Servers, servers_of};
use crate::json::read_value;
use crate::managed::ManagedServersFile;

/// Holds the servers that the administrator configures; no others may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct ManagedServers {
    /// The files, highest precedence first, with their servers.
    files: Vec<(PathBuf, Servers)>,
    /// Why a file, or an entry of it, cannot be used.
    problems: Vec<String>,
}

impl ManagedServers {
    /// Reads the administrator's files, lowest first; none if there are none. A file that cannot be read
    /// has no servers, and still excludes those of others.
    pub(crate) fn read(files: &[ManagedServersFile]) -> Option<Self> {
        let mut all = Self { files: Vec::new(), problems: Vec::new() };
        for ManagedServersFile { path, content } in files.iter().rev() {
            let mut problems = Vec::new();
            let value = content.clone().and_then(|content| read_value(&content));
            let servers = value.map(|value| servers_of(&value, &mut problems));
            let servers = servers.unwrap_or_else(|problem| {
                problems.push(problem);
                Servers::default()
            });
            let path_shown = path.display();
            all.problems.extend(problems.iter().map(|it| format!("{path_shown}: {it}")));
            all.files.push((path.clone(), servers));
        }
        (!all.files.is_empty()).then_some(all)
    }

    /// Returns the file that is the only source of servers, for messages.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.files.first().map(|(path, _)| path.clone()).unwrap_or_default()
    }

    /// Returns why a server of another source is not used.
    #[must_use]
    pub fn refusal(&self) -> String {
        format!(
            "the administrator of this machine allows only the MCP servers of {}",
            self.file().display()
        )
    }

    /// Replaces the servers of all other sources.
    pub(super) fn replace(&self, others: McpListing) -> McpListing {
        let mut listing = McpListing {
            // What is wrong with files that are not used does not matter.
            problems: self.problems.clone(),
            managed: Some(self.file()),
            ..McpListing::default()
        };
        for (path, servers) in &self.files {
            listing.extend(McpScope::Managed, Some(path), servers.clone());
        }
        let asked = others.entries.iter().filter(|it| it.scope == McpScope::Dynamic);
        let asked: Vec<_> = asked.map(|entry| format!("`{}`", entry.name)).collect();
        if !asked.is_empty() {
            // An argument of this run cannot be obeyed, so this is an error.
            let names = asked.join(", ");
            listing.problems.push(format!("not used: {names}; {}", self.refusal()));
        }
        let others = others.entries.into_iter().filter(|it| it.scope != McpScope::Dynamic);
        listing.excluded = others.map(|entry| entry.name).collect();
        listing
    }
}
