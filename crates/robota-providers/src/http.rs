//! HTTP: the client, which pools connections, and the event stream reader.

mod client;
mod headers;
mod scrub;
mod sse;

pub use client::Transport;
pub(crate) use client::{HttpClient, Method, Reply, Request, broken};
pub(crate) use headers::{after, request_id, should_retry};
pub(crate) use scrub::{Scrubber, place};
pub(crate) use sse::{Limits, Sse};
