//! Turns the events of a session into updates for the editor.
//!
//! Live events are shown as they happen, chunk by chunk. Earlier events are replayed from whole
//! messages: text of a failed attempt is not shown.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::blob::Blobs;
use robota_core::checkpoint::FileChange;
use robota_core::event::{Author, Envelope, Event};
use robota_core::ids::CallId;
use robota_core::message::{BlobRef, Block, Image, Message, ResultBlock, ToolInput, ToolUse};
use robota_core::tool::ToolOutcome;
use robota_sdk::interactive::{InteractiveEvent, Projection as SdkProjection};
use robota_sdk::{CommandInfo, Costs};
use serde_json::Value;

use super::client_terminals::ShownTerminals;
use super::tool_call;
use super::v1::{
    Command, CommandInput, ContentBlock, Cost, PlanEntry, PlanStatus, Priority, ToolCall,
    ToolCallContent, ToolCallStatus, Update,
};

/// How much of the output of a running call is shown: its end, because each update replaces the
/// last one.
const SHOWN_OUTPUT: usize = 16 * 1024;
/// How much new output is shown at once, after the first piece. Each update repeats up to
/// [`SHOWN_OUTPUT`] bytes, so not every line is worth one.
const OUTPUT_STEP: usize = 2 * 1024;
/// The size limit of an image that is sent to the editor. As base64 it is a third larger, and one
/// line has it all.
const MAX_IMAGE: u64 = 8 * 1024 * 1024;
/// The tool whose calls are shown as the plan.
const TODO: &str = "TodoWrite";

/// Whether events happen now or happened before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// They are replayed from the journal when the session opens.
    Earlier,
    /// They happen while the editor watches.
    Now,
}

/// Which optional updates the editor understands.
#[derive(Clone, Default)]
pub(super) struct Understood {
    pub(super) compaction: bool,
    /// The terminals of the editor in which calls run.
    pub(super) terminals: ShownTerminals,
}

/// Follows the events of one session.
pub(super) struct Projection {
    time: Time,
    understood: Understood,
    cwd: PathBuf,
    blobs: Arc<dyn Blobs>,
    sdk: SdkProjection,
    calls: HashMap<CallId, Call>,
    costs: Costs,
    /// Names the answer that is being streamed.
    answer: u64,
    /// Whether text of it was shown.
    streamed: bool,
    compaction: u64,
}

struct Call {
    tool_use: ToolUse,
    input: Value,
    diffs: Vec<ToolCallContent>,
    /// The end of the output.
    output: String,
    /// How much new output there is since it was shown last; none if nothing was shown.
    new: Option<usize>,
    outcome: Option<ToolOutcome>,
}

impl Projection {
    pub(super) fn new(
        time: Time,
        understood: Understood,
        cwd: PathBuf,
        blobs: Arc<dyn Blobs>,
        costs: Costs,
    ) -> Self {
        let (sdk, calls) = (SdkProjection::default(), HashMap::new());
        Self {
            time,
            understood,
            cwd,
            blobs,
            sdk,
            calls,
            costs,
            answer: 0,
            streamed: false,
            compaction: 0,
        }
    }

    /// Switches to live events, after the earlier ones were replayed.
    pub(super) fn go_live(&mut self) {
        // A call that is left here was replayed without a result, and no later event is about it.
        self.time = Time::Now;
        self.calls.clear();
    }

    /// Takes the next event and returns the updates for the editor.
    pub(super) async fn push(&mut self, envelope: &Envelope) -> Vec<Update> {
        let mut updates = Vec::new();
        self.costs.push(&envelope.event);
        let mut shown = Vec::new();
        self.sdk.push(envelope, &mut shown);
        for event in shown {
            if let InteractiveEvent::ContextUpdate(state) = event {
                updates.push(Update::UsageUpdate {
                    used: state.used_tokens,
                    size: state.max_tokens,
                    cost: self.costs.cost().map(|amount| Cost { amount, currency: "USD" }),
                });
            }
        }
        match self.time {
            Time::Now => self.push_now(envelope, &mut updates).await,
            Time::Earlier => self.push_earlier(&envelope.event, &mut updates).await,
        }
        self.push_always(&envelope.event, &mut updates);
        updates
    }

    async fn push_now(&mut self, envelope: &Envelope, updates: &mut Vec<Update>) {
        match &envelope.event {
            Event::ThinkingChunk(chunk) => {
                let content = ContentBlock::text(&chunk.text);
                updates.push(thought(content, self.answer_id(envelope)));
            }
            Event::TextChunk(chunk) => {
                self.streamed = true;
                let content = ContentBlock::text(&chunk.text);
                updates.push(message(content, self.answer_id(envelope)));
            }
            // What was shown stays; the next attempt is another message.
            Event::StreamReset(_) => self.next_answer(),
            Event::AssistantMessage(data) => {
                let text = data.message.text();
                // A provider that does not stream sends no chunks; then the text is shown now.
                if !self.streamed && !text.is_empty() {
                    updates.push(message(ContentBlock::text(text), self.answer_id(envelope)));
                }
                self.next_answer();
            }
            Event::ToolCalled(data) => {
                if let Some(update) = self.call(&data.tool_use).await {
                    updates.push(update);
                }
            }
            Event::ToolStarted(data) => {
                if let Some(call) = self.shown_call(&data.call) {
                    let changed = data.input.clone();
                    if let Some(input) = &changed {
                        call.input.clone_from(input);
                    }
                    // The input is sent again only if the user or a hook changed it, because
                    // editors replace fields that are there.
                    updates.push(Update::ToolCallUpdate(ToolCall {
                        tool_call_id: data.call.to_string(),
                        status: Some(ToolCallStatus::InProgress),
                        title: changed.as_ref().map(|it| tool_call::title(&call.tool_use.name, it)),
                        raw_input: changed,
                        ..ToolCall::default()
                    }));
                }
            }
            Event::FilesChanging(data) => {
                updates.extend(self.files_changing(&data.call, &data.files).await);
            }
            Event::ToolOutput(data) => {
                if let Some(call) = self.shown_call(&data.call)
                    && call.add_output(&data.text)
                {
                    let content = vec![tool_call::output(tail(&call.output))];
                    updates.push(Update::ToolCallUpdate(ToolCall {
                        tool_call_id: data.call.to_string(),
                        content: Some(content),
                        ..ToolCall::default()
                    }));
                }
            }
            Event::ToolFinished(data) => {
                if let Some(call) = self.calls.remove(&data.call) {
                    updates.extend(self.finished(&call, &data.outcome).await);
                }
            }
            Event::InputBlocked(data) => {
                // Without a message id: the text belongs to no answer of the model.
                updates.push(message(ContentBlock::text(&data.reason), None));
            }
            _ => {}
        }
    }

    async fn push_earlier(&mut self, event: &Event, updates: &mut Vec<Update>) {
        match event {
            Event::UserMessage(data) if data.author == Author::User => {
                self.replay(&data.message, Update::user, updates).await;
            }
            Event::AssistantMessage(data) => {
                self.replay(&data.message, message, updates).await;
                for block in &data.message.content {
                    if let Block::ToolUse(tool_use) = block
                        && let Some(update) = self.call(tool_use).await
                    {
                        updates.push(update);
                    }
                }
            }
            // A call that only reads can end before its message is committed.
            Event::ToolFinished(data) => {
                let (name, outcome) = (String::new(), Some(ToolOutcome::clone(&data.outcome)));
                match self.calls.get_mut(&data.call) {
                    Some(call) => call.outcome = outcome,
                    None => {
                        let input = ToolInput::Json(Value::Null);
                        let tool_use = ToolUse::new(data.call.clone(), "", name, input);
                        self.calls
                            .insert(data.call.clone(), Call { outcome, ..Call::of(tool_use) });
                    }
                }
            }
            Event::FilesChanging(data) => {
                // The last update contains the change.
                let _ = self.files_changing(&data.call, &data.files).await;
            }
            Event::ToolResultAdded(data) => {
                if let Some(mut call) = self.calls.remove(&data.result.call) {
                    let outcome = call.outcome.take().unwrap_or_else(|| ToolOutcome {
                        ok: !data.result.is_error,
                        // No finish event was seen, so only the result says whether the call failed.
                        ..ToolOutcome::ok(String::new())
                    });
                    let outcome = ToolOutcome { content: data.result.content.clone(), ..outcome };
                    updates.extend(self.finished(&call, &outcome).await);
                }
            }
            _ => {}
        }
    }

    /// Adds updates that do not depend on the time.
    fn push_always(&mut self, event: &Event, updates: &mut Vec<Update>) {
        match event {
            Event::ModeChanged(data) => {
                let current_mode_id = data.mode.name().to_owned();
                updates.push(Update::CurrentModeUpdate { current_mode_id });
            }
            Event::Renamed(data) => {
                updates.push(Update::SessionInfoUpdate { title: data.name.clone() });
            }
            Event::CompactionStarted(_) if self.understood.compaction => {
                self.compaction += 1;
                updates.push(self.compaction_update("in_progress", None, None));
            }
            Event::CompactionFinished(data) if self.understood.compaction => {
                let summary = vec![ContentBlock::text(data.summary.text())];
                updates.push(self.compaction_update("completed", Some(summary), None));
            }
            Event::CompactionFailed(data) if self.understood.compaction => {
                let error = Some(data.error.message.clone());
                updates.push(self.compaction_update("failed", None, error));
            }
            _ => {}
        }
    }

    fn compaction_update(
        &self,
        status: &'static str,
        summary: Option<Vec<ContentBlock>>,
        error: Option<String>,
    ) -> Update {
        let compaction_id = format!("compaction-{}", self.compaction);
        Update::CompactionUpdate { compaction_id, status, summary, error }
    }

    fn next_answer(&mut self) {
        self.answer += 1;
        self.streamed = false;
    }

    /// Names the answer that is being streamed.
    fn answer_id(&self, envelope: &Envelope) -> Option<String> {
        let turn = envelope.turn.as_ref()?;
        Some(format!("{turn}-{}", self.answer))
    }

    /// Returns a call that was announced to the editor.
    fn shown_call(&mut self, call: &CallId) -> Option<&mut Call> {
        self.calls.get_mut(call).filter(|call| call.tool_use.name != TODO)
    }

    /// Begins a call; none if it is not shown.
    async fn call(&mut self, tool_use: &ToolUse) -> Option<Update> {
        let (name, mut call) = (tool_use.name.as_str(), Call::of(tool_use.clone()));
        let earlier = self.calls.remove(&tool_use.call);
        call.outcome = earlier.and_then(|earlier| earlier.outcome);
        // When an old session is replayed, the file has another content by now.
        let old = match self.time {
            Time::Now => tool_call::old_text(name, &call.input, &self.cwd).await,
            Time::Earlier => None,
        };
        call.diffs = tool_call::diffs(name, &call.input, &self.cwd, old);
        let update = Update::ToolCall(ToolCall {
            tool_call_id: tool_use.call.to_string(),
            title: Some(tool_call::title(name, &call.input)),
            kind: Some(tool_call::kind(name)),
            status: Some(ToolCallStatus::Pending),
            content: Some(call.diffs.clone()),
            locations: Some(tool_call::locations(&call.input, &self.cwd)),
            raw_input: Some(call.input.clone()),
            raw_output: None,
        });
        self.calls.insert(tool_use.call.clone(), call);
        (name != TODO).then_some(update)
    }

    /// Reports the exact changes of a call. Their old texts are stored now.
    async fn files_changing(&mut self, id: &CallId, files: &[FileChange]) -> Option<Update> {
        let [file] = files else { return None };
        let call = self.calls.get(id)?;
        let old = match &file.before {
            Some(blob) => Some(String::from_utf8(self.load(blob).await?).ok()?),
            None => None,
        };
        let path = self.cwd.join(&file.path).display().to_string();
        let diff = tool_call::whole_diff(&call.tool_use.name, &call.input, &path, old)?;
        let call = self.calls.get_mut(id)?;
        call.diffs = vec![diff];
        Some(Update::ToolCallUpdate(ToolCall {
            tool_call_id: id.to_string(),
            content: Some(call.diffs.clone()),
            ..ToolCall::default()
        }))
    }

    /// Returns the update that shows how a call ended; a call of TodoWrite updates the plan instead.
    async fn finished(&self, call: &Call, outcome: &ToolOutcome) -> Option<Update> {
        if call.tool_use.name == TODO {
            return if outcome.ok { plan(&call.input) } else { None };
        }
        let mut content = Vec::new();
        if let Some(terminal) = self.understood.terminals.take(&call.tool_use.call) {
            // It shows the output already.
            content.push(terminal);
        } else if outcome.ok && !call.diffs.is_empty() {
            content.clone_from(&call.diffs);
        } else {
            for block in &outcome.content {
                match block {
                    ResultBlock::Text(text) if text.text.is_empty() => {}
                    ResultBlock::Text(text) => content.push(tool_call::output(&text.text)),
                    ResultBlock::Image(image) if image.media_type.starts_with("image/") => {
                        let content_block = self.image(image).await;
                        content.push(ToolCallContent::Content { content: content_block });
                    }
                    // The text names a document.
                    ResultBlock::Image(_) | ResultBlock::Unknown(_) => {}
                }
            }
        }
        let status = if outcome.ok { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        Some(Update::ToolCallUpdate(ToolCall {
            tool_call_id: call.tool_use.call.to_string(),
            status: Some(status),
            content: Some(content),
            ..ToolCall::default()
        }))
    }

    /// Reports a complete message.
    async fn replay(
        &self,
        whole: &Message,
        make: fn(ContentBlock, Option<String>) -> Update,
        updates: &mut Vec<Update>,
    ) {
        let id = Some(whole.id.to_string());
        for block in &whole.content {
            match block {
                Block::Text(text) if !text.text.is_empty() => {
                    updates.push(make(ContentBlock::text(&text.text), id.clone()));
                }
                Block::Thinking(block) if !block.thinking.is_empty() => {
                    updates.push(thought(ContentBlock::text(&block.thinking), id.clone()));
                }
                Block::Image(image) => updates.push(make(self.image(image).await, id.clone())),
                _ => {}
            }
        }
    }

    async fn image(&self, image: &Image) -> ContentBlock {
        let too_large = image.blob.bytes > MAX_IMAGE;
        let bytes = if too_large { None } else { self.load(&image.blob).await };
        match bytes {
            Some(bytes) => ContentBlock::Image {
                data: STANDARD.encode(bytes),
                mime_type: image.media_type.clone(),
                uri: None,
            },
            None => {
                let (kind, bytes) = (&image.media_type, image.blob.bytes);
                ContentBlock::text(format!("[image {kind}, {bytes} bytes]"))
            }
        }
    }

    async fn load(&self, blob: &BlobRef) -> Option<Vec<u8>> {
        self.blobs.get(blob).await.ok().flatten()
    }
}

impl Call {
    fn of(tool_use: ToolUse) -> Self {
        let input = tool_use.input.json().cloned().unwrap_or_default();
        let (diffs, output, new, outcome) = (Vec::new(), String::new(), None, None);
        Self { tool_use, input, diffs, output, new, outcome }
    }

    /// Adds output. Returns whether there is enough that is new to show it.
    fn add_output(&mut self, text: &str) -> bool {
        self.output.push_str(text);
        // A command can print for hours. Cut now and then, because that moves the rest.
        if self.output.len() > 4 * SHOWN_OUTPUT {
            self.output = tail(&self.output).to_owned();
        }
        let new = self.new.map_or(usize::MAX, |new| new + text.len());
        let shows = new >= OUTPUT_STEP;
        self.new = Some(if shows { 0 } else { new });
        shows
    }
}

impl Update {
    fn user(content: ContentBlock, message_id: Option<String>) -> Self {
        Self::UserMessageChunk { content, message_id }
    }
}

/// Makes an update with a piece of an answer.
pub(super) fn message(content: ContentBlock, message_id: Option<String>) -> Update {
    Update::AgentMessageChunk { content, message_id }
}

fn thought(content: ContentBlock, message_id: Option<String>) -> Update {
    Update::AgentThoughtChunk { content, message_id }
}

/// Returns the to-do list that a call of TodoWrite set.
fn plan(input: &Value) -> Option<Update> {
    let entry = |todo: &Value| {
        let content = todo.get("content")?.as_str()?.to_owned();
        let status: PlanStatus = serde_json::from_value(todo.get("status")?.clone()).ok()?;
        Some(PlanEntry { content, priority: Priority::Medium, status })
    };
    let entries = input.get("todos")?.as_array()?.iter().filter_map(entry).collect();
    Some(Update::Plan { entries })
}

/// Returns the commands of a session.
pub(super) fn commands(commands: Vec<CommandInfo>) -> Update {
    let usable = commands.into_iter().filter(|info| info.user_invocable);
    let describe = |info: CommandInfo| Command {
        name: info.name,
        description: info.description,
        input: info.argument_hint.map(|hint| CommandInput { hint }),
    };
    Update::AvailableCommandsUpdate { available_commands: usable.map(describe).collect() }
}

/// Returns the end of a text, cut between characters.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(SHOWN_OUTPUT);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
