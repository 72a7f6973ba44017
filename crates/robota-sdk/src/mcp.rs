//! The MCP servers of a session: which are configured, and how they are started.

mod elicitation;
mod mentions;
mod prompts;
mod sampling;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use robota_config::{McpAccess, McpListing, McpScope, Reached, mcp_servers};
use robota_core::tool::ToolSource as _;
use robota_exec::{Environment, Supervisor};
use robota_mcp::CatalogStore;
use robota_mcp::client::{Elicitor, HostChannel, McpOptions, McpServers, SessionTools};
use robota_mcp::config::{Endpoint, ServerConfig};
use robota_mcp::oauth::TokenStore;

pub(crate) use elicitation::QuestionElicitor;
pub(crate) use mentions::mentions;
pub(crate) use prompts::PromptSource;
pub(crate) use sampling::ModelSampler;

use crate::notice::Notice;
use crate::project::Project;

/// How long the opening of a session waits for servers whose tools are not known yet. Those that take
/// longer join a later model call.
pub const DEFAULT_WAIT: Duration = Duration::from_millis(500);

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
    /// The servers in the host program.
    pub host_servers: Vec<String>,
    /// Reaches the servers in the host program.
    pub host: Option<Arc<dyn HostChannel>>,
    /// Answers questions of servers. By default the handler of the model's questions does; without one
    /// they are declined.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// How long the opening of the session waits for servers whose tools are not known yet.
    pub wait: Duration,
}

impl Default for McpSetup {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            strict: false,
            host_servers: Vec::new(),
            host: None,
            elicitor: None,
            wait: DEFAULT_WAIT,
        }
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
    /// The name of the server.
    pub name: String,
    /// The kind of error: `invalid_config`, `url_missing_type` or `blocked_by_settings`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

/// The configured servers of a folder.
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
    /// Their configurations, highest precedence first.
    pub configs: Vec<ServerConfig>,
    /// Where each is configured.
    pub scopes: BTreeMap<String, McpScope>,
    /// Entries that cannot be used.
    pub errors: Vec<McpEntryError>,
    /// Messages for the user.
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
    let McpListing { entries, problems, waiting } = listing;
    let mut found = ConfiguredServers::default();
    found.notices.extend(problems.into_iter().map(Notice::Error));
    if !waiting.is_empty() {
        found.notices.push(Notice::Note(format!(
            "MCP servers of this folder are not started, because it is not trusted: {}. Run `robota \
             trust` to review them.",
            waiting.join(", ")
        )));
    }
    let access = McpAccess::load(&project.places, &project.settings);
    let variable = |name: &str| project.environment.get(name).map(str::to_owned);
    for entry in entries {
        match ServerConfig::parse(&entry.name, &entry.fields, &variable) {
            Ok(parsed) => {
                for warning in parsed.warnings {
                    let text = format!("MCP server `{}`: {warning}", entry.name);
                    found.notices.push(Notice::Note(text));
                }
                match access.refusal(&entry.name, reached(&parsed.config)) {
                    None => {
                        found.scopes.insert(entry.name.clone(), entry.scope);
                        found.configs.push(parsed.config);
                    }
                    Some(why) => found.refuse(entry.name, why),
                }
            }
            Err(error) => {
                let text = format!("the MCP server `{}` is not used: {error}", entry.name);
                found.notices.push(Notice::Note(text));
                let (code, message) = (error.code(), error.to_string());
                found.errors.push(McpEntryError { name: entry.name, code, message });
            }
        }
    }
    for name in &setup.host_servers {
        if found.scopes.contains_key(name) {
            continue;
        }
        match access.refusal(name, Reached::Host) {
            None => {
                found.scopes.insert(name.clone(), McpScope::Dynamic);
                found.configs.push(ServerConfig::in_host(name));
            }
            Some(why) => found.refuse(name.clone(), why),
        }
    }
    found
}

impl ConfiguredServers {
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
) -> McpOptions {
    let folder = project.places.mcp_folder();
    McpOptions {
        roots: project.workspace().additional,
        environment: environment.clone(),
        catalogs: folder.as_ref().map(|folder| CatalogStore::new(folder.join("servers"))),
        tokens: folder.map(|folder| TokenStore::new(folder.join("tokens.json"))),
        on_notice: Arc::new(move |text| on_notice(Notice::Note(text))),
        ..McpOptions::new(supervisor.clone(), project.cwd())
    }
}

/// The servers of a session.
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
    pub(crate) tools: SessionTools,
    scopes: Arc<BTreeMap<String, McpScope>>,
    errors: Arc<Vec<McpEntryError>>,
}

impl SessionMcp {
    /// Creates the servers of a session and starts those whose tools are not known. Returns none if
    /// there are no servers.
    pub(crate) fn start(
        project: &Project,
        setup: &McpSetup,
        options: McpOptions,
        notices: &mut Vec<Notice>,
    ) -> Option<Self> {
        let mut found = configured(project, setup);
        notices.append(&mut found.notices);
        if found.configs.is_empty() && found.errors.is_empty() {
            return None;
        }
        let options = McpOptions {
            host: setup.host.clone(),
            elicitor: setup.elicitor.clone().or(options.elicitor),
            ..options
        };
        let servers = McpServers::new(found.configs, &options);
        servers.start_unknown();
        Some(Self {
            tools: servers.session_tools(),
            servers,
            scopes: Arc::new(found.scopes),
            errors: Arc::new(found.errors),
        })
    }

    /// Waits for servers whose tools are not known yet. Those in the host program run already, so they
    /// get more time.
    pub(crate) async fn ready(&self, limit: Duration) {
        self.servers.settled(limit).await;
        self.servers.host_settled(HOST_WAIT).await;
    }

    /// Returns the servers.
    #[must_use]
    pub fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// Returns where a server is configured.
    #[must_use]
    pub fn scope(&self, name: &str) -> Option<McpScope> {
        self.scopes.get(name).copied()
    }

    /// Returns the entries that cannot be used.
    #[must_use]
    pub fn errors(&self) -> &[McpEntryError] {
        &self.errors
    }

    /// Returns the names of the offered tools.
    #[must_use]
    pub fn offered(&self) -> Vec<String> {
        let offered = self.tools.tools().into_iter().filter(|tool| tool.offered());
        offered.map(|tool| tool.spec().name.clone()).collect()
    }
}
