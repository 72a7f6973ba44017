//! The tools of an agent.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use super::shared::shared_list;
use super::{AwaitedTools, Tool, ToolSpec};
use crate::guard::guarded;

/// Finds tools by name. The list that a model is offered is sorted, so that the same tools always
/// produce the same request.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: IndexMap<String, Arc<dyn Tool>>,
    /// Read once: a search asks the code of no tool.
    aliases: HashMap<&'static str, Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
    sha256: String,
}

/// Two tools have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool named `{0}`")]
pub struct ToolNameTaken(pub String);

impl ToolSet {
    /// Creates a set of these tools.
    ///
    /// # Errors
    /// When two have the same name.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, ToolNameTaken> {
        let mut by_name = IndexMap::new();
        for tool in tools {
            let name = tool.spec().name.clone();
            if by_name.insert(name.clone(), tool).is_some() {
                return Err(ToolNameTaken(name));
            }
        }
        by_name.sort_keys();
        let mut aliases = HashMap::new();
        for tool in by_name.values() {
            for alias in tool.aliases() {
                aliases.entry(*alias).or_insert_with(|| tool.clone());
            }
        }
        let offered = by_name.values().filter(|tool| tool.offered());
        let specs: Vec<&ToolSpec> = offered.map(|tool| tool.spec()).collect();
        // Plain data always serialises. An empty hash would only cost one more `tools_set` event.
        let bytes = serde_json::to_vec(&specs).unwrap_or_default();
        let sha256 = crate::hash::hex(&Sha256::digest(&bytes));
        let specs = shared_list(&specs);
        Ok(Self { tools: by_name, aliases, specs, sha256 })
    }

    /// Returns the tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).or_else(|| self.aliases.get(name))
    }

    /// Returns all names by which the tools can be called, those that are not offered included, sorted.
    #[must_use]
    pub fn callable_names(&self) -> Vec<String> {
        let aliases = self.aliases.keys().map(|name| (*name).to_owned());
        let mut names: Vec<_> = self.tools.keys().cloned().chain(aliases).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the tools that do not exist yet and may soon.
    #[must_use]
    pub fn awaited(&self) -> Vec<AwaitedTools> {
        // A tool that panics awaits nothing.
        let awaited = |tool: &Arc<dyn Tool>| guarded("a tool", || tool.awaited());
        self.tools.values().filter_map(awaited).flatten().collect()
    }

    /// Iterates over the tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Returns the descriptions that models are offered.
    #[must_use]
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// Returns the SHA-256 of the descriptions, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the names of the tools, without their aliases, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.tools.keys().cloned().collect()
    }

    /// Returns true if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl std::fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ToolSet").field(&self.names()).finish()
    }
}
