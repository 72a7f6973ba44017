//! Servers at an address, with the transport streamable HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use robota_core::backoff::Backoff;
use robota_exec::ShellCommand;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::connection::serve;
use super::handler::Handler;
use super::http_client::HttpClient;
use super::link::MAX_MESSAGE;
use super::options::McpClientOptions;
use crate::config::{HttpEndpoint, ServerConfig};
use crate::oauth::{self, StoredToken};

/// How long a connection may take to be established.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// How long a command that prints headers may run.
const HELPER_LIMIT: Duration = Duration::from_secs(10);
/// How often a stream is reopened before the server counts as gone.
const MAX_REOPENED: u32 = 5;
/// The waits before it is reopened.
const REOPEN: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(16));

/// Reopens a stream a few times, with growing waits.
#[derive(Debug)]
struct ReopenStream;

impl SseRetryPolicy for ReopenStream {
    fn retry(&self, times: usize) -> Option<Duration> {
        let times = u32::try_from(times).ok().filter(|times| *times < MAX_REOPENED)?;
        Some(REOPEN.after(times + 1))
    }
}

/// Returns a client that follows redirects to the same origin only, so that headers with secrets reach
/// no other server.
pub(crate) fn client() -> Result<reqwest::Client, String> {
    // Fails only if one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let same_origin = reqwest::redirect::Policy::custom(|attempt| {
        let same =
            attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
        // With the other codes a client repeats a POST as a GET, which loses the message.
        let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
        if same && keeps_method && attempt.previous().len() <= 5 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    // No limit for a whole request: a stream of events lasts as long as the connection. Requests
    // have limits of their own, and the body is counted.
    let client = reqwest::Client::builder().redirect(same_origin).connect_timeout(CONNECT_LIMIT);
    client.build().map_err(|error| error.to_string())
}

/// Connects and does the handshake.
pub(super) async fn connect(
    config: &ServerConfig,
    endpoint: &HttpEndpoint,
    headers: &HeaderMap,
    options: &McpClientOptions,
    handler: &Handler,
    lifecycle: ClientLifecycleMode,
) -> Result<Result<RunningService<RoleClient, Handler>, ClientInitializeError>, String> {
    let client = client()?;
    let mut settings = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str())
        .max_sse_event_size(MAX_MESSAGE)
        // The library would repeat the call by itself. A call that may have run is repeated only by
        // `call`, which knows that it did not.
        .reinit_on_expired_session(false);
    settings.retry_config = Arc::new(ReopenStream);
    settings.custom_headers = headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<HashMap<HeaderName, HeaderValue>>();
    let token = login(config, options, headers).await?;
    let transport =
        StreamableHttpClientTransport::with_client(HttpClient { client, token }, settings);
    Ok(serve(handler, transport, lifecycle).await)
}

/// Returns the stored login for a server. A configured header takes precedence; it is not
/// replaced by a login.
pub(super) async fn login(
    config: &ServerConfig,
    options: &McpClientOptions,
    headers: &HeaderMap,
) -> Result<Option<StoredToken>, String> {
    match &options.tokens {
        Some(tokens) if !headers.contains_key(AUTHORIZATION) => {
            let login = oauth::stored_login(config, tokens).await;
            Ok(login.map_err(|error| error.to_string())?.map(StoredToken::new))
        }
        _ => Ok(None),
    }
}

/// Returns the configured headers and those that the command of the configuration prints.
pub(super) async fn headers(
    endpoint: &HttpEndpoint,
    options: &McpClientOptions,
) -> Result<HeaderMap, String> {
    let mut pairs: Vec<(String, String)> =
        endpoint.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(command) = &endpoint.headers_helper {
        pairs.extend(run_helper(command, options).await?);
    }
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName =
            name.parse().map_err(|_| format!("`{name}` is not the name of a header"))?;
        let mut value: HeaderValue =
            value.parse().map_err(|_| format!("the value of the header `{name}` is not valid"))?;
        // Keeps the value out of the debug output of the HTTP library.
        value.set_sensitive(true);
        // Inserted in order: a header that the command prints replaces the configured one.
        headers.insert(name, value);
    }
    Ok(headers)
}

async fn run_helper(
    command: &str,
    options: &McpClientOptions,
) -> Result<Vec<(String, String)>, String> {
    let failed = |why: &str| format!("headersHelper `{command}`: {why}");
    let shell = ShellCommand::new(command, &options.cwd).env(options.environment.clone());
    let spec = shell.into_spec().map_err(|error| failed(&error.to_string()))?;
    let spec = spec.timeout(HELPER_LIMIT);
    let outcome = options
        .supervisor
        .run(spec, &CancellationToken::new())
        .await
        .map_err(|error| failed(&error.to_string()))?;
    let text = outcome.stdout.text();
    let fields: Value =
        serde_json::from_str(text.trim()).map_err(|_| failed("it did not print a JSON object"))?;
    let fields = fields.as_object().ok_or_else(|| failed("it did not print a JSON object"))?;
    let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    Ok(fields.iter().filter_map(pair).collect())
}
