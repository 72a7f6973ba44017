//! Runs a session for a host or for one prompt: sends inputs, prints lines, and ends.

use std::collections::VecDeque;
use std::sync::Arc;

use robota_core::event::{Delivery, Event, TurnEnd};
use robota_core::ids::{RandomIds, TurnId};
use robota_core::message::{Block, Message};
use robota_session::{Chat, ChatEnd, EventFilter, SendOptions, SessionError, SessionEvent};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::blocks;
use super::input::{FromHost, UserInput};
use super::line::{InitLine, SessionStateText};
use super::options::RunOptions;
use super::permissions::{HostApprover, HostCommand};
use super::project::Projection;
use super::requests::{CAPABILITIES, Requests, VERSION};
use super::result::{self, Outcome};
use super::structured::Answer;
use super::turn_record::TurnRecord;
use super::writer::LineWriter;
use crate::args::OutputFormat;
use crate::signals::Cancel;
use crate::{Exit, output};

/// What `system/init` says of the run.
pub(crate) struct RunFacts {
    /// The working folder.
    pub(crate) cwd: String,
    /// Further folders of the workspace.
    pub(crate) directories: Vec<String>,
    /// The names of the offered tools.
    pub(crate) tools: Vec<String>,
}

/// A run with an open session.
pub(crate) struct Drive {
    pub(crate) session: robota_session::Session,
    pub(crate) blobs: Arc<dyn robota_core::blob::Blobs>,
    pub(crate) requests: Requests,
    pub(crate) options: Arc<RunOptions>,
    pub(crate) writer: Arc<LineWriter>,
    pub(crate) projection: Projection,
    pub(crate) approver: Option<Arc<HostApprover>>,
    pub(crate) structured: Option<Arc<Answer>>,
    pub(crate) facts: RunFacts,
    pub(crate) cancel: Cancel,
    /// What the host sends; none for a run with one prompt.
    pub(crate) from_host: Option<mpsc::UnboundedReceiver<FromHost>>,
    pub(crate) commands: mpsc::UnboundedReceiver<HostCommand>,
}

/// The state of a run.
#[derive(Default)]
struct Progress {
    /// The inputs whose turns have not ended, oldest first.
    chats: VecDeque<Chat>,
    /// The last printed event.
    last: u64,
    results: u32,
    /// The turn of the last event, and the last turn with a result.
    turn: Option<TurnId>,
    finished: Option<TurnId>,
    /// What the last turn means.
    outcome: Option<Outcome>,
    /// Why the run ends early.
    failure: Option<String>,
    stopping: bool,
}

/// What the run waits for.
enum Next {
    Signal,
    OutputClosed,
    Command(HostCommand),
    Event(Option<Result<SessionEvent, SessionError>>),
    Host(Option<FromHost>),
}

impl Drive {
    /// Runs until every input is answered and nothing more can come.
    pub(crate) async fn run(&mut self, first: FirstInput) -> anyhow::Result<Exit> {
        let mut progress = Progress::default();
        match first {
            FirstInput::Prompt(prompt) => {
                self.send(vec![Block::text(prompt)], None, &mut progress).await?;
            }
            FirstInput::Message(message) => self.on_message(message, &mut progress).await?,
        }
        while !(progress.chats.is_empty() && (self.from_host.is_none() || progress.stopping)) {
            match self.next(&mut progress).await {
                Next::Signal | Next::OutputClosed => {
                    progress.stopping = true;
                    self.from_host = None;
                    self.requests.interrupt(None);
                }
                Next::Command(HostCommand::Interrupt(note)) => self.requests.interrupt(Some(note)),
                Next::Command(HostCommand::SetMode(mode)) => {
                    // A mode that the host may not set stays as it is.
                    let _ = self.requests.set_mode(mode.name()).await;
                }
                Next::Event(Some(event)) => self.on_event(&event?, &mut progress),
                Next::Event(None) => self.on_chat_end(&mut progress),
                Next::Host(None) => self.from_host = None,
                Next::Host(Some(FromHost::User(message))) => {
                    self.on_message(message, &mut progress).await?;
                }
                Next::Host(Some(FromHost::Control(request))) => self.requests.handle(request).await,
                Next::Host(Some(FromHost::Unreadable(why))) => {
                    output::note(&why);
                    progress.failure = Some(why);
                    progress.stopping = true;
                    self.from_host = None;
                    self.requests.interrupt(None);
                }
            }
        }
        Ok(self.exit(&progress))
    }

    async fn next(&mut self, progress: &mut Progress) -> Next {
        let stopping = progress.stopping;
        let chat = progress.chats.front_mut();
        let events = async {
            match chat {
                Some(chat) => chat.next().await,
                None => std::future::pending().await,
            }
        };
        let host = self.from_host.as_mut();
        let from_host = async {
            match host {
                Some(host) => host.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.token().cancelled(), if !stopping => Next::Signal,
            () = self.writer.closed().cancelled(), if !stopping => Next::OutputClosed,
            Some(command) = self.commands.recv() => Next::Command(command),
            event = events => Next::Event(event),
            input = from_host => Next::Host(input),
        }
    }

    /// Takes a message of the host.
    async fn on_message(
        &mut self,
        input: UserInput,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let content = match blocks::from_host(&input.message.content, &*self.blobs).await {
            Ok(content) => content,
            Err(why) => {
                let why = format!("Error parsing streaming input line ({why})");
                output::note(&why);
                progress.failure = Some(why);
                progress.stopping = true;
                self.from_host = None;
                return Ok(());
            }
        };
        if input.should_query == Some(false) {
            let message = Message::user(&RandomIds, content);
            return Ok(self.session.context().inject(message).await?);
        }
        self.send(content, Some((input.uuid, input.message.content)), progress).await
    }

    /// Sends an input. While a turn runs, the input joins it before the next model call.
    async fn send(
        &mut self,
        content: Vec<Block>,
        from_host: Option<(Option<String>, Value)>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let delivery =
            if progress.chats.is_empty() { Delivery::AfterTurn } else { Delivery::NextRound };
        let mut metadata = Map::new();
        if let Some((Some(uuid), _)) = &from_host {
            metadata.insert("uuid".to_owned(), Value::from(uuid.as_str()));
        }
        let options = SendOptions { metadata, ..SendOptions::from(delivery) };
        let mut chat = self.session.chat_with(content, options, EventFilter::Everything).await?;
        chat.wait_for_approvals();
        if let Some((uuid, content)) = from_host {
            self.projection.remember_sent(chat.input().as_str(), uuid, content);
        }
        progress.chats.push_back(chat);
        Ok(())
    }

    fn on_event(&mut self, event: &SessionEvent, progress: &mut Progress) {
        // A later chat also receives the events that an earlier one has printed.
        let seq = event.cursor().seq;
        if seq <= progress.last {
            return;
        }
        progress.last = seq;
        if event.envelope.turn.is_some() {
            if event.envelope.turn == progress.finished {
                return;
            }
            progress.turn.clone_from(&event.envelope.turn);
        }
        if let Event::TurnStarted(data) = event.event() {
            self.writer.state(SessionStateText::Running);
            self.print_init(&data.model);
        }
        let ended = self.projection.on_event(&event.envelope);
        if let (Event::PermissionAsked(data), Some(approver)) = (event.event(), &self.approver) {
            approver.announce_printed(data.call.clone());
        }
        if self.projection.record().structured_exhausted && !ended {
            self.requests.interrupt(None);
        }
        if ended {
            self.finish_turn(progress);
        }
    }

    /// A chat ended: mostly with its turn, which was printed already.
    fn on_chat_end(&mut self, progress: &mut Progress) {
        let Some(chat) = progress.chats.pop_front() else { return };
        match chat.end() {
            Some(ChatEnd::Ended { end: TurnEnd::StoreFailed, error }) => {
                // No event says it: the journal could not be written.
                let record = self.projection.record();
                record.end = Some(TurnEnd::StoreFailed);
                record.error.clone_from(error);
                self.finish_turn(progress);
            }
            // The chat ends with the decision of the hook, before its turn.
            Some(ChatEnd::Blocked { .. }) => {
                self.projection.record().end = Some(TurnEnd::Blocked);
                self.finish_turn(progress);
            }
            // An input that was cancelled before its turn has no result, unless it is the only one.
            Some(ChatEnd::Cancelled) if progress.outcome.is_none() => self.finish_turn(progress),
            _ => {}
        }
        if progress.chats.is_empty() {
            self.writer.state(SessionStateText::Idle);
        }
    }

    fn print_init(&self, model: &str) {
        let facts = &self.facts;
        self.writer.print(&InitLine {
            kind: Default::default(),
            subtype: Default::default(),
            cwd: &facts.cwd,
            session_id: self.writer.session(),
            tools: &facts.tools,
            mcp_servers: [],
            model,
            permission_mode: self.requests.mode.name(),
            slash_commands: [],
            api_key_source: self.requests.api_key_source,
            claude_code_version: VERSION,
            output_style: Default::default(),
            agents: [],
            skills: [],
            plugins: [],
            capabilities: CAPABILITIES,
            original_cwd: &facts.cwd,
            additional_directories: &facts.directories,
            fast_mode_state: Default::default(),
            view_mode: Default::default(),
            uuid: self.writer.id().as_str(),
        });
    }

    fn finish_turn(&mut self, progress: &mut Progress) {
        progress.finished = progress.turn.take();
        let meter = &self.requests.meter;
        let mut record = self.projection.take_record();
        record.api_ms = meter.take_turn_api_ms();
        record.budget = meter.exhausted();
        record.structured = match (&self.structured, &progress.finished) {
            (Some(answer), Some(turn)) => answer.take(turn),
            _ => None,
        };
        let outcome = result::classify(&record);
        let queued = u32::try_from(progress.chats.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let numbers = (progress.results, queued);
        progress.results += 1;
        let writer = &self.writer;
        match self.options.format {
            OutputFormat::Text => print_text(&record, &outcome),
            OutputFormat::StreamJson => {
                result::with_line(&record, &outcome, meter, writer, numbers, |line| {
                    writer.print(line);
                });
            }
            OutputFormat::Json => {
                result::with_line(&record, &outcome, meter, writer, numbers, |line| {
                    if writer.is_on() {
                        writer.print(line);
                        writer.finish();
                    } else if let Ok(line) = serde_json::to_string(line) {
                        output::line(&line);
                    }
                });
            }
            OutputFormat::Events => {
                if outcome.is_error {
                    output::error(&outcome.text);
                }
            }
        }
        progress.outcome = Some(outcome);
    }

    /// Returns the exit status: what a signal asks for, then what the last turn means. A host reads
    /// the reason from the result, so that for it there are only success and failure.
    fn exit(&self, progress: &Progress) -> Exit {
        if let Some(exit) = self.cancel.exit() {
            return exit;
        }
        let failed = progress.failure.is_some() || self.writer.closed().is_cancelled();
        match &progress.outcome {
            _ if failed => Exit::Failure,
            None => Exit::Ok,
            Some(outcome) if self.options.stream_input => {
                if outcome.is_error {
                    Exit::Failure
                } else {
                    Exit::Ok
                }
            }
            Some(outcome) => outcome.exit,
        }
    }
}

/// The first input of a run.
pub(crate) enum FirstInput {
    /// The prompt of the command line.
    Prompt(String),
    /// A message of the host.
    Message(UserInput),
}

/// Prints the answer to standard output, and problems to standard error.
fn print_text(record: &TurnRecord, outcome: &Outcome) {
    match &record.error {
        Some(cause) => {
            output::error(&cause.message);
            if let Some(hint) = &cause.hint {
                output::note(&format!("hint: {hint}"));
            }
        }
        None => {
            let text = if outcome.is_error { &record.text } else { &outcome.text };
            output::line(text);
            if let Some(problem) = problem(record, outcome) {
                output::error(&problem);
            }
        }
    }
}

/// Explains why a turn did not complete; none if it did.
fn problem(record: &TurnRecord, outcome: &Outcome) -> Option<String> {
    match record.end {
        _ if outcome.exit == Exit::Ok => None,
        Some(TurnEnd::Complete) => match outcome.stop.as_deref() {
            Some("max_tokens") => {
                Some("the answer was cut: the model reached its output limit".into())
            }
            stop => Some(format!("the model stopped: {}", stop.unwrap_or("no reason"))),
        },
        Some(TurnEnd::RoundLimit) => Some(format!("stopped at --max-turns {}", record.max_rounds)),
        Some(TurnEnd::ContextFull) => {
            Some("the conversation exceeds the context window of the model".to_owned())
        }
        Some(TurnEnd::Blocked) => Some(format!(
            "a hook blocked the prompt: {}",
            record.blocked.clone().unwrap_or_default()
        )),
        Some(TurnEnd::Stopped) if record.budget.is_none() => {
            Some(format!("a hook stopped the turn. {}", record.text))
        }
        Some(TurnEnd::Interrupted) | None => Some("interrupted".to_owned()),
        Some(
            TurnEnd::Stopped
            | TurnEnd::UnknownTools
            | TurnEnd::ProviderFailed
            | TurnEnd::StoreFailed,
        ) => Some(outcome.text.clone()),
    }
}
