//! The requests that handles send to a session's task.

use std::collections::HashMap;

use robota_core::close::CloseAs;
use robota_core::event::{Closed, Cursor, Event};
use robota_core::ids::{CallId, Ids, InputId};
use robota_core::message::Block;
use robota_core::state::State;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};

use crate::checkpoints::{RestoreOptions, RestoreReport};
use crate::error::SessionError;
use crate::hub::StoreFailure;
use crate::session::{SendOptions, TurnPermissions};

/// Sends the answer to a request.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// Decides from the state which events to append.
pub(crate) type DecideEvents = Box<dyn FnOnce(&State, &dyn Ids) -> Vec<Event> + Send>;

/// An input to accept.
pub(crate) struct SendRequest {
    pub(crate) content: Vec<Block>,
    pub(crate) options: SendOptions,
    /// The span of the caller: the parent of the turn that the input starts.
    pub(crate) span: tracing::Span,
}

/// An accepted input, and what its sender needs to follow it.
pub(crate) struct AcceptedInput {
    pub(crate) input: InputId,
    /// The last event before the input.
    pub(crate) before: Option<Cursor>,
    /// Failures of the journal after the input.
    pub(crate) failures: watch::Receiver<Option<StoreFailure>>,
}

/// A change of an input that is not delivered yet.
pub(crate) struct InputChange {
    pub(crate) input: InputId,
    /// The new content with its metadata; none keeps both.
    pub(crate) content: Option<(Vec<Block>, Map<String, Value>)>,
    /// The number of waiting inputs before it; none keeps its place.
    pub(crate) position: Option<usize>,
}

/// A change to the view of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// Keep this many messages from the start.
    Keep(usize),
    /// Start a new, empty conversation.
    Clear,
    /// Undo the last compaction.
    Restore,
}

/// A request to a session's task. Large parts are boxed: the queue of a session has room for many
/// requests, used or not.
pub(crate) enum Request {
    /// Accept an input; answers when it is synced.
    Send { input: Box<SendRequest>, reply: Reply<AcceptedInput> },
    /// Cancel an input that is not delivered yet; answers whether it was cancelled.
    Cancel { input: InputId, reply: Reply<bool> },
    /// Change or move an input that is not delivered yet; answers whether it was changed.
    Change { change: Box<InputChange>, reply: Reply<bool> },
    /// Append events, immediately or as soon as nothing runs.
    Append { events: Vec<Event>, at_rest: bool, reply: Reply<()> },
    /// Let a function decide from the state what to append, as one append.
    Decide { decide: DecideEvents, reply: Reply<()> },
    /// Add permission rules to the running turn; answers which of them cannot apply.
    AddTurnRules { rules: TurnPermissions, reply: Reply<Vec<String>> },
    /// Read the state between two steps of the work.
    Inspect(Box<dyn FnOnce(&State) + Send>),
    /// Stop the running work; answers whether something ran.
    Interrupt { note: Option<String>, keep_inputs: bool, reply: Reply<bool> },
    /// Cancel an input that waits, or stop the turn that took it; answers whether it did either.
    Stop { input: InputId, reply: Reply<bool> },
    /// Continue the conversation without a new input, if its last answer was cut off or is missing.
    Continue { reply: Reply<()> },
    /// Compact the conversation now; answers when the compaction has ended.
    Compact { instructions: Option<String>, reply: Reply<()> },
    /// Change the view of the model.
    Rewrite { how: Rewrite, reply: Reply<()> },
    /// Return files, conversation or both to a checkpoint; nothing may run meanwhile.
    RestoreCheckpoint { checkpoint: String, options: RestoreOptions, reply: Reply<RestoreReport> },
    /// Answer as soon as nothing runs; no input is delivered until the other end is dropped.
    Pause { reply: Reply<oneshot::Sender<()>> },
    /// Close what a crash left open, as the caller chose.
    Recover { choices: HashMap<CallId, CloseAs>, reply: Reply<()> },
    /// End the session; answers when the journal is released.
    Shutdown { end: Closed, reply: Reply<()> },
    /// End the session if nothing runs, waits or is unwritten; answers whether it ended.
    CloseIfIdle { end: Closed, reply: Reply<bool> },
}
