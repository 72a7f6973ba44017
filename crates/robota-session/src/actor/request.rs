//! What a session's task can be asked.

use std::collections::HashMap;

use robota_core::event::{Cursor, Delivery, Event};
use robota_core::ids::{CallId, InputId};
use robota_core::message::Block;
use robota_core::state::State;
use tokio::sync::oneshot;

use crate::error::SessionError;
use crate::recover::Choice;

/// Where an answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// An input that is safe.
pub(crate) struct Accepted {
    pub(crate) input: InputId,
    /// The last event before it.
    pub(crate) before: Option<Cursor>,
}

/// A change of what the model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// The conversation begins anew.
    Clear,
    /// The last compaction is taken back.
    Restore,
}

/// What a session's task can be asked.
pub(crate) enum Request {
    /// Accept an input.
    Send { content: Vec<Block>, delivery: Delivery, reply: Reply<Accepted> },
    /// Append events, at once or as soon as nothing runs.
    Append { events: Vec<Event>, at_rest: bool, reply: Reply<()> },
    /// Look at the state.
    Inspect(Box<dyn FnOnce(&State) + Send>),
    /// Stop what runs; says whether anything did.
    Interrupt { note: Option<String>, reply: Reply<bool> },
    /// Go on with a turn that was cut short.
    Continue { reply: Reply<()> },
    /// Summarise now.
    Compact { instructions: Option<String>, reply: Reply<()> },
    /// Change what the model sees.
    Rewrite { how: Rewrite, reply: Reply<()> },
    /// Close what a dead writer left open, as the caller chose.
    Recover { choices: HashMap<CallId, Choice>, reply: Reply<()> },
    /// End.
    Shutdown { reason: String, reply: Reply<()> },
}
