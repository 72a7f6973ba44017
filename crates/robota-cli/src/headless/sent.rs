//! The inputs of a run whose turns have not ended.

use std::collections::VecDeque;

use robota_core::message::Block;
use robota_session::Chat;
use robota_stream_json::TurnOrigin;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An input whose turn has not ended.
pub(crate) struct Sent {
    /// Follows the input.
    pub(crate) chat: Chat,
    /// What was sent.
    pub(crate) content: Vec<Block>,
    /// The message of the host; none for the prompt of the command line.
    pub(crate) from_host: Option<HostMessage>,
    /// What sent it, if neither a user nor a host did.
    pub(crate) origin: Option<TurnOrigin>,
    /// Whether a turn has it.
    pub(crate) delivered: bool,
    /// What happens if it is cancelled before that.
    pub(crate) on_cancel: OnCancel,
}

impl Sent {
    /// Returns an input that the program itself sent, or one of its schedules.
    pub(crate) fn of_program(chat: Chat, content: Vec<Block>, origin: Option<TurnOrigin>) -> Self {
        let on_cancel = OnCancel::Discard;
        Self { chat, content, from_host: None, origin, delivered: false, on_cancel }
    }

    /// Returns whether a turn will have it.
    pub(crate) fn waits(&self) -> bool {
        !self.delivered && self.on_cancel != OnCancel::Discard
    }
}

/// What happens when an input is cancelled before a turn has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnCancel {
    /// It is sent again: an interrupt was for the turn before it.
    SendAgain,
    /// Its turn was interrupted before it started, which has a result.
    Report,
    /// The host cancelled it.
    Discard,
}

/// A message as the host sent it.
#[derive(Clone)]
pub(crate) struct HostMessage {
    /// Its id; none if the host gave none.
    pub(crate) uuid: Option<String>,
    /// A text, or blocks of the API of Anthropic.
    pub(crate) content: Value,
    /// Whether it is sent as it is: no command, no skill, no files that it mentions.
    pub(crate) as_is: bool,
}

/// The inputs, oldest first: the first one runs, or is the next to run.
#[derive(Default)]
pub(crate) struct Queue(pub(crate) VecDeque<Sent>);

/// A request that depends on the inputs, or on which they depend.
#[derive(Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(crate) enum QueueRequest {
    Interrupt {
        #[serde(default)]
        cancel_queued: bool,
    },
    CancelAsyncMessage {
        message_uuid: String,
    },
    RewindFiles {
        #[serde(default)]
        dry_run: bool,
    },
    SetModel {
        #[serde(default)]
        model: Option<String>,
    },
    ApplyFlagSettings {
        settings: Map<String, Value>,
    },
}

impl Queue {
    /// Prepares an interrupt of the turn that runs, and returns the receipt. Inputs that wait for the
    /// turn are sent again after it, or cancelled if the host asks for that. `held` are the ids of
    /// messages that were not sent to the session yet.
    pub(crate) fn interrupt(&mut self, cancel_queued: bool, held: Vec<String>) -> Value {
        let mut waiting = Vec::new();
        for (at, sent) in self.0.iter_mut().enumerate() {
            if sent.on_cancel == OnCancel::Discard {
                continue;
            }
            // The turn of the first one is interrupted, so the host expects a result, also if it
            // had not begun.
            if at == 0 {
                sent.on_cancel = OnCancel::Report;
            } else if cancel_queued {
                sent.on_cancel = OnCancel::Discard;
            }
            if at > 0 && !sent.delivered {
                waiting.extend(sent.from_host.as_ref().and_then(|message| message.uuid.clone()));
            }
        }
        waiting.extend(held);
        if cancel_queued {
            json!({"still_queued": [], "cancelled": waiting})
        } else {
            json!({"still_queued": waiting})
        }
    }

    /// Returns the message of the host with this id, if it waits.
    pub(crate) fn waiting(&mut self, uuid: &str) -> Option<&mut Sent> {
        self.0.iter_mut().find(|sent| {
            let message = sent.from_host.as_ref();
            sent.waits() && message.is_some_and(|message| message.uuid.as_deref() == Some(uuid))
        })
    }
}
