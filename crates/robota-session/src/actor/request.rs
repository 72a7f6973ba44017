//! The requests that handles send to a session's task.

use std::collections::HashMap;

use robota_core::close::Choice;
use robota_core::event::{Cursor, Delivery, Event};
use robota_core::ids::{CallId, InputId};
use robota_core::message::Block;
use robota_core::state::State;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};

use crate::error::SessionError;
use crate::hub::StoreFailure;

/// Where an answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// An input to accept.
pub(crate) struct SendRequest {
    pub(crate) content: Vec<Block>,
    pub(crate) delivery: Delivery,
    pub(crate) metadata: Map<String, Value>,
}

/// An input that was accepted.
pub(crate) struct AcceptedInput {
    pub(crate) input: InputId,
    /// The last event before it.
    pub(crate) before: Option<Cursor>,
    /// Failures of the journal after it.
    pub(crate) failures: watch::Receiver<Option<StoreFailure>>,
}

/// A change of what the model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// The conversation starts anew.
    Clear,
    /// The last compaction is taken back.
    Restore,
}

/// A request to a session's task.
pub(crate) enum Request {
    /// Accept an input.
    Send { input: SendRequest, reply: Reply<AcceptedInput> },
    /// Cancel an input that is not delivered; says whether it was.
    Cancel { input: InputId, reply: Reply<bool> },
    /// Append events, at once or as soon as nothing runs.
    Append { events: Vec<Event>, at_rest: bool, reply: Reply<()> },
    /// Look at the state.
    Inspect(Box<dyn FnOnce(&State) + Send>),
    /// Stop what runs; says whether anything did.
    Interrupt { note: Option<String>, reply: Reply<bool> },
    /// Continue a turn that was interrupted.
    Continue { reply: Reply<()> },
    /// Summarise now.
    Compact { instructions: Option<String>, reply: Reply<()> },
    /// Change what the model sees.
    Rewrite { how: Rewrite, reply: Reply<()> },
    /// Close what a crash left open, as the caller chose.
    Recover { choices: HashMap<CallId, Choice>, reply: Reply<()> },
    /// End.
    Shutdown { reason: String, reply: Reply<()> },
}
