//! A login: the user's browser, and the redirect to an address of this machine.

use std::time::Duration;

use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::TokenStore;
use super::store::AddressStore;
use crate::config::ServerConfig;

/// The longest request that a browser may send to the redirect address, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// How long one connection to the redirect address may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// Why a login at a server failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server has no address to log in to.
    #[error("the MCP server `{0}` is not reached by HTTP, so there is no login")]
    NoAddress(String),
    /// The redirect address cannot be used.
    #[error("cannot wait for the browser at port {port}: {problem}")]
    Redirect {
        /// The port.
        port: u16,
        /// What happened.
        problem: String,
    },
    /// The authorisation failed.
    #[error("the login failed: {0}")]
    Failed(String),
}

impl From<AuthError> for LoginError {
    fn from(error: AuthError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A login that waits for the user.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
}

/// Starts a login: finds the authorisation server, registers this client and prepares the address that
/// the user opens.
///
/// # Errors
/// If the server has no authorisation server, it is at a forbidden address, or it refuses.
pub async fn start_login(config: &ServerConfig, tokens: &TokenStore) -> Result<Login, LoginError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(url) = config.url() else { return Err(LoginError::NoAddress(config.name.clone())) };
    let port = config.oauth.callback_port.unwrap_or(0);
    let redirect =
        |error: std::io::Error| LoginError::Redirect { port, problem: error.to_string() };
    // Bound before the registration, which names the port. Loopback only: no other machine may send
    // the code.
    let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(redirect)?;
    let port = listener.local_addr().map_err(redirect)?.port();
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(AddressStore {
        tokens: tokens.clone(),
        url: url.to_owned(),
        client_secret: config.oauth.client_secret.clone(),
    });
    let challenge = challenge(url).await;
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await?;
    manager.set_metadata(found.metadata);
    let mut scopes = config.oauth.scopes.clone();
    for scope in tokens.wanted_scopes(url) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    // The authorisation server compares this text with the registered one.
    let mut request = AuthorizationRequest::new(format!("http://localhost:{port}/callback"))
        .with_client_name("Robota")
        .with_scopes(scopes.iter().cloned());
    if scopes.is_empty() {
        // Without scopes of the user, those of the challenge or of the metadata are asked for.
        request = request.with_initial_scope_selection();
    }
    if let Some(id) = &config.oauth.client_id {
        request = request.with_preregistered_client(id);
        if let Some(secret) = &config.oauth.client_secret {
            request = request.with_client_secret(secret);
        }
    }
    if let Some(url) = &config.oauth.client_metadata_url {
        request = request.with_client_metadata_url(url);
    }
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
    Ok(Login { session, listener })
}

/// Asks the server for its challenge, which can name its metadata and the scopes that it requires.
/// Returns none if it has none; the metadata may be in the usual places.
async fn challenge(url: &str) -> Option<String> {
    let client = crate::client::new_http_client().ok()?;
    let body = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "robota", "version": env!("CARGO_PKG_VERSION")},
        },
    });
    let request = client.post(url).timeout(REQUEST_LIMIT).json(&body);
    let request = request.header("Accept", "application/json, text/event-stream");
    let response = request.send().await.ok()?;
    let refused = response.status() == reqwest::StatusCode::UNAUTHORIZED;
    let challenge = response.headers().get(reqwest::header::WWW_AUTHENTICATE)?;
    challenge.to_str().ok().filter(|_| refused).map(str::to_owned)
}

impl Login {
    /// Returns the address that the user opens in a browser.
    #[must_use]
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until the browser returns from the login, and stores the tokens.
    ///
    /// # Errors
    /// If the user refused or the authorisation server did not give a token.
    pub async fn finish(self) -> Result<(), LoginError> {
        loop {
            let (stream, _) = self
                .listener
                .accept()
                .await
                .map_err(|error| LoginError::Redirect { port: 0, problem: error.to_string() })?;
            let served = tokio::time::timeout(REQUEST_LIMIT, read_path(stream)).await;
            // Browsers open connections in advance and send nothing on them; the next one is the
            // real one.
            let Ok(Some((path, mut stream))) = served else { continue };
            // For instance the request for an icon.
            if !path.starts_with("/callback") {
                answer(&mut stream, "404 Not Found", "Not found").await;
                continue;
            }
            let result = self.finish_with(&format!("http://localhost{path}")).await;
            let text = match &result {
                Ok(()) => "You are logged in. You can close this page.".to_owned(),
                Err(error) => error.to_string(),
            };
            answer(&mut stream, "200 OK", &text).await;
            return result;
        }
    }

    /// Finishes the login with the address to which the browser was redirected, for a browser on
    /// another machine.
    ///
    /// # Errors
    /// See [`Login::finish`].
    pub async fn finish_with(&self, redirected: &str) -> Result<(), LoginError> {
        let url =
            url::Url::parse(redirected).map_err(|error| LoginError::Failed(error.to_string()))?;
        let find = |key: &str| url.query_pairs().find(|(name, _)| name == key);
        if let Some((_, error)) = find("error") {
            let why = find("error_description").map(|(_, text)| text.into_owned());
            let why = crate::text::clean_line(&why.unwrap_or_else(|| error.into_owned()), 500);
            return Err(LoginError::Failed(why));
        }
        self.session.handle_callback_url(redirected).await?;
        Ok(())
    }
}

/// Reads the path of a request.
async fn read_path(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while !request.windows(2).any(|pair| pair == b"\r\n") {
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(chunk.get(..read)?);
        if request.len() > MAX_REQUEST {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let mut words = text.lines().next()?.split(' ');
    // A page of another site could make the browser send other requests here.
    (words.next()? == "GET").then_some(())?;
    Some((words.next()?.to_owned(), stream))
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let text: String = text
        .chars()
        .map(|it| match it {
            // The text can contain what the authorisation server wrote in the address.
            '<' | '>' | '&' => ' ',
            other => other,
        })
        .collect();
    let page = format!("<!doctype html><meta charset=utf-8><title>Robota</title><p>{text}</p>");
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}
