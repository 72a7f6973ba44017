//! Turns the events of a session into lines for the host, and into a record of each turn.

mod agent_lines;
mod results;
mod system_lines;
mod tasks;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::error::{ErrorData, FailureClass};
use robota_core::event::{Author, CompactionTrigger, Envelope, Event, TurnEnd};
use robota_core::ids::{CallId, Ids, RandomIds};
use robota_core::message::{self, BlobRef, Message, MessageState, ToolUse};
use robota_core::usage::Usage;
use robota_runtime::subagent::action;
use robota_tools::ASK_USER;
use serde_json::{Value, json};

use self::tasks::ShownTasks;
use super::answer_stream::{AnswerStart, AnswerStream};
use super::blocks;
use super::loaded::LoadedBlobs;
use super::meter::{Meter, token_usage};
use super::model_watch::{AnswerPosition, ModelWatch};
use super::result::{api_error_text, stop_name};
use super::sent::HostMessage;
use super::structured::Answer;
use super::tool_output::AgentTotals;
use super::turn_record::TurnRecord;
use super::writer::{LineWriter, block_line_id};
use crate::output;
use robota_stream_json::{
    AssistantLine, CompactCause, CompactMetadata, DecisionMeta, ErrorClass, LineAgent,
    RateLimitStatus, StatusText, UserLine,
};
use robota_stream_json::{AssistantMessage, Block, TokenUsage, UserContent, UserMessage};

/// The model's id in a message that this program wrote.
const SYNTHETIC: &str = "<synthetic>";

/// The tools whose calls can wait for an agent.
const STARTS_AGENTS: [&str; 3] = ["Agent", "Task", "Skill"];

/// Which events become lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    /// Pieces of answers.
    pub(crate) partial: bool,
    /// User messages.
    pub(crate) replay: bool,
    /// Whether a host is asked about calls; its own denials need no line.
    pub(crate) host: bool,
    /// Text and reasoning of agents. Their calls are always printed.
    pub(crate) agent_text: bool,
    /// Whether denials and retries are printed on standard error.
    pub(crate) notes: bool,
    /// Whether calls are printed there when they start.
    pub(crate) progress: bool,
}

/// Follows the events of a session.
pub(crate) struct Projection {
    writer: Arc<LineWriter>,
    shown: Shown,
    structured: Option<Arc<Answer>>,
    record: TurnRecord,
    meter: Arc<Meter>,
    watch: Arc<ModelWatch>,
    cwd: PathBuf,
    model: String,
    /// The model that answered, if it is another one.
    served: Option<String>,
    request_id: String,
    stream: AnswerStream,
    usage: Option<Usage>,
    /// What the service counted when it began to answer.
    first_usage: Option<Usage>,
    /// The messages of the request that is being answered.
    messages: u64,
    calls: HashMap<CallId, Call>,
    /// The background tasks.
    tasks: ShownTasks,
    /// The agents of the calls of this turn that have ended.
    ended_agents: HashMap<CallId, Vec<AgentTotals>>,
    /// The to-do list after the last call of TodoWrite.
    todos: Value,
    /// The blobs that the next line shows.
    blobs: LoadedBlobs,
    rate_limits: RateLimitStatus,
    compaction: Option<CompactMetadata>,
    /// The message about an interrupt.
    interrupted: Option<&'static str>,
    /// Messages of the host by the id of their input.
    sent: HashMap<String, HostMessage>,
    ids: RandomIds,
}

struct Call {
    tool_use: ToolUse,
    decision: Option<DecisionMeta>,
    /// Whether it runs or ran.
    started: bool,
    /// Whether its answer is complete, so that its line was printed.
    printed: bool,
    /// The arguments with which it runs, if they are not the model's.
    input: Option<Value>,
    /// How long it ran, in milliseconds.
    duration_ms: u64,
    /// How many blocks its result has, without the texts that hooks add for the model.
    blocks: usize,
    /// The content of the file that it changes, before the change.
    before: Option<BlobRef>,
}

impl Projection {
    pub(crate) fn new(
        writer: Arc<LineWriter>,
        shown: Shown,
        structured: Option<Arc<Answer>>,
        (meter, watch): (Arc<Meter>, Arc<ModelWatch>),
        cwd: PathBuf,
    ) -> Self {
        if shown.partial {
            watch.watch_ends();
        }
        Self {
            writer,
            shown,
            structured,
            record: TurnRecord::default(),
            meter,
            watch,
            cwd,
            model: String::new(),
            served: None,
            request_id: String::new(),
            stream: AnswerStream::default(),
            usage: None,
            first_usage: None,
            messages: 0,
            calls: HashMap::new(),
            tasks: ShownTasks::default(),
            ended_agents: HashMap::new(),
            todos: json!([]),
            blobs: LoadedBlobs::default(),
            rate_limits: RateLimitStatus::default(),
            compaction: None,
            interrupted: None,
            sent: HashMap::new(),
            ids: RandomIds,
        }
    }

    /// Returns whether a call of the turn runs that a server can answer with a question: one of a server's
    /// tools, or an agent that the turn waits for.
    pub(super) fn may_use_servers(&self) -> bool {
        self.calls.values().any(|call| {
            let name = call.tool_use.name.as_str();
            call.started && (name.starts_with("mcp__") || STARTS_AGENTS.contains(&name))
        })
    }

    /// Remembers a message of the host until it is delivered.
    pub(crate) fn remember_sent(&mut self, input: &str, message: HostMessage) {
        self.sent.insert(input.to_owned(), message);
    }

    /// Returns the record of the turn, and starts a new one.
    pub(crate) fn take_record(&mut self) -> TurnRecord {
        self.calls.clear();
        self.ended_agents.clear();
        std::mem::take(&mut self.record)
    }

    /// Returns the record of the turn.
    pub(crate) fn record(&mut self) -> &mut TurnRecord {
        &mut self.record
    }

    /// Returns the calls about which the host is asked after this event. A call that asks the user may
    /// run before its answer is complete; the host is asked when the line of the call was printed.
    pub(crate) fn asks_host(&self, event: &Event) -> Vec<CallId> {
        let asks = |call: &&CallId| {
            let call = self.calls.get(*call);
            call.is_some_and(|it| it.tool_use.name == ASK_USER && it.started && it.printed)
        };
        match event {
            Event::PermissionAsked(data) => vec![data.call.clone()],
            Event::ToolStarted(data) => {
                Some(&data.call).filter(asks).cloned().into_iter().collect()
            }
            Event::AssistantMessage(data) => {
                calls_of(&data.message).filter(asks).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes an event. Returns true at the end of a turn.
    pub(crate) fn on_event(&mut self, envelope: &Envelope) -> bool {
        let ts = envelope.ts;
        self.record.answer.push(&envelope.event);
        match &envelope.event {
            Event::TurnStarted(data) => {
                self.model.clone_from(&data.model);
                self.record.started = Some(ts);
                self.record.max_rounds = data.max_rounds;
            }
            Event::UserMessage(data) => {
                let input = data.input.as_ref().map(|input| input.as_str());
                self.user_message(&data.message, data.author, input, envelope);
            }
            Event::InputBlocked(data) => self.blocked(&data.reason),
            Event::ModelRequested(data) => {
                self.messages = data.messages;
                self.record.requested.get_or_insert(ts);
                // Events do not have the id that the service gave. Hosts only compare it.
                self.request_id = format!("req_{}", self.ids.next().simple());
                self.stream.reset();
                self.usage = None;
                self.first_usage = None;
                if self.shown.partial {
                    self.status(Some(StatusText::Requesting));
                }
            }
            Event::TextChunk(data) => {
                self.record.first_piece.get_or_insert(ts);
                if self.shown.partial {
                    self.piece(&data.text, AnswerStream::text, envelope);
                }
            }
            Event::ThinkingChunk(data) => {
                self.record.first_piece.get_or_insert(ts);
                if self.shown.partial {
                    self.piece(&data.text, AnswerStream::thinking, envelope);
                }
            }
            Event::ToolInputChunk(data) => {
                self.record.first_piece.get_or_insert(ts);
                if self.shown.partial && self.stream.takes_input(data) {
                    self.start_answer(envelope);
                    self.print_ends(envelope, self.stream.position());
                    self.stream.input(data, &self.writer);
                }
            }
            Event::ToolCalled(data) => {
                self.record.first_piece.get_or_insert(ts);
                if self.shown.partial {
                    self.start_answer(envelope);
                    self.print_ends(envelope, self.stream.position());
                    self.stream.call(data.index, &data.tool_use, &self.writer);
                }
                let call = Call {
                    tool_use: data.tool_use.clone(),
                    decision: None,
                    started: false,
                    printed: false,
                    input: None,
                    duration_ms: 0,
                    // All of them, until the outcome says it: a call that is denied has none.
                    blocks: usize::MAX,
                    before: None,
                };
                self.calls.insert(data.tool_use.call.clone(), call);
            }
            Event::StreamReset(_) => self.stream.reset(),
            Event::ModelResponded(data) => {
                self.served = self.meter.served();
                self.record.stop = Some(data.stop.clone());
                self.read_first_usage(envelope);
                self.usage = data.usage;
                self.rate_limits(ts);
            }
            Event::AssistantMessage(data) => {
                // Only now: an answer that fails while it is streamed is replaced by another one.
                self.answer(&data.message, envelope);
                for call in calls_of(&data.message) {
                    if let Some(call) = self.calls.get_mut(call) {
                        call.printed = true;
                    }
                }
            }
            Event::ToolBatchStarted(_) => self.record.in_tools = true,
            Event::ToolBatchFinished(_) => self.record.in_tools = false,
            Event::ModelRetry(data) => {
                self.rate_limits(ts);
                self.retry(data);
            }
            Event::ModelFailed(_) => self.rate_limits(ts),
            Event::HookFinished(data) => self.hook_finished(data),
            Event::PermissionDecided(data) => self.decided(data),
            Event::ToolStarted(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    call.started = true;
                    call.input.clone_from(&data.input);
                    if self.shown.progress {
                        output::progress(&action(&call.tool_use));
                    }
                }
            }
            Event::FilesChanging(data) => self.files_changing(data),
            Event::ToolFinished(data) => self.finished(data),
            Event::ToolResultAdded(data) => self.result(data, envelope),
            Event::CompactionStarted(data) => {
                let trigger = match data.trigger {
                    CompactionTrigger::Auto => CompactCause::Auto,
                    CompactionTrigger::Manual => CompactCause::Manual,
                };
                self.compaction =
                    Some(CompactMetadata { trigger, pre_tokens: data.before.effective });
                self.status(Some(StatusText::Compacting));
            }
            Event::CompactionFinished(_) => self.compacted(),
            Event::CompactionFailed(_) => {
                self.compaction = None;
                self.status(None);
            }
            Event::Interrupted(data) => {
                self.record.aborted_in_tools = self.record.in_tools;
                // The rest of the answer is printed first.
                // A note comes from a host that denied a call with `interrupt`; hosts expect
                // another text then.
                self.interrupted = Some(if data.note.is_some() && self.record.in_tools {
                    "[Request interrupted by user for tool use]"
                } else {
                    "[Request interrupted by user]"
                });
            }
            Event::TurnFinished(data) => {
                self.record.end = Some(data.end);
                self.record.error.clone_from(&data.error);
                if self.record.structured_exhausted {
                    // The program ended the turn, not the user.
                    self.interrupted = None;
                }
                self.record.rounds = data.rounds;
                self.record.usage = data.usage;
                self.record.finished = Some(ts);
                if let Some(text) = self.interrupted.take() {
                    self.synthetic_user(text, false, envelope);
                }
                if let (TurnEnd::ProviderFailed, Some(error)) = (data.end, &data.error) {
                    self.failure(error, envelope);
                }
                return true;
            }
            _ => {}
        }
        false
    }

    /// Prints the start of an answer, before its first piece.
    fn start_answer(&mut self, envelope: &Envelope) {
        if self.stream.is_started() {
            return;
        }
        self.read_first_usage(envelope);
        let first = !std::mem::replace(&mut self.record.streamed_user_messages, true);
        let start = AnswerStart {
            model: &self.model,
            ttft_ms: self.record.ttft_ms(),
            usage: self.first_usage.map(token_usage).unwrap_or_default(),
            user_messages: if first { &self.record.user_messages[..] } else { &[] },
        };
        self.stream.start(start, &self.ids, &self.writer);
    }

    /// Reads what the service counted when it began to answer.
    fn read_first_usage(&mut self, envelope: &Envelope) {
        if let Some(turn) = &envelope.turn
            && let Some(usage) = self.watch.take_first_usage(turn, self.messages)
        {
            self.first_usage = Some(usage);
        }
    }

    /// Prints a piece of text or reasoning. Events do not contain where a block ends, so a piece
    /// may contain the end of one block and the start of the next.
    fn piece(
        &mut self,
        mut text: &str,
        print: fn(&mut AnswerStream, &str, &LineWriter),
        envelope: &Envelope,
    ) {
        self.start_answer(envelope);
        while !text.is_empty() {
            self.print_ends(envelope, self.stream.position());
            let bytes = self.stream.position().bytes;
            let turn = envelope.turn.as_ref();
            let rest = turn.and_then(|turn| self.watch.bytes_to_end(turn, self.messages, bytes));
            // 0 if the block ends only behind a call that was not printed yet; cutting there would
            // never advance.
            let rest = rest.and_then(|rest| usize::try_from(rest).ok()).filter(|rest| *rest > 0);
            let (now, later) =
                rest.and_then(|rest| text.split_at_checked(rest)).unwrap_or((text, ""));
            print(&mut self.stream, now, &self.writer);
            text = later;
        }
    }

    /// Prints the ends of the blocks before a position.
    fn print_ends(&mut self, envelope: &Envelope, position: AnswerPosition) {
        let Some(turn) = &envelope.turn else { return };
        while let Some(end) = self.watch.next_end(turn, self.messages, position) {
            match &end.block {
                message::Block::Thinking(block) => self.stream.end_thinking(block, &self.writer),
                message::Block::Opaque(block) => self.stream.opaque(block, &self.writer),
                _ => {}
            }
        }
    }

    fn user_message(
        &mut self,
        message: &Message,
        author: Author,
        input: Option<&str>,
        envelope: &Envelope,
    ) {
        let sent = input.and_then(|input| self.sent.remove(input));
        match (author, sent) {
            (Author::StopHook, _) => self.synthetic_user(&message.text(), true, envelope),
            (Author::User, Some(HostMessage { uuid, content, .. })) => {
                if self.shown.replay {
                    // An id by which `rewind_files` finds the message again.
                    let id = block_line_id(message.id.as_str(), 0);
                    let id = id.unwrap_or_else(|| self.writer.id());
                    let uuid = uuid.as_deref().unwrap_or(id.as_str());
                    self.writer.print(&UserLine {
                        is_replay: true,
                        ..self.user_line(UserContent::AsSent(&content), uuid, envelope)
                    });
                }
                self.record.user_messages.extend(uuid);
            }
            // Not from the host: it replays only what it sent itself.
            (Author::User, None) => {}
        }
    }

    fn synthetic_user(&self, text: &str, is_synthetic: bool, envelope: &Envelope) {
        let id = self.writer.id();
        let content = UserContent::Blocks(vec![Block::text(text)]);
        self.writer
            .print(&UserLine { is_synthetic, ..self.user_line(content, id.as_str(), envelope) });
    }

    fn user_line<'a>(
        &'a self,
        content: UserContent<'a>,
        uuid: &'a str,
        envelope: &Envelope,
    ) -> UserLine<'a> {
        UserLine {
            kind: Default::default(),
            message: UserMessage { role: Default::default(), content },
            parent_tool_use_id: None,
            agent: LineAgent::default(),
            session_id: self.writer.session(),
            uuid,
            timestamp: envelope.ts.to_string(),
            tool_use_result: None,
            tool_result_meta: Vec::new(),
            is_synthetic: false,
            is_replay: false,
        }
    }

    /// Prints one line per block of an answer.
    fn answer(&mut self, message: &Message, envelope: &Envelope) {
        if !self.writer.is_on() {
            return;
        }
        // The program itself says that a conversation is too long.
        let by_model = message.metadata.get("context_full").is_none();
        let of_turn = self.served.as_deref().unwrap_or(&self.model);
        let model = if by_model { of_turn } else { SYNTHETIC }.to_owned();
        let usage = self.usage.map(token_usage).unwrap_or_default();
        // Hosts expect the counts at the start here, and those of the whole answer in the result.
        let first_usage = self.first_usage.map_or(usage, token_usage);
        let aborted = message.state() != MessageState::Complete;
        if self.shown.partial {
            if self.stream.is_started() {
                self.print_ends(envelope, AnswerPosition { bytes: u64::MAX, calls: u32::MAX });
            }
            self.stream.leave(&self.writer);
        }
        let id = self.stream.id(&self.ids).to_owned();
        // The last block of a failed answer is the error, which the end of the turn prints.
        let failed = message.metadata.contains_key("error_code");
        let content = &message.content[..message.content.len().saturating_sub(failed.into())];
        for (index, block) in blocks::of_answer(content).enumerate() {
            let line = block_line_id(message.id.as_str(), index);
            let line = line.unwrap_or_else(|| self.writer.id());
            let about = (&*model, &*id, first_usage);
            self.assistant(block, about, None, aborted, (line.as_str(), envelope));
        }
        if self.shown.partial {
            let stop = self.record.stop.as_ref().map(stop_name);
            self.stream.end(stop.as_deref().filter(|_| !aborted), usage, &self.writer);
        }
    }

    fn assistant(
        &mut self,
        block: Block<'_>,
        (model, id, usage): (&str, &str, TokenUsage),
        error: Option<ErrorClass>,
        aborted: bool,
        (uuid, envelope): (&str, &Envelope),
    ) {
        let message = AssistantMessage {
            model,
            id,
            kind: Default::default(),
            role: Default::default(),
            content: vec![block],
            // Null for an answer, as in Claude Code: the result of the turn has the reason.
            stop_reason: error.map(|_| "stop_sequence"),
            stop_sequence: None,
            usage,
        };
        let first = !std::mem::replace(&mut self.record.printed_user_messages, true);
        let user_messages = if first { &self.record.user_messages[..] } else { &[] };
        self.writer.print(&AssistantLine {
            kind: Default::default(),
            message,
            parent_tool_use_id: None,
            agent: LineAgent::default(),
            error,
            aborted,
            session_id: self.writer.session(),
            uuid,
            request_id: Some(&self.request_id),
            user_message_uuid: user_messages.last().map(String::as_str),
            user_message_uuids: user_messages,
            timestamp: envelope.ts.to_string(),
        });
    }

    /// Prints a failed model call as a message.
    fn failure(&mut self, error: &ErrorData, envelope: &Envelope) {
        let text = api_error_text(error);
        let id = self.writer.id();
        let about = (SYNTHETIC, id.as_str(), TokenUsage::default());
        let block = Block::text(&text);
        let uuid = self.writer.id();
        self.assistant(block, about, Some(error_class(error)), false, (uuid.as_str(), envelope));
    }
}

/// Returns the calls of an answer.
fn calls_of(message: &Message) -> impl Iterator<Item = &CallId> {
    message.content.iter().filter_map(|block| match block {
        message::Block::ToolUse(call) => Some(&call.call),
        _ => None,
    })
}

/// Returns the class of a failed model call.
fn error_class(error: &ErrorData) -> ErrorClass {
    class_of(FailureClass::of(error))
}

/// Returns a class as lines have it, with the same name.
fn class_of(class: FailureClass) -> ErrorClass {
    match class {
        FailureClass::AuthenticationFailed => ErrorClass::AuthenticationFailed,
        FailureClass::BillingError => ErrorClass::BillingError,
        FailureClass::RateLimit => ErrorClass::RateLimit,
        FailureClass::Overloaded => ErrorClass::Overloaded,
        FailureClass::InvalidRequest => ErrorClass::InvalidRequest,
        FailureClass::ModelNotFound => ErrorClass::ModelNotFound,
        FailureClass::ServerError => ErrorClass::ServerError,
        FailureClass::Unknown => ErrorClass::Unknown,
    }
}

#[cfg(test)]
mod tests;
