//! Tokens of logins, in one file that only the user can read.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rmcp::transport::auth::OAuthClientConfig;
use rmcp::transport::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};

use super::requests::LoginRequests;
use crate::config::ServerConfig;
use crate::store::write_private;

/// The most scopes that a server can make a login ask for.
const MAX_SCOPES: usize = 50;

/// Stores the tokens of all logins.
#[derive(Debug, Clone)]
pub struct TokenStore {
    file: PathBuf,
}

/// What is stored for one address.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    pub(super) credentials: StoredCredentials,
    #[serde(default)]
    pub(super) client_secret: Option<String>,
    /// The address that gave the token and renews it. The refresh token and the secret are sent nowhere
    /// else.
    #[serde(default)]
    pub(super) token_endpoint: String,
    /// The scopes that the next login asks for, because the server refused what these credentials
    /// allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted_scopes: Vec<String>,
}

type Logins = BTreeMap<String, StoredLogin>;

impl TokenStore {
    /// Uses this file, which is created with the first login.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// Returns whether there is a login for an address.
    #[must_use]
    pub fn has(&self, url: &str) -> bool {
        self.read().contains_key(url)
    }

    /// Deletes the login for an address, and returns whether there was one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn remove(&self, url: &str) -> io::Result<bool> {
        let _lock = self.lock()?;
        let mut logins = self.read();
        let removed = logins.remove(url).is_some();
        if removed {
            self.write(&logins)?;
        }
        Ok(removed)
    }

    /// Remembers scopes that the next login for an address must ask for, besides those that were granted.
    pub(crate) fn want_scopes(&self, url: &str, scopes: &str) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut logins = self.read();
        let Some(login) = logins.get_mut(url) else { return Ok(()) };
        let granted = login.credentials.granted_scopes.clone();
        // With the granted ones: a login that asks only for the new scopes would lose the others.
        for scope in granted.into_iter().chain(scopes.split_whitespace().map(str::to_owned)) {
            if !login.wanted_scopes.contains(&scope) && login.wanted_scopes.len() < MAX_SCOPES {
                login.wanted_scopes.push(scope);
            }
        }
        self.write(&logins)
    }

    /// Returns the scopes that a login for an address must ask for.
    pub(super) fn wanted_scopes(&self, url: &str) -> Vec<String> {
        self.get(url).map(|login| login.wanted_scopes).unwrap_or_default()
    }

    pub(super) fn get(&self, url: &str) -> Option<StoredLogin> {
        self.read().remove(url)
    }

    pub(super) fn put(&self, url: &str, login: StoredLogin) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut logins = self.read();
        logins.insert(url.to_owned(), login);
        self.write(&logins)
    }

    fn read(&self) -> Logins {
        let bytes = std::fs::read(&self.file).unwrap_or_default();
        // A damaged file counts as empty: a new login replaces it.
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(&self, logins: &Logins) -> io::Result<()> {
        write_private(&self.file, &serde_json::to_vec_pretty(logins)?)
    }

    /// Locks the file against other processes that change it.
    fn lock(&self) -> io::Result<std::fs::File> {
        self.lock_file("lock")
    }

    fn lock_file(&self, extension: &str) -> io::Result<std::fs::File> {
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // A file of its own: that of the tokens is replaced by a rename, after which a lock would
        // be on the old one.
        let file = std::fs::File::create(self.file.with_extension(extension))?;
        // A lock of the kernel, which ends with the process.
        file.lock()?;
        Ok(file)
    }
}

/// The login for one address, for the library.
pub(super) struct AddressStore {
    pub(super) tokens: TokenStore,
    pub(super) url: String,
    pub(super) client_secret: Option<String>,
    pub(super) token_endpoint: String,
    /// Whether this is a new login; otherwise it renews the token of an old one.
    pub(super) is_new: bool,
}

fn failed(error: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait::async_trait]
impl CredentialStore for AddressStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.tokens.get(&self.url).map(|login| login.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        // A new login has asked for them, so they are wanted no longer.
        let wanted_scopes =
            if self.is_new { Vec::new() } else { self.tokens.wanted_scopes(&self.url) };
        let login = StoredLogin {
            credentials,
            client_secret: self.client_secret.clone(),
            token_endpoint: self.token_endpoint.clone(),
            wanted_scopes,
        };
        self.tokens.put(&self.url, login).map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.tokens.remove(&self.url).map(|_| ()).map_err(failed)
    }

    /// Two processes must not use one refresh token at the same time: the second would be refused.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let tokens = self.tokens.clone();
        let lock = tokio::task::spawn_blocking(move || tokens.lock_file("refresh"));
        let lock = lock.await.map_err(failed)?.map_err(failed)?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}

/// Returns the login for a server; none if there is none that can be used.
pub(crate) async fn stored_login(
    config: &ServerConfig,
    tokens: &TokenStore,
) -> Result<Option<AuthorizationManager>, AuthError> {
    let Some(url) = config.url() else { return Ok(None) };
    let Some(login) = tokens.get(url) else { return Ok(None) };
    let mut manager = manager(url).await?;
    let found = manager.resolve_metadata().await?.metadata;
    // The server names its authorisation server each time. A new one must not get what the old one
    // made.
    if found.token_endpoint != login.token_endpoint {
        let server = &config.name;
        tracing::warn!(server, "the authorisation server has changed; it needs a new login");
        return Ok(None);
    }
    manager.set_metadata(found);
    let client_secret = login.client_secret.clone();
    manager.set_credential_store(AddressStore {
        tokens: tokens.clone(),
        url: url.to_owned(),
        client_secret: client_secret.clone(),
        token_endpoint: login.token_endpoint,
        is_new: false,
    });
    if !manager.initialize_from_store().await? {
        return Ok(None);
    }
    // The library does not store the secret of a client.
    if let Some(secret) = client_secret {
        let client = OAuthClientConfig::new(login.credentials.client_id, "http://localhost")
            .with_client_secret(secret);
        manager.configure_client(client)?;
    }
    Ok(Some(manager))
}

/// Returns the library's part of the login for the server at `url`.
pub(super) async fn manager(url: &str) -> Result<AuthorizationManager, AuthError> {
    let server = url::Url::parse(url)?;
    let requests = LoginRequests::new(&server).map_err(AuthError::InternalError)?;
    AuthorizationManager::new_with_oauth_http_client(server, Arc::new(requests)).await
}
