//! When a store waits for the disk.

use robota_core::event::Durability;

/// When a store waits for the disk (its fsync policy). `docs/stores.md` lists what each level can
/// lose.
///
/// A crash of the process alone loses nothing at any level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurabilityLevel {
    /// Every append waits for the disk: a power failure loses nothing that was acknowledged.
    Strict,
    /// Appends wait at the barriers of the event table: a power failure may lose events after the
    /// last barrier, never an event that an effect was based on.
    #[default]
    Barrier,
    /// No append waits for the disk: a power failure may lose the end of a session, even several
    /// minutes of it.
    Relaxed,
}

impl DurabilityLevel {
    /// Returns whether an append with that durability waits for the disk.
    pub(crate) fn waits(self, durability: Durability) -> bool {
        match self {
            Self::Strict => true,
            Self::Barrier => durability == Durability::Synced,
            Self::Relaxed => false,
        }
    }
}
