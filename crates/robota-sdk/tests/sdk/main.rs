//! The SDK from the outside: sessions with a scripted model in a temporary folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod budget;
mod commands;
mod common;
mod context;
mod events;
mod history;
mod hooks;
mod hostile;
mod memory;
mod mentions;
mod open;
mod people;
mod queue;
mod session;
mod skills;
mod subagents;
