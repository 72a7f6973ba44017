//! The web, for tools: a client that does not reach where nobody allowed it to.

mod address;
mod client;
mod page;
mod proxy;

pub use address::is_private;
pub use client::{Fetched, WebClient, WebError};
pub(crate) use page::{Readable, readable};
pub use proxy::Proxies;
