//! Observes the runs of single hooks.

use super::{HookEvent, HookExit};

/// Observes every hook that a runner runs.
pub trait HookObserver: Send + Sync {
    /// Called when a hook starts. `target` is what its matcher was compared with, such as the name of
    /// the tool; empty if the event has none.
    fn started(&self, event: HookEvent, target: &str) -> Box<dyn ObservedHook>;
}

/// A run that is observed. It is dropped without an end if the run is cancelled.
pub trait ObservedHook: Send {
    /// Called when the hook has ended.
    fn ended(&mut self, exit: &HookExit);
}
