//! Conversion of the state to a snapshot, and back. A snapshot contains sequence numbers only.

use serde::{Deserialize, Serialize};

use super::view::SnapshotLink;
use super::{ModelView, OpenTurn, ReplacedView, State};
use crate::event::{
    Envelope, Event, QuietTurn, ReplacedViewRefs, ScheduleRef, StateSnapshot, ViewRefs,
};

/// A snapshot says by this version which fold made it. A snapshot of another version is ignored and
/// the whole journal is folded. Increase it whenever the same events fold to another state.
pub const REDUCER: u32 = 1;

/// The events that the state was made from, other than those of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sources {
    /// The sequence number of `session_created`.
    pub created: u64,
    /// The sequence number of the `prompt_set` in effect.
    pub prompt: Option<u64>,
    /// The sequence number of the `tools_set` in effect.
    pub tools: Option<u64>,
    /// The sequence number of the `content_left_out` in effect.
    #[serde(default)]
    pub left_out: Option<u64>,
    /// The sequence number of the last `files_watched`.
    #[serde(default)]
    pub watched: Option<u64>,
    /// The sequence number of the newest snapshot.
    pub snapshot: Option<u64>,
}

/// A snapshot that contradicts the events it refers to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot at event {snapshot} does not fit the journal: {reason}")]
pub struct RestoreError {
    /// The sequence number of the snapshot.
    pub snapshot: u64,
    /// Where the snapshot contradicts the events of the journal.
    pub reason: String,
}

/// The events that a snapshot refers to: of the view, and of the view before the last compaction.
#[derive(Debug, Default)]
pub(crate) struct SnapshotEvents {
    pub(crate) view: ViewListing,
    pub(crate) before: ViewListing,
}

/// The events of a view, and the snapshots whose lists it continues, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ViewListing {
    pub(crate) events: Vec<u64>,
    pub(crate) links: Vec<SnapshotLink>,
    /// The messages of the first events that need not be read, and how many events that are.
    known: (ModelView, usize),
}

impl ViewListing {
    /// Takes over the messages that the view of another session shares with this one.
    pub(crate) fn share(&mut self, other: &ModelView) {
        let prefix = other.prefix_of(&self.events);
        if prefix.1 > self.known.1 {
            self.known = prefix;
        }
    }

    /// Returns the events whose messages must be read.
    pub(crate) fn unread(&self) -> &[u64] {
        self.events.get(self.known.1..).unwrap_or_default()
    }
}

impl State {
    /// Returns a snapshot of the state, or `None` while an answer streams, a call has no result, or
    /// a compaction or a restore runs: chunks and open calls are not part of a snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Option<StateSnapshot> {
        let turn = match &self.turn {
            None => None,
            Some(turn) if turn.is_quiet() => Some(Box::new(QuietTurn {
                id: turn.id.clone(),
                input: turn.input.clone(),
                round: turn.round,
                usage: turn.usage,
                tools_executed: turn.tools_executed,
                interrupted: turn.interrupted,
            })),
            // A snapshot with an open call would have to repeat the call, its processes and files;
            // the next safe moment comes soon.
            Some(_) => return None,
        };
        // Without `session_created` there is no event that a snapshot could refer to.
        if self.session.is_none() || self.compacting || self.restoring.is_some() {
            return None;
        }
        Some(StateSnapshot {
            reducer: REDUCER,
            created: self.sources.created,
            name: self.name.clone(),
            mode: self.mode,
            prompt: self.sources.prompt,
            tools: self.sources.tools,
            left_out: self.sources.left_out,
            watched: self.sources.watched,
            view: self.view.refs(),
            before: self.view.before.as_ref().map(|before| {
                let replaced_by = before.replaced_by as u64;
                Box::new(ReplacedViewRefs { view: before.view.refs(), replaced_by })
            }),
            inputs: self.inputs.values().map(|input| input.seq).collect(),
            turn,
            restrictions: self.restrictions.clone(),
            turns_completed: self.turns_completed,
            usage: self.usage,
            safe_points: self.safe_points.clone(),
            previous: self.sources.snapshot,
            background: self.background.clone(),
            tasks: self.tasks.clone(),
            labels: self.labels.clone(),
            schedules: self
                .schedules
                .values()
                .map(|it| ScheduleRef { added: it.seq, progress: it.progress.clone() })
                .collect(),
            heard: self.heard.clone(),
            room: self.room.clone(),
        })
    }

    pub(super) fn on_snapshot(&mut self, seq: u64, snapshot: &StateSnapshot) {
        self.view.on_snapshot(seq, snapshot.view.base);
        if let (Some(before), Some(refs)) = (&mut self.view.before, &snapshot.before) {
            before.view.drop_links_after(refs.view.base);
        }
        self.sources.snapshot = Some(seq);
        self.safe_points.on_snapshot(seq, &snapshot.safe_points);
    }

    /// Computes the state right after a snapshot, from the events that it refers to.
    pub(crate) fn restore(
        at: &Envelope,
        snapshot: &StateSnapshot,
        needed: SnapshotEvents,
        find: &mut dyn FnMut(u64) -> Option<Event>,
    ) -> Result<Self, RestoreError> {
        let mismatch = |reason: String| RestoreError { snapshot: at.seq, reason };
        let mut event =
            |seq: u64| find(seq).ok_or_else(|| mismatch(format!("event {seq} is missing")));
        let mut state = Self::default();
        // Each of these values is set by a single event, so folding that event alone restores it.
        let single = [
            Some(snapshot.created),
            snapshot.prompt,
            snapshot.tools,
            snapshot.left_out,
            snapshot.watched,
        ];
        // The same fold as for a whole journal, so that a restored value cannot differ from a
        // folded one.
        for seq in single.into_iter().flatten().chain(snapshot.inputs.iter().copied()) {
            let cursor = crate::event::Cursor { epoch: at.epoch, seq };
            state.fold_event(&event(seq)?, None, cursor);
        }
        for it in &snapshot.schedules {
            // The epoch of the snapshot, since that of the event is not known here; the fold uses
            // only the number.
            let cursor = crate::event::Cursor { epoch: at.epoch, seq: it.added };
            let added = event(it.added)?;
            state.fold_event(&added, None, cursor);
            let Event::ScheduleAdded(data) = &added else {
                return Err(mismatch(format!("event {} adds no schedule", it.added)));
            };
            if let Some(schedule) = state.schedules.get_mut(&data.schedule) {
                schedule.progress.clone_from(&it.progress);
            }
        }
        state.heard.clone_from(&snapshot.heard);
        state.room.clone_from(&snapshot.room);
        state.view = view(&snapshot.view, needed.view, &mut event).map_err(mismatch)?;
        if let Some(refs) = &snapshot.before {
            let view = view(&refs.view, needed.before, &mut event).map_err(mismatch)?;
            let replaced_by = usize::try_from(refs.replaced_by)
                .ok()
                // The journal may come from another machine: a wrong number must be an error, not a
                // panic.
                .filter(|replaced_by| *replaced_by <= state.view.messages.len())
                .ok_or_else(|| {
                    mismatch("its summary replaces more messages than there are".to_owned())
                })?;
            state.view.before = Some(Box::new(ReplacedView { view, replaced_by }));
        }
        state.name.clone_from(&snapshot.name);
        state.mode = snapshot.mode;
        // Chunks and calls are left empty: a snapshot is taken only when the turn has none.
        state.turn = snapshot.turn.as_ref().map(|turn| OpenTurn {
            id: turn.id.clone(),
            input: turn.input.clone(),
            round: turn.round,
            usage: turn.usage,
            tools_executed: turn.tools_executed,
            interrupted: turn.interrupted,
            ..OpenTurn::default()
        });
        state.restrictions.clone_from(&snapshot.restrictions);
        state.turns_completed = snapshot.turns_completed;
        state.usage = snapshot.usage;
        state.safe_points.clone_from(&snapshot.safe_points);
        state.background.clone_from(&snapshot.background);
        state.tasks.clone_from(&snapshot.tasks);
        state.labels.clone_from(&snapshot.labels);
        state.cursor = Some(at.cursor());
        // The snapshot itself is an event of the journal, so its fold comes last.
        state.on_snapshot(at.seq, snapshot);
        Ok(state)
    }
}

/// Builds a view from its events.
fn view(
    refs: &ViewRefs,
    mut listing: ViewListing,
    event: &mut impl FnMut(u64) -> Result<Event, RestoreError>,
) -> Result<ModelView, String> {
    let mut view = std::mem::take(&mut listing.known.0);
    for seq in listing.unread() {
        match event(*seq).map_err(|error| error.reason)? {
            Event::UserMessage(data) => view.push(data.message, *seq),
            Event::MessageInjected(data) => view.push(data.message, *seq),
            Event::AssistantMessage(data) => view.push(data.message, *seq),
            Event::CompactionFinished(data) => view.push(data.summary, *seq),
            Event::ToolResultAdded(data) => view.push_result(&data.message, &data.result, *seq),
            other => return Err(format!("event {seq} is {}, no message", other.kind())),
        }
    }
    view.latest_usage =
        refs.latest_usage.as_ref().map(|counted| (counted.message.clone(), counted.usage));
    view.listed = listing.links;
    Ok(view)
}
