//! What must hold of sessions whose writer was killed, whenever that was.

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

use crate::place::Place;
use crate::stage::{DOERS, GOING_ON, Model, builder};

/// What may be gone of what was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Nothing: only the writer died.
    Nothing,
    /// What came after the last barrier: the server died as well.
    AfterBarrier,
}

macro_rules! hold {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err(format!($($words)*));
        }
    };
}

/// What the children told.
#[derive(Default)]
struct Told {
    events: BTreeMap<String, Vec<Envelope>>,
    inputs: Vec<(String, String)>,
    forked: BTreeSet<String>,
    deleting: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

impl Told {
    fn of(place: &Place) -> Result<Self, String> {
        let mut told = Self::default();
        for line in place.told().lines() {
            let words: Vec<_> = line.splitn(3, ' ').collect();
            match words[..] {
                ["event", session, line] => {
                    let event = Envelope::decode(line.as_bytes()).map_err(text)?;
                    told.events.entry(session.to_owned()).or_default().push(event);
                }
                ["input", session, input] => told.inputs.push((session.into(), input.into())),
                ["forked", child] => drop(told.forked.insert(child.to_owned())),
                ["deleting", session] => drop(told.deleting.insert(session.to_owned())),
                ["deleted", session] => drop(told.deleted.insert(session.to_owned())),
                _ => return Err(format!("an odd note: {line}")),
            }
        }
        Ok(told)
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Reopens everything and says what does not hold, if anything.
pub(crate) async fn check(
    place: &Place,
    store: &Arc<dyn JournalStore>,
    loss: Loss,
) -> Result<(), String> {
    let told = Told::of(place)?;
    let effects = effects(place)?;
    let filter = SessionFilter { prefix: Some(place.prefix.clone()), ..SessionFilter::default() };
    let listed = store.list(&filter).await.map_err(|error| format!("the list: {error}"))?;
    let mut sessions: BTreeSet<String> =
        listed.sessions.iter().map(|head| head.session.to_string()).collect();
    for gone in &told.deleted {
        hold!(!sessions.contains(gone), "{gone} was deleted and is back");
    }
    let must: BTreeSet<String> = told.events.keys().chain(&told.forked).cloned().collect();
    sessions.extend(must.iter().cloned());
    let main = place.session("main").to_string();
    sessions.insert(main.clone());
    let mut known = BTreeSet::new();
    for id in &sessions {
        let it = It { place, store, told: &told, effects: &effects, loss, id };
        let calls = Box::pin(it.check(must.contains(id), *id == main)).await;
        known.extend(calls.map_err(|what| format!("{id}: {what}"))?);
    }
    for (call, tool) in &effects {
        // Those of a session that is deleted are in no journal any more.
        let gone = !told.deleting.is_empty() && tool == "big";
        hold!(known.contains(call) || gone, "{tool} ran for {call}, which no journal knows of");
    }
    for begun in told.deleting.iter().filter(|session| !told.deleted.contains(*session)) {
        let id = SessionId::from(begun.clone());
        store.delete(&id).await.map_err(|error| format!("{begun} cannot be deleted: {error}"))?;
    }
    Ok(())
}

/// The calls that did something, each once.
fn effects(place: &Place) -> Result<HashMap<String, String>, String> {
    let mut effects = HashMap::new();
    for line in place.effects().lines() {
        let (call, tool) = line.split_once(' ').ok_or_else(|| format!("an odd note: {line}"))?;
        let earlier = effects.insert(call.to_owned(), tool.to_owned());
        hold!(earlier.is_none(), "{tool} ran twice for {call}");
    }
    Ok(effects)
}

/// A session that is looked at.
struct It<'a> {
    place: &'a Place,
    store: &'a Arc<dyn JournalStore>,
    told: &'a Told,
    effects: &'a HashMap<String, String>,
    loss: Loss,
    id: &'a str,
}

impl It<'_> {
    /// Returns the calls it knows of.
    async fn check(&self, must: bool, main: bool) -> Result<BTreeSet<String>, String> {
        let id = SessionId::from(self.id.to_owned());
        let make = || builder(&Model::new(), &self.place.effects());
        let resume = Resume { deliver: false, ..Resume::default() };
        let session = match make().resume(self.store.clone(), &id, resume).await {
            // Nobody was told of it: it never was, and can be begun.
            Err(SessionError::Journal(JournalError::NotFound(_))) if main && !must => {
                make().create(self.store.clone(), Some(id.clone())).await
            }
            other => other,
        };
        let session = session.map_err(|error| format!("it cannot be resumed: {error}"))?;
        let told = self.told.events.get(self.id).map_or(&[][..], Vec::as_slice);
        let journal = self.journal(&id).await?;
        in_order(&journal)?;
        let last = self.nothing_lost(told, &journal)?;
        self.cursors(&session, last).await?;
        let answer = session.run("Are you there?").await;
        let answer = answer.map_err(|error| format!("it cannot be gone on with: {error}"))?;
        hold!(answer == GOING_ON, "it answers `{answer}`");
        let journal = self.journal(&id).await?;
        in_order(&journal)?;
        let calls = self.calls(&journal)?;
        self.blobs(&id, &journal).await?;
        let messages = session.context().messages().await.map_err(text)?;
        paired(&messages)?;
        let state = load(&**self.store, &id).await.map_err(text)?;
        let whole = load_whole(&**self.store, &id).await.map_err(text)?;
        hold!(state == whole, "a snapshot tells something else than the journal");
        hold!(state.view.messages == messages, "live and resumed conversation differ");
        hold!(state.inputs.is_empty(), "inputs were not delivered: {:?}", state.inputs);
        for (_, input) in self.told.inputs.iter().filter(|(session, _)| session == self.id) {
            let there = journal.iter().any(|event| match &event.event {
                Event::InputAccepted(data) => data.input.to_string() == *input,
                _ => false,
            });
            hold!(there, "the input {input} was accepted and is gone");
        }
        session.shutdown("checked").await.map_err(text)?;
        let head = self.store.head(&id).await.map_err(text)?;
        let end = self.journal(&id).await?.last().map(Envelope::cursor);
        hold!(Some(head.last) == end, "its head is at {:?}, its journal at {end:?}", head.last);
        Ok(calls)
    }

    async fn journal(&self, id: &SessionId) -> Result<Vec<Envelope>, String> {
        read_all(&**self.store, id, 0).await.map_err(|error| format!("its journal: {error}"))
    }

    /// What was told is there, word for word. Returns the last that was told.
    fn nothing_lost(
        &self,
        told: &[Envelope],
        journal: &[Envelope],
    ) -> Result<Option<Cursor>, String> {
        // A server that died kept what came before a barrier of the same writer.
        let mut barriers: HashMap<u32, u64> = HashMap::new();
        for event in told.iter().filter(|told| told.event.durability() == Durability::Synced) {
            let last = barriers.entry(event.epoch).or_insert(0);
            *last = event.seq.max(*last);
        }
        let safe = |event: &&Envelope| match self.loss {
            Loss::Nothing => true,
            Loss::AfterBarrier => {
                barriers.get(&event.epoch).is_some_and(|barrier| event.seq <= *barrier)
            }
        };
        for event in told.iter().filter(safe) {
            let at = usize::try_from(event.seq).unwrap_or(usize::MAX) - 1;
            let there = journal.get(at);
            hold!(
                there == Some(event),
                "{} ({}) was told; there is {:?}",
                event.cursor(),
                event.event.kind(),
                there.map(|there| (there.cursor(), there.event.kind()))
            );
        }
        Ok(told.last().map(Envelope::cursor))
    }

    /// Who comes back with the last cursor it saw gets what follows.
    async fn cursors(&self, session: &Session, last: Option<Cursor>) -> Result<(), String> {
        let Some(last) = last else { return Ok(()) };
        let events = session.subscribe(last, EventFilter::Everything).await;
        let mut events = events.map_err(|error| format!("no subscription: {error}"))?;
        let first = events.next().await.ok_or("the subscription ended")?.map_err(text)?;
        match first {
            SubscriptionItem::Event(event) => {
                let next = event.cursor();
                hold!(next.seq == last.seq + 1, "{next} follows {last}");
                hold!(next.epoch >= last.epoch, "{next} is of an epoch before {last}");
            }
            SubscriptionItem::CursorReset { asked, valid } => {
                let allowed = self.loss == Loss::AfterBarrier;
                hold!(allowed, "the cursor {asked} was reset to {valid:?}");
                let before = valid.is_none_or(|valid| valid.seq < asked.seq);
                hold!(before, "{asked} was reset to {valid:?}");
            }
        }
        let now = session.status().await.map_err(text)?.cursor;
        hold!(
            now.is_some_and(|now| now.epoch > last.epoch),
            "epochs grow: {last} was told, the new writer is at {now:?}"
        );
        Ok(())
    }

    /// No call ran twice, none was left open, and what was said of it is true.
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
                    hold!(!finished.contains(&call), "{call} was finished and is run again");
                    hold!(started.insert(call), "{} started twice", data.call);
                }
                Event::ToolFinished(data) => {
                    let call = data.call.to_string();
                    let name = names.get(&data.call).copied().unwrap_or("?");
                    let ran = data.outcome.ran;
                    let did = self.effects.contains_key(&call);
                    hold!(ran != DidRun::No || !did, "{name} is said not to have run, and did");
                    let due = ran == DidRun::Yes && DOERS.contains(&name);
                    hold!(!due || did, "{name} is said to have run, and did nothing");
                    // A start that could not be made durable: the call did not start.
                    let undone = data.outcome.text().contains("storage error");
                    hold!(
                        ran != DidRun::No || undone || !started.contains(&call),
                        "{name} was started and is said not to have run"
                    );
                    hold!(finished.insert(call), "{} finished twice", data.call);
                }
                Event::ToolResultAdded(data) => {
                    let did = self.effects.contains_key(data.result.call.as_str());
                    let words = data.result.as_text();
                    hold!(
                        !(did && words.contains("did not run")),
                        "a call did something and the model is told: {words}"
                    );
                }
                _ => {}
            }
        }
        let open: Vec<_> = started.difference(&finished).collect();
        hold!(open.is_empty(), "calls were left open: {open:?}");
        for call in names.keys().map(|call| call.to_string()) {
            let did = self.effects.contains_key(&call);
            hold!(!did || started.contains(&call), "{call} did something before it was started");
        }
        Ok(names.keys().map(ToString::to_string).collect())
    }

    /// What a result refers to can be read.
    async fn blobs(&self, id: &SessionId, journal: &[Envelope]) -> Result<(), String> {
        let blobs = self.store.blobs(id);
        for event in journal {
            let Event::ToolFinished(data) = &event.event else { continue };
            let Some(spilled) = data.outcome.metadata.get("spilled") else { continue };
            let blob: BlobRef = serde_json::from_value(spilled.clone()).map_err(text)?;
            let kept = blobs.get(&blob).await.map_err(text)?;
            let whole = kept.is_some_and(|bytes| bytes.len() as u64 == blob.bytes);
            hold!(whole, "the output of {} was kept and is gone", data.call);
        }
        Ok(())
    }
}

fn in_order(journal: &[Envelope]) -> Result<(), String> {
    hold!(journal.first().is_some_and(|first| first.seq == 1), "it does not begin with 1");
    for pair in journal.windows(2) {
        let (one, next) = (pair[0].cursor(), pair[1].cursor());
        hold!(next.seq == one.seq + 1, "{next} follows {one}");
        hold!(next.epoch >= one.epoch, "{next} is of an epoch before {one}");
    }
    Ok(())
}

/// Each call has one result, right after it, in order.
fn paired(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut owed: Vec<&CallId> = Vec::new();
    for message in messages {
        let results: Vec<_> = message.tool_results().map(|result| &result.call).collect();
        hold!(results == owed, "for the calls {owed:?} there are the results {results:?}");
        owed = message.tool_uses().map(|tool_use| &tool_use.call).collect();
    }
    hold!(owed.is_empty(), "no results for {owed:?}");
    Ok(())
}
