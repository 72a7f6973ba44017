//! Robota: agents that outlive their process.
//!
//! This is the crate to add. It holds no code: it re-exports the names most programs need, and
//! the crates they come from.
//!
//! ```
//! # #[cfg(feature = "scripted")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use robota::scripted::{Script, ScriptedProvider};
//! use robota::{Agent, Mode, ModeGate};
//!
//! let model = ScriptedProvider::new(Script::new().text("Hello, Ada!"));
//! let mut agent = Agent::builder(model, "any-model")
//!     .system("Greet people.")
//!     .gate(ModeGate(Mode::Plan))
//!     .build();
//! let report = agent.run("I am Ada.").await;
//! assert_eq!(report.text, "Hello, Ada!");
//! # }
//! # #[cfg(not(feature = "scripted"))]
//! # fn main() {}
//! ```
//!
//! | feature | adds |
//! |---|---|
//! | `scripted` | a provider that plays a script, for tests and trying things out |
//! | `tools` | the built-in tools, and the supervisor their processes run under |
//! | `session` | durable sessions, and the permission rules of what may run in them |
//! | `store` | sessions in files; `sqlite` and `postgres` add databases |
//! | `providers` | models of any vendor, over four wires |
//! | `otel` | the export of spans and metrics by OpenTelemetry |
//!
//! Servers, subagents and MCP are not here yet; the README says what works today. Where to
//! begin: [`Agent`], [`Tool`], [`Gate`], [`Event`], and [`core`] for everything else.

pub use async_trait::async_trait;
pub use robota_core as core;
#[cfg(feature = "scripted")]
pub use robota_core::scripted;
#[cfg(feature = "tools")]
pub use robota_exec as exec;
#[cfg(feature = "session")]
pub use robota_policy as policy;
#[cfg(feature = "providers")]
pub use robota_providers as providers;
#[cfg(feature = "session")]
pub use robota_session as session;
#[cfg(feature = "store")]
pub use robota_store as store;
pub use robota_telemetry as telemetry;
#[cfg(feature = "tools")]
pub use robota_tools as tools;
pub use tokio_util::sync::CancellationToken;

pub use robota_core::agent::{Agent, AgentBuilder, AgentFactory, AgentTemplate, RunOptions};
pub use robota_core::approve::{Answer, Approver, NoApprover, Question};
pub use robota_core::event::{Cursor, Envelope, Event, TurnEnd};
pub use robota_core::gate::{AllowAll, Gate, Judgement, ModeGate, ReadOnlyGate};
pub use robota_core::message::{Block, Message, Role};
pub use robota_core::permission::{Class, Mode, Verdict};
pub use robota_core::provider::Provider;
pub use robota_core::state::State;
pub use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
pub use robota_core::turn::TurnReport;

/// The programs on the pages are compiled and run with the doc tests, so that they stay true.
#[cfg(all(doctest, feature = "scripted", feature = "tools"))]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
}
