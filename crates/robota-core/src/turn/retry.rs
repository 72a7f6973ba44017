//! A failed model call: retries it while the budget lasts, then turns the failure into an answer.

use std::time::Duration;

use super::{Effect, Ending, Env, Out, Overflow, Phase, Turn};
use crate::error::{Diagnose as _, ErrorData};
use crate::event::{ModelAsked, ModelFailed, ModelRetry, Purpose, StreamReset, TurnEnd};
use crate::message::{Block, Cause, Message, MessageState};
use crate::provider::ProviderError;
use crate::tool::ToolOutcome;

impl Turn {
    pub(super) fn on_model_failed(&mut self, error: &ProviderError, env: &Env<'_>, out: &mut Out) {
        if self.phase != Phase::Calling {
            return;
        }
        let started = self.calls.iter().any(super::CallState::has_started);
        // Once: if the compacted conversation is refused too, a further compaction would not help.
        if error.is_overflow() && self.facts.has_compactor && self.overflow.is_none() && !started {
            self.compact_and_retry(error, env, out);
            return;
        }
        let delay = self.next_delay(error, env.elapsed);
        match delay {
            Some(delay) if !started => {
                self.discard_answer(error, out);
                self.schedule_retry(delay, true, error.to_data(), out);
            }
            Some(delay) => {
                // A call that ran cannot be discarded with the failed answer. Commit the part of
                // the answer that arrived and continue in a new round.
                self.next_round_after = Some((delay, error.to_data()));
                out.emit(ModelFailed { round: self.round, error: error.to_data() });
                self.commit_interrupted(Cause::Provider, env, out);
                self.start_tools(out);
            }
            None => self.give_up(error.to_data(), env, out),
        }
    }

    /// Summarises the conversation and sends the request of this round once more. The service said
    /// that the conversation is too long, so the assumed window was too large.
    fn compact_and_retry(&mut self, error: &ProviderError, env: &Env<'_>, out: &mut Out) {
        self.discard_answer(error, out);
        out.emit(ModelRetry {
            round: self.round,
            attempt: self.attempt,
            error: error.to_data(),
            delay_ms: 0,
        });
        // If the service does not name its window, it is smaller than what it refused.
        let refused = env.state.context(self.rules.context_window).effective;
        let window = error.context_window.unwrap_or(refused.max(1));
        // For the rest of the turn: the service has shown what it accepts.
        self.rules.context_window = self.rules.context_window.min(window);
        self.overflow = Some(Overflow::Compacting);
        self.start_compaction(env.state.context(self.rules.context_window), out);
    }

    /// Discards the part of an answer that arrived before the call failed. No message counts its tokens,
    /// so they are recorded by themselves.
    fn discard_answer(&mut self, error: &ProviderError, out: &mut Out) {
        if self.streamed {
            out.emit(StreamReset { round: self.round, attempt: self.attempt });
        }
        self.pending.discard();
        self.calls.clear();
        if let Some(usage) = self.answer_usage.take().filter(|usage| !usage.is_zero()) {
            self.count(usage);
            let (model, error) = (self.rules.model.clone(), Some(error.to_data()));
            out.emit(ModelAsked { model, usage: Some(usage), error });
        }
    }

    fn give_up(&mut self, error: ErrorData, env: &Env<'_>, out: &mut Out) {
        out.emit(ModelFailed { round: self.round, error: error.clone() });
        if self.purpose != Purpose::Answer {
            let state = if self.pending.is_empty() {
                MessageState::Complete
            } else {
                MessageState::Interrupted(Cause::Provider)
            };
            self.finish_summary(state, env, out);
            return;
        }
        if self.calls.is_empty() {
            self.finish_provider_failed(error, env, out);
            return;
        }
        self.commit_interrupted(Cause::Provider, env, out);
        self.ending = Some(Ending::ProviderFailed(error));
        for at in 0..self.calls.len() {
            // Running calls are awaited: their outcomes are facts, whatever became of the answer.
            if !self.calls[at].is_done() && !self.calls[at].has_started() {
                let text = "This tool call was not executed: the model's answer failed before it \
                            was complete.";
                self.finish_call(at, ToolOutcome::not_run("response_failed", text), out);
            }
        }
        self.phase = Phase::Working;
    }

    /// Ends the turn with an answer that explains the failure, after the text that had arrived.
    pub(super) fn finish_provider_failed(
        &mut self,
        error: ErrorData,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        let mut text = format!("Error: the model could not answer: {}", error.message);
        if let Some(hint) = &error.hint {
            text.push_str("\nHint: ");
            text.push_str(hint);
        }
        let mut blocks = self.pending.take_blocks();
        let state = if blocks.is_empty() {
            MessageState::Complete
        } else {
            MessageState::Interrupted(Cause::Provider)
        };
        blocks.push(Block::text(text.clone()));
        let message = Message::assistant(env.ids, blocks, state)
            .with_metadata("error_code", error.kind.code());
        self.commit_message(message, out);
        self.text = text;
        self.finish(TurnEnd::ProviderFailed, Some(error), out);
    }

    /// When the calls of a failed answer have their results, the next round waits like a retry.
    pub(super) fn next_round_or_wait(&mut self, out: &mut Out) {
        let Some((delay, error)) = self.next_round_after.take() else { return };
        self.schedule_retry(delay, false, error, out);
    }

    fn schedule_retry(
        &mut self,
        delay: Duration,
        same_request: bool,
        error: ErrorData,
        out: &mut Out,
    ) {
        out.emit(ModelRetry {
            round: self.round,
            attempt: self.attempt,
            error,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        });
        out.push(Effect::Wait(delay));
        self.phase = Phase::Waiting(same_request);
    }

    pub(super) fn on_wait_over(&mut self, env: &Env<'_>, out: &mut Out) {
        match self.phase {
            Phase::Waiting(true) => self.call_model(env, out),
            Phase::Waiting(false) => {
                self.phase = Phase::Preparing;
                self.prepare(env, out);
            }
            _ => {}
        }
    }

    fn next_delay(&mut self, error: &ProviderError, elapsed: Duration) -> Option<Duration> {
        // The budget is for a series of failures and starts with its first one.
        let since = *self.failing_since.get_or_insert(elapsed);
        self.failures += 1;
        // The jitter is computed from the turn, so that a test sees the same delays and two
        // sessions different ones.
        let seed = (self.id.as_str(), self.round);
        let spent = elapsed.saturating_sub(since);
        self.rules.retry.delay(error, self.failures, spent, seed)
    }
}
