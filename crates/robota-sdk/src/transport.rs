//! What all protocols that serve sessions have in common (SDK-08).

use std::path::Path;
use std::sync::Arc;

use robota_config::ModelNotAvailable;
use robota_core::hook::ModelSwitchSource;
use robota_core::ids::SessionId;
use robota_core::journal::SessionHead;
use robota_core::permission::Mode;

use crate::host::{HostError, HostErrorKind, HostedSession, ModelChoice, OpenRequest, SessionHost};
use crate::interactive::InteractiveSession;
use crate::select::{Earlier, SessionChoice};

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
#[non_exhaustive]
pub enum TransportError {
    /// The transport was started before sessions were attached to it.
    #[error("the transport {0} has no sessions; attach them before it starts")]
    NotAttached(&'static str),
    /// The connection to the clients failed.
    #[error("{what}")]
    Io {
        /// What could not be done, for people.
        what: String,
        /// What the operating system reports.
        #[source]
        source: std::io::Error,
    },
}

/// Lets a transport serve one session that is open: whatever session its clients open, they get this
/// one. The transport ends the session like those that it opens itself. `model` is the model that
/// clients see.
///
/// ```
/// use robota_sdk::{InteractiveSession, Transport, TransportError, attach_transport};
///
/// async fn serve(
///     session: InteractiveSession,
///     transport: &mut dyn Transport,
/// ) -> Result<(), TransportError> {
///     attach_transport(transport, session, "claude-sonnet-5-5");
///     transport.start().await
/// }
/// # let _ = serve;
/// ```
pub fn attach_transport(
    transport: &mut dyn Transport,
    session: InteractiveSession,
    model: impl Into<String>,
) {
    transport.attach(Arc::new(OneSession { session, model: model.into() }));
}

/// The only session of a transport.
struct OneSession {
    session: InteractiveSession,
    model: String,
}

#[async_trait::async_trait]
impl SessionHost for OneSession {
    async fn check_model(&self) -> Result<(), HostError> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<HostedSession, HostError> {
        let id = self.session.session().id();
        let other = match &request.choice {
            SessionChoice::New(_) | SessionChoice::Earlier(Earlier::Latest) => None,
            SessionChoice::Earlier(Earlier::Named(name)) => {
                Some(name).filter(|name| *name != id.as_str())
            }
            SessionChoice::Fork { .. } => {
                let why = "this program serves one session, which cannot be forked";
                return Err(HostError::new(HostErrorKind::Invalid, why));
            }
        };
        if let Some(other) = other {
            let why = format!("there is no session `{other}`; this program serves `{id}`");
            return Err(HostError::new(HostErrorKind::NotFound, why));
        }
        let model = ModelChoice { id: self.model.clone(), name: self.model.clone() };
        Ok(HostedSession {
            session: self.session.clone(),
            model: self.model.clone(),
            models: vec![model],
            effort: None,
            modes: vec![Mode::Plan, Mode::Default, Mode::DontAsk, Mode::AcceptEdits],
        })
    }

    async fn list(&self, _: Option<&Path>) -> Result<Vec<SessionHead>, HostError> {
        // Clients must not be shown sessions that they cannot open here.
        Ok(Vec::new())
    }

    async fn delete(&self, _: Option<&Path>, _: &SessionId) -> Result<bool, HostError> {
        // The session belongs to the program, not to a client.
        Ok(false)
    }

    async fn set_model(
        &self,
        session: &InteractiveSession,
        model: &str,
    ) -> Result<String, HostError> {
        if let Some(project) = session.project() {
            let available = &project.settings.available_models;
            let invalid = |error: ModelNotAvailable| {
                HostError::new(HostErrorKind::Invalid, error.to_string())
            };
            available.check(None, model).map_err(invalid)?;
        }
        let config = session.session().config();
        let changed = config.switch_model(ModelSwitchSource::Host, model, None).await;
        changed.map_err(|error| HostError::new(HostErrorKind::Invalid, error.to_string()))?;
        Ok(model.to_owned())
    }
}
