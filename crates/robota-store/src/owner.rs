//! This process as the owner of a lease.

use robota_core::clock::Clock;
use robota_core::journal::LeaseOwner;

/// Describes this process to others that find a session open.
pub(crate) fn lease_owner(clock: &dyn Clock) -> LeaseOwner {
    LeaseOwner {
        host: Some(rustix::system::uname().nodename().to_string_lossy().into_owned()),
        pid: Some(std::process::id()),
        process: crate::process::this_process(),
        since: Some(clock.now()),
    }
}
