//! The state of a session: a fold over its events. This reducer is the only code that computes it,
//! in a live session, at resume, in replay and in tests.

mod restrictions;
mod rooms;
mod schedules;
mod snapshot;
mod turn;
mod view;

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use restrictions::TurnRestrictions;
pub use rooms::{HeardMessage, OwedMessage, RoomState};
pub use schedules::{Schedule, ScheduleProgress};
pub use snapshot::{REDUCER, RestoreError, Sources};
pub(crate) use snapshot::{SnapshotEvents, ViewListing};
pub(crate) use turn::join_context;
pub use turn::{CallStage, OpenCall, OpenTurn, OutputTail};
pub(crate) use view::SnapshotLink;
pub(crate) use view::result_chars;
pub use view::{ModelView, ReplacedView};

use crate::context::{ContextEstimate, ContextInputs, estimate};
use crate::event::{
    ContentLeftOut, Cursor, Delivery, Envelope, Event, FilesWatched, InputAccepted, Parent,
    ProcessStarted, RestoreStarted, SessionCreated, SpawnedBy, TurnEnd,
};
use crate::ids::{CallId, InputId, ScheduleId, SessionId, TurnId};
use crate::message::Block;
use crate::permission::Mode;
use crate::process::ProcessIdentity;
use crate::task::Tasks;
use crate::tool::{ToolSpec, shared_list};
use crate::usage::Usage;

/// The state keeps the processes of at most this many calls; older ones have most likely ended.
const MAX_BACKGROUND: usize = 1_024;

/// Holds what the events of a session add up to: the fold of its journal.
///
/// ```
/// use robota_core::event::Envelope;
/// use robota_core::state::State;
///
/// fn tokens(journal: &[Envelope]) -> Option<u64> {
///     State::fold(journal).ok().map(|state| state.usage.total())
/// }
/// # let _ = tokens;
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The session's id; `None` before `session_created`.
    pub session: Option<SessionId>,
    /// The point it was forked from; `None` if it is not a fork.
    pub parent: Option<ForkOrigin>,
    /// The tool call of another session that started this one.
    #[serde(default)]
    pub spawned_by: Option<SpawnedBy>,
    /// The working directory; `None` if the session has none.
    pub cwd: Option<String>,
    /// The session's name; `None` if it has none.
    pub name: Option<String>,
    /// The position of the last folded event; `None` before the first.
    pub cursor: Option<Cursor>,
    /// The permission mode; [`Mode::default`] before the first `mode_changed`.
    pub mode: Mode,
    /// The system prompt and its hash.
    pub prompt: Option<Hashed<Arc<str>>>,
    /// The offered tools and their hash.
    pub tools: Option<Hashed<Arc<[ToolSpec]>>>,
    /// The last report of content that requests omit; `None` since the conversation was last
    /// compacted, rewound or restored.
    #[serde(default)]
    pub left_out: Option<ContentLeftOut>,
    /// The messages that the model sees.
    pub view: ModelView,
    /// The size in bytes of the system prompt and the tools, which every request contains.
    pub fixed_bytes: u64,
    /// Inputs that were accepted and not delivered yet, in order of acceptance.
    pub inputs: IndexMap<InputId, PendingInput>,
    /// The turn in progress, or one that a crashed process left open.
    pub turn: Option<OpenTurn>,
    /// The rules that deny calls in the last turn, and in those of waiting inputs.
    #[serde(default, skip_serializing_if = "TurnRestrictions::is_empty")]
    pub restrictions: TurnRestrictions,
    /// Whether a compaction started and has not finished.
    #[serde(default)]
    pub compacting: bool,
    /// A restore of a checkpoint that started and has not finished.
    #[serde(default)]
    pub restoring: Option<Box<RestoreStarted>>,
    /// The last record of the workspace before a command ran.
    #[serde(default)]
    pub watched: Option<Box<FilesWatched>>,
    /// Whether the last process that wrote the session closed it.
    #[serde(default)]
    pub closed: bool,
    /// The number of turns that ended with an answer.
    pub turns_completed: u64,
    /// The tokens of all model calls.
    pub usage: Usage,
    /// The points at which the session can be forked: every call has its result there.
    pub safe_points: SafePoints,
    /// Named points of the journal, by label.
    pub labels: IndexMap<String, Cursor>,
    /// Processes that outlive their calls and may still run, by call.
    #[serde(default)]
    pub background: IndexMap<CallId, Vec<ProcessIdentity>>,
    /// The background tasks that were not closed, and their groups.
    #[serde(default, skip_serializing_if = "Tasks::is_empty")]
    pub tasks: Tasks,
    /// The schedules that were not removed, by id.
    #[serde(default)]
    pub schedules: IndexMap<ScheduleId, Schedule>,
    /// The last message that the session received of each room.
    #[serde(default)]
    pub heard: IndexMap<SessionId, HeardMessage>,
    /// The state of the room that the journal belongs to; `None` if it is not that of a room.
    #[serde(default)]
    pub room: Option<Box<RoomState>>,
    /// The events that the state was made from; the next snapshot lists them.
    pub sources: Sources,
}

/// The points at which a session can be forked. Each snapshot lists the safe points since the
/// previous snapshot, so that any of them is found without reading the events in between.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SafePoints {
    /// How many safe points the session has so far.
    pub count: u64,
    /// The last safe point; `None` before the first.
    pub last: Option<Cursor>,
    /// The safe points since the last snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<Cursor>,
    /// Some of the earlier snapshots, oldest first: the last ones, and of the others fewer the older
    /// they are. So a search for a safe point reads few snapshots, however many there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierSnapshot>,
}

/// An earlier snapshot, which lists earlier safe points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierSnapshot {
    /// The sequence number of the snapshot.
    pub seq: u64,
    /// The number of safe points before it.
    pub safe_points: u64,
}

impl SafePoints {
    fn push(&mut self, at: Cursor) {
        self.count += 1;
        self.last = Some(at);
        self.recent.push(at);
    }

    /// Continues after a snapshot, which contains these safe points.
    fn on_snapshot(&mut self, seq: u64, listed: &Self) {
        // The snapshot lists them from now on.
        self.recent.clear();
        self.earlier.clone_from(&listed.earlier);
        self.earlier.push(EarlierSnapshot { seq, safe_points: self.count });
        // Of three neighbours the middle one is left out, if the oldest is at most twice as far away
        // as the newest.
        let mut at = self.earlier.len();
        while at >= 3 {
            let [oldest, newest] = [self.earlier[at - 3], self.earlier[at - 1]];
            if self.count - oldest.safe_points <= 2 * (self.count - newest.safe_points) {
                self.earlier.remove(at - 2);
            }
            at -= 1;
        }
    }

    /// Returns the safe point with that number, from 1, if it is among the recent ones.
    #[must_use]
    pub fn recent(&self, number: u64) -> Option<Cursor> {
        let before = self.count.checked_sub(self.recent.len() as u64)?;
        let at = number.checked_sub(before)?.checked_sub(1)?;
        self.recent.get(usize::try_from(at).ok()?).copied()
    }

    /// Returns true if a session can be forked right after this event.
    #[must_use]
    pub fn is_safe_point(event: &Event) -> bool {
        match event {
            Event::AssistantMessage(data) => data.message.tool_uses().next().is_none(),
            Event::ToolBatchFinished(_) => true,
            _ => false,
        }
    }
}

/// Keeps a value with its hash, so that it is hashed once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hashed<T> {
    /// SHA-256 of the value as the journal has it, in hexadecimal.
    pub sha256: String,
    /// The value that the hash identifies.
    pub value: T,
}

/// Says at which event of which session a fork began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The id of the session that was forked.
    pub session: SessionId,
    /// The last event that both sessions have.
    pub at: Cursor,
}

/// An input that was accepted and not delivered yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingInput {
    /// Whether it starts a turn of its own or joins the turn that runs.
    pub delivery: Delivery,
    /// The blocks of the user message that it will become.
    pub content: Vec<Block>,
    /// Values that the caller attached; the session does not read them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The sequence number of its `input_accepted`, or of the last `input_changed`.
    pub seq: u64,
}

impl State {
    /// Folds all events of a journal.
    ///
    /// # Errors
    /// When events are missing or out of order.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Result<Self, FoldError> {
        let mut state = Self::default();
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    /// Folds one more event.
    ///
    /// # Errors
    /// When it does not follow the last one; the state is then unchanged.
    pub fn apply(&mut self, envelope: &Envelope) -> Result<(), FoldError> {
        if let Some(last) = self.cursor
            // Checked here, once for everything that folds: a gap means that the state would be
            // wrong without any sign of it.
            && (last.seq.checked_add(1) != Some(envelope.seq) || envelope.epoch < last.epoch)
        {
            let expected = last.seq.saturating_add(1);
            return Err(FoldError { expected, found: envelope.cursor() });
        }
        let cursor = envelope.cursor();
        self.cursor = Some(cursor);
        self.fold_event(&envelope.event, envelope.turn.as_ref(), cursor);
        match &envelope.event {
            Event::TaskChanged(data) => {
                // The writer applied it before it was recorded; a change that does not fit has no
                // effect there either.
                let _ = self.tasks.apply(&data.task, &data.change, envelope.ts);
            }
            Event::TaskGroupChanged(data) => {
                self.tasks.apply_group(&data.group, &data.change, envelope.ts);
            }
            // The tasks belong to the session that was forked.
            Event::SessionCreated(data) if data.parent.is_some() => self.tasks = Tasks::default(),
            _ => {}
        }
        Ok(())
    }

    fn fold_event(&mut self, event: &Event, turn: Option<&TurnId>, cursor: Cursor) {
        match event {
            Event::SessionCreated(SessionCreated { session, cwd, parent, spawned_by, .. }) => {
                self.session = Some(session.clone());
                self.spawned_by.clone_from(spawned_by);
                self.cwd.clone_from(cwd);
                self.parent = parent
                    .as_ref()
                    .map(|Parent { session, at }| ForkOrigin { session: session.clone(), at: *at });
                if parent.is_some() {
                    // A fork has its own name, as in the list of sessions.
                    self.name = None;
                }
                self.sources.created = cursor.seq;
            }
            Event::Renamed(data) => self.name = Some(data.name.clone()),
            Event::ModeChanged(data) => self.mode = data.mode,
            Event::PromptSet(data) => {
                let (sha256, value) = (data.sha256.clone(), data.text.as_str().into());
                self.prompt = Some(Hashed { sha256, value });
                self.sources.prompt = Some(cursor.seq);
                self.measure_fixed();
            }
            Event::ToolsSet(data) => {
                let tools: Vec<_> = data.tools.iter().collect();
                let (sha256, value) = (data.sha256.clone(), shared_list(&tools));
                self.tools = Some(Hashed { sha256, value });
                self.sources.tools = Some(cursor.seq);
                self.measure_fixed();
            }
            Event::ContentLeftOut(data) => {
                self.left_out = Some(data.clone());
                self.sources.left_out = Some(cursor.seq);
            }
            Event::MessageInjected(data) => self.view.push(data.message.clone(), cursor.seq),
            Event::InputAccepted(InputAccepted { input, delivery, content, metadata, .. }) => {
                let (content, metadata) = (content.clone(), metadata.clone());
                let pending =
                    PendingInput { delivery: *delivery, content, metadata, seq: cursor.seq };
                self.inputs.insert(input.clone(), pending);
            }
            Event::InputChanged(data) => {
                let pending = PendingInput {
                    delivery: data.delivery,
                    content: data.content.clone(),
                    metadata: data.metadata.clone(),
                    seq: cursor.seq,
                };
                // A snapshot restores each input from its last event, in the order of the queue.
                // An input of an older journal may be changed without being known; it goes to the
                // end.
                let end = self.inputs.len();
                let place = match self.inputs.shift_remove(&data.input) {
                    Some(_) => usize::try_from(data.position).map_or(end - 1, |at| at.min(end - 1)),
                    None => end,
                };
                self.inputs.shift_insert(place, data.input.clone(), pending);
            }
            Event::InputBlocked(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
            }
            Event::InputCancelled(data) => {
                self.inputs.shift_remove(&data.input);
            }
            Event::UserMessage(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
                self.view.push(data.message.clone(), cursor.seq);
            }
            Event::CompactionStarted(_) => self.compacting = true,
            // The view stays as it was: a failed compaction has changed nothing.
            Event::CompactionFailed(_) => self.compacting = false,
            Event::CompactionFinished(data) => {
                self.compacting = false;
                if let Some(usage) = data.summary.usage {
                    self.usage += usage;
                }
                self.view.compact(data.summary.clone(), data.keep_from.as_ref(), cursor.seq);
                self.forget_left_out();
            }
            Event::AssistantMessage(data) => {
                if let Some(usage) = data.message.usage {
                    self.usage += usage;
                }
                self.view.push(data.message.clone(), cursor.seq);
            }
            Event::ToolResultAdded(data) => {
                self.view.push_result(&data.message, &data.result, cursor.seq);
            }
            Event::Rewound(data) => {
                match data.undoable {
                    true => self.view.rewind_undoable(data.keep),
                    false => self.view.rewind(data.keep),
                }
                self.forget_left_out();
            }
            Event::ViewRestored(_) => {
                self.view.restore();
                self.forget_left_out();
            }
            Event::FilesWatched(data) => {
                self.watched = Some(Box::new(data.clone()));
                self.sources.watched = Some(cursor.seq);
            }
            Event::RestoreStarted(data) => self.restoring = Some(Box::new(data.clone())),
            Event::RestoreFinished(_) => self.restoring = None,
            Event::StateSnapshot(data) => self.on_snapshot(cursor.seq, data),
            Event::TurnFinished(data) => {
                self.compacting = false;
                let cut =
                    // These turns were cut off before an answer; failed ones are recognised by
                    // their error.
                    matches!(data.end, TurnEnd::Interrupted | TurnEnd::Blocked | TurnEnd::Stopped);
                if !cut {
                    // A full context window or a round limit counts too: the user got an answer.
                    self.turns_completed += u64::from(data.error.is_none());
                }
            }
            Event::LabelSet(data) => {
                self.labels.insert(data.label.clone(), data.at);
            }
            Event::ProcessStarted(data) if data.background => self.add_background(data),
            // A process that closes the session ends its background processes first.
            Event::Closed(_) => {
                self.closed = true;
                self.background.clear();
            }
            Event::Opened(_) => self.closed = false,
            Event::ModelAsked(data) => {
                if let Some(usage) = data.usage {
                    self.usage += usage;
                }
            }
            // Folded below, by the modules of restrictions, schedules and rooms.
            Event::TurnRulesAdded(_)
            | Event::ScheduleAdded(_)
            | Event::ScheduleSkipped(_)
            | Event::SchedulePaused(_)
            | Event::ScheduleResumed(_)
            | Event::ScheduleRemoved(_)
            | Event::RoomJoined(_)
            | Event::RoomLeft(_)
            | Event::RoomSaid(_)
            | Event::RoomDelivered(_)
            | Event::RoomHeard(_) => {}
            // For audit, display and recovery. The fold of the open turn uses some of them.
            Event::EntryAdded(_)
            | Event::TurnStarted(_)
            | Event::ContextMeasured(_)
            | Event::PrefixChanged(_)
            | Event::ModelRequested(_)
            | Event::TextChunk(_)
            | Event::ThinkingChunk(_)
            | Event::ToolInputChunk(_)
            | Event::ProviderPayload(_)
            | Event::StreamReset(_)
            | Event::ModelRetry(_)
            | Event::ModelFailed(_)
            | Event::ModelResponded(_)
            | Event::ToolCalled(_)
            | Event::ToolBatchStarted(_)
            | Event::ToolBatchFinished(_)
            | Event::HookStarted(_)
            | Event::HookFinished(_)
            | Event::PermissionAsked(_)
            | Event::PermissionDecided(_)
            | Event::ToolStarted(_)
            | Event::FilesChanging(_)
            | Event::FilesChanged(_)
            | Event::ProcessStarted(_)
            | Event::ToolOutput(_)
            | Event::ToolFinished(_)
            | Event::Interrupted(_)
            | Event::Forked(_)
            | Event::TaskChanged(_)
            | Event::TaskGroupChanged(_)
            | Event::Recovered(_)
            | Event::Failed(_)
            | Event::Unknown { .. } => {}
        }
        if SafePoints::is_safe_point(event) {
            self.safe_points.push(cursor);
        }
        let turn_input = self.turn.as_ref().and_then(|turn| turn.input.as_ref());
        schedules::fold(&mut self.schedules, event, cursor.seq, turn_input);
        self.restrictions.fold(event);
        rooms::fold_heard(&mut self.heard, event);
        rooms::fold_room(&mut self.room, event, cursor.seq);
        // Last: the modules above need the turn that the event belongs to, and `turn_finished`
        // removes it.
        OpenTurn::fold(&mut self.turn, event, turn);
    }

    /// Estimates how full a context window of that size is.
    #[must_use]
    pub fn context(&self, window: u64) -> ContextEstimate {
        let latest = self.view.latest_usage.as_ref();
        let last = self.view.messages.last().map(|message| &message.id);
        estimate(&ContextInputs {
            serialized_bytes: self.view.bytes + self.fixed_bytes,
            latest_usage: latest.map(|(_, usage)| *usage),
            usage_is_last: latest.is_some_and(|(id, _)| Some(id) == last),
            floor: 0,
            window,
        })
    }

    fn add_background(&mut self, data: &ProcessStarted) {
        self.background.entry(data.call.clone()).or_default().push(data.identity());
        if self.background.len() > MAX_BACKGROUND {
            // The oldest: a session that starts thousands of servers must not grow without end.
            self.background.shift_remove_index(0);
        }
    }

    /// Forgets which content requests omit. The counts were for the conversation before it changed
    /// and say nothing about the new one.
    fn forget_left_out(&mut self) {
        self.left_out = None;
        self.sources.left_out = None;
    }

    fn measure_fixed(&mut self) {
        let prompt = self.prompt.as_ref().map_or(0, |prompt| view::json_len(&prompt.value));
        let tools = self.tools.as_ref().map_or(0, |tools| view::json_len(&tools.value));
        self.fixed_bytes = prompt + tools;
    }
}

/// An event that does not follow the last one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal has a gap: event {expected} should come next, but {found} does")]
pub struct FoldError {
    /// The sequence number that should come next.
    pub expected: u64,
    /// The position of the event that came instead.
    pub found: Cursor,
}

#[cfg(test)]
mod tests;
