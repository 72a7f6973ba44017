//! How much a store waits for.

use robota_core::event::Durability;

/// How much a store waits for. What each can lose is in `docs/stores.md`.
///
/// The death of this process loses nothing at any level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurabilityLevel {
    /// Every append waits for the disk: the loss of power loses nothing that was acknowledged.
    Strict,
    /// Waits where the event table says so: the loss of power may take back events that came after
    /// the last barrier, never one that something was done upon.
    #[default]
    Barrier,
    /// Waits for no append: the loss of power may take back the end of a session, of minutes even.
    Relaxed,
}

impl DurabilityLevel {
    /// Whether an append that asks for this waits for the disk.
    #[must_use]
    pub fn waits(self, asked: Durability) -> bool {
        match self {
            Self::Strict => true,
            Self::Barrier => asked == Durability::Synced,
            Self::Relaxed => false,
        }
    }
}
