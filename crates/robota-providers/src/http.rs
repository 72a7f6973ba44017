//! HTTP: the client, which pools connections, and the event stream reader.

mod client;
mod headers;
mod resolver;
mod scrub;
mod sse;

pub use client::HttpClientOptions;
pub(crate) use client::{HttpClient, Method, Request, Response, network_failure};
pub(crate) use headers::{rate_limits, request_id, retry_after, should_retry};
pub(crate) use scrub::{Scrubber, display_address};
pub(crate) use sse::{Limits, Sse};
