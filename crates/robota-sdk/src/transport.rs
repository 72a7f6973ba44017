//! What all protocols that serve sessions have in common (SDK-08).

use std::sync::Arc;

use crate::host::SessionHost;

/// A protocol that clients use to reach sessions.
///
/// A program makes a transport, attaches the sessions, and starts it. The program that serves an
/// editor and the program that serves MCP differ in the transport alone.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_sdk::{SessionHost, Transport, TransportError};
///
/// async fn serve(
///     transport: &mut dyn Transport,
///     sessions: Arc<dyn SessionHost>,
/// ) -> Result<(), TransportError> {
///     transport.attach(sessions);
///     transport.start().await
/// }
/// # let _ = serve;
/// ```
#[async_trait::async_trait]
pub trait Transport: Send {
    /// Returns the name of the protocol, such as `acp`.
    fn name(&self) -> &'static str;

    /// Sets where the sessions come from. Must be called before [`Transport::start`].
    fn attach(&mut self, sessions: Arc<dyn SessionHost>);

    /// Serves clients until the last one has disconnected or the transport is stopped.
    ///
    /// # Errors
    /// If no sessions were attached, or the transport cannot reach its clients.
    async fn start(&mut self) -> Result<(), TransportError>;

    /// Stops: the turns that run are interrupted, and the sessions can be resumed later.
    async fn stop(&mut self);
}

/// Why a transport ended early.
///
/// ```
/// use robota_sdk::TransportError;
///
/// let error = TransportError::NotAttached("acp");
/// assert_eq!(
///     error.to_string(),
///     "the transport acp has no sessions; attach them before it starts"
/// );
/// ```
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// No sessions were attached.
    #[error("the transport {0} has no sessions; attach them before it starts")]
    NotAttached(&'static str),
    /// The connection failed.
    #[error("{what}")]
    Io {
        /// What could not be done.
        what: String,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
}
