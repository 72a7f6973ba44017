//! Durable sessions: one task owns one session, its journal is the truth.
//!
//! This crate will hold the `Session` actor (mailbox in, events out), the gate that
//! applies `robota-policy`, recovery from a crash at any point of a turn, forks at safe
//! points, compaction and replay. It drives the one driver of [`robota_core`]; it never
//! grows a second.
//!
//! Nothing is here yet: sessions come with their own issue. What exists today is the
//! ephemeral agent of [`robota_core`], which runs the same driver on a journal in memory.
