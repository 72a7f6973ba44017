//! The tools of servers in one session. Many tools are not offered at once: the model finds them with
//! a search, and what it found is offered from its next call on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::tool::{Tool, ToolSource, ToolSpec};

use super::resources::{ListResources, ReadResource};
use super::search::ToolSearch;
use super::server::Server;
use super::servers::McpServers;
use super::tool::McpTool;
use crate::catalog::ToolDefinition;
use crate::names::tool_names;

/// The name of the tool that finds tools. Permission rules can name it.
pub const TOOL_SEARCH: &str = "ToolSearch";
/// The name of the tool that lists resources. Permission rules can name it.
pub const LIST_RESOURCES: &str = "ListMcpResources";
/// The name of the tool that reads a resource. Permission rules can name it.
pub const READ_RESOURCE: &str = "ReadMcpResource";

/// Up to this many tools are offered at once.
const MAX_OFFERED: usize = 40;
/// Up to this many bytes of descriptions and schemas are offered at once: about 2 % of a usual context
/// window.
const MAX_OFFERED_BYTES: usize = 16 * 1024;

/// Offers the tools of servers in one session. Clones share what a search found.
#[derive(Clone)]
pub struct SessionTools {
    shared: Arc<Shared>,
    /// What every tool must satisfy by its name.
    allowed: Vec<NameFilter>,
    /// What every server must satisfy by its name.
    visible: Vec<NameFilter>,
}

/// Returns whether a tool or a server of this name is offered.
type NameFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

struct Shared {
    servers: McpServers,
    loaded: Mutex<BTreeSet<String>>,
    loads: AtomicU64,
}

/// A tool of a server that can be called.
pub(super) type Found = (Arc<Server>, (ToolSpec, ToolDefinition));

/// A tool of a server, and its name for models.
pub(super) struct Named {
    pub(super) server: Arc<Server>,
    pub(super) name: String,
    definition: ToolDefinition,
}

impl Named {
    fn found(self) -> Option<Found> {
        let spec = McpTool::spec_of(&self.name, &self.definition)?;
        Some((self.server, (spec, self.definition)))
    }
}

impl SessionTools {
    pub(super) fn new(servers: McpServers) -> Self {
        let shared = Shared { servers, loaded: Mutex::default(), loads: AtomicU64::new(0) };
        Self { shared: Arc::new(shared), allowed: Vec::new(), visible: Vec::new() }
    }

    /// Returns only the tools whose names this allows. A search finds no others.
    #[must_use]
    pub fn only(&self, allowed: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let mut only = self.clone();
        only.allowed.push(Arc::new(allowed));
        only
    }

    /// Returns only the tools and resources of the servers whose names this allows.
    #[must_use]
    pub fn only_servers(&self, visible: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let mut only = self.clone();
        only.visible.push(Arc::new(visible));
        only
    }

    /// Returns the servers whose tools and resources there are.
    pub(super) fn visible_servers(&self) -> Vec<Arc<Server>> {
        let mut servers = self.servers().all();
        servers.retain(|server| self.visible.iter().all(|visible| visible(server.name())));
        servers
    }

    /// Returns one of these servers by its name.
    pub(super) fn visible_server(&self, name: &str) -> Option<Arc<Server>> {
        let found = self.servers().find(name)?;
        self.visible.iter().all(|visible| visible(found.name())).then_some(found)
    }

    fn allows(&self, name: &str) -> bool {
        self.allowed.iter().all(|allows| allows(name))
    }

    pub(super) fn servers(&self) -> &McpServers {
        &self.shared.servers
    }

    /// Returns all tools, with their names for models.
    fn named(&self) -> Vec<Named> {
        let mut named = Vec::new();
        for server in self.visible_servers() {
            let tools = server.tools();
            let names: Vec<_> = tools.iter().map(ToolDefinition::name).collect();
            let names = tool_names(server.name(), &names);
            let of_server = names.into_iter().zip(tools).filter(|(name, _)| self.allows(name));
            named.extend(of_server.map(|(name, definition)| Named {
                server: server.clone(),
                name,
                definition,
            }));
        }
        named
    }

    /// Returns all tools that can be called.
    pub(super) fn all(&self) -> Vec<Found> {
        self.named().into_iter().filter_map(Named::found).collect()
    }

    /// Returns whether the tools of servers are found by a search instead of being offered.
    fn defers(tools: &[Named]) -> bool {
        let deferrable = || tools.iter().filter(|tool| !tool.server.config.always_load);
        let bytes = |tool: &Named| match McpTool::spec_of(&tool.name, &tool.definition) {
            Some(spec) => {
                spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
            }
            None => 0,
        };
        deferrable().count() > MAX_OFFERED
            || deferrable().map(bytes).sum::<usize>() > MAX_OFFERED_BYTES
    }

    fn loaded(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.shared.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers these tools from the next model call on.
    pub(super) fn load(&self, names: impl IntoIterator<Item = String>) {
        let mut loaded = self.loaded();
        let before = loaded.len();
        loaded.extend(names);
        if loaded.len() != before {
            // Only for new names: with each version the tools are sent again, and the service's
            // cache is lost.
            self.shared.loads.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns whether a server is, or will be, started for the first time.
    pub(super) fn is_starting(&self) -> bool {
        self.visible_servers().iter().any(|server| server.is_starting())
    }
}

impl ToolSource for SessionTools {
    fn version(&self) -> u64 {
        self.servers().changes.version() + self.shared.loads.load(Ordering::Relaxed)
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let all = self.named();
        let defers = SessionTools::defers(&all);
        let loaded = self.loaded().clone();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        if (defers || self.is_starting()) && self.allows(TOOL_SEARCH) {
            tools.push(Arc::new(ToolSearch::new(self.clone(), &all)));
        }
        if self.visible_servers().iter().any(|server| server.has_resources()) {
            let (list, read): (Arc<dyn Tool>, Arc<dyn Tool>) = (
                Arc::new(ListResources::new(self.clone())),
                Arc::new(ReadResource::new(self.clone())),
            );
            tools.extend([list, read].into_iter().filter(|tool| self.allows(&tool.spec().name)));
        }
        let this = self.clone();
        let on_call: Arc<dyn Fn(&str) + Send + Sync> =
            Arc::new(move |name| this.load([name.to_owned()]));
        for tool in all {
            let offered = !defers || tool.server.config.always_load || loaded.contains(&tool.name);
            let found = if offered {
                tool.found()
            } else {
                // Hidden and not left out: a call of a tool that the model remembers loads it
                // instead of failing.
                Some((tool.server, (McpTool::hidden_spec(tool.name), tool.definition)))
            };
            if let Some((server, found)) = found {
                tools.push(Arc::new(McpTool::new(&server, found, offered, on_call.clone())));
            }
        }
        tools
    }
}
