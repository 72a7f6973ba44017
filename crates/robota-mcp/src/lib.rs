//! MCP, client and server: the only crate that names the MCP library.
//!
//! Protocol crates change often, so this crate hides theirs: the rest of the workspace uses the
//! tools of [`robota_core`] and no type of the library.
//!
//! [`client`] connects to servers and has their tools for a session, [`config`] reads the
//! configuration of a server, [`oauth`] logs in, [`review`] shows what a server has changed,
//! [`server`] offers tools and agents to others.

pub mod catalog;
pub mod client;
pub mod config;
mod error;
pub mod names;
pub mod oauth;
pub mod review;
pub mod schema;
pub mod server;
mod store;
mod text;

pub use error::McpError;
pub use store::CatalogStore;
