//! Checks whether a tool may return the content of a file. The check is made when the tool has found
//! the file: the gate judges a call by its arguments, and a search pattern does not name files.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use robota_core::paths::Paths;
use robota_exec::OsPaths;
use robota_exec::sandbox::SharedConfinement;
use robota_policy::Policy;

/// Decides what tools may return to the model.
pub trait AccessCheck: Send + Sync {
    /// Returns whether the content of a file may be returned.
    fn may_read(&self, path: &Path) -> bool;

    /// Returns whether the user has to approve reading the file. A search that finds it leaves it out.
    fn needs_approval(&self, path: &Path) -> bool {
        let _ = path;
        false
    }

    /// Returns whether a URL may be fetched from this address, which is that of this machine or of a
    /// private network.
    fn may_connect_private(&self, url: &str, address: IpAddr) -> bool;
}

/// Allows all files and no private address. For tools that are used without rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAllFiles;

impl AccessCheck for AllowAllFiles {
    fn may_read(&self, _path: &Path) -> bool {
        true
    }

    fn may_connect_private(&self, _url: &str, _address: IpAddr) -> bool {
        false
    }
}

/// Applies the permission rules.
pub struct PolicyAccessCheck {
    policy: Arc<Policy>,
    paths: Arc<dyn Paths>,
}

impl PolicyAccessCheck {
    /// Creates a check for these rules on this file system.
    pub fn new(policy: Arc<Policy>, paths: Arc<dyn Paths>) -> Self {
        Self { policy, paths }
    }
}

impl AccessCheck for PolicyAccessCheck {
    fn may_read(&self, path: &Path) -> bool {
        self.policy.may_read(path, &*self.paths)
    }

    fn needs_approval(&self, path: &Path) -> bool {
        self.policy.needs_approval_to_read(path, &*self.paths)
    }

    fn may_connect_private(&self, url: &str, address: IpAddr) -> bool {
        self.policy.private_address_allowed(url, address)
    }
}

/// Applies the permission rules and the read restrictions of the sandbox.
pub(crate) struct SandboxAccessCheck {
    pub(crate) rules: Arc<dyn AccessCheck>,
    pub(crate) confinement: SharedConfinement,
}

impl AccessCheck for SandboxAccessCheck {
    fn may_read(&self, path: &Path) -> bool {
        let confinement = self.confinement.current();
        let fence = &confinement.boundaries().fence;
        let real = OsPaths.canonical(path);
        // A path that cannot be resolved may lead anywhere, so it is refused.
        self.rules.may_read(path) && real.is_some_and(|real| fence.may_read(&real))
    }

    fn needs_approval(&self, path: &Path) -> bool {
        self.rules.needs_approval(path)
    }

    fn may_connect_private(&self, url: &str, address: IpAddr) -> bool {
        self.rules.may_connect_private(url, address)
    }
}
