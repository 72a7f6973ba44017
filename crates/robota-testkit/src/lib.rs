//! Building blocks for tests of Robota and of its adapters.
//!
//! | to test with | use |
//! |---|---|
//! | a whole run in a few lines | [`Run`] |
//! | a scripted model | [`Script`], [`ScriptedAnswer`], [`ScriptedProvider`] (from the core) |
//! | a mock model server on loopback | `mock` (feature `mock`) |
//! | the conformance tests of all providers | `provider_suite` (feature `provider-suite`) |
//! | a fixed time and predictable ids | [`FakeClock`], [`CountingIds`] |
//! | a journal whose appends fail | [`FailingJournal`] |
//! | gates and approvers | [`ScriptedGate`], [`RecordingGate`], [`ScriptedApprover`],
//! [`RecordingApprover`] |
//! | tools | [`fn_tool`], [`blocking_tool`], [`stubborn_tool`], [`panicking_tool`] |
//! | a database server, and a faulty connection to it | `postgres::{PostgresServer, Proxy}` (feature `postgres`) |
//! | a part of the system that may be missing | [`requires`] |
//! | packages of npm and PyPI | [`Packages`] |
//! | the conformance tests of all journal stores | `store_suite` (feature `store-suite`) |
//! | how much memory a program has allocated | [`CountingAllocator`] |
//! | comparable event logs | [`render`], [`without_chunks`], [`without`], [`kinds`] |
//!
//! Nothing here sleeps or reads a real clock. Tests wait for the condition itself: a gate of a script
//! ([`ScriptedProvider::reached`]) or a tool that has started ([`HeldTool::started`]). For
//! everything that takes time they use tokio's paused time. With paused time
//! (`#[tokio::test(start_paused = true)]`), two runs of one script produce equal events. Rendered
//! logs omit times and durations, so they are always equal.
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

mod allocator;
mod approver;
mod clock;
pub mod fake_mcp;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod journal;
#[cfg(feature = "mock")]
pub mod mock;
mod packages;
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

pub use allocator::CountingAllocator;
pub use approver::{RecordingApprover, ScriptedApprover};
pub use clock::FakeClock;
pub use gate::{RecordingGate, ScriptedGate};
pub use journal::{Appended, FailingJournal};
pub use packages::Packages;
pub use render::{kinds, render, without, without_chunks};
pub use requires::{Part, requires};
pub use robota_core::ids::CountingIds;
pub use robota_core::scripted::{Expect, Script, ScriptedAnswer, ScriptedProvider, Stall, Step};
pub use run::{Run, RunResult};
pub use tool::{
    FnTool, HeldTool, PanickingTool, blocking_tool, fn_tool, panicking_tool, stubborn_tool,
};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if a test thread panicked while it held it: that test has failed already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
