//! Serves MCP over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use robota_mcp::server::{HttpOptions, Served, ServerInfo, http_service};

use super::auth::require_token;

/// Serves until the token of the options is cancelled.
pub(super) async fn serve(
    listener: std::net::TcpListener,
    token: String,
    info: ServerInfo,
    offered: Served,
    options: HttpOptions,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let stop = options.stop.clone();
    let service = http_service(info, offered, options);
    let token: Arc<str> = token.into();
    let app = Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(token, require_token));
    let served = axum::serve(listener, app);
    // Streams end with the token of the service, so that this does not wait for them.
    tokio::select! {
        served = served => served,
        () = stop.cancelled() => Ok(()),
    }
}
