//! The state as a snapshot, and back: numbers of events out, the same state in.

use serde::{Deserialize, Serialize};

use super::view::Listed;
use super::{ModelView, OpenTurn, Shortened, State};
use crate::event::{Envelope, Event, QuietTurn, ShortenedRefs, StateSnapshot, ViewRefs};

/// The version of the fold. A snapshot of another version is ignored, and the whole journal is
/// folded: raise it whenever the same events come to another state.
pub const REDUCER: u32 = 1;

/// Which events the state was made from, beside those of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sources {
    /// The one that says which session this is.
    pub created: u64,
    /// The one with the system prompt.
    pub prompt: Option<u64>,
    /// The one with the tools.
    pub tools: Option<u64>,
    /// The one that says what requests are without.
    #[serde(default)]
    pub left_out: Option<u64>,
    /// The newest snapshot.
    pub snapshot: Option<u64>,
}

/// A snapshot that says something its events do not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot at event {snapshot} does not fit the journal: {reason}")]
pub struct RestoreError {
    /// The snapshot.
    pub snapshot: u64,
    /// What does not fit.
    pub reason: String,
}

/// The events a snapshot needs: of the conversation, and of the one before the last summary.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Needed {
    pub(crate) view: Listing,
    pub(crate) before: Listing,
}

/// The events of a conversation, and the snapshots it builds on, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Listing {
    pub(crate) events: Vec<u64>,
    pub(crate) links: Vec<Listed>,
}

impl State {
    /// What the state is made of; none in the middle of an answer, which is made of pieces.
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
            Some(_) => return None,
        };
        if self.session.is_none() || self.compacting {
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
            view: self.view.refs(),
            before: self.view.before.as_ref().map(|before| {
                let replaced_by = before.replaced_by as u64;
                Box::new(ShortenedRefs { view: before.view.refs(), replaced_by })
            }),
            inputs: self.inputs.values().map(|input| input.seq).collect(),
            turn,
            turns_completed: self.turns_completed,
            usage: self.usage,
            safe_points: self.safe_points.clone(),
            previous: self.sources.snapshot,
            background: self.background.clone(),
            labels: self.labels.clone(),
        })
    }

    pub(super) fn snapshot_taken(&mut self, seq: u64, snapshot: &StateSnapshot) {
        self.view.list(seq, snapshot.view.base);
        if let (Some(before), Some(refs)) = (&mut self.view.before, &snapshot.before) {
            before.view.build_on(refs.view.base);
        }
        self.sources.snapshot = Some(seq);
        self.safe_points.recent.clear();
    }

    /// The state right after a snapshot, from the events it refers to.
    pub(crate) fn restore(
        at: &Envelope,
        snapshot: &StateSnapshot,
        needed: &Needed,
        find: &mut dyn FnMut(u64) -> Option<Event>,
    ) -> Result<Self, RestoreError> {
        let misfit = |reason: String| RestoreError { snapshot: at.seq, reason };
        let mut event =
            |seq: u64| find(seq).ok_or_else(|| misfit(format!("event {seq} is missing")));
        let mut state = Self::default();
        // The fold itself makes what one event tells whole.
        let told = [Some(snapshot.created), snapshot.prompt, snapshot.tools, snapshot.left_out];
        for seq in told.into_iter().flatten().chain(snapshot.inputs.iter().copied()) {
            let cursor = crate::event::Cursor { epoch: at.epoch, seq };
            state.fold_event(&event(seq)?, None, cursor);
        }
        state.view = view(&snapshot.view, &needed.view, &mut event).map_err(misfit)?;
        if let Some(refs) = &snapshot.before {
            let view = view(&refs.view, &needed.before, &mut event).map_err(misfit)?;
            let replaced_by = usize::try_from(refs.replaced_by)
                .ok()
                .filter(|replaced_by| *replaced_by <= state.view.messages.len())
                .ok_or_else(|| misfit("it shortens to more than there is".to_owned()))?;
            state.view.before = Some(Box::new(Shortened { view, replaced_by }));
        }
        state.name.clone_from(&snapshot.name);
        state.mode = snapshot.mode;
        state.turn = snapshot.turn.as_ref().map(|turn| OpenTurn {
            id: turn.id.clone(),
            input: turn.input.clone(),
            round: turn.round,
            usage: turn.usage,
            tools_executed: turn.tools_executed,
            interrupted: turn.interrupted,
            ..OpenTurn::default()
        });
        state.turns_completed = snapshot.turns_completed;
        state.usage = snapshot.usage;
        state.safe_points.clone_from(&snapshot.safe_points);
        state.background.clone_from(&snapshot.background);
        state.labels.clone_from(&snapshot.labels);
        state.cursor = Some(at.cursor());
        state.snapshot_taken(at.seq, snapshot);
        Ok(state)
    }
}

/// A conversation from the events it is made of.
fn view(
    refs: &ViewRefs,
    listing: &Listing,
    event: &mut impl FnMut(u64) -> Result<Event, RestoreError>,
) -> Result<ModelView, String> {
    let mut view = ModelView::default();
    for seq in &listing.events {
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
    view.listed.clone_from(&listing.links);
    Ok(view)
}
