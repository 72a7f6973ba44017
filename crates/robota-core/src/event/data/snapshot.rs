//! Data of the state snapshot. It contains sequence numbers of events, not their content, so that
//! it stays small.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::event::Cursor;
use crate::ids::{CallId, InputId, MessageId, SessionId, TurnId};
use crate::message::Cause;
use crate::permission::Mode;
use crate::process::ProcessIdentity;
use crate::state::{HeardMessage, RoomState, SafePoints, ScheduleProgress, TurnRestrictions};
use crate::task::Tasks;
use crate::usage::Usage;

data! {
    /// Which events make up the state.
    StateSnapshot {
        /// The version of the fold that made the snapshot. Another version of the fold ignores it.
        reducer: u32,
        /// The sequence number of `session_created`.
        created: u64,
        /// The session's name; absent if it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The permission mode in effect.
        mode: Mode,
        /// The sequence number of the `prompt_set` in effect; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<u64>,
        /// The sequence number of the `tools_set` in effect; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<u64>,
        /// The sequence number of the `content_left_out` in effect; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<u64>,
        /// The sequence number of the last `files_watched`; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        watched: Option<u64>,
        /// The events of the model's view.
        view: ViewRefs,
        /// The events of the view that the last summary replaced; absent if it cannot be restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Box<ReplacedViewRefs>>,
        /// The sequence numbers of the `input_accepted` events of inputs that are not delivered
        /// yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<u64>,
        /// The turn in progress; absent between turns. A snapshot is taken only while the turn has
        /// no uncommitted chunks and no call without a result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<Box<QuietTurn>>,
        /// The rules that deny calls in the last turn, and in those of waiting inputs.
        #[serde(default, skip_serializing_if = "TurnRestrictions::is_empty")]
        restrictions: TurnRestrictions,
        /// The number of turns that ended with an answer.
        turns_completed: u64,
        /// The tokens of all model calls.
        usage: Usage,
        /// The safe points, at which the session can be forked.
        safe_points: SafePoints,
        /// The sequence number of the previous snapshot; absent for the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<u64>,
        /// Processes that outlive their calls and may still run, by call.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        background: IndexMap<CallId, Vec<ProcessIdentity>>,
        /// The background tasks that were not closed, and their groups.
        #[serde(default, skip_serializing_if = "Tasks::is_empty")]
        tasks: Tasks,
        /// Named points of the journal, by label.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        labels: IndexMap<String, Cursor>,
        /// The schedules that were not removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        schedules: Vec<ScheduleRef>,
        /// The last message that the session received of each room.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        heard: IndexMap<SessionId, HeardMessage>,
        /// The state of the room that the journal belongs to; absent if it is not that of a room.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        room: Option<Box<RoomState>>,
    }

    /// A schedule and what has happened to it.
    ScheduleRef {
        /// The sequence number of its `schedule_added`.
        added: u64,
        /// What has happened since.
        progress: ScheduleProgress,
    }

    /// The events that make up a view. The list may continue that of an older snapshot, so that
    /// snapshots of a growing conversation stay small.
    ViewRefs {
        /// The sequence number of the snapshot whose list of events this one continues; absent if
        /// this list is complete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<u64>,
        /// The sequence numbers of the events after those of `base`.
        events: Vec<u64>,
        /// The tokens that the provider counted last, and for which message; absent if not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latest_usage: Option<CountedUsage>,
    }

    /// The tokens that a provider counted for a message.
    CountedUsage {
        /// The id of the message that the request produced.
        message: MessageId,
        /// What the provider counted for the request and its answer.
        usage: Usage,
    }

    /// A view that a summary replaced.
    ReplacedViewRefs {
        /// The events of the replaced view.
        view: ViewRefs,
        /// The number of messages of the current view that replace it: the summary and those kept.
        replaced_by: u64,
    }

    /// A turn between two rounds: nothing streams, and every call has its result.
    QuietTurn {
        /// The turn's id; absent in journals that do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<TurnId>,
        /// The input that the turn works on; absent for a continued turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputId>,
        /// The current round; 0 before the first.
        round: u32,
        /// The tokens of the turn's model calls so far.
        usage: Usage,
        /// The number of calls that ran to their end.
        tools_executed: u32,
        /// What interrupted the turn; absent if nothing did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupted: Option<Cause>,
    }
}
