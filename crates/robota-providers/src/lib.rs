//! Model providers: four wires, any vendor.
//!
//! A *wire* is a protocol: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini.
//! A *vendor* is a file of data that says which wire a service speaks, where it is, how its key
//! is sent and what is odd about it. [`build`] makes a
//! [`Provider`](robota_core::provider::Provider) of a vendor and a user's settings:
//!
//! ```
//! use robota_core::env_ref::Secret;
//! use robota_core::provider::Provider as _;
//! use robota_providers::{Host, ProviderSettings, Vendors, Wire, build};
//!
//! let vendors = Vendors::builtin();
//! let (vendor, model) = vendors.split_model("anthropic/claude-sonnet-5-5").ok_or("no vendor")?;
//! let settings = ProviderSettings {
//!     model: Some(model.to_owned()),
//!     api_key: Some(Secret::new("sk-...")),
//!     base_url: Some("http://localhost:8080".to_owned()),
//!     ..ProviderSettings::default()
//! };
//! let provider = build(vendor, settings, &Host::default())?;
//! assert_eq!((provider.name(), provider.wire()), ("anthropic", Wire::AnthropicMessages));
//!
//! // A vendor nobody knows yet is a few fields.
//! let ours = serde_json::json!({"type": "house", "base_url": "http://gpu:8000/v1"});
//! assert!(vendors.with_user(&ours)?.find("house").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What holds on every wire:
//!
//! - A stream ends with exactly one [`Delta::End`](robota_core::provider::Delta::End), or with an
//!   error. One that just stops is truncated, never a success.
//! - Tool calls arrive whole, with arguments that are JSON or declared unreadable.
//! - Requests are byte-stable: each extends the one before it, apart from cache markers. A
//!   message is written once for as long as the conversation keeps it.
//! - Reasoning goes back, signatures and all, to the wire and the model it came from, and to no
//!   other. A conversation begun on one wire goes on on any other.
//! - Failures are one taxonomy: the service's own words, its number of the request, what to do,
//!   and whether and when to try again. Trying again is the turn's: nothing here does.
//! - No key is in any error, event, payload or debug print.
//!
//! What this crate never does: read the environment, follow redirects, decide anything by the
//! name of a model, keep a conversation.
//!
//! The parts: `wire` (requests and streams, pure), `http` (the client and its event streams),
//! `failure` (what went wrong), `profile` (vendors), `schema` (JSON Schema per wire),
//! `text_calls` (what local models write into their text), `definition` (set-up, models, probe).

mod cache;
mod connect;
mod definition;
pub mod environment;
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

pub use cache::{CacheStorage, CachedProvider, MemoryCache};
pub use connect::{connect, connect_from};
pub use definition::{
    CatalogueStatus, CredentialRequirement, Factory, HelpLink, HelpLinkKind, LocalServer,
    ModelCatalogue, ModelEntry, ProbeHook, ProbeReport, ProviderDefaults, ProviderDefinition,
    RefreshHook, Refreshed, SetupField, SetupPrompt, definition, definitions, find_definition,
    find_local, format_supported, known_models, require_definition,
};
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
