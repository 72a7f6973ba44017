//! What a tool may show, asked at the moment it would: a pattern names no files, so the gate
//! cannot judge each of them.

use std::path::Path;
use std::sync::Arc;

use robota_core::paths::Paths;
use robota_exec::OsPaths;
use robota_exec::sandbox::Confinement;
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

/// What the rules say, and of that what lies on this side of a fence.
pub(crate) struct Fenced {
    pub(crate) rules: Arc<dyn Grant>,
    pub(crate) fence: Arc<Confinement>,
}

impl Grant for Fenced {
    fn may_read(&self, path: &Path) -> bool {
        let fence = &self.fence.boundaries().fence;
        let real = OsPaths.canonical(path);
        self.rules.may_read(path) && real.is_some_and(|real| fence.may_read(&real))
    }

    fn may_fetch_private(&self, url: &str) -> bool {
        self.rules.may_fetch_private(url)
    }
}
