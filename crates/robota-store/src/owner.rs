//! Who writes, as others are told.

use robota_core::clock::Clock;

/// This process, for whoever finds a session taken.
pub(crate) fn owner(clock: &dyn Clock) -> String {
    format!(
        "pid {} on {} since {}",
        std::process::id(),
        rustix::system::uname().nodename().to_string_lossy(),
        clock.now().strftime("%Y-%m-%d %H:%M:%SZ"),
    )
}
