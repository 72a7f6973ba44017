//! Data of the events of the session, its inputs and its turns.

use jiff::Timestamp;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ErrorData;
use crate::event::Cursor;
use crate::history::HistoryEntry;
use crate::ids::{CallId, InputId, ScheduleId, SessionId, TurnId};
use crate::message::{Block, Cause, Message};
use crate::permission::Mode;
use crate::provider::{AnswerEnd, StopReason};
use crate::tool::ToolSpec;
use crate::usage::Usage;

macro_rules! data {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$fdoc:meta])* $field:ident : $type:ty ),* $(,)? } )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $( $(#[$fdoc])* pub $field: $type, )*
        }
    )* };
}
pub(super) use data;

/// What sent an input that must be accepted only once. The fold remembers it, so that it is not sent
/// again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum InputSource {
    /// A schedule of the session fired.
    Schedule {
        /// The id of the schedule that sent the input.
        schedule: ScheduleId,
        /// The time that was due, without jitter; absent for a number of steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        due: Option<Timestamp>,
        /// The number of earlier times that were missed and that this input accounts for.
        #[serde(default)]
        missed: u64,
    },
    /// A message of a room was delivered to the session.
    Room {
        /// The id of the room's journal.
        room: SessionId,
        /// The number of the message in the room. A member receives each number at most once.
        number: u64,
        /// How many messages led to it.
        #[serde(default)]
        hops: u32,
    },
}

data! {
    /// The session was created: the first event of a journal, or of a fork after the events of its
    /// parent.
    SessionCreated {
        /// The id under which the store keeps the session.
        session: SessionId,
        /// The version of the journal format.
        format: u32,
        /// The working directory; absent if the session has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The point it was forked from; absent if it is not a fork.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
        /// The tool call of another session that started this one; absent if a client started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawned_by: Option<SpawnedBy>,
    }

    /// The tool call of a session that started another session.
    SpawnedBy {
        /// The session that made the call.
        session: SessionId,
        /// The turn of that session; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// The tool call in that turn; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    }

    /// The point at which a fork began.
    Parent {
        /// The id of the session that was forked.
        session: SessionId,
        /// The last event that both sessions have.
        at: Cursor,
    }

    /// A process opened the journal for writing.
    Opened {
        /// The new epoch: one more than the last.
        epoch: u32,
        /// The sequence number of the last event before this epoch; 0 if there is none.
        after_seq: u64,
        /// The id of the process; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    }

    /// The process that wrote the session closed it.
    Closed {
        /// Why it was closed, as text.
        reason: String,
        /// More about the reason, for people; absent if there is nothing more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }

    /// The session got a new name.
    Renamed {
        /// The name that users see; it need not be unique.
        name: String,
    }

    /// The permission mode changed, for calls that are judged from now on.
    ModeChanged {
        /// The mode from now on.
        mode: Mode,
    }

    /// The system prompt of the following model calls.
    PromptSet {
        /// SHA-256 of the text, in hexadecimal.
        sha256: String,
        /// The complete prompt, as every request contains it.
        text: String,
    }

    /// The tools offered in the following model calls.
    ToolsSet {
        /// SHA-256 of the list as JSON, in hexadecimal.
        sha256: String,
        /// The descriptions that the model gets, sorted by name.
        tools: Vec<ToolSpec>,
    }

    /// The program added an entry to the history.
    EntryAdded {
        /// The entry for people; the model does not see it.
        entry: HistoryEntry,
    }

    /// The program added a message to the conversation.
    MessageInjected {
        /// The message, which the model sees from its next call on.
        message: Arc<Message>,
    }

    /// The session accepted an input: it is stored and will be delivered, blocked or cancelled.
    InputAccepted {
        /// The id that later events of the input refer to.
        input: InputId,
        /// When the session delivers the input.
        delivery: Delivery,
        /// The blocks of the user message that it will become.
        content: Vec<Block>,
        /// Values that the client attached, for example where the input came from.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
        /// What sent the input, if it must be accepted only once; absent for an input of a client.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<InputSource>,
    }

    /// An input that was not delivered yet was changed, or moved to another place of the queue.
    InputChanged {
        /// The id of the input, as in its `input_accepted`.
        input: InputId,
        /// When the session delivers the input.
        delivery: Delivery,
        /// The new content, which replaces the earlier one.
        content: Vec<Block>,
        /// Values that the client attached.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
        /// The number of inputs that are delivered before it.
        position: u32,
    }

    /// A hook blocked the input. It never becomes a message.
    InputBlocked {
        /// The blocked input; absent if the turn was started without an accepted input.
        input: Option<InputId>,
        /// The reason that the hook gave.
        reason: String,
    }

    /// The input was cancelled and will not be delivered.
    InputCancelled {
        /// The id of the input, which never becomes a message.
        input: InputId,
        /// What caused the cancellation.
        cause: Cause,
    }

    /// Rules were added that deny calls in one turn, also when the turn is continued.
    TurnRulesAdded {
        /// The input whose turn the rules apply to; absent for the running turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputId>,
        /// Calls that match one of these permission rules are denied.
        deny: Vec<String>,
    }

    /// A turn started on an input, or to continue the conversation.
    TurnStarted {
        /// The input that the turn works on; `null` when the turn continues the conversation.
        input: Option<InputId>,
        /// The name of the provider that the turn calls.
        provider: String,
        /// The id of the model that the turn calls.
        model: String,
        /// The maximum number of rounds; 0 means no limit.
        max_rounds: u32,
    }

    /// A user message was added to the conversation.
    UserMessage {
        /// The message as the model sees it.
        message: Arc<Message>,
        /// The input it was made from; absent if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputId>,
        /// Who wrote it; absent for the user.
        #[serde(default, skip_serializing_if = "Author::is_user")]
        author: Author,
    }

    /// The turn was interrupted. Its running calls end before `turn_finished`.
    Interrupted {
        /// What interrupted it: the user, a shutdown or a crash.
        cause: Cause,
        /// The reason that the client gave, as text; absent if it gave none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    /// The turn ended. Every call in it has a result.
    TurnFinished {
        /// How the turn ended.
        end: TurnEnd,
        /// The number of rounds that began; 0 if the model was not called.
        rounds: u32,
        /// The number of tool calls that ran.
        tools_executed: u32,
        /// The tokens of all model calls of the turn.
        usage: Usage,
        /// The failure that ended the turn; absent if it did not end with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorData>,
        /// Why the model stopped its last answer, if that answer is not whole: a limit cut it short, the
        /// model refused, a filter removed it, or the service paused it. Absent for a whole answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
    }

    /// The model's view was cut back to its first messages.
    Rewound {
        /// The number of messages that stay in the view; 0 clears the conversation.
        keep: u64,
        /// Why the view was cut back.
        cause: RewindCause,
        /// Whether `view_restored` can undo it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undoable: bool,
    }

    /// The last compaction was undone.
    ViewRestored {
        /// The number of messages in the view after it was restored.
        messages: u64,
    }

    /// A point of the journal got a name.
    LabelSet {
        /// The label, by which users name the point. The last point with a label counts.
        label: String,
        /// The safe point that the label names.
        at: Cursor,
    }

    /// Another session was forked from a point of this one.
    Forked {
        /// The id of the new session.
        child: SessionId,
        /// The last event that both sessions have.
        at: Cursor,
    }

    /// What a crashed process left open was closed.
    Recovered {
        /// The calls that got a result from recovery because their outcome was not known.
        sealed: Vec<CallId>,
    }

    /// Something failed outside a turn, so no turn reports it.
    Failed {
        /// What failed, and a hint if there is one.
        error: ErrorData,
    }
}

/// When the session delivers an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// After the current turn, as the input of a new turn.
    #[default]
    AfterTurn,
    /// Before the next model call of the current turn.
    NextRound,
}

/// Who wrote a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A user or a client that acts for one.
    #[default]
    User,
    /// A Stop hook that made the turn continue.
    StopHook,
}

impl Author {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

/// Why the model's view was cut back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RewindCause {
    /// The conversation was cleared.
    Clear,
    /// The request is sent again after an interrupted answer.
    Retry,
    /// The user returned to an earlier point.
    Checkpoint,
}

/// How a turn ended, whether it failed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// With an answer of the model, which may be cut or refused: see `stop`.
    Complete,
    /// With a forced summary, because the round limit was reached.
    RoundLimit,
    /// With a forced summary, because the model kept making calls that cannot succeed: calls of tools
    /// that do not exist, or the same failing call.
    UnknownTools,
    /// The conversation does not fit into the context window.
    ContextFull,
    /// A hook blocked the input, so the model was not called.
    Blocked,
    /// A hook at a tool call stopped the turn.
    Stopped,
    /// The user, a shutdown or a crash interrupted the turn.
    Interrupted,
    /// The model service failed, and retries did not help.
    ProviderFailed,
    /// The journal could not be written.
    StoreFailed,
}

/// What a caller can do with the result of a turn. Exit codes and protocols use these classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The answer is whole.
    Done,
    /// A limit ended the turn: rounds, the context window, or the length of the answer. Raise the limit
    /// or ask the model to continue.
    Limit,
    /// The model refused, or a filter of the service removed the answer.
    Refused,
    /// The turn failed or was blocked.
    Failed,
    /// The user, a shutdown or a crash interrupted the turn.
    Interrupted,
}

impl<T: Into<String>> From<T> for Closed {
    fn from(reason: T) -> Self {
        Self { reason: reason.into(), message: None }
    }
}

impl Closed {
    /// Adds more about the reason, which people see.
    #[must_use]
    pub fn message(self, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..self }
    }
}

impl TurnEnd {
    /// Classifies the end of a turn; `stop` is why the model stopped its last answer.
    #[must_use]
    pub fn status(self, stop: Option<&StopReason>) -> TurnStatus {
        match self {
            Self::Complete => match stop.map_or(AnswerEnd::Whole, StopReason::answer) {
                AnswerEnd::Whole => TurnStatus::Done,
                AnswerEnd::Cut | AnswerEnd::Paused => TurnStatus::Limit,
                AnswerEnd::Refused | AnswerEnd::Filtered => TurnStatus::Refused,
            },
            Self::RoundLimit | Self::ContextFull => TurnStatus::Limit,
            Self::UnknownTools
            | Self::Blocked
            | Self::Stopped
            | Self::ProviderFailed
            | Self::StoreFailed => TurnStatus::Failed,
            Self::Interrupted => TurnStatus::Interrupted,
        }
    }
}
