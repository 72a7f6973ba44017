//! One server: when it is started, what it offers, and which of its tools the user approved.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use robota_core::backoff::Backoff;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::Connection;
use super::list;
use super::options::McpClientOptions;
use crate::catalog::{Catalog, PromptDefinition, ToolChanges, ToolDefinition};
use crate::config::{Endpoint, ServerConfig};
use crate::error::McpError;
use crate::review::ChangeReview;

/// A server that failed this often within [`FAILURE_PERIOD`] is not started again.
const MAX_FAILURES: usize = 3;
/// The time within which [`MAX_FAILURES`] failures end the attempts to start a server.
const FAILURE_PERIOD: Duration = Duration::from_secs(300);
/// The waits before a start after failures.
const RESTART: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(1));
/// At most this often the lists of a server are read again because it says that they changed.
const REFRESH_PERIOD: Duration = Duration::from_secs(1);

/// Whether a server can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStatus {
    /// It has not been needed yet, so it was not started.
    Pending,
    /// It is being started or connected to; calls wait for it.
    Starting,
    /// It is connected and its lists were read.
    Connected,
    /// It refuses requests without a login, or with the rights of this login.
    NeedsAuth,
    /// It did not start, or broke off; the next call tries again.
    Failed,
    /// The user turned it off; it is not started by calls.
    Disabled,
}

/// Reports the status of a server, for lists.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerReport {
    /// The key of the server in `mcpServers`.
    pub name: String,
    /// Whether it can be used, and if not, why.
    pub status: ServerStatus,
    /// How it is reached: `stdio`, `http`, `sse` or `sdk`.
    pub transport: &'static str,
    /// The names of its tools that can be called, as the server knows them.
    pub tools: Vec<String>,
    /// How many prompts it offers as commands.
    pub prompts: usize,
    /// Its instructions for models as it sends them now. Models get those that the user approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Its own name and version; null before the first connection.
    pub server_info: Value,
    /// The version of the protocol that was agreed on; empty before the first connection.
    pub protocol: String,
    /// Why it failed; none if it did not.
    pub error: Option<String>,
    /// Changes that the user must approve; none if there are none.
    pub changes: Option<ToolChangesReport>,
}

/// Changes that the user must approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChangesReport {
    /// Tools that were not there when the user approved.
    pub added: Vec<String>,
    /// Tools whose definition differs from the approved one.
    pub changed: Vec<String>,
    /// Whether its instructions for models differ.
    pub instructions: bool,
}

/// Reports what an approval accepted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Approved {
    /// The tools that were new, differed or were missing, and whether the instructions
    /// differed.
    pub changes: ToolChanges,
    /// What was approved, in full; none if nothing needed approval.
    pub review: Option<ChangeReview>,
}

/// Holds what a server says to models about its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInstructions {
    /// The key of the server in `mcpServers`, to which models assign the text.
    pub server: String,
    /// The text that the user approved, at most 2 KB and without hidden characters.
    pub text: String,
}

/// Announces changes of servers.
#[derive(Clone)]
pub(super) struct Changes(watch::Sender<u64>);

impl Changes {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(1))
    }

    pub(super) fn announce(&self) {
        self.0.send_modify(|version| *version += 1);
    }

    pub(super) fn version(&self) -> u64 {
        *self.0.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

pub(super) struct Server {
    pub(super) config: ServerConfig,
    pub(super) options: McpClientOptions,
    changes: Changes,
    state: Mutex<State>,
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

struct State {
    status: ServerStatus,
    /// What the user approved.
    approved: Option<Catalog>,
    /// What the server offers now; none before it was connected.
    live: Option<Catalog>,
    changes: ToolChanges,
    failures: Vec<Instant>,
    problem: Option<String>,
    /// Cancels a start in progress. A child of the server's `stop`, replaced when it is used.
    cancel_start: CancellationToken,
}

impl State {
    fn review(&self) -> Option<ChangeReview> {
        if !self.changes.need_approval() {
            return None;
        }
        ChangeReview::between(self.approved.as_ref()?, self.live.as_ref()?)
    }
}

impl Server {
    pub(super) fn new(
        config: ServerConfig,
        options: McpClientOptions,
        changes: Changes,
    ) -> Arc<Self> {
        let stored = options.catalogs.as_ref().filter(|_| is_pinned(&config));
        let approved = stored.and_then(|catalogs| catalogs.load(config.identity()));
        let stop = CancellationToken::new();
        Arc::new(Self {
            config,
            options,
            changes,
            state: Mutex::new(State {
                status: ServerStatus::Pending,
                approved,
                live: None,
                changes: ToolChanges::default(),
                failures: Vec::new(),
                problem: None,
                cancel_start: stop.child_token(),
            }),
            connection: tokio::sync::Mutex::default(),
            _stop_on_drop: stop.clone().drop_guard(),
            stop,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether its tools are known, so that it need not be started to offer them.
    pub(super) fn is_known(&self) -> bool {
        self.state().approved.is_some()
    }

    pub(super) fn status(&self) -> ServerStatus {
        self.state().status
    }

    /// Returns whether its tools are not known and it was not started yet.
    pub(super) fn waits_for_start(self: &Arc<Self>) -> bool {
        let state = self.state();
        state.approved.is_none() && state.status == ServerStatus::Pending
    }

    /// Returns whether its tools are not known yet, and will be once it has started.
    pub(super) fn is_starting(&self) -> bool {
        let state = self.state();
        state.approved.is_none()
            && matches!(state.status, ServerStatus::Pending | ServerStatus::Starting)
    }

    /// Returns whether the first request waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        self.config.always_load
            || self.config.named_for_run
            || self.config.endpoint == Endpoint::Host
    }

    /// Returns the tools that the user approved and the server, as far as is known, still has.
    pub(super) fn tools(&self) -> Vec<ToolDefinition> {
        let state = self.state();
        if state.status == ServerStatus::Disabled {
            return Vec::new();
        }
        let approved = state.approved.iter().flat_map(|catalog| &catalog.tools);
        // Hidden as soon as it differs: a server could otherwise get a tool approved and change its
        // description, which a model follows, later.
        let usable = approved.filter(|tool| {
            let name = tool.name();
            !state.changes.concern(name) && !state.changes.removed.iter().any(|gone| gone == name)
        });
        usable.cloned().collect()
    }

    fn with_catalog<T>(&self, read: impl FnOnce(&Catalog) -> T) -> Option<T> {
        let state = self.state();
        let enabled = state.status != ServerStatus::Disabled;
        // Prompts need no approval: a user calls them by name. Reading a resource is a call that the
        // gate judges.
        state.live.as_ref().or(state.approved.as_ref()).filter(|_| enabled).map(read)
    }

    pub(super) fn prompts(&self) -> Vec<PromptDefinition> {
        self.with_catalog(|catalog| catalog.prompts.clone()).unwrap_or_default()
    }

    pub(super) fn has_resources(&self) -> bool {
        self.with_catalog(|catalog| catalog.resources).unwrap_or_default()
    }

    /// Returns the instructions that the user approved.
    pub(super) fn instructions(&self) -> Option<ServerInstructions> {
        let state = self.state();
        let approved = state.approved.as_ref().filter(|_| state.status != ServerStatus::Disabled);
        let text = approved?.instructions.as_ref().filter(|text| !text.trim().is_empty())?;
        Some(ServerInstructions { server: self.config.name.clone(), text: text.clone() })
    }

    pub(super) fn report(&self) -> ServerReport {
        let tools = self.tools();
        let described = self.with_catalog(Catalog::clone).unwrap_or_default();
        let Catalog { instructions, server_info, protocol, prompts, .. } = described;
        let state = self.state();
        ServerReport {
            name: self.config.name.clone(),
            status: state.status,
            transport: self.config.transport(),
            tools: tools.iter().map(|tool| tool.name().to_owned()).collect(),
            prompts: prompts.len(),
            instructions,
            server_info,
            protocol,
            error: state.problem.clone(),
            changes: state.changes.need_approval().then(|| ToolChangesReport {
                added: state.changes.added.clone(),
                changed: state.changes.changed.clone(),
                instructions: state.changes.instructions,
            }),
        }
    }

    /// Returns the connection; starts the server if it does not run.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, McpError> {
        // Held during the start: callers that arrive meanwhile wait for this start instead of
        // starting a second program.
        let mut slot = self.connection.lock().await;
        // Before the status is read: `disable` sets the status first and cancels then, so one of the
        // two is always seen.
        let cancelled = self.state().cancel_start.clone();
        if self.status() == ServerStatus::Disabled {
            return Err(McpError::Connect {
                server: self.config.name.clone(),
                problem: "it is turned off".to_owned(),
            });
        }
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        if slot.take().is_some() {
            // The connection ended without a request of this side. It counts like a failed start,
            // so that a server that keeps exiting is not restarted without end.
            self.state().failures.push(Instant::now());
        }
        let wait = self.next_start()?;
        let starting = Starting::begin(self);
        let opening = Box::pin(async {
            tokio::time::sleep(wait).await;
            let connection = Arc::new(Connection::open(&self.config, &self.options).await?);
            // A connection whose lists cannot be read is a failed start, since nothing of the
            // server could be offered.
            self.refresh(&connection).await?;
            connection.ask_for_log().await;
            Ok(connection)
        });
        // A server that never answers must not delay the end of the session until its time limit.
        let opened = cancelled.run_until_cancelled(opening).await;
        let Some(opened) = opened else {
            // Its guard sets the status.
            return Err(McpError::Connect {
                server: self.config.name.clone(),
                problem: "its start was cancelled".to_owned(),
            });
        };
        starting.end();
        match opened {
            Ok(connection) => {
                self.set_status(ServerStatus::Connected, None);
                tokio::spawn(watch_lists(
                    Arc::downgrade(self),
                    connection.clone(),
                    self.stop.clone(),
                ));
                *slot = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                let status = match &error {
                    McpError::NeedsLogin { .. } | McpError::NeedsRights { .. } => {
                        ServerStatus::NeedsAuth
                    }
                    _ => ServerStatus::Failed,
                };
                // Counted also for a missing login: a retry without one would only repeat the
                // refusal.
                self.state().failures.push(Instant::now());
                self.set_status(status, Some(error.to_string()));
                Err(error)
            }
        }
    }

    /// Returns the connection like [`Server::connection`], unless the call that needs it is cancelled.
    pub(super) async fn connection_until(
        self: &Arc<Self>,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, McpError> {
        let connected = cancel.run_until_cancelled(self.connection()).await;
        connected.unwrap_or_else(|| {
            let problem = "the call was cancelled".to_owned();
            Err(McpError::Connect { server: self.config.name.clone(), problem })
        })
    }

    /// Returns how long to wait before the next start.
    fn next_start(&self) -> Result<Duration, McpError> {
        let mut state = self.state();
        let now = Instant::now();
        state.failures.retain(|failure| now.duration_since(*failure) < FAILURE_PERIOD);
        let times = state.failures.len();
        if times >= MAX_FAILURES {
            return Err(McpError::GaveUp {
                server: self.config.name.clone(),
                times,
                within: FAILURE_PERIOD,
                problem: state.problem.clone().unwrap_or_else(|| "it ended".to_owned()),
            });
        }
        Ok(RESTART.after(u32::try_from(times).unwrap_or(u32::MAX)))
    }

    fn set_status(&self, status: ServerStatus, problem: Option<String>) {
        {
            let mut state = self.state();
            state.status = status;
            state.problem = problem;
        }
        self.changes.announce();
    }

    /// Reads what the server offers, and compares its tools with the approved ones.
    async fn refresh(&self, connection: &Connection) -> Result<(), McpError> {
        let info = connection.info();
        let mut catalog = Catalog::default();
        catalog.describe(&info);
        let has = |what: &str| info.get("capabilities").is_some_and(|all| all.get(what).is_some());
        if has("tools") {
            let listed = list::list(connection, "tools/list", "tools").await?;
            if listed.cut {
                let name = &self.config.name;
                let text = format!(
                    "the MCP server `{name}` has more tools than can be used ({}); the rest is left out",
                    listed.items.len()
                );
                self.options.notice(text);
            }
            let mut names = std::collections::HashSet::new();
            let tools = listed.items.into_iter().filter_map(ToolDefinition::read);
            // The first of two tools with one name counts. With the second, a server could replace
            // an approved tool.
            catalog.tools = tools.filter(|tool| names.insert(tool.name().to_owned())).collect();
            // Sorted, so that a server that lists in another order each time does not change the
            // prompt, which would empty the cache of the service.
            catalog.tools.sort_by(|one, other| one.name().cmp(other.name()));
        }
        if has("prompts") {
            // A server whose prompts fail still has tools.
            let listed = list::list(connection, "prompts/list", "prompts").await;
            let items = listed.map(|listed| listed.items).unwrap_or_default();
            catalog.prompts = items.iter().filter_map(PromptDefinition::read).collect();
        }
        self.take_over(catalog);
        Ok(())
    }

    #[expect(clippy::needless_pass_by_value, reason = "the caller does not use it afterwards")]
    fn take_over(&self, catalog: Catalog) {
        let store = self.options.catalogs.as_ref().filter(|_| is_pinned(&self.config));
        let (save, notice) = {
            let mut state = self.state();
            let before = state.changes.clone();
            let approve = match (&state.approved, store) {
                (Some(approved), Some(_)) => {
                    state.changes = ToolChanges::between(approved, &catalog);
                    false
                }
                // The tools of a server that is seen for the first time are those that the user
                // configured.
                (None, _) | (_, None) => true,
            };
            if approve {
                state.approved = Some(catalog.clone());
                state.changes = ToolChanges::default();
            }
            // A server that announces the same change again and again is reported once.
            let news = state.changes.need_approval() && state.changes != before;
            let notice = news.then(|| {
                let name = &self.config.name;
                format!(
                    "the MCP server `{name}` has changed since you approved it ({}). What is new or \
                     changed is not used; review it with `robota mcp get {name}`, then run `robota \
                     mcp approve {name}`",
                    state.changes
                )
            });
            state.live = Some(catalog.clone());
            (approve, notice)
        };
        if let (true, Some(store)) = (save, store)
            && let Err(error) = store.save(self.config.identity(), &catalog)
        {
            self.options.notice(format!("the tools of MCP servers cannot be stored: {error}"));
        }
        if let Some(notice) = notice {
            self.options.notice(notice);
        }
        self.changes.announce();
    }

    /// Returns what waits for the approval of the user.
    pub(super) fn review(&self) -> Option<ChangeReview> {
        self.state().review()
    }

    /// Approves what the server offers now; with the hash of a review only if it is the same.
    pub(super) fn approve(&self, reviewed: Option<&str>) -> Result<Approved, McpError> {
        let (catalog, approved) = {
            let mut state = self.state();
            let review = state.review();
            let is_other = |review: &ChangeReview| reviewed.is_some_and(|it| it != review.hash);
            if review.as_ref().is_some_and(is_other) {
                return Err(McpError::NotAsReviewed { server: self.config.name.clone() });
            }
            let Some(live) = state.live.clone() else { return Ok(Approved::default()) };
            state.approved = Some(live.clone());
            (live, Approved { changes: std::mem::take(&mut state.changes), review })
        };
        if let Some(store) = &self.options.catalogs {
            let saved = store.save(self.config.identity(), &catalog);
            saved.map_err(|error| McpError::Invalid {
                server: self.config.name.clone(),
                problem: format!("the approval cannot be stored: {error}"),
            })?;
        }
        self.changes.announce();
        Ok(approved)
    }

    /// Forgets earlier failures, so that the server is started again. One that is turned off stays
    /// off.
    pub(super) async fn reset(&self) {
        self.cancel_start();
        if let Some(connection) = self.connection.lock().await.take() {
            connection.close().await;
        }
        self.state().failures.clear();
        if self.status() != ServerStatus::Disabled {
            self.set_status(ServerStatus::Pending, None);
        }
    }

    /// Gives up the connection of a failed request if the server no longer accepts it: it has forgotten
    /// the session, or refused the headers of the helper, which can print others now. It did not perform
    /// the request, which can be sent again. Returns whether the connection was given up.
    pub(super) async fn replace_outdated(
        &self,
        connection: &Arc<Connection>,
        error: &McpError,
    ) -> bool {
        let outdated = match error {
            McpError::Expired { .. } => true,
            McpError::NeedsLogin { .. }
            | McpError::NeedsRights { .. }
            | McpError::HeaderRefused { .. } => self.config.has_headers_helper(),
            _ => false,
        };
        if outdated {
            self.replace(connection).await;
        }
        outdated
    }

    /// Gives up a connection, so that the next call starts another one. This is no failure of the server,
    /// so no wait applies.
    async fn replace(&self, outdated: &Arc<Connection>) {
        let mut slot = self.connection.lock().await;
        // Calls at the same time learn of it together; the first one replaces it, for all of them.
        if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, outdated)) {
            // Not closed: it ends with the last call that still uses it.
            *slot = None;
            self.state().failures.clear();
        }
    }

    /// Turns the server off and ends its connection.
    pub(super) async fn disable(&self) {
        self.set_status(ServerStatus::Disabled, None);
        self.cancel_start();
        // With the lock of the connection, so that a start in progress ends first. It may have
        // changed the status.
        let mut slot = self.connection.lock().await;
        self.set_status(ServerStatus::Disabled, None);
        if let Some(connection) = slot.take() {
            connection.close().await;
        }
    }

    /// Ends a start in progress. Later starts are not affected.
    fn cancel_start(&self) {
        let next = self.stop.child_token();
        std::mem::replace(&mut self.state().cancel_start, next).cancel();
    }

    /// Turns the server on again; it is not started.
    pub(super) fn enable(&self) {
        if self.status() == ServerStatus::Disabled {
            self.state().failures.clear();
            self.set_status(ServerStatus::Pending, None);
        }
    }

    /// Ends the connection, and a start in progress. The server cannot be used afterwards.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        if let Some(connection) = self.connection.lock().await.take() {
            connection.close().await;
        }
    }
}

/// A start in progress. If it ends without a result, because the call that needed the server was dropped or
/// the start was cancelled, the server can be started again.
struct Starting<'a>(Option<&'a Server>);

impl<'a> Starting<'a> {
    fn begin(server: &'a Server) -> Self {
        server.set_status(ServerStatus::Starting, None);
        Self(Some(server))
    }

    /// Ends the start, whose result the caller notes.
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if let Some(server) = self.0 {
            server.set_status(ServerStatus::Pending, None);
        }
    }
}

/// Returns whether the tools need approval when they change. Those of the host program change only
/// with the host, so they do not.
fn is_pinned(config: &ServerConfig) -> bool {
    config.endpoint != Endpoint::Host
}

/// Reads the lists again when the server says that they changed.
async fn watch_lists(server: Weak<Server>, connection: Arc<Connection>, stop: CancellationToken) {
    let handler = connection.handler().clone();
    // Weak, so that this task does not keep a closed connection and its program alive.
    let connection = {
        let weak = Arc::downgrade(&connection);
        drop(connection);
        weak
    };
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = handler.changed() => {}
        }
        let (Some(server), Some(connection)) = (server.upgrade(), connection.upgrade()) else {
            return;
        };
        if connection.is_closed() || server.refresh(&connection).await.is_err() {
            return;
        }
        drop((server, connection));
        // After the read, not before it: the first change is seen at once, and a flood of them
        // costs one read a second.
        tokio::time::sleep(REFRESH_PERIOD).await;
    }
}
