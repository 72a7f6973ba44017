//! Runs a session for a host or for one prompt: sends inputs, prints lines, and ends.

use std::sync::Arc;

use robota_core::event::{Cursor, Event, TurnEnd};
use robota_core::ids::{InputId, TurnId};
use robota_core::journal::JournalError;
use robota_core::message::Block;
use robota_core::redact::Redactor;
use robota_sdk::{ClientHooks, InteractiveSession, TaskEvent};
use robota_session::{Chat, ChatEnd, EventFilter, SessionError, SessionEvent};
use serde_json::{Map, json};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::after_turn::AfterTurn;
use super::background::{Background, next_task};
use super::compactions::Compactions;
use super::decisions::InterruptTurn;
use super::describe::FOR_TERMINALS;
use super::follow_up::FollowUps;
use super::hook_lines::HookChange;
use super::input::{ControlInput, FromHost, UserInput};
use super::loaded::LoadedBlobs;
use super::mcp;
use super::model_change::{ModelChanges, NewModel, Requester};
use super::options::{RunOptions, host_name};
use super::permissions::HostApprover;
use super::project::Projection;
use super::requests::{CAPABILITIES, Requests, VERSION};
use super::result::{self, Outcome};
use super::running_command::{CommandEnd, RunningCommand};
use super::sent::{OnCancel, Queue, QueueRequest, Sent};
use super::structured::Answer;
use super::text::print_text;
use super::turn_record::TurnRecord;
use super::writer::LineWriter;
use crate::args::OutputFormat;
use crate::signals::Cancel;
use crate::{Exit, output};
use robota_stream_json::{
    ControlErrorCode, InitLine, MemoryPaths, PluginInfo, SessionStateText, TurnOrigin,
};

/// The facts about the run that `system/init` contains.
pub(crate) struct RunFacts {
    /// The working folder.
    pub(crate) cwd: String,
    /// The names of the agents.
    pub(crate) agents: Vec<String>,
    /// The commands that a prompt can start with.
    pub(crate) commands: Vec<String>,
    /// Those of them that are skills.
    pub(crate) skills: Vec<String>,
    /// The name of the output style.
    pub(crate) output_style: String,
    /// The plugins in use.
    pub(crate) plugins: Vec<PluginInfo>,
    /// The folders of memory.
    pub(crate) memory_paths: MemoryPaths,
}

/// A run with an open session.
pub(crate) struct Drive {
    pub(crate) interactive: InteractiveSession,
    pub(crate) session: robota_session::Session,
    pub(crate) blobs: Arc<dyn robota_core::blob::Blobs>,
    pub(crate) requests: Requests,
    pub(crate) options: Arc<RunOptions>,
    pub(crate) writer: Arc<LineWriter>,
    pub(crate) projection: Projection,
    pub(crate) approver: Option<Arc<HostApprover>>,
    pub(crate) structured: Option<Arc<Answer>>,
    pub(crate) compactions: Arc<Compactions>,
    pub(crate) facts: RunFacts,
    pub(crate) cancel: Cancel,
    /// What happens to background tasks.
    pub(crate) tasks: Option<broadcast::Receiver<TaskEvent>>,
    /// What the host sends; none for a run with one prompt.
    pub(crate) from_host: Option<mpsc::UnboundedReceiver<FromHost>>,
    /// The command that a prompt named, while it runs.
    pub(crate) command: Option<RunningCommand>,
    pub(crate) commands: mpsc::UnboundedReceiver<InterruptTurn>,
    /// What hooks do, if lines show it.
    pub(crate) hook_changes: mpsc::UnboundedReceiver<HookChange>,
    /// Removes secrets from what hooks print.
    pub(crate) redactor: Redactor,
    /// What schedules and hooks send; none if none can.
    pub(crate) program_inputs: Option<mpsc::UnboundedReceiver<ProgramInput>>,
    /// Counts the model calls of earlier runs.
    pub(crate) earlier: Option<JoinHandle<Result<(), JournalError>>>,
    /// The interrupt in progress. Messages that the host sends meanwhile are not part of the
    /// interrupted turn.
    pub(crate) interrupting: Option<JoinHandle<()>>,
    /// What the host sent that waits for the end of the turn.
    pub(crate) after_turn: AfterTurn,
    /// Messages that are added to the conversation when no turn runs.
    pub(crate) injected: Vec<JoinHandle<()>>,
    /// The changes of the model that hooks still decide about.
    pub(crate) model_changes: ModelChanges,
    /// What hosts still have to learn about tasks in the background, and about the end of the run.
    pub(crate) background: Background,
    /// The turns that agents in the background still cause.
    pub(crate) follow_ups: FollowUps,
}

/// An input that a schedule or a hook sent.
pub(crate) struct ProgramInput {
    pub(crate) input: InputId,
    pub(crate) content: Vec<Block>,
    /// The event that accepted it.
    pub(crate) at: Cursor,
    /// What sent it.
    pub(crate) origin: TurnOrigin,
}

/// The state of a run.
#[derive(Default)]
pub(super) struct Progress {
    /// The inputs whose turns have not ended, oldest first.
    pub(super) inputs: Queue,
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
    idle: Idle,
    /// When the result of a message without content is printed; none if there is none.
    pub(super) empty: Option<Instant>,
}

impl Progress {
    /// Ends the run early, with a failure.
    pub(super) fn fail(&mut self, why: String) {
        self.failure = Some(why);
        self.stopping = true;
    }

    /// Returns whether the run ends early.
    pub(super) fn stopping(&self) -> bool {
        self.stopping
    }

    /// Returns whether the last turn failed.
    pub(super) fn failed(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.is_error)
    }
}

/// Whether the hooks know that the run waits for the host.
#[derive(Default, Clone, Copy)]
enum Idle {
    /// A turn runs.
    #[default]
    No,
    /// They are notified at this time.
    Until(Instant),
    /// They were notified after the last turn.
    Notified,
}

impl Idle {
    async fn wait(self) {
        match self {
            Self::Until(at) => wait_until(Some(at)).await,
            Self::No | Self::Notified => wait_until(None).await,
        }
    }
}

/// Waits until a time; without end if there is none.
async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What the run waits for.
enum Next {
    Signal,
    Interrupted,
    Paused,
    Asked,
    OutputClosed,
    Command(InterruptTurn),
    Event(Option<Result<SessionEvent, SessionError>>),
    /// The command that a prompt named has ended.
    CommandEnded(Box<CommandEnd>),
    /// Hooks have decided about a change of the model.
    ModelDecided(Box<Result<NewModel, (ControlErrorCode, String)>>),
    Hook(HookChange),
    /// Something that happened to a task; none if some of it was lost.
    Task(Option<Box<TaskEvent>>),
    Program(ProgramInput),
    Host(Option<FromHost>),
    Empty,
    /// The run has waited long enough for agents in the background.
    Waited,
    Idle,
}

impl Drive {
    /// Runs until every input is answered and nothing more can come.
    pub(crate) async fn run(&mut self, first: FirstInput) -> anyhow::Result<Exit> {
        let mut progress = Progress::default();
        // Hooks of the start come before the first turn.
        self.print_hooks();
        match first {
            FirstInput::Prompt(prompt) => {
                self.send(vec![Block::text(prompt)], None, &mut progress).await?;
            }
            FirstInput::Message(message) => self.on_message(message, &mut progress).await?,
        }
        self.print_idle(&progress);
        while !self.is_done(&progress) {
            match self.next(&mut progress).await {
                Next::Signal | Next::OutputClosed => {
                    progress.stopping = true;
                    self.close_input();
                    self.interrupt(None);
                }
                Next::Interrupted => self.interrupting = None,
                // What waits is handled below.
                Next::Paused | Next::Asked | Next::Waited => {}
                Next::Command(command) => self.on_command(command),
                Next::Event(Some(event)) => self.on_event(&event?, &mut progress).await,
                Next::CommandEnded(end) => self.finish_command(*end, &mut progress).await?,
                Next::ModelDecided(decided) => self.finish_model_change(*decided).await,
                Next::Hook(change) => self.print_hook(&change),
                Next::Task(event) => {
                    if let Some(event) = event {
                        self.projection.on_task(&event);
                    }
                }
                Next::Program(input) => self.follow(input, &mut progress).await?,
                Next::Event(None) => self.on_chat_end(&mut progress).await?,
                Next::Idle => {
                    progress.idle = Idle::Notified;
                    let session = self.interactive.clone();
                    // The next message does not wait for the hooks.
                    self.requests
                        .later
                        .spawn(async move { ClientHooks::of(&session).notify_idle().await });
                }
                Next::Empty => self.finish_empty(&mut progress).await,
                Next::Host(None) => {
                    self.from_host = None;
                    self.finish_empty(&mut progress).await;
                }
                Next::Host(Some(FromHost::User(message))) => {
                    self.finish_empty(&mut progress).await;
                    self.on_message(message, &mut progress).await?;
                }
                Next::Host(Some(FromHost::Control(request))) => {
                    self.on_request(request, &mut progress).await?;
                    self.finish_empty(&mut progress).await;
                }
                Next::Host(Some(FromHost::Unreadable(why))) => {
                    output::note(&why);
                    progress.fail(why);
                    self.close_input();
                    self.interrupt(None);
                }
            }
            self.run_after_turn(&mut progress).await?;
            self.follow_up(&mut progress).await?;
            self.print_idle(&progress);
        }
        // They wait for the end of the turn, and the session must not be closed before.
        for injected in self.injected.drain(..) {
            let _ = injected.await;
        }
        if !progress.stopping {
            self.finish_requests().await;
        }
        Ok(self.exit(&progress))
    }

    /// Reads nothing more from the host.
    pub(super) fn close_input(&mut self) {
        self.from_host = None;
    }

    /// Returns whether every input is answered and nothing more can come.
    fn is_done(&self, progress: &Progress) -> bool {
        let closed = self.from_host.is_none() && self.after_turn.is_empty();
        let closed = closed && self.model_changes.is_empty();
        let last = progress.stopping || (closed && !self.waits_for_agents(progress));
        !self.is_busy(progress) && last
    }

    /// Returns whether a turn or a command runs, or an input waits for its turn.
    pub(super) fn is_busy(&self, progress: &Progress) -> bool {
        !progress.inputs.0.is_empty() || self.command.is_some()
    }

    /// Waits for the answers to requests of the host that take long, unless the run is stopped.
    async fn finish_requests(&mut self) {
        // Nothing reads commands any more. An approval that sends one then fails instead of waiting.
        self.commands.close();
        while let Some(command) = self.commands.recv().await {
            self.on_command(command);
        }
        tokio::select! {
            () = self.requests.finish() => {}
            () = self.cancel.token().cancelled() => {}
            () = self.writer.closed().cancelled() => {}
        }
    }

    /// Interrupts the turn, because the host denied a call so.
    fn on_command(&mut self, command: InterruptTurn) {
        if let Some(call) = &command.call {
            self.projection.denied_with_interrupt(call, &command.note);
        }
        self.interrupt_then(Some(command.note), Some(command.ended));
    }

    /// Interrupts the turn and the command that run.
    pub(super) fn interrupt(&mut self, note: Option<String>) {
        self.interrupt_then(note, None);
    }

    /// Interrupts the turn and the command that run, and announces their end.
    fn interrupt_then(&mut self, note: Option<String>, ended: Option<oneshot::Sender<()>>) {
        if let Some(command) = &mut self.command {
            command.interrupt();
        }
        let session = self.session.clone();
        // In a task of its own: the interrupt returns when the turn has ended, and this loop prints
        // the lines of that turn meanwhile.
        self.interrupting = Some(tokio::spawn(async move {
            // A session that has ended has nothing to interrupt.
            let _ = session.interrupt(note).await;
            drop(ended);
        }));
    }

    async fn next(&mut self, progress: &mut Progress) -> Next {
        let stopping = progress.stopping;
        progress.idle = match (!self.is_busy(progress), progress.idle) {
            (true, Idle::No) => {
                Idle::Until(Instant::now() + ClientHooks::of(&self.interactive).idle_threshold())
            }
            (true, idle) => idle,
            (false, _) => Idle::No,
        };
        let idle = progress.idle;
        let chat = progress.inputs.0.front_mut();
        let events = async {
            match chat {
                Some(sent) => sent.chat.next().await,
                None => std::future::pending().await,
            }
        };
        let interrupting = self.interrupting.as_mut();
        // What the host sends meanwhile waits.
        let may_read = interrupting.is_none();
        let host = self.from_host.as_mut();
        let interrupted = async {
            match interrupting {
                Some(interrupting) => drop(interrupting.await),
                None => std::future::pending().await,
            }
        };
        let from_host = async {
            match host {
                _ if !may_read => std::future::pending().await,
                Some(host) => host.recv().await,
                None => std::future::pending().await,
            }
        };
        let command = async {
            match &mut self.command {
                Some(command) => command.ended().await,
                None => std::future::pending().await,
            }
        };
        let task = next_task(&mut self.tasks);
        let program_input = async {
            match &mut self.program_inputs {
                Some(inputs) => inputs.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // Biased: signals first, then what is printed, and new messages of the host last, so
            // that the lines of a turn come before the answer to a later message.
            () = self.cancel.token().cancelled(), if !stopping => Next::Signal,
            () = self.writer.closed().cancelled(), if !stopping => Next::OutputClosed,
            Some(command) = self.commands.recv() => Next::Command(command),
            () = interrupted => Next::Interrupted,
            () = self.after_turn.paused() => Next::Paused,
            () = self.requests.host.asked() => Next::Asked,
            event = events => Next::Event(event),
            end = command => Next::CommandEnded(Box::new(end)),
            decided = self.model_changes.decided() => Next::ModelDecided(Box::new(decided)),
            // After the events, so that the line of a call comes before those of its hooks.
            Some(change) = self.hook_changes.recv() => Next::Hook(change),
            event = task => Next::Task(event),
            Some(input) = program_input => Next::Program(input),
            input = from_host => Next::Host(input),
            () = wait_until(progress.empty) => Next::Empty,
            () = wait_until(self.follow_ups.until()) => Next::Waited,
            () = idle.wait() => Next::Idle,
        }
    }

    /// Follows the turn of an input that a schedule or a hook sent.
    async fn follow(&mut self, sent: ProgramInput, progress: &mut Progress) -> anyhow::Result<()> {
        let ProgramInput { input, content, at, origin } = sent;
        let mut chat =
            Chat::follow(self.session.clone(), input, at, EventFilter::Everything).await?;
        chat.wait_for_approvals();
        progress.inputs.0.push_back(Sent::of_program(chat, content, Some(origin)));
        Ok(())
    }

    /// Answers a request of the host.
    async fn on_request(
        &mut self,
        request: ControlInput,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        match serde_json::from_value(request.request.clone()) {
            Ok(QueueRequest::Interrupt { cancel_queued }) => {
                let held = self.after_turn.interrupt(cancel_queued);
                let receipt = progress.inputs.interrupt(cancel_queued, held);
                // The receipt comes before the result of the interrupted turn.
                self.requests.host.reply(&request.request_id, &Ok(receipt));
                self.interrupt(None);
            }
            Ok(QueueRequest::CancelAsyncMessage { message_uuid }) => {
                let cancelled = match progress.inputs.waiting(&message_uuid) {
                    Some(sent) if self.session.cancel(sent.chat.input()).await? => {
                        sent.on_cancel = OnCancel::Discard;
                        true
                    }
                    Some(_) => false,
                    None => self.after_turn.cancel(&message_uuid),
                };
                let reply = Ok(json!({"cancelled": cancelled}));
                self.requests.host.reply(&request.request_id, &reply);
            }
            Ok(QueueRequest::RewindFiles { dry_run: false }) => {
                self.on_file_request(request, progress).await;
            }
            Ok(QueueRequest::SetModel { model }) => {
                let requester = Requester::host(request.request_id, Map::new());
                self.change_model(model, requester);
            }
            Ok(QueueRequest::ApplyFlagSettings { settings }) => {
                match Requests::check_settings(settings) {
                    Ok((Some(model), settings)) => {
                        let requester = Requester::host(request.request_id, settings);
                        self.change_model(model, requester);
                    }
                    Ok((None, settings)) => {
                        let reply = self.requests.apply_settings(settings);
                        self.requests.host.reply(&request.request_id, &reply);
                    }
                    Err(error) => self.requests.host.reply(&request.request_id, &Err(error)),
                }
            }
            Ok(QueueRequest::RewindFiles { .. }) | Err(_) => self.requests.handle(request).await,
        }
        Ok(())
    }

    async fn on_event(&mut self, event: &SessionEvent, progress: &mut Progress) {
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
            // At every turn, as in Claude Code.
            self.print_init(&data.model);
        }
        if let Event::ModeChanged(data) = event.event() {
            self.requests.mode_changed(data.mode);
        }
        if let Event::UserMessage(data) = event.event() {
            for sent in &mut progress.inputs.0 {
                sent.delivered |= data.input.as_ref() == Some(sent.chat.input());
            }
        }
        let wanted = self.projection.wanted_blobs(event.event());
        if !wanted.is_empty() {
            let blobs = LoadedBlobs::load(wanted.into_iter(), &*self.blobs).await;
            self.projection.provide(blobs);
        }
        if let Event::HookFinished(_) | Event::TurnFinished(_) = event.event() {
            // The hooks of a point have ended before the event of its end.
            self.print_hooks();
        }
        if let Event::ToolResultAdded(_) = event.event() {
            // The messages of an agent are printed before the result of the call that started it.
            self.print_tasks();
        }
        let ended = self.projection.on_event(&event.envelope);
        if let Event::AssistantMessage(data) = event.event() {
            self.requests.call_ids.printed(&data.message);
        }
        if let Some(approver) = &self.approver {
            for call in self.projection.asks_host(event.event()) {
                approver.announce_printed(call);
            }
        }
        let exhausted = self.projection.record().structured_exhausted;
        // No hook sees a call with invalid arguments, so no hook could end the turn.
        if exhausted && !ended && self.interrupting.is_none() {
            self.interrupt(None);
        }
        if ended {
            self.finish_turn(progress).await;
        }
    }

    /// Handles the end of a chat: mostly with its turn, which was printed already.
    async fn on_chat_end(&mut self, progress: &mut Progress) -> anyhow::Result<()> {
        let Some(sent) = progress.inputs.0.pop_front() else { return Ok(()) };
        match sent.chat.end() {
            Some(ChatEnd::Ended { end: TurnEnd::StoreFailed, error }) => {
                // No event reports it, because the journal could not be written.
                let record = self.projection.record();
                record.end = Some(TurnEnd::StoreFailed);
                record.error.clone_from(error);
                self.finish_turn(progress).await;
            }
            // The chat ends with the decision of the hook, before its turn.
            Some(ChatEnd::Blocked { reason }) => {
                let record = self.projection.record();
                record.end = Some(TurnEnd::Blocked);
                // The turn that the input was to join has ended, with a record of its own.
                record.blocked.get_or_insert_with(|| reason.clone());
                self.finish_turn(progress).await;
            }
            Some(ChatEnd::Cancelled) => match sent.on_cancel {
                OnCancel::SendAgain if !progress.stopping && self.holds_messages() => {
                    self.after_turn.push_again(sent.content, sent.from_host);
                }
                OnCancel::SendAgain if !progress.stopping => {
                    self.send(sent.content, sent.from_host, progress).await?;
                }
                OnCancel::Report => self.finish_turn(progress).await,
                // The run ends before its only turn.
                OnCancel::SendAgain if progress.outcome.is_none() => {
                    self.finish_turn(progress).await;
                }
                OnCancel::SendAgain | OnCancel::Discard => {}
            },
            _ => {}
        }
        self.background.owes_idle |= !self.is_busy(progress);
        Ok(())
    }

    pub(super) fn print_init(&self, model: &str) {
        let facts = &self.facts;
        // A command, or an approval, may have added or removed some.
        let folders = self.session.permissions().folders().unwrap_or_default();
        let directories: Vec<_> =
            folders.iter().map(|folder| folder.display().to_string()).collect();
        let tools: Vec<_> = self.interactive.tools().names().into_iter().map(host_name).collect();
        self.writer.print(&InitLine {
            kind: Default::default(),
            subtype: Default::default(),
            cwd: &facts.cwd,
            session_id: self.writer.session(),
            tools: &tools,
            mcp_servers: mcp::servers(self.interactive.mcp()),
            mcp_server_errors: mcp::errors(self.interactive.mcp()),
            model,
            permission_mode: self.requests.mode.name(),
            slash_commands: &facts.commands,
            terminal_slash_commands: FOR_TERMINALS
                .into_iter()
                .filter(|name| facts.commands.iter().any(|command| command == name))
                .collect(),
            api_key_source: self.requests.api_key_source,
            claude_code_version: VERSION,
            output_style: &facts.output_style,
            agents: &facts.agents,
            skills: &facts.skills,
            plugins: &facts.plugins,
            memory_paths: &facts.memory_paths,
            capabilities: CAPABILITIES,
            original_cwd: &facts.cwd,
            additional_directories: &directories,
            fast_mode_state: Default::default(),
            view_mode: Default::default(),
            uuid: self.writer.id().as_str(),
        });
    }

    async fn finish_turn(&mut self, progress: &mut Progress) {
        // What happened to tasks of the turn is printed before its result.
        self.print_tasks();
        // From here on later events of the turn are ignored: its result is the last of its lines.
        progress.finished = progress.turn.take();
        let meter = &self.requests.meter;
        let mut record = self.projection.take_record();
        record.api_ms = meter.take_turn_api_ms();
        let of_run = meter.exhausted();
        record.budget = of_run.or_else(|| self.interactive.spending().stop_reason());
        record.structured = match (&self.structured, &progress.finished) {
            (Some(answer), Some(turn)) => answer.take(turn),
            _ => None,
        };
        record.origin = progress.inputs.0.front().and_then(|sent| sent.origin);
        if let Some(record) = self.hold_result(record, progress) {
            self.report(&record, progress).await;
        }
    }

    /// Prints the result of a turn or of a command.
    pub(super) async fn report(&mut self, record: &TurnRecord, progress: &mut Progress) {
        self.stop_tasks(progress).await;
        // The result includes what earlier runs cost.
        if let Some(earlier) = self.earlier.take()
            && let Ok(Err(error)) = earlier.await
        {
            output::note(&format!("robota: the cost of earlier runs is not known: {error}"));
        }
        let meter = &self.requests.meter;
        // A service may have shown the size of its window, which the built-in list does not know. A
        // session that has ended has learned nothing more.
        if let Ok(context) = self.session.context().state().await
            && context.max_tokens > 0
        {
            meter.set_window(&self.requests.model, context.max_tokens);
        }
        let outcome = result::classify(record);
        let continues = self.follow_ups.continues;
        let shows_last = match self.options.format {
            OutputFormat::Text => true,
            // With `--verbose` it is an array of all lines, so every result is in it.
            OutputFormat::Json => !self.writer.is_on(),
            OutputFormat::StreamJson | OutputFormat::Events => false,
        };
        if continues && shows_last {
            // The result of the turn that follows is printed instead.
            progress.outcome = Some(outcome);
            return;
        }
        let queued = progress.inputs.0.iter().filter(|sent| sent.waits()).count();
        let queued = queued + self.after_turn.turns() + usize::from(self.command.is_some());
        let numbers = (progress.results, u32::try_from(queued).unwrap_or(u32::MAX));
        progress.results += 1;
        let writer = &self.writer;
        match self.options.format {
            OutputFormat::Text => print_text(record, &outcome),
            OutputFormat::StreamJson => {
                result::with_line(record, &outcome, meter, writer, numbers, |line| {
                    writer.print(line);
                });
            }
            OutputFormat::Json => {
                result::with_line(record, &outcome, meter, writer, numbers, |line| {
                    if writer.is_on() {
                        writer.print(line);
                        if !continues {
                            writer.finish();
                        }
                    } else if let Ok(line) = serde_json::to_string(line) {
                        output::line(&line);
                    }
                });
            }
            OutputFormat::Events => {
                // The events themselves are printed by `print_events`; this text is for people.
                if outcome.is_error {
                    output::error(&outcome.text);
                }
            }
        }
        self.background.failed = outcome.is_error;
        progress.outcome = Some(outcome);
    }

    /// Returns the exit status: what a signal asks for, then what the last turn means. A turn that the
    /// host interrupted, or that a hook of it ended, is no signal.
    fn exit(&self, progress: &Progress) -> Exit {
        if let Some(exit) = self.cancel.exit() {
            return exit;
        }
        let failed = progress.failure.is_some() || self.writer.closed().is_cancelled();
        match &progress.outcome {
            _ if failed => Exit::Failure,
            None => Exit::Ok,
            // A result says itself whether the run failed: a hook that blocks is no failure of it.
            Some(outcome) if !outcome.is_error && self.options.format.has_result() => Exit::Ok,
            Some(outcome) if self.options.stream_input => match outcome.exit {
                _ if !outcome.is_error => Exit::Ok,
                Exit::Limit => Exit::Limit,
                _ => Exit::Failure,
            },
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
