//! Encodes a reply into the bytes of a response. Everything is encoded before anything is sent, so
//! that twenty thousand events need only a few writes.

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod sse;
mod text_calls;

use std::num::NonZeroUsize;

use robota_core::provider::StopReason;
use serde_json::Value;

use super::http;
use super::quirk::{Quirk, Quirks};
use super::scenario::{Call, Reply, Search, Stall, Step, Tokens};
use super::{Failure, Wire};
use sse::Sse;

/// Adjacent events share writes of about this size, in bytes.
const WRITE_SIZE: usize = 16 * 1024;

/// What a connection does next. The list of them is a whole response.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Bytes(Vec<u8>),
    Stall(Stall),
    /// Closes the socket in the ordinary way: the peer reads the end.
    Close,
    /// Closes the socket so that the peer's read fails.
    Reset,
}

/// What the encoders know about the call in addition to the reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) wire: Wire,
    pub(super) model: String,
    /// Makes ids differ between answers.
    pub(super) serial: usize,
    pub(super) stream: bool,
    /// Whether the request asks for usage in the stream, as on the Chat wire.
    pub(super) usage_wanted: bool,
}

impl Context {
    pub(super) fn request_id(&self) -> String {
        format!("req_{}", self.serial)
    }

    fn call_id(&self, nth: usize, call: &Call, quirks: &Quirks) -> Option<String> {
        if quirks.has(Quirk::NoIds) {
            return None;
        }
        // The same number for all of them; ids that the scenario names stay as they are.
        let nth = if quirks.has(Quirk::DuplicateIds) { 0 } else { nth };
        Some(call.id.clone().unwrap_or_else(|| match self.wire {
            Wire::Anthropic => format!("toolu_{}_{nth}", self.serial),
            Wire::OpenaiChat | Wire::OpenaiResponses => format!("call_{}_{nth}", self.serial),
            Wire::Gemini => format!("fc-{}-{nth}", self.serial),
        }))
    }
}

/// Encodes one answer for a wire.
trait Encoder {
    fn begin(&mut self, sse: &mut Sse);
    fn text(&mut self, sse: &mut Sse, piece: &str);
    fn thinking(&mut self, sse: &mut Sse, piece: &str);
    /// Ends a reasoning block, also one without text, which may still have a signature.
    fn end_thinking(&mut self, sse: &mut Sse, signature: Option<&str>);
    /// Encodes calls that follow each other directly: some wires send them in one event.
    fn calls(&mut self, sse: &mut Sse, calls: &[Call]);
    fn search(&mut self, sse: &mut Sse, search: &Search);
    fn activity(&mut self, sse: &mut Sse);
    fn event(&mut self, sse: &mut Sse, event: &Value);
    fn fail(&mut self, sse: &mut Sse, failure: &Failure);
    fn stop(&mut self, sse: &mut Sse, reason: &StopReason);
}

/// An answer without its timing, for responses that are not streamed.
#[derive(Debug, Default)]
struct CompleteAnswer {
    parts: Vec<Part>,
    stop: Option<StopReason>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(String, Option<String>),
    Call(Call),
    Search(Search),
}

impl CompleteAnswer {
    fn from_reply(reply: &Reply) -> Self {
        let mut all = Self::default();
        for step in &reply.steps {
            match step {
                Step::Text { pieces, times, .. } => {
                    all.parts.push(Part::Text(pieces.concat().repeat(*times)));
                }
                Step::Thinking { thinking, signature, .. } => {
                    all.parts.push(Part::Thinking(thinking.clone(), signature.clone()));
                }
                Step::Tool(call) => all.parts.push(Part::Call(call.clone())),
                Step::Search(search) => all.parts.push(Part::Search(search.clone())),
                Step::Stop(reason) => all.stop = Some(reason.clone()),
                Step::Usage(_)
                | Step::Activity
                | Step::Stall(_)
                | Step::Error(_)
                | Step::Drop
                | Step::Reset
                | Step::Truncate
                | Step::Close
                | Step::Event(_)
                | Step::Bytes(_) => {}
            }
        }
        all
    }

    fn stop(&self) -> StopReason {
        let calls = self.parts.iter().any(|part| matches!(part, Part::Call(_)));
        let default_reason = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        self.stop.clone().unwrap_or(default_reason)
    }
}

/// Encodes a whole response, including its head, into bytes and pauses.
pub(super) fn compile(reply: &Reply, quirks: &Quirks, context: &Context) -> Vec<Action> {
    match reply.steps.first() {
        // Before the head: nothing of the response was sent.
        Some(Step::Close) => return vec![Action::Close],
        Some(Step::Reset) => return vec![Action::Reset],
        Some(Step::Error(failure)) => return refusal(reply, failure, context),
        _ => {}
    }
    if context.stream { streamed(reply, quirks, context) } else { whole(reply, quirks, context) }
}

fn headers(reply: &Reply, context: &Context, content_type: &str) -> Vec<(String, String)> {
    let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
    match context.wire {
        Wire::Anthropic => headers.push(("request-id".to_owned(), context.request_id())),
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            headers.push(("x-request-id".to_owned(), context.request_id()));
        }
        Wire::Gemini => {}
    }
    headers.extend(reply.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    headers
}

fn refusal(reply: &Reply, failure: &Failure, context: &Context) -> Vec<Action> {
    let (content_type, body) = failure.response(context.wire, &context.request_id());
    let mut headers = headers(reply, context, content_type);
    headers.extend(failure.headers(context.wire));
    vec![with_length(failure.sent_status(), headers, body.as_bytes())]
}

fn with_length(status: u16, mut headers: Vec<(String, String)>, body: &[u8]) -> Action {
    headers.push(("content-length".to_owned(), body.len().to_string()));
    let mut bytes = http::head(status, &headers);
    bytes.extend_from_slice(body);
    Action::Bytes(bytes)
}

/// Encodes a response with a JSON body.
pub(super) fn json(status: u16, body: &Value) -> Vec<Action> {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    vec![with_length(status, headers, body.to_string().as_bytes())]
}

fn tokens(reply: &Reply) -> Tokens {
    // The last one counts, as in a stream that corrects itself.
    let usage = reply.steps.iter().rev().find_map(|step| match step {
        Step::Usage(tokens) => Some(*tokens),
        _ => None,
    });
    usage.unwrap_or(Tokens { input: 10, output: 5, ..Tokens::default() })
}

fn whole(reply: &Reply, quirks: &Quirks, context: &Context) -> Vec<Action> {
    let all = CompleteAnswer::from_reply(reply);
    let tokens = (!quirks.has(Quirk::NoUsage)).then(|| tokens(reply));
    let body = match context.wire {
        Wire::Anthropic => anthropic::whole(&all, tokens, quirks, context),
        Wire::OpenaiChat => chat::whole(&all, tokens, quirks, context),
        Wire::OpenaiResponses => responses::whole(&all, tokens, quirks, context),
        Wire::Gemini => gemini::whole(&all, tokens, quirks, context),
    };
    let headers = headers(reply, context, "application/json");
    let stalls = reply.steps.iter().filter_map(|step| match step {
        Step::Stall(stall) => Some(Action::Stall(stall.clone())),
        _ => None,
    });
    let mut out: Vec<Action> = stalls.collect();
    let response = with_length(200, headers, body.to_string().as_bytes());
    match (reply.steps.last(), response) {
        (Some(Step::Drop | Step::Truncate), Action::Bytes(mut bytes)) => {
            // The head announces the whole length, so the client knows that half is missing.
            bytes.truncate(bytes.len() - body.to_string().len() / 2);
            out.extend([Action::Bytes(bytes), Action::Close]);
        }
        (Some(Step::Reset), _) => out.push(Action::Reset),
        (_, response) => out.push(response),
    }
    out
}

/// Splits events into HTTP chunks and groups the chunks into writes.
struct Writer {
    out: Vec<Action>,
    buffer: Vec<u8>,
    piece: Option<NonZeroUsize>,
    write_each: bool,
    /// How many more pieces may be sent before the connection closes.
    pieces_left: Option<usize>,
    broken: bool,
}

impl Writer {
    fn events(&mut self, events: Vec<Vec<u8>>) {
        for event in events {
            let size = self.piece.map_or(event.len().max(1), NonZeroUsize::get);
            for piece in event.chunks(size) {
                self.piece(piece);
            }
            if self.write_each || self.buffer.len() >= WRITE_SIZE {
                self.flush();
            }
        }
    }

    fn piece(&mut self, piece: &[u8]) {
        match &mut self.pieces_left {
            None => http::chunk(piece, &mut self.buffer),
            Some(0) => self.break_off(),
            Some(pieces_left) => {
                *pieces_left -= 1;
                http::chunk(piece, &mut self.buffer);
            }
        }
    }

    /// Closes the connection and ignores everything after it.
    fn break_off(&mut self) {
        if !self.broken {
            self.then(Action::Close);
            self.broken = true;
        }
    }

    fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.buffer);
        if !bytes.is_empty() && !self.broken {
            self.out.push(Action::Bytes(bytes));
        }
    }

    fn then(&mut self, out: Action) {
        self.flush();
        if !self.broken {
            self.out.push(out);
        }
    }

    /// Ends a complete answer, unless the connection should stay open after it.
    fn complete(mut self, quirks: &Quirks) -> Vec<Action> {
        if quirks.has(Quirk::NeverEnds) {
            self.then(Action::Stall(Stall::Forever));
            return self.out;
        }
        self.end()
    }

    /// Ends the chunked body, so that the connection can be used again.
    fn end(mut self) -> Vec<Action> {
        self.buffer.extend_from_slice(b"0\r\n\r\n");
        self.flush();
        self.out
    }
}

fn streamed(reply: &Reply, quirks: &Quirks, context: &Context) -> Vec<Action> {
    let mut headers = headers(reply, context, "text/event-stream; charset=utf-8");
    headers.push(("cache-control".to_owned(), "no-cache".to_owned()));
    headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
    let mut writer = Writer {
        out: Vec::new(),
        // The head is part of the first write, as servers send it.
        buffer: http::head(200, &headers),
        piece: quirks.bytes(),
        write_each: quirks.has(Quirk::WriteEach),
        pieces_left: quirks.drop_at(),
        broken: false,
    };
    let mut sse = Sse::new(quirks.clone(), context.wire == Wire::Gemini);
    let tokens = (!quirks.has(Quirk::NoUsage)).then(|| tokens(reply));
    let mut encoder: Box<dyn Encoder> = match context.wire {
        Wire::Anthropic => Box::new(anthropic::Anthropic::new(context.clone(), tokens)),
        Wire::OpenaiChat => Box::new(chat::Chat::new(context.clone(), tokens)),
        Wire::OpenaiResponses => Box::new(responses::Responses::new(context.clone(), tokens)),
        Wire::Gemini => Box::new(gemini::Gemini::new(context.clone(), tokens)),
    };
    // A reply that starts with raw bytes gets no wire events around them.
    let raw_bytes = matches!(reply.steps.first(), Some(Step::Bytes(_)));
    if !raw_bytes {
        encoder.begin(&mut sse);
    }
    let mut calls: Vec<Call> = Vec::new();
    let mut has_calls = false;
    for step in &reply.steps {
        // Collected, because some wires send calls that follow each other in one event.
        if let Step::Tool(call) = step {
            calls.push(call.clone());
            continue;
        }
        has_calls |= flush_calls(&mut *encoder, &mut sse, &mut calls);
        match step {
            Step::Text { pieces, chunk, times } => {
                for piece in std::iter::repeat_n(pieces, *times).flatten() {
                    split_chars(piece, *chunk).for_each(|piece| encoder.text(&mut sse, piece));
                }
            }
            Step::Thinking { thinking, signature, chunk } => {
                split_chars(thinking, *chunk).for_each(|piece| encoder.thinking(&mut sse, piece));
                encoder.end_thinking(&mut sse, signature.as_deref());
            }
            Step::Search(search) => encoder.search(&mut sse, search),
            Step::Activity => encoder.activity(&mut sse),
            Step::Event(event) => encoder.event(&mut sse, event),
            Step::Bytes(bytes) => sse.raw(bytes.clone().into_bytes()),
            Step::Error(failure) => {
                encoder.fail(&mut sse, failure);
                writer.events(sse.take());
                return writer.end();
            }
            Step::Stall(stall) => {
                writer.events(sse.take());
                writer.then(Action::Stall(stall.clone()));
            }
            Step::Drop | Step::Close => {
                writer.events(sse.take());
                writer.then(Action::Close);
                return writer.out;
            }
            Step::Reset => {
                writer.events(sse.take());
                writer.then(Action::Reset);
                return writer.out;
            }
            Step::Truncate => {
                // Without the terminal event, but with a correct end of the body: only the wire
                // shows that something is missing.
                writer.events(sse.take());
                return writer.end();
            }
            Step::Stop(reason) => {
                encoder.stop(&mut sse, reason);
                writer.events(sse.take());
                return writer.complete(quirks);
            }
            // The encoder sends usage where the wire has it; tool calls were collected above.
            Step::Usage(_) | Step::Tool(_) => {}
        }
        writer.events(sse.take());
    }
    has_calls |= flush_calls(&mut *encoder, &mut sse, &mut calls);
    if !raw_bytes {
        let default_reason = if has_calls { StopReason::ToolUse } else { StopReason::EndTurn };
        encoder.stop(&mut sse, &default_reason);
    }
    writer.events(sse.take());
    writer.complete(quirks)
}

/// Encodes the collected calls. Returns whether they are structured calls, not text.
fn flush_calls(encoder: &mut dyn Encoder, sse: &mut Sse, calls: &mut Vec<Call>) -> bool {
    let calls = std::mem::take(calls);
    let Some(first) = calls.first() else { return false };
    match sse.quirks().text_calls() {
        Some(form) => {
            let text = text_calls::render(form, &calls);
            split_chars(&text, first.chunk).for_each(|piece| encoder.text(sse, piece));
            false
        }
        None => {
            encoder.calls(sse, &calls);
            true
        }
    }
}

/// Splits text into pieces of that many characters; without a size, returns it whole.
fn split_chars(text: &str, size: Option<NonZeroUsize>) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = size
            .and_then(|size| rest.char_indices().nth(size.get()))
            .map_or(rest.len(), |(end, _)| end);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}
