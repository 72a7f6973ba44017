//! Separates reasoning from text.

use super::scan::held;
use crate::profile::ThinkMark;

/// Receives pieces: whether the piece is reasoning, and its text.
pub(super) type OnPiece<'a> = &'a mut dyn FnMut(bool, &str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far.
    Start,
    Text,
    /// Inside reasoning that ends with this mark.
    Thought(&'static str),
    /// After reasoning: line breaks belong to neither reasoning nor text.
    After,
}

/// Splits streamed text into reasoning and other text.
#[derive(Debug)]
pub(super) struct Thoughts {
    think: bool,
    channel: bool,
    state: State,
    buffer: String,
}

const THINK: (&str, &str) = ("<think>", "</think>");
const CHANNEL: (&str, &str) = ("<|channel>", "<channel|>");
/// The name of the channel that holds reasoning.
const CHANNEL_NAME: &str = "thought\n";
/// Starts a call, and also ends reasoning that has no closing mark.
const CALL: &str = "<|tool_call>";

impl Thoughts {
    pub(super) fn new(marks: &[ThinkMark]) -> Self {
        Self {
            think: marks.contains(&ThinkMark::Think),
            channel: marks.contains(&ThinkMark::GemmaChannel),
            state: State::Start,
            buffer: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str, on: OnPiece<'_>) {
        if !self.think && !self.channel {
            return give(false, text, on);
        }
        self.buffer.push_str(text);
        self.run(false, on);
    }

    /// Ends the text for now: an incomplete mark in the buffer is emitted as it is.
    pub(super) fn finish(&mut self, on: OnPiece<'_>) {
        self.run(true, on);
        let rest = std::mem::take(&mut self.buffer);
        give(matches!(self.state, State::Thought(_)), &rest, on);
        if self.state == State::Start && !rest.trim().is_empty() {
            self.state = State::Text;
        }
    }

    fn run(&mut self, last: bool, on: OnPiece<'_>) {
        loop {
            match self.state {
                State::Start => {
                    let trimmed = self.buffer.trim_start();
                    let skipped = self.buffer.len() - trimmed.len();
                    if self.think && trimmed.starts_with(THINK.0) {
                        self.buffer.drain(..skipped + THINK.0.len());
                        self.state = State::Thought(THINK.1);
                    } else if !last
                        && (trimmed.is_empty() || (self.think && THINK.0.starts_with(trimmed)))
                    {
                        return;
                    } else {
                        self.state = State::Text;
                    }
                }
                State::Text => {
                    let begin = if self.channel { self.buffer.find(CHANNEL.0) } else { None };
                    let Some(at) = begin else {
                        let keep = if self.channel && !last {
                            held(&self.buffer, &[CHANNEL.0])
                        } else {
                            0
                        };
                        let end = self.buffer.len() - keep;
                        give(false, &self.buffer[..end], on);
                        self.buffer.drain(..end);
                        return;
                    };
                    let after = &self.buffer[at + CHANNEL.0.len()..];
                    if after.len() < CHANNEL_NAME.len() && CHANNEL_NAME.starts_with(after) && !last
                    {
                        give(false, &self.buffer[..at], on);
                        self.buffer.drain(..at);
                        return;
                    }
                    let name = if after.starts_with(CHANNEL_NAME) { CHANNEL_NAME.len() } else { 0 };
                    give(false, &self.buffer[..at], on);
                    self.buffer.drain(..at + CHANNEL.0.len() + name);
                    self.state = State::Thought(CHANNEL.1);
                }
                State::Thought(close) => {
                    let ends =
                        [(self.buffer.find(close), close.len()), (self.buffer.find(CALL), 0)];
                    let end = ends.into_iter().filter_map(|(at, length)| Some((at?, length))).min();
                    let Some((at, length)) = end else {
                        let keep = if last { 0 } else { held(&self.buffer, &[close, CALL]) };
                        let end = self.buffer.len() - keep;
                        give(true, &self.buffer[..end], on);
                        self.buffer.drain(..end);
                        return;
                    };
                    give(true, &self.buffer[..at], on);
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

fn give(thought: bool, text: &str, on: OnPiece<'_>) {
    if !text.is_empty() {
        on(thought, text);
    }
}
