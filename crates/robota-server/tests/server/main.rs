//! The servers of this crate, with a session host that needs no program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod acp_order;
mod conformance;
mod conformance_host;
mod host;
mod mcp_approvals;
mod mcp_offered;
