//! Forks of stored sessions: another session that goes on from a point of this one.

use std::sync::Arc;

use robota_core::clock::Clock;
use robota_core::event::{
    Cursor, Envelope, Event, FORMAT, InputCancelled, Opened, Parent, SessionCreated, TurnEnd,
    TurnFinished,
};
use robota_core::ids::{SessionId, TurnId};
use robota_core::journal::{JournalStore, read_all};
use robota_core::message::Cause;
use robota_core::state::{SafePoints, State};

use super::error::ReplayError;
use crate::id::Selector;

/// The places where a session can be forked, oldest first.
#[must_use]
pub fn safe_points(events: &[Envelope]) -> Vec<Cursor> {
    let safe = events.iter().filter(|event| SafePoints::is_one(&event.event));
    safe.map(Envelope::cursor).collect()
}

/// Begins a session that goes on from a place of another, which nobody need have open. The parent
/// is not touched. Returns where it was forked.
///
/// # Errors
/// When there is no such point, the id is taken, or the store fails.
pub async fn fork(
    store: &dyn JournalStore,
    parent: &SessionId,
    place: &Selector,
    child: &SessionId,
    clock: &dyn Clock,
) -> Result<Cursor, ReplayError> {
    let events = read_all(store, parent, 0).await?;
    let at = resolve(&events, place)?;
    let before: Vec<_> = events.into_iter().filter(|event| event.seq <= at.seq).collect();
    let state = State::fold(&before)?;
    let answered =
        before.last().is_some_and(|last| matches!(last.event, Event::AssistantMessage(_)));
    let mut first: Vec<(Option<TurnId>, Event)> = Vec::new();
    let epoch = at.epoch + 1;
    let origin = Parent { session: parent.clone(), at };
    let created = SessionCreated {
        session: child.clone(),
        format: FORMAT,
        cwd: state.cwd.clone(),
        parent: Some(origin),
    };
    first.push((None, created.into()));
    first.push((None, Opened { epoch, after_seq: at.seq, pid: None }.into()));
    // What was under way goes on in the parent, not here.
    if let Some(turn) = &state.turn {
        let end = if answered { TurnEnd::Complete } else { TurnEnd::Interrupted };
        let finished = TurnFinished {
            end,
            rounds: turn.round,
            tools_executed: turn.tools_executed,
            usage: turn.usage,
            error: None,
        };
        first.push((turn.id.clone(), finished.into()));
    }
    for input in state.inputs.keys() {
        let cancelled = InputCancelled { input: input.clone(), cause: Cause::User };
        first.push((None, cancelled.into()));
    }
    let envelopes: Vec<_> = (at.seq + 1..)
        .zip(first)
        .map(|(seq, (turn, event))| {
            Arc::new(Envelope { seq, epoch, ts: clock.now(), turn, event, min_reader: None })
        })
        .collect();
    store.fork(parent, at, child, &envelopes).await?;
    Ok(at)
}

fn resolve(events: &[Envelope], place: &Selector) -> Result<Cursor, ReplayError> {
    let points = safe_points(events);
    let none = |at: &str, reason: String| ReplayError::NoPoint { at: at.to_owned(), reason };
    match place {
        Selector::Latest => {
            let state = State::fold(events)?;
            let resting = state.turn.is_none() && !state.compacting;
            let at = state.cursor.filter(|_| resting).or(points.last().copied());
            at.ok_or_else(|| none("its end", "it has no safe point yet".to_owned()))
        }
        Selector::SafePoint(number) => {
            let index = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
            let found = index.and_then(|index| points.get(index)).copied();
            let reason = format!("it has {} safe points", points.len());
            found.ok_or_else(|| none(&format!("sfp:{number}"), reason))
        }
        Selector::Label(label) => {
            let at = State::fold(events)?.labels.get(label).copied();
            let reason = "it has no such label".to_owned();
            at.ok_or_else(|| none(&format!("label:{label}"), reason))
        }
        Selector::At(cursor) => {
            if !events.iter().any(|event| event.cursor() == *cursor) {
                return Err(none(&cursor.to_string(), "it has no such event".to_owned()));
            }
            let before = points.iter().rev().find(|point| point.seq <= cursor.seq).copied();
            let reason = "no safe point is before it".to_owned();
            before.ok_or_else(|| none(&cursor.to_string(), reason))
        }
    }
}
