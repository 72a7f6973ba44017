//! The servers: protocols by which editors and other programs use sessions.
//!
//! Every protocol is a projection of the events of [`robota_core`], made at the edge. It keeps a
//! cursor and open requests, nothing else: what happened is in the journal.

pub mod acp;
pub mod headless;
pub mod mcp;
