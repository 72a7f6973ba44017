//! ACP, the Agent Client Protocol: editors use the agent over standard input and output.
//!
//! `rpc` reads and writes JSON-RPC messages, `connection` matches requests and responses, and
//! [`v1`] has the messages of version 1. `agent` answers the editor; each open session has a
//! task that turns its events into updates (`project`) and its questions into requests
//! (`permission`). The protocol is described on `docs/acp.md`.

mod agent;
mod client_files;
mod client_terminals;
mod connection;
mod folders;
mod message_order;
mod open;
mod options;
mod permission;
mod project;
mod prompt;
mod questions;
mod rpc;
mod sessions;
mod tool_call;
pub mod v1;

pub use agent::AcpAgent;
pub use connection::{InputLine, MAX_LINE};
