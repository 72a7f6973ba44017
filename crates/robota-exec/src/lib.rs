//! Everything that spawns.
