//! The fold of a room's journal, and of the messages that a session received from rooms.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, InputAccepted, InputSource};
use crate::ids::SessionId;

/// Holds what the journal of a room adds up to: its members, and the messages that they have not
/// received.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoomState {
    /// The members and their sessions, by name, in the order in which they joined.
    pub members: IndexMap<String, SessionId>,
    /// The number of the last message.
    pub said: u64,
    /// Messages that some members have not received yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<OwedMessage>,
}

/// A message that some members have not received yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwedMessage {
    /// The number of the message in the room.
    pub number: u64,
    /// The sequence number of its `room_said`.
    pub seq: u64,
    /// The members that have not received it.
    pub to: Vec<String>,
}

/// The last message that a session received of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeardMessage {
    /// The number of the message in its room; earlier ones were received too.
    pub number: u64,
    /// How many messages led to it.
    #[serde(default)]
    pub hops: u32,
}

/// Folds one event of a room's journal.
pub(super) fn fold_room(room: &mut Option<Box<RoomState>>, event: &Event, seq: u64) {
    match event {
        Event::RoomJoined(data) => {
            let room = room.get_or_insert_default();
            room.members.insert(data.member.clone(), data.session.clone());
        }
        Event::RoomLeft(data) => {
            let room = room.get_or_insert_default();
            room.members.shift_remove(&data.member);
            room.mark_received(None, &data.member);
        }
        Event::RoomSaid(data) => {
            let room = room.get_or_insert_default();
            room.said = data.number;
            // A message without receivers is in the journal only.
            if !data.to.is_empty() {
                room.owed.push(OwedMessage { number: data.number, seq, to: data.to.clone() });
            }
        }
        Event::RoomDelivered(data) => {
            let room = room.get_or_insert_default();
            room.mark_received(Some(data.number), &data.member);
        }
        _ => {}
    }
}

/// Folds one event of a member's journal.
pub(super) fn fold_heard(heard: &mut IndexMap<SessionId, HeardMessage>, event: &Event) {
    match event {
        // A fork is not a member of its parent's rooms.
        Event::SessionCreated(_) => heard.clear(),
        Event::RoomHeard(data) => {
            heard.insert(data.room.clone(), HeardMessage { number: data.number, hops: 0 });
        }
        Event::InputAccepted(InputAccepted {
            source: Some(InputSource::Room { room, number, hops }),
            ..
        }) => {
            heard.insert(room.clone(), HeardMessage { number: *number, hops: *hops });
        }
        _ => {}
    }
}

impl RoomState {
    /// Records that a member received a message, or with `None` that it needs no message.
    fn mark_received(&mut self, number: Option<u64>, member: &str) {
        for owed in &mut self.owed {
            if number.is_none_or(|number| number == owed.number) {
                owed.to.retain(|name| name != member);
            }
        }
        self.owed.retain(|owed| !owed.to.is_empty());
    }
}
