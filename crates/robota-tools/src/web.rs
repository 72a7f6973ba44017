//! An HTTP client for tools. It does not connect to private addresses without permission.

mod client;
mod headers;
mod html;
mod markdown;
mod page;
mod proxy;

pub use client::{AllowPrivate, Fetched, WebClient, WebError, WebRequest};
pub use headers::checked_headers;
pub(crate) use page::{Readable, readable};
pub use proxy::Proxies;
