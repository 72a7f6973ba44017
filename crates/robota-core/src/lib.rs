//! The core of Robota: its data types, the rules of a turn, and every port. It does no I/O.
//!
//! Three promises start here: no acknowledged event is lost, no tool call runs that the gate did
//! not allow, and the runtime itself costs little.
//!
//! **The journal is the session.** Every fact is one [`event::Event`]. It is appended before any
//! observer receives it. [`state::State`] is a fold over the events; the live session, a resume, a
//! replay and the tests all use that one fold. Other representations ([`project`]) are computed
//! from events.
//!
//! **The machine decides, the driver acts.** [`turn::Turn`] is plain data and pure: it takes an
//! input and returns the effects to perform. [`driver::Drive`] performs them through the ports:
//!
//! | port | purpose |
//! |---|---|
//! | [`provider::Provider`] | calls a model service and streams its answer |
//! | [`tool::Tool`] | a function that a model can call |
//! | [`gate::Gate`] | judges every tool call; the driver cannot be built without one |
//! | [`approve::Approver`] | gets a user's decision on a call with verdict ask |
//! | [`hook::Hooks`] | runs user code at fixed points of a turn |
//! | [`compact::Compactor`] | summarises a conversation that grows too long |
//! | [`journal::Journal`], [`journal::JournalStore`] | append events, store sessions |
//! | [`blob::Blobs`] | stores large content by hash |
//! | [`checkpoint::Checkpoints`] | stores the content of a file before a tool changes it |
//! | [`sandbox::Sandbox`] | gives tools files and commands within restrictions |
//! | [`paths::Paths`] | resolves paths, for crates that do no I/O |
//! | [`clock::Clock`], [`ids::Ids`] | time and ids; the core never reads the system's itself |
//!
//! This crate opens no file, socket or process, reads no environment variable, prints nothing, and
//! contains no vendor's name. Crates that do any of this depend on it.
//!
//! # A whole run
//!
//! [`agent::Agent`] is the shortest way to run a turn: a driver on a journal in memory. In this
//! example the model is a script (feature `scripted`).
//!
//! ```
//! # #[cfg(feature = "scripted")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), robota_core::tool::ToolNameTaken> {
//! use robota_core::agent::Agent;
//! use robota_core::event::TurnEnd;
//! use robota_core::scripted::{Script, ScriptedProvider};
//! use robota_core::state::State;
//!
//! let model = ScriptedProvider::new(Script::new().text("Hello!"));
//! let mut agent = Agent::builder(model, "any-model").system("Be brief.").build()?;
//!
//! let report = agent.run("Hi").await;
//! assert_eq!((report.end, report.text.as_str()), (TurnEnd::Complete, "Hello!"));
//!
//! // The agent's state is the fold of its journal.
//! let journal = agent.events();
//! let state = State::fold(journal.iter().map(AsRef::as_ref)).unwrap();
//! assert_eq!(&state, agent.state());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "scripted"))]
//! # fn main() {}
//! ```

pub mod address;
pub mod agent;
pub mod approve;
pub mod backoff;
pub mod blob;
pub mod call;
pub mod catalogue;
pub mod checkpoint;
pub mod clock;
pub mod close;
pub mod compact;
pub mod context;
pub mod driver;
pub mod env_ref;
pub mod error;
pub mod event;
pub mod gate;
pub mod guard;
pub mod hash;
pub mod history;
pub mod hook;
pub mod ids;
pub mod into_arc;
pub mod journal;
pub mod message;
pub mod paths;
pub mod permission;
pub mod plugin;
pub mod process;
pub mod project;
pub mod provider;
pub mod redact;
pub mod resume;
pub mod sandbox;
#[cfg(feature = "scripted")]
pub mod scripted;
pub mod state;
pub mod streaming;
pub mod task;
pub mod telemetry;
pub mod tool;
pub mod turn;
pub mod typed;
pub mod usage;
