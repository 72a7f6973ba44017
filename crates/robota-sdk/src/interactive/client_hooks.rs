//! The hooks about what only a client knows: a change of settings that it makes, and a user who does
//! not send the next prompt.

use std::time::Duration;

use robota_config::{Layer, Places};
use robota_core::hook::{HookData, NotificationType};

use super::{InteractiveSession, config_change};
use crate::error::SdkError;

/// How long a session waits for the next prompt until its hooks are notified, without a setting.
const IDLE: Duration = Duration::from_secs(60);

/// Runs the hooks of a session about events that its client causes.
///
/// ```
/// # async fn example(session: robota_sdk::InteractiveSession) {
/// use robota_sdk::ClientHooks;
///
/// let hooks = ClientHooks::of(&session);
/// tokio::time::sleep(hooks.idle_threshold()).await;
/// hooks.notify_idle().await;
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct ClientHooks<'a>(&'a InteractiveSession);

impl<'a> ClientHooks<'a> {
    /// Returns the hooks of a session.
    #[must_use]
    pub fn of(session: &'a InteractiveSession) -> Self {
        Self(session)
    }

    /// Runs the ConfigChange hooks before a client changes a settings file.
    ///
    /// # Errors
    /// If a hook blocks the change; the file must then stay as it is.
    pub async fn before_config_change(
        &self,
        places: &Places,
        layer: Layer,
    ) -> Result<(), SdkError> {
        self.0.ask_hooks(config_change(places, layer)).await.map(drop)
    }

    /// Returns after which time without a prompt a client calls
    /// [`notify_idle`](ClientHooks::notify_idle).
    #[must_use]
    pub fn idle_threshold(&self) -> Duration {
        let project = self.0.0.project.as_ref();
        let set = project.and_then(|it| it.settings.values.message_idle_notif_threshold_ms);
        set.map_or(IDLE, Duration::from_millis)
    }

    /// Runs the Notification hooks about a user who has not sent the next prompt (`idle_prompt`). Only a
    /// client knows whether its user is there; it calls this once after a turn.
    pub async fn notify_idle(&self) {
        let data = HookData::notification(
            NotificationType::IdlePrompt,
            "Robota is waiting for your input".to_owned(),
        );
        self.0.session().config().run_hooks(data).await;
    }
}
