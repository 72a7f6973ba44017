//! The subcommands, one file each.

pub(crate) mod acp;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod permissions;
pub(crate) mod plugin;
pub(crate) mod schedule;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod trust;
pub(crate) mod worktrees;
