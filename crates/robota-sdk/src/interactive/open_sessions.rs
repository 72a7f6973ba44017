//! The sessions that are open in this process, so that tools find the session that calls them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use robota_core::ids::SessionId;

use super::{InteractiveSession, SharedHandle, SharedParts};

/// Lists the open sessions of one composition: a session and its forks. It does not keep them open.
///
/// ```
/// use robota_core::ids::SessionId;
/// use robota_sdk::interactive::OpenSessions;
///
/// assert!(OpenSessions::default().get(&SessionId::from("unknown")).is_none());
/// ```
#[derive(Clone, Default)]
pub struct OpenSessions(Arc<Mutex<HashMap<SessionId, Weak<dyn SharedParts>>>>);

impl OpenSessions {
    /// Returns the session with this id, if it is open.
    #[must_use]
    pub fn get(&self, id: &SessionId) -> Option<InteractiveSession> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id)?.upgrade().map(SharedHandle).map(InteractiveSession)
    }

    /// Returns all sessions that are open.
    pub(crate) fn all(&self) -> Vec<InteractiveSession> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = sessions.values().filter_map(Weak::upgrade);
        open.map(SharedHandle).map(InteractiveSession).collect()
    }

    pub(super) fn add(&self, id: SessionId, session: &SharedHandle) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Entries of sessions that have ended are removed here, because nothing else removes them.
        sessions.retain(|_, open| open.strong_count() > 0);
        sessions.insert(id, Arc::downgrade(&session.0));
    }
}
