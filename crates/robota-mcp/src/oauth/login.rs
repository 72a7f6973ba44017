//! A login: the user's browser, and the code that it brings back.

use std::time::Duration;

use rmcp::transport::auth::AuthorizationMetadataResolution;
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
};
use url::Url;

use super::TokenStore;
use super::redirect::{self, Redirect};
use super::requests::LoginAddresses;
use super::store::{AddressStore, manager};
use crate::config::ServerConfig;
use crate::text::clean_line;

/// How long the search for the authorisation server and the registration may take.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long the request for the server's challenge may take.
const CHALLENGE_LIMIT: Duration = Duration::from_secs(10);
/// The longest address that the login gives a user to open, in bytes.
const MAX_URL: usize = 16 * 1024;
/// The longest text of an authorisation server that is shown, in bytes.
const MAX_TEXT: usize = 500;

/// Why a login at a server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server has no address to log in to.
    #[error("the MCP server `{0}` is not reached by HTTP, so there is no login")]
    NoAddress(String),
    /// The server has an own header, which would be used instead of the login.
    #[error(
        "the configuration of the MCP server `{0}` has its own `Authorization` header, which is used \
         instead of a login; remove the header first"
    )]
    OwnHeader(String),
    /// The redirect address cannot be used.
    #[error("cannot wait for the browser at port {port}: {problem}")]
    Redirect {
        /// The port that the caller wanted; 0 for any free one.
        port: u16,
        /// Why it cannot be used, as the operating system reports it.
        problem: String,
    },
    /// The authorisation failed; the text may be that of the authorisation server.
    #[error("the login failed: {0}")]
    Failed(String),
}

impl LoginError {
    /// Says what failed. The text can be that of an authorisation server.
    fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(clean_line(&why.to_string(), MAX_TEXT))
    }
}

impl From<AuthError> for LoginError {
    fn from(error: AuthError) -> Self {
        Self::failed(error)
    }
}

/// A login that waits for the user.
pub struct Login {
    session: AuthorizationSession,
    redirect: Redirect,
    state: String,
}

/// Starts a login: finds the authorisation server, registers this client and prepares the address that
/// the user opens.
///
/// # Errors
/// If the server has no authorisation server, it is at a forbidden address, or it refuses.
pub async fn start_login(config: &ServerConfig, tokens: &TokenStore) -> Result<Login, LoginError> {
    let starting = start(config, tokens);
    tokio::time::timeout(START_LIMIT, starting).await.unwrap_or_else(|_| {
        let limit = START_LIMIT.as_secs();
        Err(LoginError::failed(format!("the authorisation server did not answer within {limit} s")))
    })
}

async fn start(config: &ServerConfig, tokens: &TokenStore) -> Result<Login, LoginError> {
    let Some(url) = config.url() else { return Err(LoginError::NoAddress(config.name.clone())) };
    if config.has_authorization_header() {
        return Err(LoginError::OwnHeader(config.name.clone()));
    }
    // Bound before the registration, which names the port.
    let redirect = Redirect::listen(config.oauth.callback_port.unwrap_or(0)).await?;
    let mut manager = manager(url).await?;
    let challenge = challenge(url).await;
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await?;
    check(url, &found)?;
    let token_endpoint = found.metadata.token_endpoint.clone();
    let reads_documents = found.metadata.additional_fields.get(DOCUMENTS) == Some(&true.into());
    manager.set_metadata(found.metadata);
    let mut scopes = config.oauth.scopes.clone();
    for scope in tokens.wanted_scopes(url) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    if scopes.is_empty() {
        // Without scopes of the user, the login requests those of the challenge or of the metadata.
        scopes = manager.select_initial_scopes(&[]).await;
    }
    let mut request = AuthorizationRequest::new(redirect.url())
        .with_initial_scope_selection()
        .with_scopes(scopes.iter().cloned());
    let mut client_secret = config.oauth.client_secret.clone();
    match (&config.oauth.client_id, &config.oauth.client_metadata_url) {
        (Some(id), _) => request = request.with_preregistered_client(id),
        (None, Some(document)) if reads_documents => {
            request = request.with_client_metadata_url(document);
            client_secret = None;
        }
        (None, _) => {
            let (id, secret) = register(&mut manager, &redirect, &scopes).await?;
            request = request.with_preregistered_client(id);
            client_secret = secret;
        }
    }
    if let Some(secret) = &client_secret {
        request = request.with_client_secret(secret);
    }
    manager.set_credential_store(AddressStore {
        tokens: tokens.clone(),
        url: url.to_owned(),
        client_secret,
        token_endpoint,
        is_new: true,
    });
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
    let opened = session.get_authorization_url();
    if opened.len() > MAX_URL {
        return Err(LoginError::failed(format!(
            "the address to open has more than {MAX_URL} bytes"
        )));
    }
    let opened = Url::parse(opened).map_err(LoginError::failed)?;
    let state = opened.query_pairs().find(|(name, _)| name == "state");
    let state = state.map(|(_, state)| state.into_owned()).unwrap_or_default();
    Ok(Login { session, redirect, state })
}

/// The field of the metadata for documents that describe clients.
const DOCUMENTS: &str = "client_id_metadata_document_supported";

/// Registers this client. Returns its id and its secret, if it got one.
async fn register(
    manager: &mut AuthorizationManager,
    redirect: &Redirect,
    scopes: &[String],
) -> Result<(String, Option<String>), LoginError> {
    let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
    let client = manager.register_client("Robota", &redirect.url(), &scopes).await?;
    Ok((client.client_id, client.client_secret))
}

/// Checks what was found before the user is sent there.
fn check(url: &str, found: &AuthorizationMetadataResolution) -> Result<(), LoginError> {
    let addresses = LoginAddresses::of(&Url::parse(url).map_err(LoginError::failed)?);
    let metadata = &found.metadata;
    let named = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for address in named.into_iter().chain(&metadata.registration_endpoint) {
        let parsed = Url::parse(address).map_err(|error| error.to_string());
        parsed.and_then(|parsed| addresses.check(&parsed)).map_err(|why| {
            LoginError::failed(format!(
                "the authorisation server has an address that is not used: {why}"
            ))
        })?;
    }
    // Servers of older versions have no metadata. In metadata the absence means that the server does
    // not check the proof, so that another program could use a code.
    let methods = metadata.code_challenge_methods_supported.iter().flatten();
    if found.source.is_discovered() && !methods.into_iter().any(|method| method == "S256") {
        let why =
            "the authorisation server does not support PKCE with S256, which protects the code";
        return Err(LoginError::failed(why));
    }
    Ok(())
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
    let request = client.post(url).timeout(CHALLENGE_LIMIT).json(&body);
    let request = request.header("Accept", "application/json, text/event-stream");
    let response = request.send().await.ok()?;
    let refused = response.status() == reqwest::StatusCode::UNAUTHORIZED;
    let challenge = response.headers().get(reqwest::header::WWW_AUTHENTICATE)?;
    challenge.to_str().ok().filter(|_| refused).map(str::to_owned)
}

impl Login {
    /// Returns the address that the user opens in a browser: always `http` or `https`.
    #[must_use]
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until the browser returns from the login, and stores the tokens.
    ///
    /// # Errors
    /// If the user refused or the authorisation server did not give a token.
    pub async fn finish(self) -> Result<(), LoginError> {
        let (url, mut stream) = self.redirect.returned(&self.state).await?;
        let result = self.finish_with(url.as_str()).await;
        let text = match &result {
            Ok(()) => "You are logged in. You can close this page.".to_owned(),
            Err(error) => error.to_string(),
        };
        redirect::answer(&mut stream, "200 OK", &text).await;
        result
    }

    /// Finishes the login with the address to which the browser was redirected, for a browser on
    /// another machine.
    ///
    /// # Errors
    /// See [`Login::finish`].
    pub async fn finish_with(&self, redirected: &str) -> Result<(), LoginError> {
        let url = Url::parse(redirected).map_err(LoginError::failed)?;
        // Checked first: without the state any page could have made the address.
        if !redirect::has_state(&url, &self.state) {
            return Err(LoginError::failed("the address does not belong to this login"));
        }
        for name in ["code", "iss"] {
            if url.query_pairs().filter(|(given, _)| given == name).count() > 1 {
                return Err(LoginError::failed(format!("the address has two values of `{name}`")));
            }
        }
        let find = |key: &str| url.query_pairs().find(|(name, _)| name == key);
        if let Some((_, error)) = find("error") {
            let why = find("error_description").map(|(_, text)| text.into_owned());
            return Err(LoginError::failed(why.unwrap_or_else(|| error.into_owned())));
        }
        self.session.handle_callback_url(redirected).await?;
        Ok(())
    }
}
