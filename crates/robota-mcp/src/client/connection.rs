//! One connection to a server: the handshake, requests with limits, and the end.
//!
//! The functions that the other modules call return boxed futures. The code of an `async fn` is
//! compiled once more in every crate that awaits it, here with all of the MCP library: that made the
//! program several megabytes larger.

use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, NumberOrString, ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, PeerRequestOptions,
    RoleClient, RunningService, ServiceError,
};
use rmcp::transport::Transport;
use robota_core::error::error_chain;
use robota_core::tool::Progress;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handler::Handler;
use super::host::HostTransport;
use super::options::McpClientOptions;
use super::stdio::{self, StdioState};
use super::transport::AnyTransport;
use super::{http, http_client, listen, sse};
use crate::config::{Endpoint, ProtocolChoice, ServerConfig};
use crate::error::McpError;
use crate::oauth::TokenStore;
use crate::text::clean_line;

/// How long a server may take to start. The first start of a package runner downloads the server.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How long a server may take to answer which versions it speaks, after it refused the handshake. A server
/// that ignores unknown requests never answers.
const DISCOVER_LIMIT: Duration = Duration::from_secs(5);
/// How long a connection may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(4);

/// The code of an error that asks the user to open addresses first.
const ADDRESS_FIRST: i32 = -32_042;
/// At most this many addresses of one error are used.
const MAX_ADDRESSES: usize = 8;

/// How long a request may take before it fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestLimits {
    /// Without an answer or progress.
    pub(super) idle: Duration,
    /// In total, whatever progress the server reports.
    pub(super) total: Duration,
}

impl RequestLimits {
    /// The limits of short requests, such as those for lists.
    pub(super) const SHORT: Self =
        Self { idle: Duration::from_secs(30), total: Duration::from_secs(60) };
    /// The limits of requests whose answer hardly matters.
    pub(super) const BRIEF: Self =
        Self { idle: Duration::from_secs(2), total: Duration::from_secs(2) };
    /// The limits of calls.
    pub(super) const CALL: Self =
        Self { idle: Duration::from_secs(300), total: Duration::from_secs(3_600) };
}

pub(super) struct Connection {
    server: String,
    service: tokio::sync::Mutex<Option<RunningService<RoleClient, Handler>>>,
    peer: Peer<RoleClient>,
    handler: Handler,
    stdio: Option<StdioState>,
    /// The tokens of logins, and the address that they are for.
    login: Option<(TokenStore, String)>,
    /// Whether the configuration has its own `Authorization` header.
    own_header: bool,
    /// Ends the subscription to changes with the connection.
    listening: Option<DropGuard>,
}

impl Connection {
    /// Connects to a server and agrees on a version of the protocol.
    pub(super) fn open<'a>(
        config: &'a ServerConfig,
        options: &'a McpClientOptions,
    ) -> BoxFuture<'a, Result<Self, McpError>> {
        Box::pin(Self::open_in_time(config, options))
    }

    async fn open_in_time(
        config: &ServerConfig,
        options: &McpClientOptions,
    ) -> Result<Self, McpError> {
        // Only servers whose configuration says so may use the model.
        let sampler = options.sampler.clone().filter(|_| config.sampling);
        let handler = Handler::new(&config.name, McpClientOptions { sampler, ..options.clone() });
        let opening = Self::open_with(config, options, handler);
        match tokio::time::timeout(START_LIMIT, opening).await {
            Ok(result) => result,
            Err(_) => {
                let problem = format!("it did not start within {} s", START_LIMIT.as_secs());
                Err(McpError::Connect { server: config.name.clone(), problem })
            }
        }
    }

    async fn open_with(
        config: &ServerConfig,
        options: &McpClientOptions,
        handler: Handler,
    ) -> Result<Self, McpError> {
        let lifecycle = lifecycle(config.protocol);
        let failed = |problem: String| McpError::Connect { server: config.name.clone(), problem };
        let mut stdio = None;
        // Read once for all attempts: a command of the configuration may print them.
        let headers = match &config.endpoint {
            Endpoint::Http(endpoint) | Endpoint::Sse(endpoint) => {
                http::headers(endpoint, options).await.map_err(failed)?
            }
            Endpoint::Stdio { .. } | Endpoint::Host => HeaderMap::new(),
        };
        let own_header = headers.contains_key(AUTHORIZATION);
        let of_header = |error: McpError| if own_header { error.with_own_header() } else { error };
        let started = match &config.endpoint {
            Endpoint::Stdio { command, args, env } => {
                let (transport, state) =
                    stdio::start(options, command, args, env).await.map_err(failed)?;
                stdio = Some(state);
                match serve(&handler, transport, lifecycle).await {
                    // A server without a handshake: started again, because it may take its first line
                    // for the end of the conversation.
                    Err(first @ ClientInitializeError::JsonRpcError(_))
                        if config.protocol == ProtocolChoice::HandshakeFirst
                            && knows_no_handshake(&first) =>
                    {
                        let (transport, state) =
                            stdio::start(options, command, args, env).await.map_err(failed)?;
                        stdio = Some(state);
                        let versions = self::lifecycle(ProtocolChoice::Modern);
                        let asked = serve(&handler, transport, versions);
                        // The first answer says more than the second failure.
                        match tokio::time::timeout(DISCOVER_LIMIT, asked).await {
                            Ok(Ok(started)) => Ok(started),
                            Ok(Err(_)) | Err(_) => Err(first),
                        }
                    }
                    started => started,
                }
            }
            Endpoint::Http(endpoint) => {
                let connect = |lifecycle| {
                    http::connect(config, endpoint, &headers, options, &handler, lifecycle)
                };
                match connect(lifecycle).await.map_err(failed)? {
                    // The answer is neither a version nor an error, so the server does not know the
                    // question.
                    Err(ClientInitializeError::ExpectedInitResult(_))
                        if config.protocol == ProtocolChoice::Auto =>
                    {
                        let handshake = self::lifecycle(ProtocolChoice::Legacy);
                        connect(handshake).await.map_err(failed)?
                    }
                    started => started,
                }
            }
            Endpoint::Sse(endpoint) => {
                let connecting = sse::connect(config, endpoint, headers, options);
                let transport = connecting.await.map_err(|error| of_header(*error))?;
                serve(&handler, transport, lifecycle).await
            }
            Endpoint::Host => {
                let channel = options.host.clone();
                let channel = channel.ok_or_else(|| failed("there is no host".to_owned()))?;
                let transport =
                    HostTransport::new(&config.name, channel, options.host_inbox.clone());
                serve(&handler, transport, lifecycle).await
            }
        };
        let service = started
            .map_err(|error| of_header(start_error(&config.name, &error, stdio.as_ref())))?;
        let mut connection = Self {
            server: config.name.clone(),
            peer: service.peer().clone(),
            service: tokio::sync::Mutex::new(Some(service)),
            handler,
            stdio,
            login: options.tokens.clone().zip(config.url().map(str::to_owned)),
            own_header,
            listening: None,
        };
        let info = connection.info();
        let version = info.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !has_handshake(&info) {
            connection.listening = listen::start(&connection.peer, &connection.handler, &info);
        }
        let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
        if version.is_empty() || known.any(|known| known.as_str() == version) {
            return Ok(connection);
        }
        connection.close().await;
        let version = clean_line(version, 50);
        Err(failed(format!("it has version `{version}` of the protocol, which is not supported")))
    }

    /// Returns what the server said about itself.
    pub(super) fn info(&self) -> Value {
        let info = self.peer.peer_info();
        info.and_then(|info| serde_json::to_value(&*info).ok()).unwrap_or_default()
    }

    pub(super) fn handler(&self) -> &Handler {
        &self.handler
    }

    /// Returns the name of the server in the configuration.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Sends a request and waits for its result, within limits.
    pub(super) fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        limits: RequestLimits,
        cancel: &'a CancellationToken,
        progress: Option<&'a Progress>,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        Box::pin(self.exchange(method, params, limits, cancel, progress))
    }

    async fn exchange(
        &self,
        method: &str,
        params: Value,
        limits: RequestLimits,
        cancel: &CancellationToken,
        progress: Option<&Progress>,
    ) -> Result<Value, McpError> {
        let request = json!({"method": method, "params": params});
        let request: ClientRequest = serde_json::from_value(request)
            .map_err(|error| self.invalid(format!("{method}: {error}")))?;
        // Progress restarts the idle limit; the total limit holds in any case.
        let options = PeerRequestOptions::with_timeout(limits.idle)
            .reset_timeout_on_progress()
            // A server that reports progress forever would otherwise hold the call forever.
            .with_max_total_timeout(limits.total);
        let handle =
            // Sending waits when the server does not read; the limit of the request starts only
            // after it.
            tokio::time::timeout(limits.idle, self.peer.send_request_with_option(request, options));
        let handle = match handle.await {
            Ok(handle) => handle.map_err(|error| self.error(error))?,
            Err(_) => return Err(self.timed_out(limits.idle)),
        };
        let _guard = progress.map(|progress| self.handler.watch(&handle.progress_token, progress));
        let (id, peer) = (handle.id.clone(), handle.peer.clone());
        tokio::select! {
            biased;
            // Biased: a result that has arrived counts, also if the call is cancelled at the same
            // moment.
            result = handle.await_response() => match result {
                Ok(ServerResult::CustomResult(result)) => Ok(result.0),
                Ok(result) => {
                    serde_json::to_value(&result).map_err(|error| self.invalid(error.to_string()))
                }
                Err(error) => Err(self.error(error)),
            },
            () = cancel.cancelled() => {
                // The server may ignore it; its answer is dropped.
                // In a task of its own, since the caller does not wait for it and may be dropped.
                tokio::spawn(async move { cancel_request(&peer, id).await });
                Err(self.cancelled())
            }
        }
    }

    /// Asks a server that logs for its messages from warnings on. Without it a server chooses itself.
    pub(super) async fn ask_for_log(&self) {
        let info = self.info();
        if has_handshake(&info)
            && info.pointer("/capabilities/logging").is_some_and(Value::is_object)
        {
            let (params, token) = (json!({"level": "warning"}), CancellationToken::new());
            // The server works without it too.
            let limits = RequestLimits::BRIEF;
            let _ = self.request("logging/setLevel", params, limits, &token, None).await;
        }
    }

    /// Checks that the server answers.
    pub(super) async fn ping(&self) -> Result<(), McpError> {
        let token = CancellationToken::new();
        let limits =
            RequestLimits { idle: Duration::from_secs(10), total: Duration::from_secs(10) };
        self.request("ping", json!({}), limits, &token, None).await.map(|_| ())
    }

    /// Returns the error of a request that took too long.
    pub(super) fn timed_out(&self, limit: Duration) -> McpError {
        McpError::TimedOut { server: self.server.clone(), limit }
    }

    /// Returns the error of an answer that does not follow the protocol.
    pub(super) fn invalid(&self, problem: impl Into<String>) -> McpError {
        McpError::Invalid { server: self.server.clone(), problem: problem.into() }
    }

    /// Returns the error of a request that this side cancelled.
    pub(super) fn cancelled(&self) -> McpError {
        McpError::Cancelled { server: self.server.clone() }
    }

    fn error(&self, error: ServiceError) -> McpError {
        let error = self.error_of(error);
        if self.own_header { error.with_own_header() } else { error }
    }

    fn error_of(&self, error: ServiceError) -> McpError {
        let server = self.server.clone();
        match error {
            ServiceError::McpError(ErrorData { code, message, data }) => {
                let message = clean_line(&message, 2_000);
                match addresses(code.0, data) {
                    Some(questions) => McpError::NeedsAddress { server, message, questions },
                    None => McpError::Answer { server, code: code.0, message },
                }
            }
            ServiceError::Timeout { timeout } => McpError::TimedOut { server, limit: timeout },
            ServiceError::TransportClosed => McpError::Closed { server, problem: self.problem() },
            ServiceError::Cancelled { .. } => McpError::Cancelled { server },
            ServiceError::TransportSend(error) => {
                let text = error_chain(&error);
                // The library reports these cases of its HTTP transport as text only.
                if text.contains("Session expired") {
                    McpError::Expired { server }
                } else if text.contains("Insufficient scope") {
                    let scope = http_client::scope(&text);
                    if !self.own_header {
                        self.want_rights(scope.as_deref());
                    }
                    McpError::NeedsRights { server, scope }
                } else if text.contains("Auth required") || text.contains("Auth error") {
                    McpError::NeedsLogin { server }
                } else {
                    McpError::Closed { server, problem: clean_line(&text, 1_000) }
                }
            }
            other => McpError::Invalid { server, problem: clean_line(&other.to_string(), 500) },
        }
    }

    /// Stores the scopes that the server requires, for the next login.
    fn want_rights(&self, scope: Option<&str>) {
        if let (Some((tokens, url)), Some(scope)) = (&self.login, scope)
            && let Err(error) = tokens.want_scopes(url, scope)
        {
            tracing::warn!(%error, "the scopes that an MCP server requires cannot be stored");
        }
    }

    fn problem(&self) -> String {
        match &self.stdio {
            Some(state) => state.problem(),
            None => "the server closed it".to_owned(),
        }
    }

    /// Closes the connection and ends the server's program.
    pub(super) fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(mut service) = self.service.lock().await.take() {
                let _ = service.close_with_timeout(CLOSE_LIMIT).await;
            }
        })
    }
}

/// Returns whether a server has a version of the protocol with a handshake; later ones have other ways to
/// ask for notifications.
fn has_handshake(info: &Value) -> bool {
    let version = info.get("protocolVersion").and_then(Value::as_str);
    version <= Some(ProtocolVersion::LATEST_WITH_INITIALIZE.as_str())
}

/// Returns the questions of an error that asks the user to open addresses; none for other errors.
fn addresses(code: i32, data: Option<Value>) -> Option<Vec<Value>> {
    let data = data.filter(|_| code == ADDRESS_FIRST)?;
    let questions = data.get("elicitations").and_then(Value::as_array)?.iter();
    let with_address =
        questions.filter(|question| question.get("url").is_some_and(Value::is_string));
    let questions: Vec<_> = with_address.take(MAX_ADDRESSES).cloned().collect();
    (!questions.is_empty()).then_some(questions)
}

/// Shakes hands with a server over a transport, and starts the task that serves its messages.
/// Returns whether an error means that the server does not know the request. Another one says why the server
/// cannot start.
fn knows_no_handshake(error: &ClientInitializeError) -> bool {
    let ClientInitializeError::JsonRpcError(error) = error else { return false };
    matches!(error.code, ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_REQUEST)
}

pub(super) async fn serve(
    handler: &Handler,
    transport: impl Transport<RoleClient> + 'static,
    lifecycle: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, ClientInitializeError> {
    handler.clone().serve_with_lifecycle(AnyTransport::new(transport), lifecycle).await
}

async fn cancel_request(peer: &Peer<RoleClient>, id: NumberOrString) {
    let notification = json!({
        "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "the user cancelled the call"},
    });
    if let Ok(notification) = serde_json::from_value(notification) {
        let _ = peer.send_notification(notification).await;
    }
}

fn lifecycle(protocol: ProtocolChoice) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    match protocol {
        ProtocolChoice::Legacy | ProtocolChoice::HandshakeFirst => ClientLifecycleMode::Initialize,
        ProtocolChoice::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        ProtocolChoice::Modern => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// Explains why the handshake failed.
pub(super) fn start_error(
    server: &str,
    error: &ClientInitializeError,
    stdio: Option<&StdioState>,
) -> McpError {
    let server = server.to_owned();
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return McpError::NeedsLogin { server };
    }
    let problem = match (error, stdio) {
        (ClientInitializeError::ConnectionClosed(_), Some(stdio)) => stdio.problem(),
        (ClientInitializeError::TransportError { .. }, Some(stdio)) => stdio.problem(),
        (ClientInitializeError::JsonRpcError(error), _) => {
            format!("it answered: {}", error.message)
        }
        (ClientInitializeError::TransportError { error, .. }, None) => error_chain(error),
        (ClientInitializeError::ExpectedInitResult(_), _) => {
            "its answer to the handshake is not valid".to_owned()
        }
        (other, _) => other.to_string(),
    };
    McpError::Connect { server, problem: clean_line(&problem, 2_000) }
}
