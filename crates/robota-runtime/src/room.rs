//! Rooms: several sessions of a pool talk to each other.
//!
//! A room has a journal of its own: who joined and left, what was said to whom, and who received it.
//! A message is first recorded in the room, then accepted as an input by each receiver, whose source
//! is its number in the room: so every receiver gets every message exactly once and in order, also
//! after a crash of the process. `docs/rooms.md` has an example.

mod error;
mod mentions;
mod tool;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use robota_core::clock::{Clock, SystemClock};
use robota_core::driver::Recorder;
use robota_core::event::{
    Delivery, Envelope, Event, FORMAT, InputAccepted, InputSource, MessageInjected, Opened,
    RoomDelivered, RoomHeard, RoomJoined, RoomLeft, RoomSaid, SessionCreated,
};
use robota_core::ids::{InputId, SessionId, name_part};
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::{Block, Message};
use robota_core::state::{RoomState, State};
use serde_json::Map;
use tokio::sync::Mutex;

pub use error::RoomError;
pub use tool::RoomSay;

use crate::pool::Pool;
use crate::schedule::state_of;
use mentions::{Receivers, receivers};

/// How many answers may follow each other without a message from outside, unless
/// [`Room::hop_limit`] sets another number.
// Two agents that answer each other politely would never stop. Sixteen answers are enough for a
// discussion and cheap enough for an accident.
pub const DEFAULT_HOPS: u32 = 16;

/// How many messages a member that joins late sees at most.
const MAX_HISTORY: usize = 200;

/// Delivers messages between the sessions that are its members. Clones are handles to the same
/// room. One process has a room open at a time.
#[derive(Clone)]
pub struct Room {
    pool: Pool,
    id: SessionId,
    hops: Arc<AtomicU32>,
    recorder: Arc<Mutex<Recorder>>,
}

/// A room, as its pool knows it. It does not keep the room open.
pub(crate) struct WeakRoom {
    id: SessionId,
    hops: Arc<AtomicU32>,
    recorder: Weak<Mutex<Recorder>>,
}

impl WeakRoom {
    pub(crate) fn upgrade(&self, pool: &Pool) -> Option<Room> {
        let (pool, recorder) = (pool.clone(), self.recorder.upgrade()?);
        Some(Room { pool, id: self.id.clone(), hops: Arc::clone(&self.hops), recorder })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.recorder.strong_count() > 0
    }
}

/// What a member or a user said in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomMessage {
    /// Its number in the room, from 1.
    pub number: u64,
    /// The name of the member, or of the client, that said it.
    pub from: String,
    /// The names of the members that receive it.
    pub to: Vec<String>,
    /// The text as it was said, with its mentions.
    pub text: String,
    /// How many messages led to it, each an answer to the one before it.
    pub hops: u32,
}

/// Reports to which members the room delivered a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The number that the message got in the room.
    pub number: u64,
    /// The names of the members that received it.
    pub delivered: Vec<String>,
    /// The members whose session could not be opened. The room tries again with the next message; a
    /// member whose session was deleted has left the room.
    pub failed: Vec<(String, RoomError)>,
    /// Names that it mentions and that are not in the room.
    pub unknown: Vec<String>,
}

impl RoomMessage {
    fn of(data: &RoomSaid) -> Self {
        let RoomSaid { number, from, to, text, hops, .. } = data.clone();
        Self { number, from, to, text, hops }
    }

    /// Returns the text that a receiver gets: the name of the sender, then the message. In the message
    /// such a beginning of a line has a backslash before it, so that no member can write in the name of
    /// another.
    #[must_use]
    pub fn to_text(&self) -> String {
        let lines = self.text.split_inclusive(LINE_ENDS).map(|line| match line.trim_start() {
            imitated if imitates(imitated) => format!("\\{imitated}"),
            _ => line.to_owned(),
        });
        format!("[from:{}] {}", self.from, lines.collect::<String>())
    }
}

/// The characters that begin a new line for a reader.
const LINE_ENDS: [char; 7] =
    ['\n', '\r', '\u{000B}', '\u{000C}', '\u{0085}', '\u{2028}', '\u{2029}'];

/// Returns whether a line begins as a message does.
fn imitates(line: &str) -> bool {
    let start = "[from:";
    // Characters that are not shown do not make it another beginning.
    let shown = line.chars().filter(|c| !c.is_control() && !is_invisible(*c));
    shown.take(start.len()).map(|c| c.to_ascii_lowercase()).eq(start.chars())
}

/// Returns whether a character has no width: joiners, marks of direction, the byte order mark.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

impl Room {
    /// Opens the room with this id, or creates it, with the system's clock. The id is that of a
    /// session, for instance `agent:room/session:standup`. Messages that were said and not delivered
    /// are delivered.
    ///
    /// # Errors
    /// If another process has the room open, the id is that of a session that is not a room, or the
    /// store fails.
    pub async fn open(pool: &Pool, id: impl Into<SessionId>) -> Result<Self, RoomError> {
        Self::open_with(pool, id, Arc::new(SystemClock)).await
    }

    /// Does the same as [`Room::open`], with a clock that stamps the room's events.
    ///
    /// # Errors
    /// As [`Room::open`].
    pub async fn open_with(
        pool: &Pool,
        id: impl Into<SessionId>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RoomError> {
        let (id, store) = (id.into(), pool.store());
        let recorder = match reopen(&*store, &id, clock.clone()).await {
            Err(RoomError::Journal(JournalError::NotFound(_))) => create(&*store, &id, clock).await,
            opened => opened,
        }?;
        let (pool, recorder) = (pool.clone(), Arc::new(Mutex::new(recorder)));
        let hops = Arc::new(AtomicU32::new(DEFAULT_HOPS));
        let room = Self { pool, id, hops, recorder };
        room.pool.inner().add_room(&room);
        // An earlier process may have ended between a message and its delivery.
        room.deliver().await?;
        Ok(room)
    }

    /// Sets how many answers may follow each other without a message from outside.
    #[must_use]
    pub fn hop_limit(self, hops: u32) -> Self {
        self.hops.store(hops, Ordering::Relaxed);
        self
    }

    /// Returns a reference for the pool.
    pub(crate) fn downgrade(&self) -> WeakRoom {
        let recorder = Arc::downgrade(&self.recorder);
        WeakRoom { id: self.id.clone(), hops: Arc::clone(&self.hops), recorder }
    }

    /// Returns the id of the room's journal.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Lets a session of the pool join under a name. It sees up to `history` earlier messages.
    ///
    /// # Errors
    /// If the name is taken or not valid, the pool does not have the session, or the journal cannot
    /// be written.
    pub async fn join(
        &self,
        name: &str,
        session: impl Into<SessionId>,
        history: usize,
    ) -> Result<(), RoomError> {
        let session = session.into();
        check_name(name)?;
        // Held over the whole join: messages that are said meanwhile come after it.
        let mut recorder = self.recorder.lock().await;
        if room_of(recorder.state()).members.contains_key(name) {
            return Err(RoomError::NameTaken(name.to_owned()));
        }
        let agent = self.pool.get(&session);
        let agent = agent.ok_or_else(|| crate::PoolError::NotFound(session.clone()))?;
        let past = self.read_history(history.min(MAX_HISTORY)).await?;
        if !past.is_empty() {
            let open = agent.session().await?;
            let (room, last) = (self.id.clone(), past.last().map_or(0, |message| message.number));
            let note = history_note(&past);
            let journal = open.journal();
            let append = journal.append_with(move |state, ids| {
                let heard = state.heard.get(&room).map_or(0, |heard| heard.number);
                // A crash after this append and before the one of the room repeats the join: the
                // note must not come twice.
                if heard >= last {
                    return (Vec::new(), ());
                }
                let message = Message::user(ids, note.as_str());
                let heard = RoomHeard { room, number: last };
                (vec![MessageInjected { message: message.into() }.into(), heard.into()], ())
            });
            append.await?;
        }
        // Last: a member that is recorded receives every later message, so it has to know the
        // earlier ones.
        recorder.append(None, vec![RoomJoined { member: name.to_owned(), session }.into()]).await?;
        Ok(())
    }

    /// Lets a member leave. Messages that it has not received are dropped. Returns whether it was a
    /// member.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn leave(&self, name: &str) -> Result<bool, RoomError> {
        let mut recorder = self.recorder.lock().await;
        if !room_of(recorder.state()).members.contains_key(name) {
            return Ok(false);
        }
        recorder.append(None, vec![RoomLeft { member: name.to_owned() }.into()]).await?;
        Ok(true)
    }

    /// Returns the members and their sessions, in the order in which they joined.
    pub async fn members(&self) -> Vec<(String, SessionId)> {
        room_of(self.recorder.lock().await.state()).members.into_iter().collect()
    }

    /// Says something. With mentions (`@bob`) only the mentioned members receive it; otherwise all members
    /// but the sender do. The sender need not be a member.
    ///
    /// # Errors
    /// If `from` is not a valid name, or the journal of the room cannot be written. Members that could
    /// not receive the message are in the answer.
    pub async fn say(&self, from: &str, text: &str) -> Result<Said, RoomError> {
        // The name is in what members read, so it must not contain a line of its own.
        check_name(from)?;
        self.speak(from, text, None).await
    }

    /// Says something as a member, in answer to the last message that the member received. Each
    /// answer to an answer counts as a hop, and the room refuses messages beyond its hop limit: so
    /// agents that answer each other come to an end.
    ///
    /// # Errors
    /// As [`Room::say`], and if `from` is not a member or the hop limit is reached.
    pub async fn reply(&self, from: &str, text: &str) -> Result<Said, RoomError> {
        let session = {
            let recorder = self.recorder.lock().await;
            let room = room_of(recorder.state());
            let session = room.members.get(from).cloned();
            session.ok_or_else(|| RoomError::NotMember(from.to_owned()))?
        };
        let agent = self.pool.get(&session).ok_or(crate::PoolError::NotFound(session))?;
        let room = self.id.clone();
        let open = agent.session().await?;
        let heard = open.journal().state(move |state| state.heard.get(&room).copied()).await?;
        // Released before the message is delivered: a delivery may have to close this session to make
        // room for another.
        drop(open);
        self.speak(from, text, heard.map(|heard| (heard.number, heard.hops))).await
    }

    async fn speak(
        &self,
        from: &str,
        text: &str,
        reply_to: Option<(u64, u32)>,
    ) -> Result<Said, RoomError> {
        let hops = reply_to.map_or(0, |(_, hops)| hops.saturating_add(1));
        let limit = self.hops.load(Ordering::Relaxed);
        if hops > limit {
            return Err(RoomError::TooManyHops { limit });
        }
        let mut recorder = self.recorder.lock().await;
        let room = room_of(recorder.state());
        let Receivers { to, unknown } = receivers(text, from, room.members.keys());
        let number = room.said + 1;
        let said = RoomSaid {
            number,
            from: from.to_owned(),
            to: to.clone(),
            text: text.to_owned(),
            hops,
            reply_to: reply_to.map(|(number, _)| number),
        };
        // The message is durable before anyone receives it; a crash in between is made up for by
        // `deliver`.
        recorder.append(None, vec![said.into()]).await?;
        let failed = self.deliver_owed(&mut recorder).await?;
        let delivered =
            to.into_iter().filter(|name| !failed.iter().any(|(member, _)| member == name));
        Ok(Said { number, delivered: delivered.collect(), failed, unknown })
    }

    /// Delivers messages that members have not received yet. Returns the members whose session
    /// could not be opened.
    ///
    /// # Errors
    /// If the journal of the room cannot be read or written.
    pub async fn deliver(&self) -> Result<Vec<(String, RoomError)>, RoomError> {
        let mut recorder = self.recorder.lock().await;
        self.deliver_owed(&mut recorder).await
    }

    async fn deliver_owed(
        &self,
        recorder: &mut Recorder,
    ) -> Result<Vec<(String, RoomError)>, RoomError> {
        // A copy of the list: each delivery changes the state.
        let room = room_of(recorder.state());
        let mut failed: Vec<(String, RoomError)> = Vec::new();
        for owed in &room.owed {
            let mut message = None;
            for member in &owed.to {
                // A member receives messages in order: after a failure the later ones wait too.
                if failed.iter().any(|(name, _)| name == member) {
                    continue;
                }
                let Some(session) = room.members.get(member) else { continue };
                // Read for the first member that can receive it: after a long absence of a member there
                // may be many messages that no member can receive.
                let message = match &mut message {
                    Some(message) => message,
                    unread => unread.insert(self.message_at(owed.seq).await?),
                };
                match self.hand_over(session, message).await {
                    Ok(()) => {
                        let (number, member) = (message.number, member.clone());
                        recorder
                            .append(None, vec![RoomDelivered { number, member }.into()])
                            .await?;
                    }
                    Err(error) => {
                        if self.is_deleted(session).await {
                            // Nothing can be delivered to it ever again.
                            let left = RoomLeft { member: member.clone() };
                            recorder.append(None, vec![left.into()]).await?;
                        }
                        failed.push((member.clone(), error));
                    }
                }
            }
        }
        Ok(failed)
    }

    /// Returns whether the store no longer has a session.
    async fn is_deleted(&self, session: &SessionId) -> bool {
        let head = self.pool.store().head(session).await;
        matches!(head, Err(JournalError::NotFound(_)))
    }

    /// Sends a message to a member, once: its number is part of the input.
    async fn hand_over(&self, session: &SessionId, message: &RoomMessage) -> Result<(), RoomError> {
        let agent = self.pool.get(session);
        let agent = agent.ok_or_else(|| crate::PoolError::NotFound(session.clone()))?;
        let open = agent.session().await?;
        let (room, message) = (self.id.clone(), message.clone());
        let journal = open.journal();
        let append = journal.append_with(move |state, ids| {
            // Delivered by an earlier attempt whose record in the room was lost. Decided in the
            // session's own task, so nothing can come in between.
            if state.heard.get(&room).is_some_and(|heard| heard.number >= message.number) {
                return (Vec::new(), ());
            }
            let accepted = InputAccepted {
                input: InputId::mint(ids),
                delivery: Delivery::AfterTurn,
                content: vec![Block::text(message.to_text())],
                metadata: Map::new(),
                source: Some(InputSource::Room {
                    room,
                    number: message.number,
                    hops: message.hops,
                }),
            };
            (vec![accepted.into()], ())
        });
        Ok(append.await?)
    }

    /// Returns the last messages, oldest first.
    ///
    /// # Errors
    /// If the journal of the room cannot be read.
    pub async fn history(&self, limit: usize) -> Result<Vec<RoomMessage>, RoomError> {
        // Held while reading, so that a message that is being said is either whole or absent.
        let _recorder = self.recorder.lock().await;
        self.read_history(limit).await
    }

    async fn read_history(&self, limit: usize) -> Result<Vec<RoomMessage>, RoomError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let events = self.pool.store().read(&self.id, 0, usize::MAX).await?;
        let said = events.iter().rev().filter_map(|envelope| match &envelope.event {
            Event::RoomSaid(data) => Some(RoomMessage::of(data)),
            _ => None,
        });
        let mut said: Vec<RoomMessage> = said.take(limit).collect();
        said.reverse();
        Ok(said)
    }

    async fn message_at(&self, seq: u64) -> Result<RoomMessage, RoomError> {
        let events = self.pool.store().read_events(&self.id, &[seq]).await?;
        match events.first() {
            Some(Envelope { event: Event::RoomSaid(data), .. }) => Ok(RoomMessage::of(data)),
            _ => Err(RoomError::Journal(JournalError::Damaged {
                place: format!("the journal of room `{}`", self.id),
                reason: format!("event {seq} is no message"),
            })),
        }
    }

    /// Returns the name of the member with that session; none if it is not in the room.
    pub async fn member_name(&self, session: &SessionId) -> Option<String> {
        let members = self.members().await;
        members.into_iter().find(|(_, member)| member == session).map(|(name, _)| name)
    }

    /// Closes the room. Its journal can then be opened by another process.
    ///
    /// # Errors
    /// If the end could not be written.
    pub async fn close(self) -> Result<(), RoomError> {
        Ok(self.recorder.lock().await.close("room closed").await?)
    }
}

/// Checks the name of a member or of another sender.
fn check_name(name: &str) -> Result<(), RoomError> {
    name_part(name, "it").map_err(|reason| RoomError::Name { name: name.to_owned(), reason })
}

fn room_of(state: &State) -> RoomState {
    state.room.as_deref().cloned().unwrap_or_default()
}

/// Returns the text with which a member that joins late learns what was said.
fn history_note(past: &[RoomMessage]) -> String {
    let lines = past.iter().map(RoomMessage::to_text).collect::<Vec<_>>().join("\n");
    format!("You joined a room. It was said before:\n{lines}")
}

async fn create(
    store: &dyn JournalStore,
    id: &SessionId,
    clock: Arc<dyn Clock>,
) -> Result<Recorder, RoomError> {
    let journal = store.create(id).await?;
    let mut recorder = Recorder::new(journal, clock, State::default());
    let created = SessionCreated {
        session: id.clone(),
        format: FORMAT,
        cwd: None,
        parent: None,
        spawned_by: None,
    };
    let opened = Opened { epoch: recorder.epoch(), after_seq: 0, pid: Some(std::process::id()) };
    recorder.append(None, vec![created.into(), opened.into()]).await?;
    Ok(recorder)
}

async fn reopen(
    store: &dyn JournalStore,
    id: &SessionId,
    clock: Arc<dyn Clock>,
) -> Result<Recorder, RoomError> {
    let journal = store.open(id).await?;
    let state = state_of(store, id).await?;
    // A room is a journal without a conversation. Writing room events into a session would damage
    // it.
    if state.prompt.is_some() || !state.view.messages.is_empty() || !state.inputs.is_empty() {
        return Err(RoomError::NotRoom(id.clone()));
    }
    let after_seq = state.cursor.map_or(0, |cursor| cursor.seq);
    let mut recorder = Recorder::new(journal, clock, state);
    let opened = Opened { epoch: recorder.epoch(), after_seq, pid: Some(std::process::id()) };
    recorder.append(None, vec![opened.into()]).await?;
    Ok(recorder)
}
