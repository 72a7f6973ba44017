//! Data of the events of rooms, in which several sessions talk. A room has a journal of its own; a
//! member's journal records which messages of a room it received.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::ids::SessionId;

data! {
    /// A session joined the room as a member.
    RoomJoined {
        /// The member's name in the room.
        member: String,
        /// The session that receives the messages for the member.
        session: SessionId,
    }

    /// A member left the room. Messages that it did not receive are no longer owed to it.
    RoomLeft {
        /// The member's name in the room.
        member: String,
    }

    /// A message was sent to the room.
    RoomSaid {
        /// The number of the message in the room, from 1.
        number: u64,
        /// The name of the member that said it, or of the client for the user.
        from: String,
        /// The members that receive it.
        to: Vec<String>,
        /// The text, as it was said.
        text: String,
        /// How many messages led to this one, each an answer to the one before it.
        #[serde(default)]
        hops: u32,
        /// The number of the message that this one answers; absent if it answers none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<u64>,
    }

    /// A member's session accepted a message of the room.
    RoomDelivered {
        /// The number of the message in the room.
        number: u64,
        /// The name of the member that has received it.
        member: String,
    }

    /// This session joined a room late, and received its messages up to a number in one note.
    RoomHeard {
        /// The id of the room's journal.
        room: SessionId,
        /// The number of the last message.
        number: u64,
    }
}
