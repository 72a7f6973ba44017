//! Commands beside the agent: one file each.

pub(crate) mod config;
pub(crate) mod permissions;
pub(crate) mod trust;
