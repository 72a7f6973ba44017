//! A readable view of a session, turn by turn: messages, calls, who allowed them, and their
//! results.

use std::collections::HashMap;

use jiff::Timestamp;
use robota_core::event::{Cursor, DecidedBy, DidRun, Envelope, Event, TurnEnd};
use robota_core::ids::{CallId, SessionId, TurnId};
use robota_core::message::{Cause, Message, MessageState, ToolInput, ToolUse};
use robota_core::permission::{Mode, Verdict};
use robota_core::state::ForkOrigin;
use robota_core::tool::ToolOutcome;
use robota_core::usage::Usage;
use serde::Serialize;
use serde_json::Value;

/// Shows a session turn by turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
    /// The id under which the store has the session.
    pub session: SessionId,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// The working directory; `None` if the session has none.
    pub cwd: Option<String>,
    /// The session and point it was forked from.
    pub parent: Option<ForkOrigin>,
    /// When the session was created; `None` without events.
    pub created: Option<Timestamp>,
    /// When the last event was recorded; `None` without events.
    pub updated: Option<Timestamp>,
    /// The cursor of the last event.
    pub last: Option<Cursor>,
    /// The provider of the last turn.
    pub provider: Option<String>,
    /// The model of the last turn.
    pub model: Option<String>,
    /// The permission mode at the end of the journal.
    pub mode: Mode,
    /// The number of events in the journal.
    pub events: u64,
    /// The number of turns that started.
    pub turns: u64,
    /// The tokens that all model calls used.
    pub usage: Usage,
    /// The turns, and the notes between them, oldest first.
    pub entries: Vec<TranscriptEntry>,
}

/// Holds one entry of a transcript, in the order of the journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TranscriptEntry {
    /// A turn with its prompts, answers and calls.
    Turn(TurnView),
    /// A note about something between turns.
    Note {
        /// When the event was recorded.
        at: Timestamp,
        /// What happened between the turns, for people.
        text: String,
    },
}

/// Shows one turn as people read it: prompt, answers, calls, usage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnView {
    /// The position among the turns, from one.
    pub number: u64,
    /// The turn's id; `None` in journals that do not record it.
    pub id: Option<TurnId>,
    /// When the turn began, by its `turn_started`.
    pub started: Timestamp,
    /// When it finished; none if it has no end.
    pub finished: Option<Timestamp>,
    /// What happened in it, in order.
    pub steps: Vec<TranscriptStep>,
    /// How it ended; none if it has no end.
    pub end: Option<TurnEnd>,
    /// The message of the failure, if it failed.
    pub error: Option<String>,
    /// The number of rounds; 0 while the turn has no end.
    pub rounds: u32,
    /// The tokens that the model calls of the turn used.
    pub usage: Usage,
}

/// Holds one step of a turn, in the order of the journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum TranscriptStep {
    /// A message of the user, or of a hook instead of the user.
    User {
        /// The text of the message, without images.
        text: String,
    },
    /// An answer of the model, complete or interrupted.
    Answer {
        /// The text of the answer, without its calls.
        text: String,
        /// What interrupted it; none if it is complete.
        interrupted_by: Option<Cause>,
    },
    /// A tool call with its decision and result.
    Call(Box<CallView>),
    /// A note about something else in the turn.
    Note {
        /// What happened in the turn, for people.
        text: String,
    },
}

/// Shows one tool call as people read it: arguments, decision, result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallView {
    /// The id that the events of the call have.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them; the raw text if they are not valid JSON.
    pub input: Value,
    /// Whether it may run, and who decided; none if it was not decided.
    pub decision: Option<CallDecision>,
    /// Whether it ran; none if it has not ended.
    pub ran: Option<DidRun>,
    /// Whether the tool reported success; none if unknown.
    pub ok: Option<bool>,
    /// A stable code for the failure, such as `denied`; none after a success and in imported sessions.
    pub error_code: Option<String>,
    /// How long it ran, in milliseconds; none if it has not ended or was never judged.
    pub duration_ms: Option<u64>,
    /// The text that the model received; none if the call has no result yet.
    pub result: Option<String>,
    /// The files it was about to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// Whether a call may run, and who decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallDecision {
    /// Whether the call may run: allow or deny.
    pub verdict: Verdict,
    /// Who decided: the gate, a hook or the user.
    pub by: DecidedBy,
    /// The reason that was recorded, for people.
    pub reason: String,
}

impl CallView {
    fn new(call: &ToolUse) -> Self {
        let input = match &call.input {
            ToolInput::Json(value) => value.clone(),
            ToolInput::Unparsed(unparsed) => unparsed.raw.as_str().into(),
        };
        Self {
            call: call.call.clone(),
            name: call.name.clone(),
            input,
            decision: None,
            ran: None,
            ok: None,
            error_code: None,
            duration_ms: None,
            result: None,
            files: Vec::new(),
        }
    }

    /// Returns the most useful argument: the first one that is text, or else all of them.
    #[must_use]
    pub fn argument(&self) -> String {
        let first = match &self.input {
            Value::Object(fields) => fields.values().find_map(Value::as_str),
            other => other.as_str(),
        };
        match first {
            Some(text) => text.to_owned(),
            None if self.input.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
            None => self.input.to_string(),
        }
    }

    /// Returns the outcome as short text.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match (self.ran, self.ok) {
            (Some(DidRun::No), _) if self.error_code.as_deref() == Some("denied") => "denied",
            (Some(DidRun::No), _) => "did not run",
            (Some(DidRun::Maybe), _) => "may have run",
            (_, Some(true)) => "ok",
            (_, Some(false)) => "failed",
            (_, None) => "no result",
        }
    }
}

/// Derives the transcript from the events of a journal.
#[must_use]
pub fn transcript(session: &SessionId, events: &[Envelope]) -> Transcript {
    let mut builder = TranscriptBuilder::new(session);
    for event in events {
        builder.event(event);
    }
    builder.finish()
}

struct TranscriptBuilder {
    transcript: Transcript,
    turn: Option<TurnView>,
    calls: HashMap<CallId, CallView>,
}

impl TranscriptBuilder {
    fn new(session: &SessionId) -> Self {
        let transcript = Transcript {
            session: session.clone(),
            name: None,
            cwd: None,
            parent: None,
            created: None,
            updated: None,
            last: None,
            provider: None,
            model: None,
            mode: Mode::default(),
            events: 0,
            turns: 0,
            usage: Usage::default(),
            entries: Vec::new(),
        };
        Self { transcript, turn: None, calls: HashMap::new() }
    }

    fn note(&mut self, at: Timestamp, text: impl Into<String>) {
        let text = text.into();
        match &mut self.turn {
            Some(turn) => turn.steps.push(TranscriptStep::Note { text }),
            None => self.transcript.entries.push(TranscriptEntry::Note { at, text }),
        }
    }

    fn step(&mut self, step: TranscriptStep) {
        if let Some(turn) = &mut self.turn {
            turn.steps.push(step);
        }
    }

    fn event(&mut self, envelope: &Envelope) {
        let at = envelope.ts;
        self.transcript.events += 1;
        self.transcript.last = Some(envelope.cursor());
        self.transcript.created.get_or_insert(at);
        self.transcript.updated =
            // The clock of the machine may have been set back between two events.
            Some(self.transcript.updated.map_or(at, |updated| updated.max(at)));
        match &envelope.event {
            Event::SessionCreated(data) => {
                self.transcript.cwd.clone_from(&data.cwd);
                if let Some(parent) = &data.parent {
                    // A fork starts with the events of its parent. Its own creation event comes
                    // after them: a turn of the parent that is open here stays without an end, and
                    // name and time are those of the fork.
                    self.end_turn(None);
                    self.transcript.name = None;
                    self.transcript.created = Some(at);
                    self.note(at, format!("forked from {} at {}", parent.session, parent.at));
                    let origin = ForkOrigin { session: parent.session.clone(), at: parent.at };
                    self.transcript.parent = Some(origin);
                }
            }
            // In a fork the openings of the parent are events of another session's life.
            Event::Opened(data) if data.epoch > 1 && self.transcript.parent.is_none() => {
                self.note(at, format!("opened again (epoch {})", data.epoch));
            }
            Event::Renamed(data) => self.transcript.name = Some(data.name.clone()),
            Event::ModeChanged(data) => self.transcript.mode = data.mode,
            Event::TurnStarted(data) => self.begin_turn(envelope, &data.provider, &data.model),
            Event::UserMessage(data) => {
                self.step(TranscriptStep::User { text: data.message.text() });
            }
            Event::AssistantMessage(data) => self.answer(&data.message),
            Event::TurnFinished(data) => {
                if let Some(turn) = &mut self.turn {
                    turn.end = Some(data.end);
                    turn.rounds = data.rounds;
                    turn.usage = data.usage;
                    turn.error = data.error.as_ref().map(|error| error.message.clone());
                }
                self.end_turn(Some(at));
            }
            _ => {
                self.call(&envelope.event);
                if let Some(text) = remark(&envelope.event) {
                    self.note(at, text);
                }
            }
        }
    }

    fn begin_turn(&mut self, envelope: &Envelope, provider: &str, model: &str) {
        self.end_turn(None);
        self.transcript.turns += 1;
        self.transcript.provider = Some(provider.to_owned());
        self.transcript.model = Some(model.to_owned());
        self.turn = Some(TurnView {
            number: self.transcript.turns,
            id: envelope.turn.clone(),
            started: envelope.ts,
            finished: None,
            steps: Vec::new(),
            end: None,
            error: None,
            rounds: 0,
            usage: Usage::default(),
        });
    }

    fn end_turn(&mut self, at: Option<Timestamp>) {
        if let Some(mut turn) = self.turn.take() {
            turn.finished = at;
            self.transcript.entries.push(TranscriptEntry::Turn(turn));
        }
    }

    fn answer(&mut self, message: &Message) {
        self.transcript.usage += message.usage.unwrap_or_default();
        let interrupted_by = match message.state() {
            MessageState::Complete => None,
            MessageState::Interrupted(cause) => Some(cause),
        };
        let text = message.text();
        if !text.trim().is_empty() || interrupted_by.is_some() {
            self.step(TranscriptStep::Answer { text, interrupted_by });
        }
        for call in message.tool_uses() {
            // A call is announced while the answer streams, before the message that contains it.
            let view = self.calls.entry(call.call.clone()).or_insert_with(|| CallView::new(call));
            let view = view.clone();
            self.step(TranscriptStep::Call(Box::new(view)));
        }
    }

    fn call(&mut self, event: &Event) {
        match event {
            Event::ToolCalled(data) => {
                let call = &data.tool_use;
                self.calls.insert(call.call.clone(), CallView::new(call));
            }
            Event::FilesChanging(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    let paths = data.files.iter().map(|file| file.path.clone());
                    call.files.extend(paths);
                }
            }
            Event::FilesChanged(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    let paths = data.files.iter().map(|file| file.path.clone());
                    call.files.extend(paths);
                }
            }
            Event::PermissionDecided(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    call.decision = Some(CallDecision {
                        verdict: data.verdict,
                        by: data.by,
                        reason: data.reason.clone(),
                    });
                }
            }
            Event::ToolFinished(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    finished(call, &data.outcome);
                    // Without a class the call was not judged, so it did not run and its duration
                    // means nothing.
                    call.duration_ms = Some(data.duration_ms).filter(|_| data.class.is_some());
                }
            }
            Event::ToolResultAdded(data) => {
                if let Some(call) = self.calls.get_mut(&data.result.call) {
                    // The outcome of the tool is more precise than the result for the model; it is
                    // missing in imported sessions.
                    call.ok.get_or_insert(!data.result.is_error);
                    call.result = Some(data.result.as_text());
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Transcript {
        self.end_turn(None);
        // The outcome of a call comes after the step that shows it.
        for entry in &mut self.transcript.entries {
            let TranscriptEntry::Turn(turn) = entry else { continue };
            for step in &mut turn.steps {
                if let TranscriptStep::Call(view) = step
                    && let Some(known) = self.calls.get(&view.call)
                {
                    **view = known.clone();
                }
            }
        }
        self.transcript
    }
}

fn finished(call: &mut CallView, outcome: &ToolOutcome) {
    call.ran = Some(outcome.ran);
    call.ok = Some(outcome.ok);
    call.error_code.clone_from(&outcome.error_code);
}

/// Returns the text of a note for events that are worth one.
fn remark(event: &Event) -> Option<String> {
    Some(match event {
        Event::InputBlocked(data) => format!("a hook blocked the input: {}", data.reason),
        Event::InputCancelled(data) => {
            format!("an input was not delivered ({})", cause(data.cause))
        }
        Event::CompactionFinished(_) => "the conversation was compacted".to_owned(),
        Event::CompactionFailed(data) => format!("compaction failed: {}", data.error.message),
        Event::ModelRetry(data) => {
            format!("the model call failed and was retried: {}", data.error.message)
        }
        Event::ModelFailed(data) => format!("the model call failed: {}", data.error.message),
        Event::Interrupted(data) => match &data.note {
            Some(note) => format!("interrupted ({}): {note}", cause(data.cause)),
            None => format!("interrupted ({})", cause(data.cause)),
        },
        Event::Rewound(data) => format!("rewound: {} messages remain", data.keep),
        Event::ViewRestored(data) => {
            format!("the compaction was undone: {} messages", data.messages)
        }
        Event::RestoreStarted(data) => {
            format!("restores checkpoint {}: {} files", data.checkpoint, data.files.len())
        }
        Event::RestoreFinished(data) if !data.failed.is_empty() => {
            format!("{} files were not restored", data.failed.len())
        }
        Event::LabelSet(data) => format!("{} is labelled `{}`", data.at, data.label),
        Event::Recovered(data) => match data.sealed.len() {
            0 => "recovered after a crash".to_owned(),
            1 => "recovered after a crash; one call was sealed".to_owned(),
            sealed => format!("recovered after a crash; {sealed} calls were sealed"),
        },
        Event::Failed(data) => format!("failed: {}", data.error.message),
        Event::EntryAdded(data) => match &data.entry.kind {
            robota_core::history::EntryKind::Event { name, data }
                if name == super::record::IMPORTED =>
            {
                let text = |field: &str| data.get(field).and_then(Value::as_str).unwrap_or("?");
                format!("imported from {} ({})", text("from"), text("format"))
            }
            _ => return None,
        },
        _ => return None,
    })
}

pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::User => "by the user",
        Cause::Shutdown => "by a shutdown",
        Cause::Crash => "by a crash",
        Cause::Provider => "by a provider error",
        Cause::Store => "by a storage error",
    }
}
