//! What a tool may show, asked at the moment it would: a pattern names no files, so the gate
//! cannot judge each of them.

use std::path::Path;
use std::sync::Arc;

use robota_core::paths::Paths;
use robota_policy::Policy;

/// What may be shown.
pub trait Grant: Send + Sync {
    /// Whether what is in that file may be shown.
    fn may_read(&self, path: &Path) -> bool;

    /// Whether that URL may be fetched although it leads to this machine or its network.
    fn may_fetch_private(&self, url: &str) -> bool;
}

/// Every file, no private address. For tools used without rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllFiles;

impl Grant for AllFiles {
    fn may_read(&self, _path: &Path) -> bool {
        true
    }

    fn may_fetch_private(&self, _url: &str) -> bool {
        false
    }
}

/// What the permission rules say.
pub struct PolicyGrant {
    policy: Arc<Policy>,
    paths: Arc<dyn Paths>,
}

impl PolicyGrant {
    /// These rules, on that file system.
    pub fn new(policy: Arc<Policy>, paths: Arc<dyn Paths>) -> Self {
        Self { policy, paths }
    }
}

impl Grant for PolicyGrant {
    fn may_read(&self, path: &Path) -> bool {
        self.policy.may_read(path, &*self.paths)
    }

    fn may_fetch_private(&self, url: &str) -> bool {
        self.policy.host_allowed_by_rule(url)
    }
}
