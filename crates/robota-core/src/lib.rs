//! The core of Robota: the vocabulary, the rules of a turn, and every port. No I/O.
//!
//! Three promises start here: nothing acknowledged is ever lost, nothing runs that was not
//! allowed, and it costs almost nothing to run.
//!
//! **The journal is the session.** Every fact is one [`event::Event`], appended before it is
//! shown to anyone. [`state::State`] is a fold over the events; the same fold is used live, at
//! resume, in replay and in tests. What others want to see ([`project`]) is made from events.
//!
//! **The machine decides, the driver acts.** [`turn::Turn`] is plain data and pure: it takes what
//! happened and returns what is to be done. [`driver::Drive`] does it, against the ports:
//!
//! | port | for |
//! |---|---|
//! | [`provider::Provider`] | a model's service; streaming first |
//! | [`tool::Tool`] | something a model can call |
//! | [`gate::Gate`] | judges every call; there is no driver without one |
//! | [`approve::Approver`] | answers when the gate wants a call approved |
//! | [`hook::Hooks`] | the user's own code at points of a turn |
//! | [`compact::Compactor`] | summarises a conversation that grows too long |
//! | [`journal::Journal`], [`journal::JournalStore`] | where events go |
//! | [`blob::Blobs`] | where large things go |
//! | [`checkpoint::Checkpoints`] | gets every file before a tool changes it |
//! | [`sandbox::Sandbox`] | where tools work: files and commands within boundaries |
//! | [`paths::Paths`] | resolves paths, for crates that do no I/O |
//! | [`clock::Clock`], [`ids::Ids`] | time and chance, given and never taken |
//!
//! This crate opens no file, socket or process, reads no environment, prints nothing, and knows
//! no vendor's name. Crates that need one of these are above it.
//!
//! # A whole run
//!
//! [`agent::Agent`] is the shortest way in: a driver on a journal in memory. Here the model is
//! played from a script (feature `scripted`).
//!
//! ```
//! # #[cfg(feature = "scripted")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
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
//! // What the agent knows is what its journal says.
//! let journal = agent.events();
//! let state = State::fold(journal.iter().map(AsRef::as_ref)).unwrap();
//! assert_eq!(&state, agent.state());
//! # }
//! # #[cfg(not(feature = "scripted"))]
//! # fn main() {}
//! ```

pub mod agent;
pub mod approve;
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
pub mod history;
pub mod hook;
pub mod ids;
pub mod into_arc;
pub mod journal;
pub mod message;
pub mod paths;
pub mod permission;
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
pub mod telemetry;
pub mod tool;
pub mod turn;
pub mod typed;
pub mod usage;
