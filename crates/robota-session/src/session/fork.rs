//! Safe points, labels and forks (KODE-04).

use std::sync::Arc;

use robota_core::driver::Recorder;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{
    CompactionFailed, Cursor, Envelope, Event, FORMAT, Forked, InputCancelled, LabelSet, Parent,
    SessionCreated, TurnEnd, TurnFinished,
};
use robota_core::hook::SessionSource;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::Cause;
use robota_core::state::{Origin, SafePoints, State};

use super::Session;
use crate::actor::Beginning;
use crate::error::SessionError;
use crate::id::{Selector, SnapshotId, check_id, fork_id, label};
use crate::open::{load_state, open};

/// Events read at a time while a place is looked for.
const PAGE: usize = 1_024;
/// Nobody has more ancestors than this.
const MAX_LINEAGE: usize = 64;

/// Where a session can be forked now.
#[derive(Clone)]
struct Now {
    /// The last event, when the session is at rest.
    at_rest: Option<Cursor>,
    points: SafePoints,
    labels: indexmap::IndexMap<String, Cursor>,
    cwd: Option<String>,
}

impl Now {
    fn of(state: &State) -> Self {
        let resting = state.turn.is_none() && !state.compacting;
        Self {
            at_rest: state.cursor.filter(|_| resting),
            points: state.safe_points,
            labels: state.labels.clone(),
            cwd: state.cwd.clone(),
        }
    }
}

impl Session {
    /// Names a place to come back to: where the session is when it is at rest, the last safe
    /// point while it works. Without a label it is the last safe point, by its number.
    ///
    /// # Errors
    /// When the label is none, there is no safe point yet, or the journal cannot be written.
    pub async fn snapshot(&self, name: Option<&str>) -> Result<SnapshotId, SessionError> {
        let now = self.inspect(Now::of).await?;
        let session = self.id().clone();
        let Some(name) = name else {
            return match now.points.count {
                0 => Err(self.no_point(&Selector::Latest)),
                count => Ok(SnapshotId { session, place: Selector::SafePoint(count) }),
            };
        };
        let label = label(name)?;
        let at = self.resolve(&Selector::Latest, &now).await?;
        self.append(vec![LabelSet { label: label.clone(), at }.into()]).await?;
        Ok(SnapshotId { session, place: Selector::Label(label) })
    }

    /// Another session that goes on from a place of this one; without an id it gets one of its
    /// own. This one stays as it is and may be busy.
    ///
    /// # Errors
    /// When there is no such place or the store fails. When only the note in this session could
    /// not be written, the other session exists all the same.
    pub async fn fork(
        &self,
        place: &Selector,
        id: Option<SessionId>,
    ) -> Result<Session, SessionError> {
        let now = self.inspect(Now::of).await?;
        let at = self.resolve(place, &now).await?;
        let mut parts = self.shared.makeup().parts.clone();
        if let Some(gate) = parts.gate.for_fork() {
            parts.gate = gate;
        }
        let child = id.unwrap_or_else(|| fork_id(self.id(), &*parts.ids));
        check_id(&child)?;
        let parent = Some(Parent { session: self.id().clone(), at });
        let created =
            SessionCreated { session: child.clone(), format: FORMAT, cwd: now.cwd, parent };
        let first = Envelope {
            seq: at.seq + 1,
            epoch: at.epoch + 1,
            ts: parts.clock.now(),
            turn: None,
            event: created.into(),
            min_reader: None,
        };
        let store = self.shared.store.clone();
        // The child is safe first: a parent never speaks of one that is not there.
        let journal = store.fork(self.id(), at, &child, &[Arc::new(first)]).await?;
        let state = load_state(&*store, &child).await?;
        let recorder = Recorder::going_on(journal, parts.clock.clone(), state);
        let left = leave_behind(recorder.state());
        let beginning = Beginning::new(SessionSource::Fork);
        let session = open(store, child.clone(), recorder, parts, left, beginning).await?;
        self.append(vec![Forked { child, at }.into()]).await?;
        Ok(session)
    }

    async fn resolve(&self, place: &Selector, now: &Now) -> Result<Cursor, SessionError> {
        let (store, id) = (&*self.shared.store, self.id());
        match place {
            Selector::Latest => now.at_rest.or(now.points.last).ok_or_else(|| self.no_point(place)),
            Selector::Label(name) => {
                now.labels.get(name).copied().ok_or_else(|| self.no_point(place))
            }
            Selector::SafePoint(number) => {
                let mut count = 0;
                let found = find(store, id, |event| {
                    count += u64::from(SafePoints::is_one(&event.event));
                    if count == *number { Look::Take } else { Look::On }
                });
                found.await?.ok_or_else(|| self.no_point(place))
            }
            Selector::At(cursor) => {
                let at = store.pick(id, &[cursor.seq]).await?;
                if at.first().map(Envelope::cursor) != Some(*cursor) {
                    let session = id.clone();
                    return Err(JournalError::NoSuchEvent { session, at: *cursor }.into());
                }
                let mut last = None;
                find(store, id, |event| {
                    if event.seq > cursor.seq {
                        return Look::Stop;
                    }
                    if SafePoints::is_one(&event.event) {
                        last = Some(event.cursor());
                    }
                    Look::On
                })
                .await?;
                last.ok_or_else(|| self.no_point(place))
            }
        }
    }

    fn no_point(&self, place: &Selector) -> SessionError {
        let session = self.id().clone();
        let place = SnapshotId { session: session.clone(), place: place.clone() }.to_string();
        SessionError::NoSafePoint { session, place }
    }
}

enum Look {
    On,
    Take,
    Stop,
}

/// Reads a journal until an event is taken.
async fn find(
    store: &dyn JournalStore,
    id: &SessionId,
    mut look: impl FnMut(&Envelope) -> Look,
) -> Result<Option<Cursor>, JournalError> {
    let mut after = 0;
    loop {
        let page = store.read(id, after, PAGE).await?;
        for event in &page {
            match look(event) {
                Look::On => after = event.seq,
                Look::Take => return Ok(Some(event.cursor())),
                Look::Stop => return Ok(None),
            }
        }
        if page.len() < PAGE {
            return Ok(None);
        }
    }
}

/// What a fork does not go on with: the turn its parent was in, and inputs meant for the parent.
fn leave_behind(state: &State) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let inputs = state.inputs.keys().cloned();
    events.extend(inputs.map(|input| InputCancelled { input, cause: Cause::User }.into()));
    if state.compacting {
        let error = ErrorData::new(ErrorKind::Validation, "the session was forked meanwhile");
        events.push(CompactionFailed { error }.into());
    }
    events.extend(state.turn.as_ref().map(|turn| {
        Event::from(TurnFinished {
            end: TurnEnd::Interrupted,
            rounds: turn.round,
            tools_executed: turn.tools_executed,
            usage: turn.usage,
            error: None,
        })
    }));
    events
}

/// The sessions a fork came from, nearest first.
pub(super) async fn lineage(store: &dyn JournalStore, parent: Option<Origin>) -> Vec<Origin> {
    let mut lineage: Vec<Origin> = Vec::new();
    let mut next = parent;
    while let Some(origin) = next.take() {
        let known = lineage.iter().any(|older| older.session == origin.session);
        if known || lineage.len() == MAX_LINEAGE {
            break;
        }
        // A parent that was deleted ends the line.
        next = store.head(&origin.session).await.ok().and_then(|head| head.parent);
        lineage.push(origin);
    }
    lineage
}
