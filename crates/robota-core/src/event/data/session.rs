//! The session, its inputs and its turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ErrorData;
use crate::event::Cursor;
use crate::history::HistoryEntry;
use crate::ids::{CallId, InputId, SessionId, TurnId};
use crate::message::{Block, Cause, Message};
use crate::permission::Mode;
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

data! {
    /// The session exists.
    SessionCreated {
        /// Its id.
        session: SessionId,
        /// The journal format it is written in.
        format: u32,
        /// Where it works.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// Where it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
        /// The call of another session that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawned_by: Option<SpawnedBy>,
    }

    /// The call of a session that started another session.
    SpawnedBy {
        /// The session that started it.
        session: SessionId,
        /// The turn of that session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// The tool call of that turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    }

    /// Where a fork began.
    Parent {
        /// The session it continues.
        session: SessionId,
        /// The last event they share.
        at: Cursor,
    }

    /// A writer opened the journal.
    Opened {
        /// The writer's epoch.
        epoch: u32,
        /// The last event of the epochs before; zero when there is none.
        after_seq: u64,
        /// The writer's process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    }

    /// The writer is done.
    Closed {
        /// Why.
        reason: String,
    }

    /// The session has a name.
    Renamed {
        /// The name.
        name: String,
    }

    /// The permission mode is another.
    ModeChanged {
        /// The mode from here on.
        mode: Mode,
    }

    /// The system prompt from here on.
    PromptSet {
        /// Hash of the text.
        sha256: String,
        /// The text.
        text: String,
    }

    /// The tools offered from here on.
    ToolsSet {
        /// Hash of the list.
        sha256: String,
        /// The list, sorted by name.
        tools: Vec<ToolSpec>,
    }

    /// Something for people in the history.
    EntryAdded {
        /// The entry.
        entry: HistoryEntry,
    }

    /// A message put into the conversation by the program.
    MessageInjected {
        /// The message.
        message: Message,
    }

    /// Somebody's input is safe.
    InputAccepted {
        /// Its id.
        input: InputId,
        /// When it is to be delivered.
        delivery: Delivery,
        /// What it says.
        content: Vec<Block>,
        /// Facts about where it came from.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }

    /// A hook refused the input.
    InputBlocked {
        /// Which input.
        input: Option<InputId>,
        /// Why.
        reason: String,
    }

    /// The input will not be delivered.
    InputCancelled {
        /// Which input.
        input: InputId,
        /// Why.
        cause: Cause,
    }

    /// Work on an input begins.
    TurnStarted {
        /// The input; none when a turn is continued.
        input: Option<InputId>,
        /// Who answers.
        provider: String,
        /// Which model.
        model: String,
        /// At most this many rounds; zero is no limit.
        max_rounds: u32,
    }

    /// The user's message enters the conversation.
    UserMessage {
        /// The message.
        message: Message,
        /// The input it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputId>,
        /// Who wrote it.
        #[serde(default, skip_serializing_if = "Author::is_user")]
        author: Author,
    }

    /// The turn was cut short.
    Interrupted {
        /// By what.
        cause: Cause,
        /// In whose words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    /// The turn is over.
    TurnFinished {
        /// How.
        end: TurnEnd,
        /// How many rounds it took.
        rounds: u32,
        /// How many tool calls ran.
        tools_executed: u32,
        /// What it cost.
        usage: Usage,
        /// The failure, when it ended with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorData>,
    }

    /// What the model sees ends earlier.
    Rewound {
        /// How many of its messages stay; zero forgets the whole conversation.
        keep: u64,
        /// Why.
        cause: RewindCause,
    }

    /// What the last compaction took out of sight is back.
    ViewRestored {
        /// How many messages the model sees now.
        messages: u64,
    }

    /// A point of the journal has a name.
    LabelSet {
        /// The name.
        label: String,
        /// The point.
        at: Cursor,
    }

    /// Another session continues from a point of this one.
    Forked {
        /// The other session.
        child: SessionId,
        /// The last event they share.
        at: Cursor,
    }

    /// What a dead writer left open is sealed.
    Recovered {
        /// The calls that were sealed.
        sealed: Vec<CallId>,
    }

    /// Something outside a turn went wrong.
    Failed {
        /// What.
        error: ErrorData,
    }
}

/// When an input is to be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// After the turn that is running.
    #[default]
    AfterTurn,
    /// Before the next model call of the turn that is running.
    NextRound,
}

/// Who wrote a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The user.
    #[default]
    User,
    /// A hook that would not let the turn end.
    StopHook,
}

impl Author {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

/// Why what the model sees ends earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewindCause {
    /// The conversation begins anew.
    Clear,
    /// An answer that was cut short is asked for again.
    Retry,
    /// The user went back to an earlier point.
    Checkpoint,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// With an answer.
    Complete,
    /// With a forced summary: the round limit was reached.
    RoundLimit,
    /// With a forced summary: the model kept asking for tools that do not exist.
    UnknownTools,
    /// The conversation does not fit into the context window.
    ContextFull,
    /// A hook refused the input.
    Blocked,
    /// A hook ended it.
    Stopped,
    /// It was interrupted.
    Interrupted,
    /// The model's service failed.
    ProviderFailed,
    /// The journal could not be written.
    StoreFailed,
}
