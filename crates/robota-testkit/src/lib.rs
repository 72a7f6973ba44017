//! What tests of Robota and of its adapters are made of.
//!
//! | for | there is |
//! |---|---|
//! | a whole run in a few lines | [`Run`] |
//! | a model | [`Script`], [`Answer`], [`ScriptedProvider`] (from the core) |
//! | a model's service on loopback | `mock` (feature `mock`) |
//! | what every provider must do | `provider_suite` (feature `provider-suite`) |
//! | time and ids | [`FakeClock`], [`CountingIds`] |
//! | a disk that fails | [`FailingJournal`] |
//! | permission | [`ScriptedGate`], [`RecordingGate`], [`ScriptedApprover`], [`RecordingApprover`] |
//! | tools | [`fn_tool`], [`blocking_tool`], [`stubborn_tool`], [`panicking_tool`] |
//! | a database server, a failing way to it | `postgres::{PostgresServer, Proxy}` (feature `postgres`) |
//! | a part of the system that may be missing | [`requires`] |
//! | a journal store | `store_suite` (feature `store-suite`) |
//! | comparing what happened | [`render`], [`without_chunks`], [`without`], [`kinds`] |
//!
//! Nothing here sleeps or reads a real clock. Tests wait for the thing itself: a gate of a
//! script ([`ScriptedProvider::reached`]), a tool that has started ([`HeldTool::started`]), and
//! tokio's paused time for everything that takes time. With time paused
//! (`#[tokio::test(start_paused = true)]`) two runs of one script give equal events; logs leave
//! out what time changes, so they are equal anyway.
//!
//! ```
//! use robota_testkit::{Run, fn_tool};
//! use robota_core::permission::Class;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let ran = Run::script("
//! - tools: [{tool: shout, input: {word: hello}}]
//! - {text: It is loud., expect: {last: HELLO}}
//! ")
//! .tool(fn_tool("shout", Class::Inspect, |input| async move {
//!     input["word"].as_str().unwrap_or_default().to_uppercase()
//! }))
//! .prompt("Shout, please.")
//! .await;
//!
//! assert_eq!(ran.text, "It is loud.");
//! assert_eq!(ran.requests.len(), 2);
//! assert!(ran.log().contains("tool_finished call#1 class=inspect ok \"HELLO\""));
//! # }
//! ```

mod approver;
mod clock;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod journal;
#[cfg(feature = "mock")]
pub mod mock;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "provider-suite")]
#[expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "suites fail by panic")]
pub mod provider_suite;
mod render;
mod requires;
mod run;
#[cfg(feature = "store-suite")]
pub mod store_suite;
mod tool;

pub use approver::{RecordingApprover, ScriptedApprover};
pub use clock::FakeClock;
pub use gate::{RecordingGate, ScriptedGate};
pub use journal::{Appended, FailingJournal};
pub use render::{kinds, render, without, without_chunks};
pub use requires::{Part, requires};
pub use robota_core::ids::CountingIds;
pub use robota_core::scripted::{Answer, Expect, Script, ScriptedProvider, Stall, Step};
pub use run::{Ran, Run};
pub use tool::{
    FnTool, HeldTool, IntoOutcome, PanickingTool, blocking_tool, fn_tool, panicking_tool,
    stubborn_tool,
};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A test that panicked while it held a lock has failed already; its other threads may go on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
