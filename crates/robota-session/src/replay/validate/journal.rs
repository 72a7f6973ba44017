//! Validates a journal, event by event.

use robota_core::event::{Cursor, DecodeError, Envelope, Event, FORMAT, Purpose, StateSnapshot};
use robota_core::ids::{SessionId, TurnId};
use robota_core::message::BlobRef;
use robota_core::state::{REDUCER, State};

use super::ValidationReport;
use super::calls::Calls;
use crate::replay::blobs::blob_refs;

/// Validates a journal: pass it every line, or every event, in order.
pub struct JournalCheck {
    session: Option<SessionId>,
    report: ValidationReport,
    state: State,
    calls: Calls,
    last: Option<Cursor>,
    /// The last sequence number of the epoch before the current one.
    before_epoch: u64,
    /// Events are missing, so the folded state is not reliable.
    incomplete: bool,
    turn: Option<(Option<TurnId>, Cursor)>,
    open_request: Option<Cursor>,
    blobs: Vec<(BlobRef, String)>,
}

impl JournalCheck {
    /// Starts a check; `session` is the expected session, if it is known.
    #[must_use]
    pub fn new(session: Option<SessionId>) -> Self {
        Self {
            session,
            report: ValidationReport::new("journal"),
            state: State::default(),
            calls: Calls::default(),
            last: None,
            before_epoch: 0,
            incomplete: false,
            turn: None,
            open_request: None,
            blobs: Vec::new(),
        }
    }

    /// Checks the next line, as it is stored; `last` if no other follows it.
    pub fn line(&mut self, place: &str, line: &[u8], last: bool) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match Envelope::decode(line) {
            Ok(event) => self.event(&event),
            // A crash may leave such a line; it was never acknowledged. Anywhere else it is damage.
            Err(DecodeError::Torn | DecodeError::Checksum { .. }) if last => {
                let text = "the last line is incomplete; the next writer removes it";
                self.report.warning("TORN_TAIL", place, text);
            }
            Err(error) => {
                let code = match error {
                    DecodeError::Torn => "TORN_LINE",
                    DecodeError::Checksum { .. } => "BAD_CHECKSUM",
                    DecodeError::Malformed(_) => "MALFORMED_LINE",
                    DecodeError::NewerReader { .. } => "NEWER_READER",
                };
                self.report.error(code, place, error.to_string());
                self.incomplete = true;
            }
        }
    }

    /// Reports a place that cannot be read at all.
    pub fn damaged(&mut self, place: &str, reason: &str) {
        self.report.error("DAMAGED", place, reason);
        self.incomplete = true;
    }

    /// Checks the next event; events have to be passed in the order of the journal.
    pub fn event(&mut self, event: &Envelope) {
        self.report.events += 1;
        self.order(event);
        self.content(event);
        self.turns(event);
        self.calls.event(event, &mut self.report);
        for blob in blob_refs(event) {
            if self.blobs.iter().all(|(known, _)| *known != blob) {
                self.blobs.push((blob, event.cursor().to_string()));
            }
        }
        // The gap was reported already: continue the fold after it.
        if self.state.apply(event).is_err() {
            self.incomplete = true;
            let seq = event.seq.saturating_sub(1);
            // The check reports everything that it finds, not only the first gap.
            self.state.cursor = Some(Cursor { epoch: event.epoch, seq });
            let _ = self.state.apply(event);
        }
    }

    /// Returns the report, and the blobs that are referred to with the first place of each.
    #[must_use]
    pub fn finish(mut self) -> (ValidationReport, Vec<(BlobRef, String)>) {
        if self.report.events == 0 && self.report.findings.is_empty() {
            self.report.error("EMPTY", "the journal", "it has no events");
        } else if self.state.session.is_none() {
            let text = "no event contains the session's id";
            self.report.error("SESSION_CREATED_MISSING", "the journal", text);
        }
        if let (Some(expected), Some(found)) = (&self.session, &self.state.session)
            && expected != found
        {
            let text = format!("it is the journal of `{found}`, not of `{expected}`");
            self.report.error("WRONG_SESSION", "the journal", text);
        }
        self.calls.report_unpaired(&mut self.report);
        self.end_turn("the journal ends");
        self.report.messages = self.state.view.messages.len() as u64;
        (self.report, self.blobs)
    }

    fn order(&mut self, event: &Envelope) {
        let at = event.cursor();
        match self.last {
            Some(last) => {
                if event.seq != last.seq + 1 {
                    let text = format!("expected event {}", last.seq + 1);
                    self.report.error("GAP", at, text);
                }
                if event.epoch < last.epoch {
                    let text = format!("epoch {} comes after epoch {}", event.epoch, last.epoch);
                    self.report.error("EPOCH_GOES_BACK", at, text);
                }
                if event.epoch > last.epoch {
                    self.before_epoch = last.seq;
                }
            }
            None if event.seq != 1 => {
                let text = format!("the first event is number {}", event.seq);
                self.report.error("GAP", at, text);
            }
            None => {}
        }
        self.last = Some(at);
        if let Event::Opened(data) = &event.event
            && (data.epoch != event.epoch || data.after_seq != self.before_epoch)
        {
            let text = format!(
                "a writer says it opened epoch {} after event {}",
                data.epoch, data.after_seq
            );
            self.report.error("OPENED_MISFIT", at, text);
        }
    }

    fn content(&mut self, event: &Envelope) {
        let at = event.cursor();
        match &event.event {
            Event::SessionCreated(data) if data.format > FORMAT => {
                let text =
                    format!("it has format {}, this version reads up to {FORMAT}", data.format);
                self.report.error("UNKNOWN_FORMAT", at, text);
            }
            Event::PromptSet(data) if BlobRef::of(data.text.as_bytes()).sha256 != data.sha256 => {
                self.report.error("HASH_MISFIT", at, "the prompt does not match its hash");
            }
            Event::ToolsSet(data) => {
                let bytes = serde_json::to_vec(&data.tools).unwrap_or_default();
                if BlobRef::of(&bytes).sha256 != data.sha256 {
                    self.report.error("HASH_MISFIT", at, "the tools do not match their hash");
                }
            }
            Event::ModelRequested(data) if !self.incomplete => {
                let seen = self.state.view.messages.len() as u64;
                if data.messages != seen {
                    let text = format!(
                        "the request has {} messages, the journal gives {seen}",
                        data.messages
                    );
                    self.report.error("REQUEST_MISFIT", at, text);
                }
                let prompt = self.state.prompt.as_ref().map(|prompt| &prompt.sha256);
                if data.prompt.is_some() && data.prompt.as_ref() != prompt {
                    let text = "the request has a prompt that was never recorded";
                    self.report.error("REQUEST_MISFIT", at, text);
                }
                let tools = self.state.tools.as_ref().map(|tools| &tools.sha256);
                let offered = data.tools.as_ref().filter(|_| data.purpose == Purpose::Answer);
                if offered.is_some() && offered != tools {
                    let text = "the request has tools that were never recorded";
                    self.report.error("REQUEST_MISFIT", at, text);
                }
            }
            Event::UserMessage(data) if !self.incomplete => {
                if let Some(input) = &data.input
                    && !self.state.inputs.contains_key(input)
                {
                    let text = format!("the input {input} was never accepted");
                    self.report.error("UNKNOWN_INPUT", at, text);
                }
            }
            Event::StateSnapshot(data) => {
                self.report.snapshots += 1;
                let fits = |mut own: StateSnapshot| {
                    // Earlier versions counted the tokens of an open turn without its failed attempts.
                    if let (Some(own), Some(recorded)) = (&mut own.turn, &data.turn) {
                        own.usage = recorded.usage;
                    }
                    own == *data
                };
                let misfit = data.reducer == REDUCER && !self.state.snapshot().is_some_and(fits);
                if misfit && !self.incomplete {
                    let text = "the snapshot differs from the state of the events before it";
                    self.report.error("SNAPSHOT_MISFIT", at, text);
                }
            }
            Event::LabelSet(data) if data.at.seq > event.seq => {
                let text =
                    format!("the label `{}` names {}, which does not exist", data.label, data.at);
                self.report.error("BAD_LABEL", at, text);
            }
            Event::Unknown { .. } => self.report.unknown_events += 1,
            _ => {}
        }
    }

    fn turns(&mut self, event: &Envelope) {
        let at = event.cursor();
        match &event.event {
            Event::TurnStarted(_) => {
                self.end_turn("another turn starts");
                self.turn = Some((event.turn.clone(), at));
            }
            Event::TurnFinished(_) => {
                if self.turn.take().is_none() {
                    self.report.error(
                        "TERMINAL_WITHOUT_TURN",
                        at,
                        "a turn ends that never started",
                    );
                }
                self.open_request = None;
            }
            Event::ModelRequested(_) => {
                if let Some(request) = self.open_request.replace(at) {
                    let text = "the end of a model call was not recorded";
                    self.report.error("MISSING_TERMINAL", request, text);
                }
            }
            Event::ModelResponded(_)
            | Event::ModelFailed(_)
            | Event::ModelRetry(_)
            | Event::StreamReset(_)
            | Event::Interrupted(_)
            | Event::AssistantMessage(_) => self.open_request = None,
            _ => {}
        }
    }

    fn end_turn(&mut self, because: &str) {
        self.open_request = None;
        if let Some((_, at)) = self.turn.take() {
            let text = format!("the turn has no end: {because}; a resume closes it");
            self.report.error("MISSING_TERMINAL", at, text);
        }
    }
}
