//! Forks of stored sessions: another session that goes on from a point of this one.

use std::str::FromStr;
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

/// A point of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Point {
    /// The n-th safe point, from one.
    SafePoint(u64),
    /// The point of that name.
    Label(String),
    /// An event.
    At(Cursor),
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(number) = text.strip_prefix("sfp:") {
            let number = number.parse().ok().filter(|number| *number > 0);
            let wrong = || format!("`{text}`: after `sfp:` comes a number, from one");
            return number.map(Self::SafePoint).ok_or_else(wrong);
        }
        if let Some(label) = text.strip_prefix("label:") {
            return Ok(Self::Label(label.to_owned()));
        }
        text.parse().map(Self::At).map_err(|_| {
            format!("`{text}` is no point of a session; say sfp:N, label:NAME or a cursor (1-42)")
        })
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SafePoint(number) => write!(f, "sfp:{number}"),
            Self::Label(label) => write!(f, "label:{label}"),
            Self::At(cursor) => write!(f, "{cursor}"),
        }
    }
}

/// The places where a session can be forked, oldest first.
#[must_use]
pub fn safe_points(events: &[Envelope]) -> Vec<Cursor> {
    let safe = events.iter().filter(|event| SafePoints::is_one(&event.event));
    safe.map(Envelope::cursor).collect()
}

/// Begins a session that goes on from a point of another, by default from its last safe point.
/// The parent is not touched. Returns where it was forked.
///
/// # Errors
/// When there is no such point, the id is taken, or the store fails.
pub async fn fork(
    store: &dyn JournalStore,
    parent: &SessionId,
    at: Option<&Point>,
    child: &SessionId,
    clock: &dyn Clock,
) -> Result<Cursor, ReplayError> {
    let events = read_all(store, parent, 0).await?;
    let at = resolve(&events, at)?;
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

fn resolve(events: &[Envelope], at: Option<&Point>) -> Result<Cursor, ReplayError> {
    let points = safe_points(events);
    let none = |reason: String| {
        let at = at.map_or_else(|| "its last safe point".to_owned(), ToString::to_string);
        ReplayError::NoPoint { at, reason }
    };
    match at {
        None => points.last().copied().ok_or_else(|| none("it has none yet".to_owned())),
        Some(Point::SafePoint(number)) => {
            let index = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
            let found = index.and_then(|index| points.get(index)).copied();
            found.ok_or_else(|| none(format!("it has {} safe points", points.len())))
        }
        Some(Point::Label(label)) => {
            let labels = State::fold(events)?.labels;
            let at = labels.get(label).copied();
            let at = at.ok_or_else(|| none("it has no such label".to_owned()))?;
            quiet(events, at, &points).map_err(none)
        }
        Some(Point::At(cursor)) => quiet(events, *cursor, &points).map_err(none),
    }
}

/// A point at which nothing is owed: no call without its result, nothing half said.
fn quiet(events: &[Envelope], at: Cursor, points: &[Cursor]) -> Result<Cursor, String> {
    if !events.iter().any(|event| event.cursor() == at) {
        return Err("it has no such event".to_owned());
    }
    let before = events.iter().filter(|event| event.seq <= at.seq);
    let state = State::fold(before).map_err(|error| error.to_string())?;
    let quiet = !state.compacting && state.turn.as_ref().is_none_or(|turn| turn.is_quiet());
    if quiet && !state.view.messages.is_empty() {
        return Ok(at);
    }
    let nearest = points.iter().rev().find(|point| point.seq <= at.seq);
    Err(match nearest {
        Some(point) => format!("something is under way there; the safe point before it is {point}"),
        None => "something is under way there, and no safe point is before it".to_owned(),
    })
}
