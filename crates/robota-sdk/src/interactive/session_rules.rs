//! What approvals change besides the rules of their session: the settings files, through the sink of the
//! client, and the permission mode.

use std::sync::Arc;

use async_trait::async_trait;
use robota_core::approve::RuleSink;
use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::hook::HookData;
use robota_core::ids::SessionId;
use robota_core::permission::{Mode, PermissionUpdate, UpdateDestination};

use super::OpenSessions;

/// Saves rules through the sink of the client, if it has one, and sets modes itself.
pub(super) struct SessionRules {
    pub(super) sink: Option<Arc<dyn RuleSink>>,
    pub(super) open: OpenSessions,
}

#[async_trait]
impl RuleSink for SessionRules {
    fn event(&self, destination: UpdateDestination) -> Option<HookData> {
        self.sink.as_ref()?.event(destination)
    }

    fn file(&self, destination: UpdateDestination) -> Option<String> {
        self.sink.as_ref()?.file(destination)
    }

    async fn save(&self, update: &PermissionUpdate) -> Result<(), ErrorData> {
        match &self.sink {
            Some(sink) => sink.save(update).await,
            None => {
                let problem = "no rule sink is configured to save rules";
                Err(ErrorData::new(ErrorKind::Validation, problem))
            }
        }
    }

    async fn set_mode(&self, session: &SessionId, mode: Mode) -> Result<(), ErrorData> {
        let Some(session) = self.open.get(session) else {
            return Err(ErrorData::new(ErrorKind::Validation, "the session is not open"));
        };
        session.set_mode(mode).await.map_err(|error| error.to_data())
    }
}
