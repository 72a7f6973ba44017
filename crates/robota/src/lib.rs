//! Robota: durable, crash-safe agents.
//!
//! This is the crate to add to a program. It re-exports the names that most programs need and the
//! crates they come from, and adds [`connect`], [`connect_from_env`] and the [`macro@tool`] macro.
//!
//! ```
//! # #[cfg(feature = "scripted")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use robota::scripted::{Script, ScriptedProvider};
//! use robota::{Agent, Mode, ModeGate};
//!
//! let model = ScriptedProvider::new(Script::new().text("Hello, Ada!"));
//! let mut agent = Agent::builder(model, "any-model")
//!     .system("Greet people.")
//!     .gate(ModeGate(Mode::Plan))
//!     .build()?;
//! let report = agent.run("I am Ada.").await;
//! assert_eq!(report.text, "Hello, Ada!");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "scripted"))]
//! # fn main() {}
//! ```
//!
//! | feature | adds |
//! |---|---|
//! | `scripted` | a provider that plays a script, for tests and trying things out |
//! | `tools` | the built-in tools, and the supervisor their processes run under |
//! | `session` | durable sessions, and the permission rules that decide which calls may run |
//! | `sdk` | interactive sessions: settings, context files, skills, commands and hooks of a folder |
//! | `runtime` | schedules, pools of sessions, rooms |
//! | `store` | sessions in files; `sqlite` and `postgres` add databases |
//! | `providers` | models of any vendor, over four wires; `bedrock`, `vertex` and `entra` add credentials of AWS, Google Cloud and Azure |
//! | `otel` | the export of spans and metrics by OpenTelemetry |
//!
//! The main types are [`Agent`], which lives in memory, `Session`, which is durable, and [`Tool`],
//! [`Gate`] and [`Event`]; [`core`] has everything else. MCP servers, subagents, skills and commands are
//! part of `sdk`.

#[cfg(feature = "providers")]
mod connect;

pub use async_trait::async_trait;
#[cfg(feature = "providers")]
pub use connect::{connect, connect_from_env};
pub use robota_core as core;
#[cfg(feature = "scripted")]
pub use robota_core::scripted;
#[cfg(feature = "tools")]
pub use robota_exec as exec;
#[cfg(feature = "session")]
pub use robota_policy as policy;
#[cfg(feature = "providers")]
pub use robota_providers as providers;
#[cfg(feature = "runtime")]
pub use robota_runtime as runtime;
#[cfg(feature = "sdk")]
pub use robota_sdk as sdk;
#[cfg(feature = "session")]
pub use robota_session as session;
#[cfg(feature = "store")]
pub use robota_store as store;
pub use robota_telemetry as telemetry;
#[cfg(feature = "tools")]
pub use robota_tools as tools;
pub use tokio_util::sync::CancellationToken;

pub use robota_core::agent::{
    Agent, AgentBuilder, AgentFactory, AgentTemplate, Module, ModuleRegistry, RunOptions,
};
pub use robota_core::approve::{Answer, Approver, NoApprover, Question};
pub use robota_core::event::{Cursor, Envelope, Event, TurnEnd};
pub use robota_core::gate::{AllowAll, Gate, Judgement, ModeGate, ReadOnlyGate};
pub use robota_core::message::{Block, Message, Role};
pub use robota_core::permission::{Class, Mode, Verdict};
pub use robota_core::provider::Provider;
pub use robota_core::state::State;
pub use robota_core::tool::{FunctionTool, Json, Tool, ToolContext, ToolOutcome, ToolSpec};
pub use robota_core::turn::TurnReport;
#[cfg(feature = "session")]
pub use robota_session::{Approvals, Reply, Session, SessionBuilder, SessionError};
#[cfg(feature = "store")]
pub use robota_store::FileStore;

/// Makes a tool from an async function.
///
/// The function becomes a function of the same name without arguments, which returns the tool. Its
/// doc comment is the description that the model reads, its parameters are the arguments (any type
/// that implements `serde::Deserialize` and `schemars::JsonSchema`; an `Option` may be left out by the
/// model), and doc comments on the parameters describe them. A parameter of type [`ToolContext`]
/// receives the context of the call. The function returns text, a number, `()`, a JSON value, [`Json`]
/// with any value that implements `serde::Serialize`, a [`ToolOutcome`], or a `Result` of these: an error
/// is a failed call whose text the model reads.
///
/// Options: `class` ([`Class`], by default `Execute`: the call may do anything, so the gate asks before
/// it runs), `name` (by default the name of the function), `description`.
///
/// ```
/// use robota::Tool as _;
///
/// /// Adds two numbers.
/// #[robota::tool(class = Inspect)]
/// async fn add(
///     /// The first number.
///     a: i64,
///     /// The second number; 1 if it is left out.
///     b: Option<i64>,
/// ) -> String {
///     (a + b.unwrap_or(1)).to_string()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let tool = add();
/// assert_eq!(tool.spec().name, "add");
/// let input = serde_json::json!({"a": 2});
/// assert_eq!(tool.run(input, robota::ToolContext::detached()).await.text(), "3");
/// # }
/// ```
pub use robota_macros::tool;

/// For the code that macros generate. Not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;
}

/// The programs on the pages are compiled and run with the doc tests, so that they stay true.
#[cfg(all(
    doctest,
    feature = "providers",
    feature = "scripted",
    feature = "session",
    feature = "store",
    feature = "tools"
))]
mod pages {
    #[cfg(feature = "runtime")]
    #[doc = include_str!("../../../docs/schedules.md")]
    struct Schedules;
    #[cfg(feature = "runtime")]
    #[doc = include_str!("../../../docs/pools.md")]
    struct Pools;
    #[cfg(feature = "runtime")]
    #[doc = include_str!("../../../docs/rooms.md")]
    struct Rooms;
    #[cfg(all(feature = "runtime", feature = "sdk"))]
    #[doc = include_str!("../../../docs/background.md")]
    struct Background;
    #[doc = include_str!("../../../docs/checkpoints.md")]
    struct Checkpoints;
    #[cfg(feature = "sdk")]
    #[doc = include_str!("../../../docs/sdk.md")]
    struct Sdk;
    #[doc = include_str!("../../../docs/openapi.md")]
    struct OpenApi;
    #[doc = include_str!("../../../docs/tools.md")]
    struct Tools;
    #[cfg(feature = "otel")]
    #[doc = include_str!("../../../docs/telemetry.md")]
    struct Telemetry;
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/embedding.md")]
    struct Embedding;
}
