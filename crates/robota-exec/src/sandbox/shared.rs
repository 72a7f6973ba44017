//! The confinement of the commands of one session, which can change while the session runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::Confinement;

/// The confinement with which commands start. Clones share it: after [`replace`](Self::replace) all of
/// them start commands with the new one. A command that runs keeps the one that it started with.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_exec::sandbox::{Confinement, SharedConfinement};
///
/// fn may_write(confinement: Arc<Confinement>, path: &std::path::Path) -> bool {
///     let shared = SharedConfinement::from(confinement);
///     shared.current().boundaries().fence.may_write(path)
/// }
/// # let _ = may_write;
/// ```
#[derive(Debug, Clone)]
pub struct SharedConfinement(Arc<RwLock<Arc<Confinement>>>);

impl SharedConfinement {
    /// Returns the confinement for a command that starts now.
    #[must_use]
    pub fn current(&self) -> Arc<Confinement> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the confinement of the commands that start from now on.
    pub fn replace(&self, confinement: Confinement) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(confinement);
    }
}

impl From<Arc<Confinement>> for SharedConfinement {
    fn from(confinement: Arc<Confinement>) -> Self {
        Self(Arc::new(RwLock::new(confinement)))
    }
}
