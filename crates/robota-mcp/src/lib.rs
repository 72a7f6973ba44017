//! MCP, client and server: the only crate that names the MCP library.
//!
//! Protocol crates change often, so this one keeps theirs behind a wall: the rest of the
//! workspace sees tools of [`robota_core`] and nothing else.

pub mod server;
