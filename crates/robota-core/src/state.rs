//! State is a fold over the events: this reducer is the only thing that rebuilds it, live, at
//! resume, in replay and in tests.

mod turn;

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use turn::{CallStage, OpenCall, OpenTurn};

use crate::context::{ContextEstimate, ContextInputs, estimate};
use crate::event::{
    Cursor, Delivery, Envelope, Event, InputAccepted, Parent, SessionCreated, TurnEnd,
};
use crate::ids::{InputId, MessageId, SessionId, TurnId};
use crate::message::{Block, Message, ToolResult};
use crate::permission::Mode;
use crate::provider::View;
use crate::tool::ToolSpec;
use crate::usage::Usage;

/// What the events of a session come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// The session, once created.
    pub session: Option<SessionId>,
    /// Where it was forked from.
    pub parent: Option<Origin>,
    /// Where it works.
    pub cwd: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The last event folded.
    pub cursor: Option<Cursor>,
    /// The permission mode.
    pub mode: Mode,
    /// The system prompt and its hash.
    pub prompt: Option<Hashed<Arc<str>>>,
    /// The tools and their hash.
    pub tools: Option<Hashed<Arc<[ToolSpec]>>>,
    /// What the model sees.
    pub view: ModelView,
    /// The size of what every request carries beside the conversation.
    pub fixed_bytes: u64,
    /// Inputs that are safe but not delivered.
    pub inputs: IndexMap<InputId, PendingInput>,
    /// The turn that is running, or that a dead writer left open.
    pub turn: Option<OpenTurn>,
    /// Whether a compaction began and has not ended.
    #[serde(default)]
    pub compacting: bool,
    /// Turns that ended with an answer.
    pub turns_completed: u64,
    /// What everything cost.
    pub usage: Usage,
    /// Where the session can be forked: the places where every call has its result.
    pub safe_points: Vec<Cursor>,
    /// Named places.
    pub labels: IndexMap<String, Cursor>,
}

/// A value with its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hashed<T> {
    /// The hash.
    pub sha256: String,
    /// The value.
    pub value: T,
}

/// Where a fork began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The session it continues.
    pub session: SessionId,
    /// The last event they share.
    pub at: Cursor,
}

/// An input that is safe but not delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingInput {
    /// When it is to be delivered.
    pub delivery: Delivery,
    /// What it says.
    pub content: Vec<Block>,
}

/// The conversation as the model sees it, with running totals so that nothing walks it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelView {
    /// The messages.
    pub messages: View,
    /// Their size as JSON.
    pub bytes: u64,
    /// Their characters, for the careful estimate.
    pub chars: u64,
    /// What the provider counted last, and for which message.
    pub latest_usage: Option<(MessageId, Usage)>,
    /// What the model saw before the last compaction, and how many messages took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(View, u64)>,
}

impl State {
    /// Folds a whole journal.
    ///
    /// # Errors
    /// When events are missing or out of order.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Result<Self, FoldError> {
        let mut state = Self::default();
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    /// Folds one more event.
    ///
    /// # Errors
    /// When it does not follow on the last one; the state is then as it was.
    pub fn apply(&mut self, envelope: &Envelope) -> Result<(), FoldError> {
        if let Some(last) = self.cursor
            && (last.seq.checked_add(1) != Some(envelope.seq) || envelope.epoch < last.epoch)
        {
            let expected = last.seq.saturating_add(1);
            return Err(FoldError { expected, found: envelope.cursor() });
        }
        let cursor = envelope.cursor();
        self.cursor = Some(cursor);
        self.fold_event(&envelope.event, envelope.turn.as_ref(), cursor);
        Ok(())
    }

    fn fold_event(&mut self, event: &Event, turn: Option<&TurnId>, cursor: Cursor) {
        match event {
            Event::SessionCreated(SessionCreated { session, cwd, parent, .. }) => {
                self.session = Some(session.clone());
                self.cwd.clone_from(cwd);
                self.parent = parent
                    .as_ref()
                    .map(|Parent { session, at }| Origin { session: session.clone(), at: *at });
            }
            Event::Renamed(data) => self.name = Some(data.name.clone()),
            Event::ModeChanged(data) => self.mode = data.mode,
            Event::PromptSet(data) => {
                let (sha256, value) = (data.sha256.clone(), data.text.as_str().into());
                self.prompt = Some(Hashed { sha256, value });
                self.measure_fixed();
            }
            Event::ToolsSet(data) => {
                let (sha256, value) = (data.sha256.clone(), data.tools.clone().into());
                self.tools = Some(Hashed { sha256, value });
                self.measure_fixed();
            }
            Event::MessageInjected(data) => self.view.push(data.message.clone()),
            Event::InputAccepted(InputAccepted { input, delivery, content, .. }) => {
                let pending = PendingInput { delivery: *delivery, content: content.clone() };
                self.inputs.insert(input.clone(), pending);
            }
            Event::InputBlocked(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
            }
            Event::InputCancelled(data) => {
                self.inputs.shift_remove(&data.input);
            }
            Event::UserMessage(data) => {
                if let Some(input) = &data.input {
                    self.inputs.shift_remove(input);
                }
                self.view.push(data.message.clone());
            }
            Event::CompactionStarted(_) => self.compacting = true,
            Event::CompactionFailed(_) => self.compacting = false,
            Event::CompactionFinished(data) => {
                self.compacting = false;
                if let Some(usage) = data.summary.usage {
                    self.usage += usage;
                }
                self.view.compact(data.summary.clone(), data.keep_from.as_ref());
            }
            Event::AssistantMessage(data) => {
                if let Some(usage) = data.message.usage {
                    self.usage += usage;
                }
                self.view.push(data.message.clone());
                if data.message.tool_uses().next().is_none() {
                    self.safe_points.push(cursor);
                }
            }
            Event::ToolResultAdded(data) => self.view.push_result(&data.message, &data.result),
            Event::ToolBatchFinished(_) => self.safe_points.push(cursor),
            Event::Rewound(data) => self.view.rewind(data.keep),
            Event::ViewRestored(_) => self.view.restore(),
            Event::TurnFinished(data) => {
                self.compacting = false;
                let cut =
                    matches!(data.end, TurnEnd::Interrupted | TurnEnd::Blocked | TurnEnd::Stopped);
                if !cut {
                    self.turns_completed += u64::from(data.error.is_none());
                }
            }
            Event::LabelSet(data) => {
                self.labels.insert(data.label.clone(), data.at);
            }
            // Told for people, for audit and for recovery; the fold of the open turn reads some.
            Event::Opened(_)
            | Event::Closed(_)
            | Event::EntryAdded(_)
            | Event::TurnStarted(_)
            | Event::ContextMeasured(_)
            | Event::PrefixChanged(_)
            | Event::ModelRequested(_)
            | Event::TextChunk(_)
            | Event::ThinkingChunk(_)
            | Event::ToolInputChunk(_)
            | Event::ProviderPayload(_)
            | Event::StreamReset(_)
            | Event::ModelRetry(_)
            | Event::ModelFailed(_)
            | Event::ModelResponded(_)
            | Event::ToolCalled(_)
            | Event::ToolBatchStarted(_)
            | Event::HookStarted(_)
            | Event::HookFinished(_)
            | Event::PermissionAsked(_)
            | Event::PermissionDecided(_)
            | Event::ToolStarted(_)
            | Event::ToolOutput(_)
            | Event::ToolFinished(_)
            | Event::Interrupted(_)
            | Event::Forked(_)
            | Event::Recovered(_)
            | Event::Failed(_)
            | Event::Unknown { .. } => {}
        }
        OpenTurn::fold(&mut self.turn, event, turn);
    }

    /// Whether a session can be forked right after this event: every call has its result.
    #[must_use]
    pub fn is_safe_point(event: &Event) -> bool {
        match event {
            Event::AssistantMessage(data) => data.message.tool_uses().next().is_none(),
            Event::ToolBatchFinished(_) => true,
            _ => false,
        }
    }

    /// How full a window of that size is.
    #[must_use]
    pub fn context(&self, window: u64) -> ContextEstimate {
        let latest = self.view.latest_usage.as_ref();
        let last = self.view.messages.last().map(|message| &message.id);
        estimate(&ContextInputs {
            serialized_bytes: self.view.bytes + self.fixed_bytes,
            latest_usage: latest.map(|(_, usage)| *usage),
            usage_is_last: latest.is_some_and(|(id, _)| Some(id) == last),
            floor: 0,
            window,
        })
    }

    fn measure_fixed(&mut self) {
        let prompt = self.prompt.as_ref().map_or(0, |prompt| json_len(&prompt.value));
        let tools = self.tools.as_ref().map_or(0, |tools| json_len(&tools.value));
        self.fixed_bytes = prompt + tools;
    }
}

impl ModelView {
    fn push(&mut self, message: Message) {
        let (bytes, chars) = size(&message);
        self.bytes += bytes;
        self.chars += chars;
        if let Some(usage) = message.usage {
            self.latest_usage = Some((message.id.clone(), usage));
        }
        Arc::make_mut(&mut self.messages).push(Arc::new(message));
    }

    /// The results of one answer are one message: it grows with each.
    fn push_result(&mut self, id: &MessageId, result: &ToolResult) {
        let last = self.messages.last().filter(|message| message.id == *id);
        if last.is_none() {
            self.push(Message::tool(id.clone(), vec![result.clone()]));
            return;
        }
        let messages = Arc::make_mut(&mut self.messages);
        let Some(message) = messages.last_mut() else { return };
        let message = Arc::make_mut(message);
        message.content.push(Block::ToolResult(result.clone()));
        // The comma between two results.
        self.bytes += json_len(result) + r#","type":"tool_result""#.len() as u64 + 1;
        self.chars += result_chars(result);
    }

    fn compact(&mut self, summary: Message, keep_from: Option<&MessageId>) {
        let kept = keep_from
            .and_then(|id| self.messages.iter().position(|message| message.id == *id))
            .map(|at| self.messages[at..].to_vec())
            .unwrap_or_default();
        let before = std::mem::take(&mut self.messages);
        let now = std::iter::once(Arc::new(summary)).chain(kept).collect();
        self.set(now);
        self.before = Some((before, self.messages.len() as u64));
    }

    /// Only the first messages stay.
    fn rewind(&mut self, keep: u64) {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).min(self.messages.len());
        let before = self.before.take().filter(|(_, replaced)| *replaced <= keep as u64);
        self.set(self.messages[..keep].to_vec());
        self.before = before;
    }

    /// The last compaction is taken back; what was said since stays.
    fn restore(&mut self) {
        let Some((before, replaced)) = self.before.take() else { return };
        let replaced = usize::try_from(replaced).unwrap_or(usize::MAX).min(self.messages.len());
        let now = before.iter().chain(&self.messages[replaced..]).cloned().collect();
        self.set(now);
    }

    /// Another conversation, measured anew: what the provider counted was counted for the one
    /// before.
    fn set(&mut self, messages: Vec<Arc<Message>>) {
        let (mut bytes, mut chars) = (0, 0);
        for message in &messages {
            let (its_bytes, its_chars) = size(message);
            bytes += its_bytes;
            chars += its_chars;
        }
        *self = Self { messages: Arc::new(messages), bytes, chars, ..Self::default() };
    }
}

fn size(message: &Message) -> (u64, u64) {
    let chars = message.content.iter().map(block_chars).sum();
    (json_len(message), chars)
}

fn block_chars(block: &Block) -> u64 {
    match block {
        Block::Text(text) => text.text.chars().count() as u64,
        Block::Thinking(thinking) => thinking.thinking.chars().count() as u64,
        Block::ToolResult(result) => result_chars(result),
        Block::Image(_) | Block::ToolUse(_) | Block::Opaque(_) | Block::Unknown(_) => {
            json_len(block)
        }
    }
}

pub(crate) fn result_chars(result: &ToolResult) -> u64 {
    result.as_text().chars().count() as u64
}

/// How many bytes a value is as JSON, without writing it anywhere.
fn json_len<T: Serialize>(value: &T) -> u64 {
    struct Counter(u64);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail; what could not be written would count as what came before it.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// An event that does not follow on the last one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal has a gap: event {expected} should come next, but {found} does")]
pub struct FoldError {
    /// The number that should come next.
    pub expected: u64,
    /// What came.
    pub found: Cursor,
}

#[cfg(test)]
mod tests;
