//! `RoomSay`: a tool with which a session sends messages to the rooms that it is a member of.

use std::sync::Weak;

use robota_core::ids::SessionId;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::{Room, RoomError, Said};
use crate::pool::{Inner, Pool};

const DESCRIPTION: &str = "Says something in a room that you are a member of. Members that you \
                           mention with @name receive it; without a mention all other members do.";

/// Sends messages to the rooms of a session. The pool adds it to sessions of templates that
/// [join rooms](crate::Template::joins_rooms).
pub struct RoomSay {
    spec: ToolSpec,
    pool: Weak<Inner>,
}

impl RoomSay {
    pub(crate) fn new(pool: Weak<Inner>) -> Self {
        let spec = ToolSpec {
            name: "RoomSay".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "What you say."},
                    "room": {
                        "type": "string",
                        "description": "The id of the room; needed if you are in several.",
                    },
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
            // It changes nothing outside the room, and the members act under their own permissions.
            class: Class::Inspect,
        };
        Self { spec, pool }
    }

    async fn say(&self, input: &Value, session: Option<&SessionId>) -> Result<Said, String> {
        let pool = self.pool.upgrade().map(Pool::of).ok_or("the pool was closed")?;
        let session = session.ok_or("only a session can be in a room")?;
        let wanted = input.get("room").and_then(Value::as_str);
        let mut found: Vec<(Room, String)> = Vec::new();
        for room in pool.inner().rooms(&pool) {
            if wanted.is_none_or(|id| room.id().as_str() == id)
                && let Some(name) = room.member_name(session).await
            {
                found.push((room, name));
            }
        }
        let text = input.get("text").and_then(Value::as_str).unwrap_or_default();
        match found.as_slice() {
            [] => Err("you are not in a room that is open".to_owned()),
            [(room, name)] => {
                room.reply(name, text).await.map_err(|error: RoomError| error.to_string())
            }
            several => {
                let ids: Vec<_> = several.iter().map(|(room, _)| room.id().as_str()).collect();
                Err(format!("you are in several rooms; name one of {}", ids.join(", ")))
            }
        }
    }
}

#[async_trait::async_trait]
impl Tool for RoomSay {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let said = match Box::pin(self.say(&input, context.scope.session.as_ref())).await {
            Ok(said) => said,
            Err(error) => return ToolOutcome::failed("not_said", error),
        };
        let mut text = match (said.delivered.is_empty(), said.unknown.is_empty()) {
            (true, true) if said.failed.is_empty() => {
                return ToolOutcome::ok("There are no other members in the room.");
            }
            (true, _) => "No member received it.".to_owned(),
            (false, _) => format!("Delivered to {}.", said.delivered.join(", ")),
        };
        if !said.unknown.is_empty() {
            text = format!("{text} Not in the room: {}.", said.unknown.join(", "));
        }
        if !said.failed.is_empty() {
            let failed = said.failed.iter().map(|(name, error)| format!("{name}: {error}"));
            let failed = failed.collect::<Vec<_>>().join("; ");
            text = format!("{text} Not delivered yet: {failed}.");
        }
        ToolOutcome::ok(text)
    }
}
