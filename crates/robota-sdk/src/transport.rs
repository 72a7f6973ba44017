//! What all protocols that serve sessions have in common (SDK-08).

use std::sync::Arc;

use crate::host::SessionHost;

/// A protocol that clients use to reach sessions.
///
/// A program makes a transport, attaches the sessions, and starts it. The program that serves an
/// editor and the program that serves MCP differ in the transport alone.
#[async_trait::async_trait]
pub trait Transport: Send {
    /// Returns the name of the protocol, such as `acp`.
    fn name(&self) -> &'static str;

    /// Sets where the sessions come from. Must be called before [`Transport::start`].
    fn attach(&mut self, sessions: Arc<dyn SessionHost>);

    /// Serves clients until the last one is gone or the transport is stopped.
    ///
    /// # Errors
    /// If no sessions were attached, or the transport cannot reach its clients.
    async fn start(&mut self) -> Result<(), TransportError>;

    /// Stops: the turns that run are interrupted, and the sessions can be resumed later.
    async fn stop(&mut self);
}

/// Why a transport ended early.
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
