//! The SDK from the outside: sessions with a scripted model in a temporary folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent_fields;
mod agents;
mod available_models;
mod budget;
mod commands;
mod common;
mod context;
mod events;
mod foreground;
mod history;
mod hooks;
mod hostile;
mod hostile_places;
mod kills;
mod limited_tools;
mod managed;
mod mcp_calls;
mod memory;
mod mentions;
mod open;
mod people;
mod plan_mode;
mod queue;
mod run_plugins;
mod schedules;
mod session;
mod skills;
mod subagents;
