//! Separates reasoning from text.

use super::scan::partial_mark_len;
use crate::profile::ThinkMark;

/// Receives pieces: whether the piece is reasoning, and its text.
pub(super) type OnPiece<'a> = &'a mut dyn FnMut(bool, &str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far.
    Start,
    Text,
    /// Inside reasoning that ends with this mark.
    Reasoning(&'static str),
    /// After reasoning: line breaks belong to neither reasoning nor text.
    After,
}

/// Splits streamed text into reasoning and other text.
#[derive(Debug)]
pub(super) struct ReasoningSplitter {
    think: bool,
    channel: bool,
    state: State,
    buffer: String,
}

const THINK_OPEN: &str = "<think>";
const THINK_CLOSE: &str = "</think>";
const CHANNEL_OPEN: &str = "<|channel>";
const CHANNEL_CLOSE: &str = "<channel|>";
/// The name of the channel that holds reasoning.
const CHANNEL_NAME: &str = "thought\n";
/// Starts a call, and also ends reasoning that has no closing mark.
const CALL: &str = "<|tool_call>";

impl ReasoningSplitter {
    pub(super) fn new(marks: &[ThinkMark]) -> Self {
        Self {
            think: marks.contains(&ThinkMark::Think),
            channel: marks.contains(&ThinkMark::GemmaChannel),
            state: State::Start,
            buffer: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str, on_piece: OnPiece<'_>) {
        if !self.think && !self.channel {
            return emit(false, text, on_piece);
        }
        self.buffer.push_str(text);
        self.run(false, on_piece);
    }

    /// Ends the text for now: an incomplete mark in the buffer is emitted as it is.
    pub(super) fn finish(&mut self, on_piece: OnPiece<'_>) {
        self.run(true, on_piece);
        let rest = std::mem::take(&mut self.buffer);
        emit(matches!(self.state, State::Reasoning(_)), &rest, on_piece);
        if self.state == State::Start && !rest.trim().is_empty() {
            self.state = State::Text;
        }
    }

    fn run(&mut self, last: bool, on_piece: OnPiece<'_>) {
        loop {
            match self.state {
                State::Start => {
                    let trimmed = self.buffer.trim_start();
                    let skipped = self.buffer.len() - trimmed.len();
                    if self.think && trimmed.starts_with(THINK_OPEN) {
                        self.buffer.drain(..skipped + THINK_OPEN.len());
                        self.state = State::Reasoning(THINK_CLOSE);
                    } else if !last
                        && (trimmed.is_empty() || (self.think && THINK_OPEN.starts_with(trimmed)))
                    {
                        return;
                    } else {
                        // The mark counts at the beginning only: an answer may write about
                        // `<think>`.
                        self.state = State::Text;
                    }
                }
                State::Text => {
                    let begin = if self.channel { self.buffer.find(CHANNEL_OPEN) } else { None };
                    let Some(at) = begin else {
                        let keep = if self.channel && !last {
                            partial_mark_len(&self.buffer, &[CHANNEL_OPEN])
                        } else {
                            0
                        };
                        let end = self.buffer.len() - keep;
                        emit(false, &self.buffer[..end], on_piece);
                        self.buffer.drain(..end);
                        return;
                    };
                    let after = &self.buffer[at + CHANNEL_OPEN.len()..];
                    if after.len() < CHANNEL_NAME.len() && CHANNEL_NAME.starts_with(after) && !last
                    {
                        emit(false, &self.buffer[..at], on_piece);
                        self.buffer.drain(..at);
                        return;
                    }
                    let name = if after.starts_with(CHANNEL_NAME) { CHANNEL_NAME.len() } else { 0 };
                    emit(false, &self.buffer[..at], on_piece);
                    self.buffer.drain(..at + CHANNEL_OPEN.len() + name);
                    self.state = State::Reasoning(CHANNEL_CLOSE);
                }
                State::Reasoning(close) => {
                    let ends =
                        // Some models begin a call without closing their reasoning.
                        [(self.buffer.find(close), close.len()), (self.buffer.find(CALL), 0)];
                    let end = ends.into_iter().filter_map(|(at, length)| Some((at?, length))).min();
                    let Some((at, length)) = end else {
                        let keep =
                            if last { 0 } else { partial_mark_len(&self.buffer, &[close, CALL]) };
                        let end = self.buffer.len() - keep;
                        emit(true, &self.buffer[..end], on_piece);
                        self.buffer.drain(..end);
                        return;
                    };
                    emit(true, &self.buffer[..at], on_piece);
                    self.buffer.drain(..at + length);
                    self.state = State::After;
                }
                State::After => {
                    let lines =
                        self.buffer.len() - self.buffer.trim_start_matches(['\n', '\r']).len();
                    self.buffer.drain(..lines);
                    if self.buffer.is_empty() {
                        return;
                    }
                    self.state = State::Text;
                }
            }
        }
    }
}

fn emit(is_reasoning: bool, text: &str, on_piece: OnPiece<'_>) {
    if !text.is_empty() {
        on_piece(is_reasoning, text);
    }
}
