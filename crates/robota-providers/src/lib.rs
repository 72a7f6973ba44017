//! Model providers: four wires, any vendor.
#![cfg_attr(not(test), warn(missing_docs))]

mod definition;
mod error;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod host;
mod http;
mod json;
mod profile;
mod provider;
mod schema;
mod settings;
mod text_calls;
mod wire;

pub use definition::{LocalServer, definition, definitions, find_local, known_models};
pub use error::BuildError;
pub use host::Host;
pub use http::Transport;
pub use profile::{
    Auth, EffortStyle, Elsewhere, EmptyContent, GeminiSchema, MaxTokens, Profile, Quirks,
    ReasoningReplay, SystemRole, TextCallForm, ThinkMark, ToolIds, Vendors, Wire,
};
pub use provider::{HttpProvider, Probe, build};
pub use settings::ProviderSettings;
pub use wire::SERVER_TOOL_INDEX;
