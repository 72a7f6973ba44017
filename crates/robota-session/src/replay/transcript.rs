//! A session told in turns, for people: what was said, what was called, who allowed it, and
//! what came of it.

use std::collections::HashMap;

use jiff::Timestamp;
use robota_core::event::{Cursor, DecidedBy, DidRun, Envelope, Event, TurnEnd};
use robota_core::ids::{CallId, SessionId, TurnId};
use robota_core::message::{Cause, Message, MessageState, ToolInput, ToolUse};
use robota_core::permission::{Mode, Verdict};
use robota_core::state::Origin;
use robota_core::tool::ToolOutcome;
use robota_core::usage::Usage;
use serde::Serialize;
use serde_json::Value;

/// A session told in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
    /// Its id.
    pub session: SessionId,
    /// Its name.
    pub name: Option<String>,
    /// Where it works.
    pub cwd: Option<String>,
    /// Where it was forked from.
    pub parent: Option<Origin>,
    /// When it began.
    pub created: Option<Timestamp>,
    /// When something last happened.
    pub updated: Option<Timestamp>,
    /// The last event.
    pub last: Option<Cursor>,
    /// Who answered last.
    pub provider: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// The permission mode.
    pub mode: Mode,
    /// How many events there are.
    pub events: u64,
    /// How many turns.
    pub turns: u64,
    /// What everything cost, in tokens.
    pub usage: Usage,
    /// What happened, in order.
    pub entries: Vec<Entry>,
}

/// One thing of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A turn.
    Turn(TurnView),
    /// Something between turns.
    Note {
        /// When.
        at: Timestamp,
        /// What.
        text: String,
    },
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnView {
    /// Which, from one.
    pub number: u64,
    /// Its id.
    pub id: Option<TurnId>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// What happened in it, in order.
    pub steps: Vec<Step>,
    /// How it ended; none when it has not.
    pub end: Option<TurnEnd>,
    /// What failed.
    pub error: Option<String>,
    /// How many rounds it took.
    pub rounds: u32,
    /// What it cost, in tokens.
    pub usage: Usage,
}

/// One step of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The user, or a hook in their place, said something.
    User {
        /// What.
        text: String,
    },
    /// The model said something.
    Answer {
        /// What.
        text: String,
        /// What cut it short.
        interrupted_by: Option<Cause>,
    },
    /// The model called a tool.
    Call(Box<CallView>),
    /// Something else worth knowing.
    Note {
        /// What.
        text: String,
    },
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallView {
    /// Its id.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// Who decided whether it may run.
    pub decision: Option<Decision>,
    /// Whether it ran; none when it has not ended.
    pub ran: Option<DidRun>,
    /// Whether it did what it was asked; none when that is not known.
    pub ok: Option<bool>,
    /// Why it failed, as a stable word.
    pub error_code: Option<String>,
    /// How long it ran.
    pub duration_ms: Option<u64>,
    /// What the model was told.
    pub result: Option<String>,
    /// The files it was about to change, when it ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// Whether a call may run, and who said so.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// By whom.
    pub by: DecidedBy,
    /// Why.
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

    /// The argument that says most: the first that is text, or else all of them.
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

    /// What became of it, in one or two words.
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

/// Tells a session in turns.
#[must_use]
pub fn transcript(session: &SessionId, events: &[Envelope]) -> Transcript {
    let mut teller = Teller::new(session);
    for event in events {
        teller.event(event);
    }
    teller.finish()
}

struct Teller {
    told: Transcript,
    turn: Option<TurnView>,
    calls: HashMap<CallId, CallView>,
}

impl Teller {
    fn new(session: &SessionId) -> Self {
        let told = Transcript {
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
        Self { told, turn: None, calls: HashMap::new() }
    }

    fn note(&mut self, at: Timestamp, text: impl Into<String>) {
        let text = text.into();
        match &mut self.turn {
            Some(turn) => turn.steps.push(Step::Note { text }),
            None => self.told.entries.push(Entry::Note { at, text }),
        }
    }

    fn step(&mut self, step: Step) {
        if let Some(turn) = &mut self.turn {
            turn.steps.push(step);
        }
    }

    fn event(&mut self, envelope: &Envelope) {
        let at = envelope.ts;
        self.told.events += 1;
        self.told.last = Some(envelope.cursor());
        self.told.created.get_or_insert(at);
        self.told.updated = Some(self.told.updated.map_or(at, |updated| updated.max(at)));
        match &envelope.event {
            Event::SessionCreated(data) => {
                self.told.cwd.clone_from(&data.cwd);
                if let Some(parent) = &data.parent {
                    self.end_turn(None);
                    self.told.name = None;
                    self.told.created = Some(at);
                    self.note(at, format!("forked from {} at {}", parent.session, parent.at));
                    let origin = Origin { session: parent.session.clone(), at: parent.at };
                    self.told.parent = Some(origin);
                }
            }
            Event::Opened(data) if data.epoch > 1 && self.told.parent.is_none() => {
                self.note(at, format!("opened again (epoch {})", data.epoch));
            }
            Event::Renamed(data) => self.told.name = Some(data.name.clone()),
            Event::ModeChanged(data) => self.told.mode = data.mode,
            Event::TurnStarted(data) => self.begin_turn(envelope, &data.provider, &data.model),
            Event::UserMessage(data) => self.step(Step::User { text: data.message.text() }),
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
        self.told.turns += 1;
        self.told.provider = Some(provider.to_owned());
        self.told.model = Some(model.to_owned());
        self.turn = Some(TurnView {
            number: self.told.turns,
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
            self.told.entries.push(Entry::Turn(turn));
        }
    }

    fn answer(&mut self, message: &Message) {
        self.told.usage += message.usage.unwrap_or_default();
        let interrupted_by = match message.state() {
            MessageState::Complete => None,
            MessageState::Interrupted(cause) => Some(cause),
        };
        let text = message.text();
        if !text.trim().is_empty() || interrupted_by.is_some() {
            self.step(Step::Answer { text, interrupted_by });
        }
        for call in message.tool_uses() {
            let view = self.calls.entry(call.call.clone()).or_insert_with(|| CallView::new(call));
            let view = view.clone();
            self.step(Step::Call(Box::new(view)));
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
            Event::PermissionDecided(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    call.decision = Some(Decision {
                        verdict: data.verdict,
                        by: data.by,
                        reason: data.reason.clone(),
                    });
                }
            }
            Event::ToolFinished(data) => {
                if let Some(call) = self.calls.get_mut(&data.call) {
                    finished(call, &data.outcome);
                    call.duration_ms = Some(data.duration_ms).filter(|_| data.class.is_some());
                }
            }
            Event::ToolResultAdded(data) => {
                if let Some(call) = self.calls.get_mut(&data.result.call) {
                    call.ok.get_or_insert(!data.result.is_error);
                    call.result = Some(data.result.as_text());
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Transcript {
        self.end_turn(None);
        // What became of a call is known after it was asked for.
        for entry in &mut self.told.entries {
            let Entry::Turn(turn) = entry else { continue };
            for step in &mut turn.steps {
                if let Step::Call(view) = step
                    && let Some(known) = self.calls.get(&view.call)
                {
                    **view = known.clone();
                }
            }
        }
        self.told
    }
}

fn finished(call: &mut CallView, outcome: &ToolOutcome) {
    call.ran = Some(outcome.ran);
    call.ok = Some(outcome.ok);
    call.error_code.clone_from(&outcome.error_code);
}

/// What else is worth knowing.
fn remark(event: &Event) -> Option<String> {
    Some(match event {
        Event::InputBlocked(data) => format!("a hook refused the input: {}", data.reason),
        Event::InputCancelled(data) => {
            format!("an input was not delivered ({})", cause(data.cause))
        }
        Event::CompactionFinished(_) => "the conversation was summarised".to_owned(),
        Event::CompactionFailed(data) => format!("summarising failed: {}", data.error.message),
        Event::ModelRetry(data) => {
            format!("the model failed and was asked again: {}", data.error.message)
        }
        Event::ModelFailed(data) => format!("the model failed: {}", data.error.message),
        Event::Interrupted(data) => match &data.note {
            Some(note) => format!("interrupted ({}): {note}", cause(data.cause)),
            None => format!("interrupted ({})", cause(data.cause)),
        },
        Event::Rewound(data) => format!("rewound: {} messages stay", data.keep),
        Event::ViewRestored(data) => {
            format!("the summary was taken back: {} messages", data.messages)
        }
        Event::LabelSet(data) => format!("{} is labelled `{}`", data.at, data.label),
        Event::Recovered(data) => match data.sealed.len() {
            0 => "recovered after the process died".to_owned(),
            1 => "recovered after the process died; one call was sealed".to_owned(),
            sealed => format!("recovered after the process died; {sealed} calls were sealed"),
        },
        Event::Failed(data) => format!("failed: {}", data.error.message),
        Event::EntryAdded(data) => match &data.entry.kind {
            robota_core::history::EntryKind::Event { name, data }
                if name == super::record::IMPORTED =>
            {
                let text = |field: &str| data.get(field).and_then(Value::as_str).unwrap_or("?");
                format!("imported from a {} of {}", text("format"), text("from"))
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// A cause in words.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::User => "by the user",
        Cause::Shutdown => "by a shutdown",
        Cause::Crash => "by a crash",
        Cause::Provider => "by a provider error",
        Cause::Store => "by a storage error",
    }
}
