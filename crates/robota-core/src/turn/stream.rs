//! While the model answers: collects the text, lets the gate judge each call as soon as it is
//! complete, and commits the answer at its end.

use serde_json::json;

use super::calls::{CallState, Stage};
use super::{
    ArgumentsAuthor, Continued, Effect, Ending, Env, FALLBACK, Out, Phase, Turn, Unfinished,
};
use crate::event::{
    AssistantMessage, ContentLeftOut, ModelResponded, Purpose, TextChunk, ThinkingChunk,
    ToolBatchStarted, ToolCalled, ToolInputChunk, TurnEnd,
};
use crate::message::{Block, Cause, Message, MessageState, ToolInput, ToolUse};
use crate::provider::{AnswerEnd, Delta, LeftOut, StopReason};
use crate::tool::ToolOutcome;

/// How often a service may pause one answer.
const MAX_PAUSES: u32 = 16;

impl Turn {
    pub(super) fn on_delta(&mut self, delta: Delta, env: &Env<'_>, out: &mut Out) {
        if self.phase != Phase::Calling {
            return;
        }
        let round = self.round;
        // Only what clients can see: a retry has to take back nothing else.
        self.streamed |= !matches!(delta, Delta::Usage(_) | Delta::LeftOut(_) | Delta::Activity);
        match delta {
            Delta::Text(text) => {
                self.pending.push_text(&text);
                out.emit(TextChunk { round, text });
            }
            Delta::Thinking(text) => {
                self.pending.push_thinking(&text);
                out.emit(ThinkingChunk { round, text });
            }
            Delta::ToolInput { index, id, name, json } => {
                out.emit(ToolInputChunk { round, index, id, name, json });
            }
            Delta::Block(block) => self.on_block(block, env, out),
            // Services report running totals, so the last report counts; they are not added.
            Delta::Usage(usage) => self.answer_usage = Some(usage),
            Delta::LeftOut(parts) => self.on_left_out(parts, env, out),
            Delta::Activity => {}
            Delta::End(stop) => self.end_answer(&stop, env, out),
        }
    }

    /// Reports the content that a request omits, unless the journal already has the same report for
    /// this model.
    fn on_left_out(&self, parts: LeftOut, env: &Env<'_>, out: &mut Out) {
        let (provider, model) = (&self.facts.provider, &self.rules.model);
        let reported = env.state.left_out.as_ref();
        let reported = reported.filter(|last| last.provider == *provider && last.model == *model);
        if parts.exceeds(&reported.map_or_else(LeftOut::default, |last| last.parts)) {
            let (provider, model) = (provider.clone(), model.clone());
            out.emit(ContentLeftOut { round: self.round, provider, model, parts });
        }
    }

    fn on_block(&mut self, block: Block, env: &Env<'_>, out: &mut Out) {
        if let Block::Text(text) = &block {
            // A text block that was not streamed: clients receive it as one chunk.
            out.emit(TextChunk { round: self.round, text: text.text.clone() });
        }
        let Some(tool_use) = self.pending.push_block(block, env.ids).cloned() else { return };
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        out.emit(ToolCalled { round: self.round, index, tool_use: tool_use.clone() });
        self.calls.push(CallState::new(tool_use.clone()));
        // Calls of a forced summary never run, and calls of unknown tools get their result without
        // a judgement.
        if self.purpose == Purpose::Answer && self.can_be_judged(&tool_use) {
            out.push(Effect::Judge { tool_use, author: ArgumentsAuthor::Model });
        }
    }

    fn can_be_judged(&self, tool_use: &ToolUse) -> bool {
        self.knows_tool(&tool_use.name) && tool_use.input.json().is_some()
    }

    fn knows_tool(&self, name: &str) -> bool {
        self.facts.tools.binary_search_by(|tool| tool.as_str().cmp(name)).is_ok()
    }

    fn end_answer(&mut self, stop: &StopReason, env: &Env<'_>, out: &mut Out) {
        // A complete answer ends the series of failures: the next failure starts a new budget.
        self.failing_since = None;
        self.failures = 0;
        self.overflow = None;
        self.stop = Some(stop.clone());
        let usage = self.answer_usage;
        out.emit(ModelResponded {
            round: self.round,
            stop: stop.clone(),
            usage,
            tool_calls: u32::try_from(self.calls.len()).unwrap_or(u32::MAX),
        });
        if self.purpose != Purpose::Answer {
            self.finish_summary(MessageState::Complete, env, out);
            return;
        }
        let answer = stop.answer();
        let withheld = match answer {
            AnswerEnd::Refused | AnswerEnd::Filtered => true,
            AnswerEnd::Whole | AnswerEnd::Cut | AnswerEnd::Paused => false,
        };
        let message =
            Message::assistant(env.ids, self.pending.take_blocks(), MessageState::Complete);
        self.commit_message(if withheld { message.with_answer_withheld() } else { message }, out);
        if withheld || answer == AnswerEnd::Cut {
            // A cut answer may end in the middle of a call's arguments, and a refused one must have
            // no effects.
            self.finish_incomplete_calls(withheld, out);
        }
        if !self.calls.is_empty() {
            self.continued = Continued::default();
            self.start_tools(out);
            if withheld {
                self.ending.get_or_insert(Ending::Withheld);
            }
        } else if self.is_continued(answer) {
            self.unfinished =
                Some(Unfinished { text: self.text.clone(), cut: answer == AnswerEnd::Cut });
            self.phase = Phase::Preparing;
        } else {
            self.continued = Continued::default();
            self.unknown_rounds = 0;
            self.unknown_tools.clear();
            self.phase = Phase::Answered;
        }
    }

    /// Decides whether another call continues an answer without tool calls, and counts it.
    fn is_continued(&mut self, answer: AnswerEnd) -> bool {
        // Continuing would need a further round, and the limit of rounds is for all model calls.
        if self.rules.max_rounds != 0 && self.round >= self.rules.max_rounds {
            return false;
        }
        let Continued { cuts, pauses } = &mut self.continued;
        let (count, limit) = match answer {
            // Without text there is nothing to continue: the model used the limit for reasoning.
            AnswerEnd::Cut if self.text.trim().is_empty() => return false,
            AnswerEnd::Cut => (cuts, self.rules.max_continues),
            AnswerEnd::Paused => (pauses, MAX_PAUSES),
            AnswerEnd::Whole | AnswerEnd::Refused | AnswerEnd::Filtered => return false,
        };
        let continues = *count < limit;
        *count += u32::from(continues);
        continues
    }

    /// Finishes calls that must not run: those of a refused answer, and the last call of an answer
    /// that was cut, if it has no arguments, because they may be missing.
    fn finish_incomplete_calls(&mut self, withheld: bool, out: &mut Out) {
        let last = self.calls.len().saturating_sub(1);
        for at in if withheld { 0 } else { last }..self.calls.len() {
            let no_arguments = self.calls[at].tool_use.input.json() == Some(&json!({}));
            if self.calls[at].has_started()
                || self.calls[at].is_done()
                || !(withheld || no_arguments)
            {
                continue;
            }
            let outcome = if withheld {
                ToolOutcome::not_run(
                    "answer_withheld",
                    "This tool call was not executed: the answer was refused or filtered.",
                )
            } else {
                ToolOutcome::not_run(
                    "answer_cut",
                    "This tool call was not executed: the answer reached the output limit before \
                     the arguments were complete. Send the call again.",
                )
            };
            self.finish_call(at, outcome, out);
        }
    }

    /// Commits everything that arrived of the answer, complete or not.
    pub(super) fn commit(&mut self, state: MessageState, env: &Env<'_>, out: &mut Out) {
        let message = Message::assistant(env.ids, self.pending.take_blocks(), state);
        self.commit_message(message, out);
    }

    pub(super) fn commit_message(&mut self, message: Message, out: &mut Out) {
        // Taken, so that a second commit of the same answer cannot count it twice.
        let usage = self.answer_usage.take();
        if let Some(usage) = usage {
            self.count(usage);
        }
        let before = self.unfinished.take().map(|before| before.text).unwrap_or_default();
        self.text = before + &message.text();
        self.committed = true;
        out.emit(AssistantMessage { round: self.round, message: message.with_usage(usage).into() });
    }

    /// Ends the turn with a forced summary, or with the fallback text if it has none.
    pub(super) fn finish_summary(&mut self, state: MessageState, env: &Env<'_>, out: &mut Out) {
        let mut blocks = self.pending.take_blocks();
        let withheld = self
            .stop
            .as_ref()
            .is_some_and(|stop| matches!(stop.answer(), AnswerEnd::Refused | AnswerEnd::Filtered));
        let no_text = withheld
            || !blocks.iter().any(|block| match block {
                Block::Text(text) => !text.text.trim().is_empty(),
                _ => false,
            });
        // With calls the message is not empty, and their results explain why nothing ran.
        if no_text && !withheld && self.calls.is_empty() {
            blocks.push(Block::text(FALLBACK));
        }
        let message = Message::assistant(env.ids, blocks, state);
        self.commit_message(if withheld { message.with_answer_withheld() } else { message }, out);
        if no_text || state != MessageState::Complete {
            self.text = FALLBACK.to_owned();
        }
        let end = self.summary_end();
        if self.calls.is_empty() {
            self.finish(end, None, out);
            return;
        }
        // The model asks for tools although none were offered.
        self.ending = Some(Ending::Forced);
        for at in 0..self.calls.len() {
            let text = "This tool call was not executed: no tools were offered for this answer.";
            self.finish_call(at, ToolOutcome::not_run("not_offered", text), out);
        }
        self.phase = Phase::Working;
    }

    pub(super) fn summary_end(&self) -> TurnEnd {
        match self.purpose {
            Purpose::SummaryWithoutTools => TurnEnd::UnknownTools,
            Purpose::SummaryAtLimit | Purpose::Answer => TurnEnd::RoundLimit,
        }
    }

    /// Starts to process the calls of an answer that was committed.
    pub(super) fn start_tools(&mut self, out: &mut Out) {
        self.phase = Phase::Working;
        out.emit(ToolBatchStarted {
            round: self.round,
            calls: self.calls.iter().map(|call| call.tool_use.call.clone()).collect(),
            parallel: self.rules.concurrency.limit() > 1,
            max_concurrency: match self.rules.concurrency.limit() {
                usize::MAX => None,
                limit => u32::try_from(limit).ok(),
            },
        });
        self.finish_impossible_calls(out);
        self.stop_for_hook(out);
    }

    /// Gives an error result to calls of tools that do not exist and to calls whose arguments are
    /// not valid JSON. They do not run.
    fn finish_impossible_calls(&mut self, out: &mut Out) {
        let mut unknown = Vec::new();
        for at in 0..self.calls.len() {
            let tool_use = &self.calls[at].tool_use;
            let awaited =
                || self.facts.awaited.iter().find(|it| tool_use.name.starts_with(&it.prefix));
            let outcome = if !self.knows_tool(&tool_use.name)
                && let Some(awaited) = awaited()
            {
                // No mistake of the model.
                let reason = format!("Error: nothing was run. {}", awaited.reason);
                ToolOutcome::not_run("tool_starting", reason)
            } else if !self.knows_tool(&tool_use.name) {
                unknown.push(tool_use.name.clone());
                unknown_tool(&tool_use.name, &self.facts.tools)
            } else if let ToolInput::Unparsed(unparsed) = &tool_use.input {
                ToolOutcome::not_run(
                    "invalid_input",
                    format!(
                        "Error: the arguments of {} are not valid JSON ({}), so nothing was run. \
                         Send them again.",
                        tool_use.name, unparsed.error
                    ),
                )
            } else {
                continue;
            };
            // The gate was not asked about such a call, so its stage is still the first one.
            if matches!(self.calls[at].stage, Stage::Judging) {
                self.finish_call(at, outcome, out);
            }
        }
        if unknown.is_empty() {
            self.unknown_rounds = 0;
            self.unknown_tools.clear();
        } else {
            // Rounds and not calls: several wrong names in one answer are one mistake of the model.
            self.unknown_rounds += 1;
            self.unknown_tools.extend(unknown);
            self.unknown_tools.sort();
            self.unknown_tools.dedup();
        }
    }

    /// Commits an interrupted answer, including its complete calls.
    pub(super) fn commit_interrupted(&mut self, cause: Cause, env: &Env<'_>, out: &mut Out) {
        self.commit(MessageState::Interrupted(cause), env, out);
    }
}

/// At most this many tools are listed to a model that called one which does not exist.
const MAX_LISTED: usize = 100;

fn unknown_tool(name: &str, available: &[String]) -> ToolOutcome {
    let more = available.len().saturating_sub(MAX_LISTED);
    let available = &available[..available.len() - more];
    let mut list = if available.is_empty() { "none".to_owned() } else { available.join(", ") };
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    ToolOutcome::not_run(
        "unknown_tool",
        format!(
            "Error: the tool call was not executed because no tool named \"{name}\" is \
             registered. Available tools: {list}."
        ),
    )
    .with_metadata("requested_tool", name)
    .with_metadata("available_tools", available.to_vec())
}
