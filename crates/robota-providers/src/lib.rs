//! Model providers: four HTTP APIs ("wires"), any vendor.
//!
//! A *wire* is an HTTP API shape: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses or
//! Gemini. A *vendor* is a data file that names the wire of a service, its address, how its key
//! is sent, and its compatibility options ([`Quirks`]). [`build`] creates a
//! [`Provider`](robota_core::provider::Provider) from a vendor and a user's settings:
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
//! // A vendor that is not built in needs only a few fields.
//! let ours = serde_json::json!({"type": "house", "base_url": "http://gpu:8000/v1"});
//! assert!(vendors.with_user(&ours)?.find("house").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every wire guarantees:
//!
//! - A stream ends with exactly one [`Delta::End`](robota_core::provider::Delta::End), or with an
//!   error. A stream that stops without either is reported as truncated, never as a success.
//! - Tool calls are emitted whole. Their arguments are JSON, or marked as unreadable.
//! - Requests are byte-stable: each request extends the previous one, apart from cache markers. A
//!   message is encoded once for as long as it is part of the conversation.
//! - Reasoning, including its signatures, is sent back only to the wire and the model that produced
//!   it. A conversation that was started on one wire can continue on any other.
//! - All failures use one taxonomy: the service's message, its request id, a hint, and whether and
//!   when to retry. This crate never retries; the turn does.
//! - No error, event, payload or debug output contains a key.
//!
//! This crate never reads the environment, follows redirects or stores a conversation. The name of a
//! model decides two things only: which configured vendor gets a request that names none
//! ([`environment::vendor_for_model`]), and how Claude models are asked to reason.
//!
//! Modules: `wire` (encodes requests and decodes streams, no I/O), `http` (the client and the event
//! stream reader), `failure` (classifies errors), `profile` (vendors), `environment` (what variables
//! say), `credentials` (signatures and tokens of the clouds), `schema` (JSON Schema per
//! wire), `text_calls` (tool calls and reasoning that local models write into their text),
//! `definition` (set-up, model lists, probe).

mod cache;
mod connect;
mod credentials;
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
mod remote;
mod schema;
mod settings;
mod text_calls;
mod wire;

pub use cache::{CacheStorage, CachedProvider, MemoryCache};
pub use connect::{connect, connect_from};
pub use credentials::{Credentials, KeyHelper, KeySource};
pub use definition::{
    CatalogueStatus, CredentialRequirement, Factory, HelpLink, HelpLinkKind, LocalServer,
    ModelCatalogue, ModelEntry, ProbeHook, ProbeReport, ProviderDefaults, ProviderDefinition,
    RefreshHook, Refreshed, SetupField, SetupPrompt, definition, definitions, find_definition,
    find_local, format_supported, known_models, require_definition,
};
pub use error::BuildError;
pub use host::Host;
pub use http::HttpClientOptions;
pub use profile::{
    Auth, CredentialKind, EffortStyle, EmptyContent, GeminiSchema, GeminiThinking, MaxTokens,
    OffHostOverrides, OutputStyle, Profile, Quirks, ReasoningReplay, RequiredChoice, SystemRole,
    TextCallForm, ThinkMark, ToolIds, Vendors, Wire,
};
pub use provider::{HttpProvider, Probe, build};
pub use remote::{RemoteProvider, execute};
pub use settings::ProviderSettings;
pub use wire::SERVER_TOOL_INDEX;
pub use wire::citations::{Citation, citations};
