//! The token of a stored login, and requests with it.

use std::sync::Arc;

use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::transport::{AuthError, AuthorizationManager};
use tokio::sync::Mutex;

/// The token of a stored login. Clones share it.
#[derive(Clone)]
pub(crate) struct StoredToken(Arc<Mutex<AuthorizationManager>>);

/// A request with a token failed.
pub(crate) enum SendError {
    /// The token cannot be renewed at the moment.
    Token(AuthError),
    /// No response came: the connection failed or timed out.
    Request(reqwest::Error),
}

impl StoredToken {
    /// Uses the token of this login.
    pub(crate) fn new(manager: AuthorizationManager) -> Self {
        Self(Arc::new(Mutex::new(manager)))
    }

    /// Returns the token; none if only a new login helps. One that has expired, or that the server
    /// `refused`, is renewed first.
    async fn current(&self, refused: Option<String>) -> Result<Option<String>, AuthError> {
        let manager = self.0.clone();
        // In a task of its own: the authorisation server replaces the refresh token when it renews the
        // other one. If the caller is dropped at that moment, the new one is stored all the same.
        let current = tokio::spawn(async move {
            let manager = manager.lock().await;
            let token = manager.get_access_token().await?;
            // Another request or another process may have renewed it meanwhile.
            if refused.as_ref() != Some(&token) {
                return Ok(token);
            }
            manager.refresh_token().await?;
            manager.get_access_token().await
        });
        match current.await {
            Ok(Ok(token)) => Ok(Some(token)),
            Ok(Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_))) => {
                Ok(None)
            }
            Ok(Err(error)) => Err(error),
            Err(ended) => Err(AuthError::InternalError(ended.to_string())),
        }
    }
}

/// Sends a request with the token of a login, if there is one that can be used. A token that the server
/// refuses is renewed once, and the request is sent once more.
pub(crate) async fn send(
    token: Option<&StoredToken>,
    request: impl Fn() -> RequestBuilder,
) -> Result<Response, SendError> {
    let current = match token {
        Some(token) => token.current(None).await.map_err(SendError::Token)?,
        None => None,
    };
    let (Some(token), Some(sent)) = (token, current) else {
        return request().send().await.map_err(SendError::Request);
    };
    let response = request().bearer_auth(&sent).send().await.map_err(SendError::Request)?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    match token.current(Some(sent)).await.map_err(SendError::Token)? {
        Some(renewed) => request().bearer_auth(renewed).send().await.map_err(SendError::Request),
        None => Ok(response),
    }
}
