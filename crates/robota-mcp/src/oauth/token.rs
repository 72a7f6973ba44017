//! The token of a stored login, for transports of this crate.

use std::sync::Arc;

use rmcp::transport::{AuthError, AuthorizationManager};
use tokio::sync::Mutex;

/// The token of a stored login. Clones share it.
#[derive(Clone)]
pub(crate) struct StoredToken(Arc<Mutex<AuthorizationManager>>);

impl StoredToken {
    /// Uses the token of this login.
    pub(crate) fn new(manager: AuthorizationManager) -> Self {
        Self(Arc::new(Mutex::new(manager)))
    }

    /// Returns the token. One that has expired is renewed first.
    pub(crate) async fn get(&self) -> Result<String, AuthError> {
        self.0.lock().await.get_access_token().await
    }

    /// Renews a token that the server refused. Returns none if only a new login helps.
    pub(crate) async fn renew(&self) -> Option<String> {
        let manager = self.0.lock().await;
        manager.refresh_token().await.ok()?;
        manager.get_access_token().await.ok()
    }
}
