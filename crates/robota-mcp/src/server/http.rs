//! Streamable HTTP.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use robota_core::ids::Ids;
use tokio_util::sync::CancellationToken;

use super::events::Events;
use super::handler::Handler;
use super::keep_alive::KeepAlive;
use super::rounds::Rounds;
use super::{Served, ServerInfo};

/// Serves the protocol over HTTP. It checks `Host` and `Origin`; the caller that serves it checks
/// the token.
pub type HttpService = StreamableHttpService<Handler, LocalSessionManager>;

/// Who may reach a server over HTTP, and how it ends.
pub struct HttpOptions {
    /// The names by which clients may reach the server, with or without a port.
    pub hosts: Vec<String>,
    /// The web pages that may use the server, as `scheme://host:port`. Requests of other pages are
    /// refused; requests of programs have no origin.
    pub origins: Vec<String>,
    /// Stops all connections, also those that have a stream open.
    pub stop: CancellationToken,
    /// Makes the ids of streams and of calls that wait for answers, which must not be guessable.
    pub ids: Arc<dyn Ids>,
}

/// Returns the service that answers HTTP requests.
pub fn http_service(info: ServerInfo, served: Served, options: HttpOptions) -> HttpService {
    service(info, served, options, StreamableHttpServerConfig::default())
}

pub(super) fn service(
    info: ServerInfo,
    served: Served,
    options: HttpOptions,
    config: StreamableHttpServerConfig,
) -> HttpService {
    let rounds = Rounds::new(options.ids.clone());
    let sessions =
        LocalSessionManager::default().with_event_store(Arc::new(Events::new(options.ids)));
    let sessions = Arc::new(sessions);
    let keep_alive = KeepAlive::new(sessions.clone());
    let config = config
        .with_allowed_hosts(options.hosts)
        .with_allowed_origins(options.origins)
        .enforce_origin_validation()
        .with_cancellation_token(options.stop);
    // Each session of a client has choices of its own.
    let handler =
        move || Ok(Handler::new(info.clone(), served.clone(), rounds.clone(), keep_alive.clone()));
    StreamableHttpService::new(handler, sessions, config)
}
