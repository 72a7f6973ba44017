//! The client: connections to servers, and their tools, resources and prompts for a session.
//!
//! [`McpServers`] has all servers of a session. A server is started when it is needed: when one of its
//! tools is called, or when its tools are not known yet. Tools that the user approved before are
//! known from [`CatalogStore`](crate::CatalogStore), so a session offers them without a start.

mod call;
mod connection;
mod event_stream;
mod form;
mod handler;
mod host;
mod http;
mod http_client;
mod link;
mod list;
mod listen;
mod nesting;
mod options;
mod outcome;
mod prompts;
mod resources;
mod rounds;
mod sampling;
mod search;
mod server;
mod servers;
mod session_tools;
mod sse;
mod stdio;
mod task;
mod tool;
mod transport;

pub(crate) use http::client as new_http_client;

pub use form::{FieldKind, Form, FormChoice, FormField};
pub use host::{HostChannel, HostInbox};
pub use options::{ElicitAnswer, Elicitation, ElicitationKind, Elicitor, McpClientOptions};
pub use prompts::PromptCommand;
pub use sampling::{Sampler, SamplingAnswer, SamplingMessage, SamplingRequest};
pub use server::{Approved, ServerInstructions, ServerReport, ServerStatus};
pub use servers::McpServers;
pub use session_tools::{LIST_RESOURCES, READ_RESOURCE, SessionTools, TOOL_SEARCH};
