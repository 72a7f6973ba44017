//! The limits of a pool.

use std::time::Duration;

use robota_core::ids::{SessionId, SessionName};

/// How many sessions a pool may have, and when it closes those that are idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolLimits {
    /// How many sessions the pool may have, live and passive.
    pub max_sessions: usize,
    /// How many sessions a tenant may have. The tenant is the `org:`, else the `team:`, else the
    /// `user:` of the id; sessions without one share one tenant.
    pub max_per_tenant: usize,
    /// How many sessions may be live. Above that, the session that was not used for the longest time
    /// is made passive.
    pub max_live: usize,
    /// A session that is idle for this long is made passive.
    pub idle_after: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            max_sessions: 100_000,
            max_per_tenant: 100_000,
            max_live: 1_000,
            idle_after: Duration::from_secs(300),
        }
    }
}

/// Returns the tenant of a session.
pub(super) fn tenant_of(id: &SessionId) -> String {
    let Ok(SessionName::Path(path)) = SessionName::parse(id.as_str()) else {
        return String::new();
    };
    let parts = [("org", path.org), ("team", path.team), ("user", path.user)];
    let first = parts.into_iter().find_map(|(key, value)| Some((key, value?)));
    first.map_or_else(String::new, |(key, value)| format!("{key}:{value}"))
}
