//! The summary of a session for lists, without reading its journal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{Cursor, Envelope, Event, SpawnedBy};
use crate::ids::SessionId;
use crate::message::Block;
use crate::state::ForkOrigin;

/// The maximum length of a title.
const MAX_TITLE_CHARS: usize = 120;

/// Summarises a session for lists. It is a fold over the events, like the state: a store keeps it
/// next to the journal and can compute it again from there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionHead {
    /// The id under which the store keeps the session.
    pub session: SessionId,
    /// The point it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ForkOrigin>,
    /// The tool call of another session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SpawnedBy>,
    /// The working directory; absent if the session has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The name that a user gave it; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The beginning of the first input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When the session was created; for a fork, when it was forked.
    pub created: Timestamp,
    /// The time of the last event.
    pub updated: Timestamp,
    /// The position of the last event.
    pub last: Cursor,
    /// The number of turns that ended.
    #[serde(default)]
    pub turns: u64,
    /// The sequence number of the newest snapshot; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// Whether another user wrote it, so that it must be imported before it can be resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

impl SessionHead {
    /// Creates the summary of a session from its first event.
    #[must_use]
    pub fn begin(session: SessionId, first: &Envelope) -> Self {
        let mut head = Self {
            session,
            parent: None,
            spawned_by: None,
            cwd: None,
            name: None,
            title: None,
            created: first.ts,
            updated: first.ts,
            last: first.cursor(),
            turns: 0,
            snapshot: None,
            foreign: false,
        };
        head.apply(first);
        head
    }

    /// Creates the summary of a fork from that of its parent.
    #[must_use]
    pub fn fork(&self, child: SessionId, at: Cursor) -> Self {
        let parent = Some(ForkOrigin { session: self.session.clone(), at });
        // A later snapshot is not part of the fork.
        let snapshot = self.snapshot.filter(|snapshot| *snapshot <= at.seq);
        let child = Self { session: child, parent, last: at, name: None, ..self.clone() };
        Self { snapshot, foreign: false, ..child }
    }

    /// Folds one more event; the first creates the summary.
    pub fn fold(head: &mut Option<Self>, session: &SessionId, event: &Envelope) {
        match head {
            Some(head) => head.apply(event),
            None => *head = Some(Self::begin(session.clone(), event)),
        }
    }

    /// Folds one more event.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.last = envelope.cursor();
        // A clock that was set back must not move a session down in the list.
        self.updated = self.updated.max(envelope.ts);
        match &envelope.event {
            Event::SessionCreated(data) => {
                self.cwd.clone_from(&data.cwd);
                self.spawned_by.clone_from(&data.spawned_by);
                self.parent = data
                    .parent
                    .as_ref()
                    .map(|parent| ForkOrigin { session: parent.session.clone(), at: parent.at });
                if self.parent.is_some() {
                    // A fork has its own creation time and name.
                    self.created = envelope.ts;
                    self.name = None;
                }
            }
            Event::Renamed(data) => self.name = Some(data.name.clone()),
            Event::InputAccepted(data) if self.title.is_none() => self.title = title(&data.content),
            Event::TurnFinished(_) => self.turns += 1,
            Event::StateSnapshot(_) => self.snapshot = Some(envelope.seq),
            _ => {}
        }
    }
}

/// Returns the beginning of the text, on one line.
fn title(content: &[Block]) -> Option<String> {
    let text = content.iter().find_map(|block| match block {
        Block::Text(text) if !text.text.trim().is_empty() => Some(&text.text),
        _ => None,
    })?;
    let mut title = String::new();
    for word in text.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
        // Enough bytes for any characters; a prompt may have megabytes.
        if title.len() > 4 * MAX_TITLE_CHARS {
            break;
        }
    }
    Some(title.chars().take(MAX_TITLE_CHARS).collect())
}

/// Which sessions to list. The default lists all, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionFilter {
    /// Only ids that begin with this.
    pub prefix: Option<String>,
    /// Only sessions with this working directory.
    pub cwd: Option<String>,
    /// Only sessions whose id, name or title contains this text, ignoring case.
    pub text: Option<String>,
    /// Only sessions changed at or after this time.
    pub since: Option<Timestamp>,
    /// Only sessions changed before this time.
    pub until: Option<Timestamp>,
    /// The most sessions that one page of the list has.
    pub limit: Option<usize>,
    /// Only sessions after this position of the list.
    pub after: Option<PageMark>,
}

/// Marks a position in a list of sessions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMark {
    /// When the last listed session was changed.
    pub updated: Timestamp,
    /// The id of that session, which orders sessions that were changed at the same time.
    pub session: SessionId,
}

/// Holds a part of a list of sessions, newest first; sessions changed at the same time are sorted
/// by id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionPage {
    /// The summaries of the page, newest first.
    pub sessions: Vec<SessionHead>,
    /// Where the next page begins; `None` if there is none.
    pub next: Option<PageMark>,
}

impl SessionFilter {
    /// Returns true if a session matches the filter.
    #[must_use]
    pub fn matches(&self, head: &SessionHead) -> bool {
        let has = |text: &str| {
            let holds = |field: &str| field.to_lowercase().contains(text);
            holds(head.session.as_str())
                || head.name.as_deref().is_some_and(holds)
                || head.title.as_deref().is_some_and(holds)
        };
        self.prefix.as_ref().is_none_or(|prefix| head.session.as_str().starts_with(prefix))
            && self.cwd.as_ref().is_none_or(|cwd| head.cwd.as_ref() == Some(cwd))
            && self.text.as_ref().is_none_or(|text| has(&text.to_lowercase()))
            && self.since.is_none_or(|since| head.updated >= since)
            && self.until.is_none_or(|until| head.updated < until)
            && self.after.as_ref().is_none_or(|mark| {
                head.updated < mark.updated
                    // Sessions that were changed at the same time are ordered by id, so that no
                    // page repeats or skips one.
                    || (head.updated == mark.updated && head.session > mark.session)
            })
    }

    /// Returns the requested page of all the summaries that a store has.
    #[must_use]
    pub fn page(&self, heads: impl IntoIterator<Item = SessionHead>) -> SessionPage {
        let mut sessions: Vec<_> = heads.into_iter().filter(|head| self.matches(head)).collect();
        sessions.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.session.cmp(&b.session)));
        let limit = self.limit.unwrap_or(usize::MAX);
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        let next = sessions.last().filter(|_| more).map(SessionHead::mark);
        SessionPage { sessions, next }
    }
}

impl SessionHead {
    /// Returns its position in a list.
    #[must_use]
    pub fn mark(&self) -> PageMark {
        PageMark { updated: self.updated, session: self.session.clone() }
    }
}

#[cfg(test)]
mod tests;
