//! The MCP servers of a session: which are configured, and how they are started.

mod call;
mod elicitation;
mod hooked_elicitor;
mod instructions;
mod mentions;
mod prompts;
mod replace;
mod sampling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use robota_config::{McpAccess, McpListing, McpScope, Reached, mcp_servers};
use robota_core::tool::{ToolSource, ToolSpec};
use robota_exec::{Environment, Supervisor};
use robota_mcp::CatalogStore;
use robota_mcp::client::{
    Elicitor, HostChannel, McpClientOptions, McpServers, ServerInstructions, SessionTools,
};
use robota_mcp::config::{Endpoint, ServerConfig};
use robota_mcp::names::server_part;
use robota_mcp::oauth::TokenStore;
use robota_policy::Policy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use call::McpCallError;
pub(crate) use elicitation::QuestionElicitor;
pub(crate) use hooked_elicitor::HookedElicitor;
pub(crate) use instructions::{
    GivenInstructions, LateInstructions, compose as compose_instructions,
};
pub(crate) use mentions::mentions;
pub(crate) use prompts::PromptSource;
pub use replace::McpReplaced;
pub(crate) use sampling::ModelSampler;

use crate::agents::ToolLimits;
use crate::notice::Notice;
use crate::project::Project;
use crate::prompt::PromptPart;

/// How long the opening of a session waits for servers whose tools are not known yet, if they were named
/// for this run or have `alwaysLoad`. Those that take longer join a later model call.
pub const DEFAULT_WAIT: Duration = Duration::from_millis(500);

/// When the other servers start whose tools are not known yet, after the session was opened. The first
/// request of a run with a prompt is sent before.
const START_DELAY: Duration = Duration::from_millis(100);

/// How long the opening of a session waits for servers in the host program.
const HOST_WAIT: Duration = Duration::from_secs(10);

/// What the caller adds to the configured servers.
///
/// ```
/// use robota_sdk::McpSetup;
///
/// // Only this server, not those of the settings.
/// let servers = r#"{"mcpServers": {"docs": {"type": "http", "url": "https://example.com/mcp"}}}"#;
/// let setup =
///     McpSetup { arguments: vec![servers.to_owned()], strict: true, ..McpSetup::default() };
/// # let _ = setup;
/// ```
#[derive(Clone)]
pub struct McpSetup {
    /// Configurations of servers: files, or JSON.
    pub arguments: Vec<String>,
    /// Uses only the servers of `arguments` and `host_servers`.
    pub strict: bool,
    /// The only servers that are used of those that settings, files and plugins configure; none for all.
    pub only: Option<Vec<String>>,
    /// The servers in the host program.
    pub host_servers: Vec<String>,
    /// Entries of servers that [`SessionMcp::replace`] can remove again. They come before all others.
    pub replaceable: Map<String, Value>,
    /// Reaches the servers in the host program.
    pub host: Option<Arc<dyn HostChannel>>,
    /// Answers questions of servers. By default the handler of the model's questions does; without one
    /// they are declined.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// How long the opening of the session waits for servers whose tools are not known yet, if they are in
    /// `arguments` or `replaceable` or have `alwaysLoad`. It waits for no other server of the configuration.
    pub wait: Duration,
}

impl Default for McpSetup {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            strict: false,
            only: None,
            host_servers: Vec::new(),
            replaceable: Map::new(),
            host: None,
            elicitor: None,
            wait: DEFAULT_WAIT,
        }
    }
}

/// What a caller said about the configured servers, for agents that start them again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct McpChoice {
    arguments: Vec<String>,
    pub(crate) strict: bool,
    only: Option<Vec<String>>,
}

impl From<&McpSetup> for McpChoice {
    fn from(setup: &McpSetup) -> Self {
        let McpSetup { arguments, strict, only, .. } = setup;
        Self { arguments: arguments.clone(), strict: *strict, only: only.clone() }
    }
}

impl From<McpChoice> for McpSetup {
    fn from(McpChoice { arguments, strict, only }: McpChoice) -> Self {
        Self { arguments, strict, only, ..Self::default() }
    }
}

/// An entry that cannot be used.
///
/// ```
/// use robota_sdk::{McpSetup, Project, ProjectOptions, mcp};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let options = ProjectOptions { cwd: Some(folder.path().to_owned()), ..Default::default() };
/// let project = Project::load(options)?;
/// let servers = r#"{"mcpServers": {"docs": {"type": "stdio"}}}"#;
/// let setup = McpSetup { arguments: vec![servers.to_owned()], strict: true, ..McpSetup::default() };
/// let error = &mcp::configured(&project, &setup).errors[0];
/// assert_eq!((error.name.as_str(), error.code), ("docs", "invalid_config"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpEntryError {
    /// The name of the server, as the configuration has it.
    pub name: String,
    /// The kind of error: `invalid_config`, `url_missing_type` or `blocked_by_settings`.
    pub code: &'static str,
    /// What is wrong with the entry, for people.
    pub message: String,
}

/// Holds the configured servers of a folder.
///
/// ```
/// use robota_sdk::{McpSetup, Project, ProjectOptions, mcp};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let options = ProjectOptions { cwd: Some(folder.path().to_owned()), ..Default::default() };
/// let project = Project::load(options)?;
/// let servers = r#"{"mcpServers": {"docs": {"command": "docs-server"}}}"#;
/// let setup = McpSetup { arguments: vec![servers.to_owned()], strict: true, ..McpSetup::default() };
/// let configured = mcp::configured(&project, &setup);
/// assert_eq!(configured.configs[0].name, "docs");
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct ConfiguredServers {
    /// The servers that can be connected, those of the highest precedence first.
    pub configs: Vec<ServerConfig>,
    /// The scope that each server comes from, by the name of the server.
    pub scopes: BTreeMap<String, McpScope>,
    /// The entries that no connection can be made of, with the reasons.
    pub errors: Vec<McpEntryError>,
    /// What the user should know about the configuration, such as variables that are not set.
    pub notices: Vec<Notice>,
}

/// Returns the configured servers of a folder.
#[must_use]
pub fn configured(project: &Project, setup: &McpSetup) -> ConfiguredServers {
    let mut listing =
        mcp_servers(&project.places, &project.settings, &setup.arguments, setup.strict);
    if !setup.strict {
        listing.add_plugins(project.plugins.active());
    }
    let McpListing { mut entries, problems, waiting, managed, excluded } = listing;
    let mut found = ConfiguredServers::default();
    if let Some(file) = managed.filter(|_| !excluded.is_empty()) {
        found.notices.push(Notice::Note(format!(
            "MCP servers that are not used, because the administrator allows only those of {}: {}",
            file.display(),
            excluded.join(", ")
        )));
    }
    if let Some(only) = &setup.only {
        let known: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
        let missing = only.iter().filter(|name| {
            !known.contains(name) && !waiting.contains(name) && !setup.host_servers.contains(name)
        });
        found.notices.extend(missing.map(|name| {
            Notice::Note(format!(
                "there is no MCP server `{name}`; configured: {}",
                known.join(", ")
            ))
        }));
        // The caller named those of the arguments for this run.
        entries.retain(|entry| entry.scope == McpScope::Dynamic || only.contains(&entry.name));
    }
    found.notices.extend(problems.into_iter().map(Notice::Error));
    if !waiting.is_empty() {
        found.notices.push(Notice::Note(format!(
            "MCP servers of this folder are not started, because it is not trusted: {}. Run `robota \
             trust` to review them.",
            waiting.join(", ")
        )));
    }
    let reader = EntryReader::new(project);
    // First: what the host sets at run time is above the entries of files with the same name.
    reader.read_replaceable(&setup.replaceable, &mut found);
    for entry in entries {
        if !found.scopes.contains_key(&entry.name) {
            reader.read(&entry.name, &entry.fields, entry.scope, &mut found);
        }
    }
    for name in &setup.host_servers {
        if found.scopes.contains_key(name) {
            continue;
        }
        match reader.refusal(name, McpScope::Dynamic, Reached::Host) {
            None => {
                found.scopes.insert(name.clone(), McpScope::Dynamic);
                found.configs.push(ServerConfig::in_host(name));
            }
            Some(why) => found.refuse(name.clone(), why),
        }
    }
    found
}

/// Reads entries of servers and checks whether the settings permit them.
struct EntryReader<'a> {
    project: &'a Project,
    access: McpAccess,
}

impl<'a> EntryReader<'a> {
    fn new(project: &'a Project) -> Self {
        Self { project, access: McpAccess::load(&project.places, &project.settings) }
    }

    /// Returns why a server may not be used; none if it may.
    fn refusal(&self, name: &str, scope: McpScope, reached: Reached<'_>) -> Option<String> {
        let managed = self.project.settings.managed_servers.as_ref();
        match managed.filter(|_| scope != McpScope::Managed) {
            Some(managed) => Some(managed.refusal()),
            None => self.access.refusal(name, reached),
        }
    }

    fn read(
        &self,
        name: &str,
        fields: &Map<String, Value>,
        scope: McpScope,
        found: &mut ConfiguredServers,
    ) {
        let variable = |name: &str| self.project.environment.get(name).map(str::to_owned);
        match ServerConfig::parse(name, fields, &variable) {
            Ok(parsed) => {
                for warning in parsed.warnings {
                    found.notices.push(Notice::Note(format!("MCP server `{name}`: {warning}")));
                }
                match self.refusal(name, scope, reached(&parsed.config)) {
                    None => {
                        found.scopes.insert(name.to_owned(), scope);
                        let mut config = parsed.config;
                        // The opening of the session waits for servers that were named for this
                        // run.
                        config.named_for_run = scope == McpScope::Dynamic;
                        found.configs.push(config);
                    }
                    Some(why) => found.refuse(name.to_owned(), why),
                }
            }
            Err(error) => found.invalid(name, error.code(), error.to_string()),
        }
    }

    fn read_replaceable(&self, entries: &Map<String, Value>, found: &mut ConfiguredServers) {
        for (name, fields) in entries {
            match fields {
                Value::Object(fields) => self.read(name, fields, McpScope::Dynamic, found),
                _ => found.invalid(name, "invalid_config", "it is not an object".to_owned()),
            }
        }
    }
}

impl ConfiguredServers {
    fn invalid(&mut self, name: &str, code: &'static str, message: String) {
        let text = format!("the MCP server `{name}` is not used: {message}");
        self.notices.push(Notice::Note(text));
        self.errors.push(McpEntryError { name: name.to_owned(), code, message });
    }

    fn refuse(&mut self, name: String, why: String) {
        self.notices.push(Notice::Note(format!("the MCP server `{name}` is not used: {why}")));
        self.errors.push(McpEntryError { name, code: "blocked_by_settings", message: why });
    }
}

/// Returns how a server is reached.
fn reached(config: &ServerConfig) -> Reached<'_> {
    match &config.endpoint {
        Endpoint::Stdio { command, args, .. } => Reached::Command(command, args),
        Endpoint::Http(http) | Endpoint::Sse(http) => Reached::Url(&http.url),
        Endpoint::Host => Reached::Host,
    }
}

/// Returns what the servers of a folder share.
pub fn options(
    project: &Project,
    supervisor: &Supervisor,
    environment: &Environment,
    on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
) -> McpClientOptions {
    let folder = project.places.mcp_folder();
    McpClientOptions {
        roots: project.workspace().additional,
        environment: environment.clone(),
        catalogs: folder.as_ref().map(|folder| CatalogStore::new(folder.join("servers"))),
        // In the folder of the user, not of the project: a checkout must not read the logins.
        tokens: folder.map(|folder| TokenStore::new(folder.join("tokens.json"))),
        on_notice: Arc::new(move |text| on_notice(Notice::Note(text))),
        ..McpClientOptions::new(supervisor.clone(), project.cwd())
    }
}

/// Gives access to the MCP servers of a session.
///
/// ```
/// fn show(session: &robota_sdk::InteractiveSession) {
///     for error in session.mcp().map(|mcp| mcp.errors()).unwrap_or_default() {
///         println!("{}: {}", error.name, error.message);
///     }
/// }
/// # let _ = show;
/// ```
#[derive(Clone)]
pub struct SessionMcp {
    pub(crate) servers: McpServers,
    tools: SessionTools,
    configured: Arc<Mutex<Configured>>,
    errors: Arc<Vec<McpEntryError>>,
    /// A tool that it denies is not offered.
    policy: Policy,
    /// Those of the agent that the conversation runs as.
    limits: ToolLimits,
    /// The instructions of servers that the messages have.
    given: GivenInstructions,
}

/// Where the servers of a session are configured.
struct Configured {
    scopes: BTreeMap<String, McpScope>,
    /// The servers that [`SessionMcp::replace`] can remove.
    replaceable: BTreeSet<String>,
}

impl SessionMcp {
    /// Creates the servers of a session. Those whose tools are not known start a moment later. Returns none
    /// if there are no servers and no host that could add some.
    pub(crate) fn start(
        project: &Project,
        setup: &McpSetup,
        options: McpClientOptions,
        notices: &mut Vec<Notice>,
    ) -> Option<Self> {
        let mut found = configured(project, setup);
        notices.append(&mut found.notices);
        if found.configs.is_empty() && found.errors.is_empty() && setup.host.is_none() {
            return None;
        }
        let options = McpClientOptions {
            host: setup.host.clone(),
            elicitor: options.elicitor.or_else(|| setup.elicitor.clone()),
            ..options
        };
        // The host may replace them while the session runs.
        let in_host = found.configs.iter().filter(|config| config.endpoint == Endpoint::Host);
        let replaceable = in_host.map(|config| &config.name).chain(setup.replaceable.keys());
        let configured =
            Configured { replaceable: replaceable.cloned().collect(), scopes: found.scopes };
        let servers = McpServers::new(found.configs, &options);
        servers.start_unknown_after(START_DELAY);
        Some(Self {
            tools: servers.session_tools(),
            servers,
            configured: Arc::new(Mutex::new(configured)),
            errors: Arc::new(found.errors),
            policy: project.policy.clone(),
            limits: ToolLimits::default(),
            given: GivenInstructions::default(),
        })
    }

    /// Offers only what the agent leaves that the conversation runs as.
    pub(crate) fn limited(self, limits: ToolLimits) -> Self {
        Self { limits, ..self }
    }

    /// Waits for the servers that the first request needs. Those in the host program run already, so they
    /// get more time.
    pub(crate) async fn ready(&self, limit: Duration) {
        self.servers.awaited_settled(limit).await;
        self.servers.host_settled(HOST_WAIT).await;
    }

    /// Returns the connections to the MCP servers of this session.
    #[must_use]
    pub fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// Returns where a server is configured.
    #[must_use]
    pub fn scope(&self, name: &str) -> Option<McpScope> {
        self.configured().scopes.get(name).copied()
    }

    /// Returns the servers that the host program added to this session; no other process has them.
    pub(crate) fn of_host(&self) -> BTreeSet<String> {
        self.configured().replaceable.clone()
    }

    fn configured(&self) -> MutexGuard<'_, Configured> {
        self.configured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the entries that cannot be used.
    #[must_use]
    pub fn errors(&self) -> &[McpEntryError] {
        &self.errors
    }

    /// Returns the tools that a session has.
    pub(crate) fn source(&self) -> Arc<dyn ToolSource> {
        Arc::new(self.allowed())
    }

    /// Returns the tools that no rule denies, and that the agent leaves that the conversation runs as.
    pub(crate) fn allowed(&self) -> SessionTools {
        let (policy, limits) = (self.policy.clone(), self.limits.clone());
        self.tools.only(move |name| !policy.denies_tool(name) && limits.allows(name))
    }

    /// Returns the instructions for models of the servers that no rule denies.
    pub(crate) fn instructions(&self) -> Vec<ServerInstructions> {
        let mut all = self.servers.instructions();
        all.retain(|one| !self.denies_server(&one.server));
        if self.limits.allows_all() || all.is_empty() {
            return all;
        }
        // A server whose tools the conversation does not have should not instruct it.
        let tools = self.allowed().tools();
        all.retain(|one| {
            let prefix = format!("mcp__{}__", server_part(&one.server));
            tools.iter().any(|tool| tool.spec().name.starts_with(&prefix))
        });
        all
    }

    /// Returns whether a rule denies all tools of a server.
    fn denies_server(&self, server: &str) -> bool {
        // A name that only rules for the whole server match.
        self.policy.denies_tool(&format!("mcp__{}__*", server_part(server)))
    }

    /// Returns what gives the model the instructions that its system prompt does not have; `first` is what
    /// it has.
    pub(crate) fn late_instructions(&self, first: Vec<ServerInstructions>) -> LateInstructions {
        let mcp = self.clone();
        LateInstructions::new(move || mcp.instructions(), first, self.given.clone())
    }

    /// Returns the instructions of servers that were added to the conversation after the session was opened.
    #[must_use]
    pub fn added_instructions(&self) -> Vec<PromptPart> {
        self.given.parts()
    }

    /// Returns the names of the offered tools.
    #[must_use]
    pub fn offered(&self) -> Vec<String> {
        self.offered_specs().into_iter().map(|spec| spec.name).collect()
    }

    /// Returns the descriptions of the offered tools.
    #[must_use]
    pub fn offered_specs(&self) -> Vec<ToolSpec> {
        let offered = self.source().tools().into_iter().filter(|tool| tool.offered());
        offered.map(|tool| tool.spec().clone()).collect()
    }
}
