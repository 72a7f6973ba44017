//! Checks the sessions of a child that was killed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use futures::StreamExt as _;
use robota_core::event::{Cursor, DidRun, Durability, Envelope, Event};
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::{JournalError, JournalStore, SessionFilter, read_all};
use robota_core::message::{BlobRef, Message};
use robota_core::resume::{load, load_whole};
use robota_session::{EventFilter, Resume, Session, SessionError, SubscriptionItem};

use crate::case_store::CaseStore;
use crate::fixture::{DEFAULT_ANSWER, Model, TOOLS_WITH_EFFECTS, builder};

/// Which of the reported events may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// None: only the child was killed.
    Nothing,
    /// Those after the last barrier: the server was killed too.
    AfterBarrier,
}

macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err(format!($($words)*));
        }
    };
}

/// Everything that the children reported.
#[derive(Default)]
struct Reported {
    events: BTreeMap<String, Vec<Envelope>>,
    inputs: Vec<(String, String)>,
    forked: BTreeSet<String>,
    deleting: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

impl Reported {
    fn of(case_store: &CaseStore) -> Result<Self, String> {
        let mut reported = Self::default();
        for line in case_store.reported().lines() {
            let words: Vec<_> = line.splitn(3, ' ').collect();
            match words[..] {
                ["event", session, line] => {
                    let event = Envelope::decode(line.as_bytes()).map_err(text)?;
                    reported.events.entry(session.to_owned()).or_default().push(event);
                }
                ["input", session, input] => reported.inputs.push((session.into(), input.into())),
                ["forked", child] => drop(reported.forked.insert(child.to_owned())),
                ["deleting", session] => drop(reported.deleting.insert(session.to_owned())),
                ["deleted", session] => drop(reported.deleted.insert(session.to_owned())),
                _ => return Err(format!("an odd note: {line}")),
            }
        }
        Ok(reported)
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Opens all sessions again and checks them. The error says what is wrong.
pub(crate) async fn check(
    case_store: &CaseStore,
    store: &Arc<dyn JournalStore>,
    loss: Loss,
) -> Result<(), String> {
    let reported = Reported::of(case_store)?;
    let effects = effects(case_store)?;
    let filter =
        SessionFilter { prefix: Some(case_store.prefix.clone()), ..SessionFilter::default() };
    let listed = store.list(&filter).await.map_err(|error| format!("the list: {error}"))?;
    let mut sessions: BTreeSet<String> =
        listed.sessions.iter().map(|head| head.session.to_string()).collect();
    for deleted in &reported.deleted {
        ensure!(!sessions.contains(deleted), "{deleted} was deleted and exists again");
    }
    let must: BTreeSet<String> = reported.events.keys().chain(&reported.forked).cloned().collect();
    sessions.extend(must.iter().cloned());
    let main = case_store.session("main").to_string();
    sessions.insert(main.clone());
    let mut known = BTreeSet::new();
    for id in &sessions {
        let session_check =
            SessionCheck { case_store, store, reported: &reported, effects: &effects, loss, id };
        let calls = Box::pin(session_check.check(must.contains(id), *id == main)).await;
        known.extend(calls.map_err(|what| format!("{id}: {what}"))?);
    }
    for (call, tool) in &effects {
        // The calls of a deleted session are in no journal.
        let deleted = !reported.deleting.is_empty() && tool == "big";
        ensure!(known.contains(call) || deleted, "{tool} ran for {call}, which is in no journal");
    }
    for pending in reported.deleting.iter().filter(|session| !reported.deleted.contains(*session)) {
        let id = SessionId::from(pending.clone());
        store.delete(&id).await.map_err(|error| format!("{pending} cannot be deleted: {error}"))?;
    }
    Ok(())
}

/// Returns the calls that had an effect. Fails if a call had one twice.
fn effects(case_store: &CaseStore) -> Result<HashMap<String, String>, String> {
    let mut effects = HashMap::new();
    for line in case_store.effects().lines() {
        let (call, tool) = line.split_once(' ').ok_or_else(|| format!("an odd note: {line}"))?;
        let earlier = effects.insert(call.to_owned(), tool.to_owned());
        ensure!(earlier.is_none(), "{tool} ran twice for {call}");
    }
    Ok(effects)
}

/// Checks one session.
struct SessionCheck<'a> {
    case_store: &'a CaseStore,
    store: &'a Arc<dyn JournalStore>,
    reported: &'a Reported,
    effects: &'a HashMap<String, String>,
    loss: Loss,
    id: &'a str,
}

impl SessionCheck<'_> {
    /// Checks the session and returns the calls in its journal.
    async fn check(&self, must: bool, main: bool) -> Result<BTreeSet<String>, String> {
        let id = SessionId::from(self.id.to_owned());
        let make = || builder(&Model::new(), &self.case_store.effects());
        let resume = Resume { deliver: false, ..Resume::default() };
        let session = match make().resume(self.store.clone(), &id, resume).await {
            // Nothing of it was reported, so it may not exist, and can be created.
            Err(SessionError::Journal(JournalError::NotFound(_))) if main && !must => {
                make().create(self.store.clone(), Some(id.clone())).await
            }
            other => other,
        };
        let session = session.map_err(|error| format!("it cannot be resumed: {error}"))?;
        let reported = self.reported.events.get(self.id).map_or(&[][..], Vec::as_slice);
        let journal = self.journal(&id).await?;
        in_order(&journal)?;
        let last = self.nothing_lost(reported, &journal)?;
        self.cursors(&session, last).await?;
        let answer = session.run("Are you there?").await;
        let answer = answer.map_err(|error| format!("it cannot be continued: {error}"))?;
        ensure!(answer == DEFAULT_ANSWER, "it answers `{answer}`");
        let journal = self.journal(&id).await?;
        in_order(&journal)?;
        let calls = self.calls(&journal)?;
        self.blobs(&id, &journal).await?;
        let messages = session.context().messages().await.map_err(text)?;
        paired(&messages)?;
        let state = load(&**self.store, &id).await.map_err(text)?;
        let whole = load_whole(&**self.store, &id).await.map_err(text)?;
        ensure!(state == whole, "the snapshot and the journal give different states");
        ensure!(state.view.messages == messages, "live and resumed conversation differ");
        ensure!(state.inputs.is_empty(), "inputs were not delivered: {:?}", state.inputs);
        for (_, input) in self.reported.inputs.iter().filter(|(session, _)| session == self.id) {
            let there = journal.iter().any(|event| match &event.event {
                Event::InputAccepted(data) => data.input.to_string() == *input,
                _ => false,
            });
            ensure!(there, "the input {input} was accepted and is missing");
        }
        session.shutdown("checked").await.map_err(text)?;
        let head = self.store.head(&id).await.map_err(text)?;
        let end = self.journal(&id).await?.last().map(Envelope::cursor);
        ensure!(Some(head.last) == end, "its head is at {:?}, its journal at {end:?}", head.last);
        Ok(calls)
    }

    async fn journal(&self, id: &SessionId) -> Result<Vec<Envelope>, String> {
        read_all(&**self.store, id, 0).await.map_err(|error| format!("its journal: {error}"))
    }

    /// Checks that the journal has every reported event, byte for byte. Returns the cursor of the
    /// last one.
    fn nothing_lost(
        &self,
        reported: &[Envelope],
        journal: &[Envelope],
    ) -> Result<Option<Cursor>, String> {
        // A killed server has everything up to the last barrier of a writer.
        let mut barriers: HashMap<u32, u64> = HashMap::new();
        for event in
            reported.iter().filter(|reported| reported.event.durability() == Durability::Synced)
        {
            let last = barriers.entry(event.epoch).or_insert(0);
            *last = event.seq.max(*last);
        }
        let safe = |event: &&Envelope| match self.loss {
            Loss::Nothing => true,
            Loss::AfterBarrier => {
                barriers.get(&event.epoch).is_some_and(|barrier| event.seq <= *barrier)
            }
        };
        for event in reported.iter().filter(safe) {
            let at = usize::try_from(event.seq).unwrap_or(usize::MAX) - 1;
            let there = journal.get(at);
            ensure!(
                there == Some(event),
                "{} ({}) was reported; the journal has {:?}",
                event.cursor(),
                event.event.kind(),
                there.map(|there| (there.cursor(), there.event.kind()))
            );
        }
        Ok(reported.last().map(Envelope::cursor))
    }

    /// Checks that a subscriber with the last reported cursor receives the events after it.
    async fn cursors(&self, session: &Session, last: Option<Cursor>) -> Result<(), String> {
        let Some(last) = last else { return Ok(()) };
        let events = session.subscribe(last, EventFilter::Everything).await;
        let mut events = events.map_err(|error| format!("no subscription: {error}"))?;
        let first = events.next().await.ok_or("the subscription ended")?.map_err(text)?;
        match first {
            SubscriptionItem::Event(event) => {
                let next = event.cursor();
                ensure!(next.seq == last.seq + 1, "{next} follows {last}");
                ensure!(next.epoch >= last.epoch, "{next} is of an epoch before {last}");
            }
            SubscriptionItem::CursorReset { asked, valid } => {
                let allowed = self.loss == Loss::AfterBarrier;
                ensure!(allowed, "the cursor {asked} was reset to {valid:?}");
                let before = valid.is_none_or(|valid| valid.seq < asked.seq);
                ensure!(before, "{asked} was reset to {valid:?}");
            }
        }
        let now = session.status().await.map_err(text)?.cursor;
        ensure!(
            now.is_some_and(|now| now.epoch > last.epoch),
            "epochs grow: {last} was reported, the new writer is at {now:?}"
        );
        Ok(())
    }

    /// Checks that no call ran twice, none is open, and the journal says correctly which ran.
    fn calls(&self, journal: &[Envelope]) -> Result<BTreeSet<String>, String> {
        let mut names: HashMap<&CallId, &str> = HashMap::new();
        let (mut started, mut finished) = (BTreeSet::new(), BTreeSet::new());
        for event in journal {
            match &event.event {
                Event::ToolCalled(data) => {
                    names.insert(&data.tool_use.call, &data.tool_use.name);
                }
                Event::ToolStarted(data) => {
                    let call = data.call.to_string();
                    ensure!(!finished.contains(&call), "{call} was finished and is run again");
                    ensure!(started.insert(call), "{} started twice", data.call);
                }
                Event::ToolFinished(data) => {
                    let call = data.call.to_string();
                    let name = names.get(&data.call).copied().unwrap_or("?");
                    let ran = data.outcome.ran;
                    let has_effect = self.effects.contains_key(&call);
                    ensure!(
                        ran != DidRun::No || !has_effect,
                        "{name} is recorded as not run, and had an effect"
                    );
                    let due = ran == DidRun::Yes && TOOLS_WITH_EFFECTS.contains(&name);
                    ensure!(!due || has_effect, "{name} is recorded as run, and had no effect");
                    // The start could not be written, so the call did not start.
                    let undone = data.outcome.text().contains("storage error");
                    ensure!(
                        ran != DidRun::No || undone || !started.contains(&call),
                        "{name} was started and is recorded as not run"
                    );
                    ensure!(finished.insert(call), "{} finished twice", data.call);
                }
                Event::ToolResultAdded(data) => {
                    let has_effect = self.effects.contains_key(data.result.call.as_str());
                    let words = data.result.as_text();
                    ensure!(
                        !(has_effect && words.contains("did not run")),
                        "a call had an effect and its result says: {words}"
                    );
                }
                _ => {}
            }
        }
        let open: Vec<_> = started.difference(&finished).collect();
        ensure!(open.is_empty(), "calls were left open: {open:?}");
        for call in names.keys().map(|call| call.to_string()) {
            let has_effect = self.effects.contains_key(&call);
            ensure!(
                !has_effect || started.contains(&call),
                "{call} had an effect before it was started"
            );
        }
        Ok(names.keys().map(ToString::to_string).collect())
    }

    /// Checks that the blobs that results refer to can be read.
    async fn blobs(&self, id: &SessionId, journal: &[Envelope]) -> Result<(), String> {
        let blobs = self.store.blobs(id);
        for event in journal {
            let Event::ToolFinished(data) = &event.event else { continue };
            let Some(spilled) = data.outcome.metadata.get("spilled") else { continue };
            let blob: BlobRef = serde_json::from_value(spilled.clone()).map_err(text)?;
            let kept = blobs.get(&blob).await.map_err(text)?;
            let whole = kept.is_some_and(|bytes| bytes.len() as u64 == blob.bytes);
            ensure!(whole, "the output of {} was stored and is missing", data.call);
        }
        Ok(())
    }
}

fn in_order(journal: &[Envelope]) -> Result<(), String> {
    ensure!(journal.first().is_some_and(|first| first.seq == 1), "it does not begin with 1");
    for pair in journal.windows(2) {
        let (one, next) = (pair[0].cursor(), pair[1].cursor());
        ensure!(next.seq == one.seq + 1, "{next} follows {one}");
        ensure!(next.epoch >= one.epoch, "{next} is of an epoch before {one}");
    }
    Ok(())
}

/// Checks that each call has one result, right after it, in order.
fn paired(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: Vec<&CallId> = Vec::new();
    for message in messages {
        let results: Vec<_> = message.tool_results().map(|result| &result.call).collect();
        ensure!(results == open, "for the calls {open:?} there are the results {results:?}");
        open = message.tool_uses().map(|tool_use| &tool_use.call).collect();
    }
    ensure!(open.is_empty(), "no results for {open:?}");
    Ok(())
}
