//! Durable sessions: one task owns one session, and the journal is the source of truth.
//!
//! A [`Session`] is a conversation that survives a crash of its process. An input that
//! [`Session::send`] has accepted is stored; what the model and its tools do is in the journal before
//! a client sees it; a session that a crash interrupted can be resumed.
//!
//! ```
//! use std::sync::Arc;
//!
//! use robota_core::journal::MemoryStore;
//! use robota_core::scripted::{Script, ScriptedProvider};
//! use robota_session::{Resume, Session};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), robota_session::SessionError> {
//! let store = Arc::new(MemoryStore::new());
//! let model = Arc::new(ScriptedProvider::new(Script::new().text("Hello!").text("Still here.")));
//!
//! let session = Session::builder(model.clone(), "some-model").create(store.clone(), None).await?;
//! assert_eq!(session.run("Hi").await?, "Hello!");
//! let id = session.id().clone();
//! session.shutdown("done").await?;
//!
//! let again = Session::builder(model, "some-model").resume(store, &id, Resume::default()).await?;
//! assert_eq!(again.run("Are you there?").await?, "Still here.");
//! # Ok(())
//! # }
//! ```
//!
//! | task | items |
//! |---|---|
//! | send inputs | [`Session::send`], [`Session::cancel`], [`Session::chat`], [`Session::reply`], [`Session::run`], [`Session::run_as`] |
//! | receive events | [`Session::subscribe`], [`follow`], [`Session::watch`], [`EventFilter`], [`Callbacks`] |
//! | change the configuration | [`ConfigHandle`] (model, system prompt, tools, hooks) |
//! | read and record events | [`JournalHandle`] |
//! | stop | [`Session::interrupt`], [`Session::shutdown`] |
//! | permissions | [`PolicyGate`], [`Approvals`], [`Permissions`] |
//! | hooks | [`CodeHook`], [`RuleCondition`] |
//! | the conversation | [`ContextHandle`], [`SummaryCompactor`] |
//! | fork | [`Session::snapshot`], [`Session::fork`], [`Selector`] |
//! | go back to a checkpoint | [`Session::checkpoints`], [`restore_stored`] |
//! | recover after a crash | [`Resume`], [`RecoveryHint`], [`Recovery`] |
//!
//! One task owns a session: it owns the recorder, steps the driver of the core, and answers
//! requests between two steps. `docs/embedding.md` shows whole programs, `docs/recovery.md` says
//! what happens after a crash and when the store fails.

mod actor;
mod approvals;
mod builder;
mod callbacks;
mod checkpoints;
mod compact;
mod condition;
mod crash_cleanup;
mod early_load;
mod error;
mod event_kind;
mod fork;
mod gate;
mod hooks;
mod hub;
mod id;
mod live_tools;
mod open;
pub mod replay;
mod session;
mod setup;
mod stored;
mod subscribe;
mod tool_output;

pub use approvals::{Approvals, Decision, approver_fn, prompt_approver};
pub use builder::SessionBuilder;
pub use callbacks::{Callbacks, CompactionReport, ToolExecution};
pub use checkpoints::{
    FilePreview, RestoreOptions, RestorePreview, RestoreReport, RestoreScope, checkpoints,
    preview_restore, restore_stored,
};
pub use compact::{SUMMARY_PREFIX, SummaryCompactor};
pub use condition::RuleCondition;
pub use early_load::EarlyLoad;
pub use error::SessionError;
pub use event_kind::{EventFilter, EventKind};
pub use fork::fork_stored;
pub use gate::PolicyGate;
pub use hooks::{CodeHook, HookFiles, HookOrigin, HookScope, RegisteredHook};
pub use hub::SessionState;
pub use id::{IdError, Selector, SnapshotId};
pub use open::{Resume, ResumeStrategy};
pub use robota_core::close::{CloseAs, OpenOperation, RecoveryHint, open_operations};
pub use robota_core::event::Closed;
pub use session::{
    AskReply, Chat, ChatEnd, CheckpointHandle, ConfigHandle, ContextHandle, JournalHandle,
    LiveTurn, Permissions, QueueHandle, QueuePause, QueuedInput, Recovery, Reply, SendOptions,
    Session, SessionInfo, Status, ToolChange, TurnPermissions, TurnWatch, WeakSession,
};
pub use stored::rename_stored;
pub use subscribe::{SessionEvent, StartAt, Subscription, SubscriptionItem, follow};
