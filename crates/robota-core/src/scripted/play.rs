//! Streams one answer of a script.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures::{Stream, stream};
use serde_json::{Value, json};

use super::{ScriptedAnswer, ScriptedProvider, Stall, Step, ToolStep, report};
use crate::ids::CallId;
use crate::message::{Block, ToolInput, ToolUse};
use crate::provider::{Delta, PayloadKind, PayloadSink, ProviderError, StopReason};

/// The position of a stream in its answer. Text is split step by step, so that a long answer is not
/// copied as a whole.
struct Play {
    at: usize,
    answer: Arc<ScriptedAnswer>,
    provider: ScriptedProvider,
    payloads: PayloadSink,
    next_step: usize,
    ready: VecDeque<Delta>,
    calls: u32,
    over: bool,
}

pub(super) fn stream(
    at: usize,
    answer: Arc<ScriptedAnswer>,
    provider: ScriptedProvider,
    payloads: PayloadSink,
) -> impl Stream<Item = Result<Delta, ProviderError>> + Send {
    let play = Play {
        at,
        answer,
        provider,
        payloads,
        next_step: 0,
        ready: VecDeque::new(),
        calls: 0,
        over: false,
    };
    stream::unfold(play, |mut play| async move {
        let item = play.next().await?;
        Some((item, play))
    })
}

impl Play {
    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if self.over {
                return None;
            }
            let answer = self.answer.clone();
            let Some(step) = answer.steps.get(self.next_step) else {
                // A script need not write `stop`; services always send one.
                return Some(Ok(self.end(self.natural_stop())));
            };
            self.next_step += 1;
            match step {
                Step::Text { chunks, chunk } => {
                    let pieces = chunks.iter().flat_map(|text| pieces(text, *chunk));
                    self.ready.extend(pieces.map(Delta::Text));
                }
                Step::Thinking { thinking, signature, chunk } => {
                    self.ready.extend(pieces(thinking, *chunk).map(Delta::Thinking));
                    if signature.is_some() {
                        let block = Block::thinking(thinking, signature.clone());
                        self.ready.push_back(Delta::Block(block));
                    }
                }
                Step::Tool(tool) => self.call(tool),
                Step::Usage(usage) => return Some(Ok(Delta::Usage(*usage))),
                Step::Activity => return Some(Ok(Delta::Activity)),
                Step::Stall(Stall::Forever) => std::future::pending().await,
                Step::Stall(Stall::Gate(gate)) => self.provider.inner.gates.pass(gate).await,
                Step::Stall(Stall::For(time)) => tokio::time::sleep(*time).await,
                Step::Error(error) => {
                    self.over = true;
                    self.report();
                    return Some(Err(error.clone()));
                }
                // The stream ends without `End`, as a broken connection does.
                Step::Drop => self.over = true,
                Step::Stop(reason) => return Some(Ok(self.end(reason.clone()))),
            }
        }
    }

    fn call(&mut self, tool: &ToolStep) {
        let index = self.calls;
        self.calls += 1;
        let id = tool.id.clone().unwrap_or_else(|| format!("call_{index}"));
        if tool.chunk.is_some() {
            let raw = match &tool.input {
                ToolInput::Json(value) => value.to_string(),
                ToolInput::Unparsed(unparsed) => unparsed.raw.clone(),
            };
            let inputs = pieces(&raw, tool.chunk).enumerate().map(|(nth, json)| Delta::ToolInput {
                index,
                id: (nth == 0).then(|| id.clone()),
                name: (nth == 0).then(|| tool.name.clone()),
                json,
            });
            self.ready.extend(inputs);
        }
        // The reader of the stream creates our id of the call.
        let tool_use = ToolUse::new(CallId::from(""), id, tool.name.clone(), tool.input.clone());
        self.ready.push_back(Delta::Block(Block::ToolUse(tool_use)));
    }

    fn natural_stop(&self) -> StopReason {
        if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn }
    }

    fn end(&mut self, reason: StopReason) -> Delta {
        self.over = true;
        self.report();
        Delta::End(reason)
    }

    /// Reports the response. A stream that is cut off has none; one that ends or fails has.
    fn report(&self) {
        if self.payloads.is_enabled() {
            let steps: Vec<Value> = self.answer.steps.iter().map(Step::to_payload).collect();
            let payload = json!({ "answer": self.at + 1, "steps": steps });
            report(&self.payloads, PayloadKind::Response, payload);
        }
    }
}

/// Splits the text into pieces of that many characters; without a size, into one piece.
fn pieces(text: &str, size: Option<NonZeroUsize>) -> impl Iterator<Item = String> + '_ {
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
        Some(piece.to_owned())
    })
}
