//! Before a model call: pending inputs, the context window, the round limit.

use super::{
    AtLimit, Effect, Env, ModelCall, Out, Overflow, Phase, Prompt, PromptPlace, Turn, Unfinished,
    emit_user_message,
};
use crate::compact::Compaction;
use crate::context::{ContextEstimate, GUARD};
use crate::error::ErrorData;
use crate::event::{
    AssistantMessage, Author, CompactionFailed, CompactionFinished, CompactionStarted,
    CompactionTrigger, ContextMeasured, Delivery, ModelRequested, PrefixChange, PrefixChanged,
    Purpose, TurnEnd,
};
use crate::hook::HookPoint;
use crate::message::{Message, MessageState};
use crate::provider::ModelLimits;
use crate::state::PendingInput;

/// After this many consecutive rounds that ask for tools that do not exist, the model is called
/// without tools.
const UNKNOWN_ROUNDS: u32 = 2;

/// Below this many tokens the conversation fits into any window, so assumed limits are good enough.
const LIMITS_MATTER: u64 = 8_000;

/// Returns true for an input that is delivered before the next model call of the current turn.
fn is_for_next_round(input: &PendingInput) -> bool {
    input.delivery == Delivery::NextRound
}

impl Turn {
    pub(super) fn prepare(&mut self, env: &Env<'_>, out: &mut Out) {
        if self.deliver_inputs(PromptPlace::Round, env, out) {
            // The state has the new messages only after the append, so the context is measured then.
            return;
        }
        let estimate = env.state.context(self.rules.context_window);
        if self.facts.assumed_limits && estimate.effective > LIMITS_MATTER {
            // Asked once per turn, also if the service does not answer.
            self.facts.assumed_limits = false;
            self.phase = Phase::FindingLimits;
            out.push(Effect::FindLimits);
            return;
        }
        let over_threshold = self.rules.compact_at.is_some_and(|share| estimate.exceeds(share));
        if self.facts.has_compactor
            // Once per round: a compaction that did not help will not help a moment later.
            && !self.compaction_tried
            && (over_threshold || estimate.exceeds(GUARD))
        {
            self.start_compaction(estimate, out);
        } else if estimate.exceeds(GUARD) {
            self.finish_context_full(&estimate, env, out);
        } else {
            self.new_round(estimate, env, out);
        }
    }

    pub(super) fn start_compaction(&mut self, before: ContextEstimate, out: &mut Out) {
        self.compaction_tried = true;
        self.phase = Phase::Compacting;
        out.emit(CompactionStarted { trigger: CompactionTrigger::Auto, before });
        out.push(Effect::Compact(before));
    }

    /// Handles the service's report of the model's limits; `None` if it did not report them.
    pub(super) fn on_limits_found(
        &mut self,
        limits: Option<ModelLimits>,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        if self.phase != Phase::FindingLimits {
            return;
        }
        // Without an answer the assumed limits stay.
        self.rules.set_limits(limits.unwrap_or_default());
        // Prepared again from the start: with the real window a compaction may be needed.
        self.phase = Phase::Preparing;
        self.prepare(env, out);
    }

    /// Delivers the inputs for the next round; returns whether there were any. If UserPromptSubmit has
    /// hooks, they run on one input at a time, and this is called again after each.
    pub(super) fn deliver_inputs(
        &mut self,
        place: PromptPlace,
        env: &Env<'_>,
        out: &mut Out,
    ) -> bool {
        let mut due = env.state.inputs.iter().filter(|(_, input)| is_for_next_round(input));
        if self.facts.hooks.contains(HookPoint::UserPromptSubmit) {
            let Some((id, input)) = due.next() else { return false };
            let prompt = Prompt { input: Some(id.clone()), content: input.content.clone(), place };
            self.run_prompt_hook(prompt, env, out);
            return true;
        }
        let mut any = false;
        for (id, input) in due {
            emit_user_message(input.content.clone(), Some(id.clone()), Author::User, env, out);
            any = true;
        }
        if any {
            self.phase = Phase::Preparing;
        }
        any
    }

    pub(super) fn on_compacted(&mut self, result: Result<Compaction, ErrorData>, out: &mut Out) {
        if self.phase != Phase::Compacting {
            return;
        }
        // Also after a failure: the guard then decides between a full context and a new round.
        self.phase = Phase::Preparing;
        match result {
            Ok(Compaction { summary, keep_from }) => {
                if let Some(usage) = summary.usage {
                    self.count(usage);
                }
                out.emit(CompactionFinished { summary: summary.into(), keep_from });
                out.emit(PrefixChanged { cause: PrefixChange::Compaction });
            }
            Err(error) => out.emit(CompactionFailed { error }),
        }
    }

    fn new_round(&mut self, estimate: ContextEstimate, env: &Env<'_>, out: &mut Out) {
        self.max_output = self.rules.output_limit(&estimate);
        if self.overflow == Some(Overflow::Compacting) {
            // It is still the same round, so neither its number nor the limit of rounds changes.
            self.overflow = Some(Overflow::Retried);
            out.emit(ContextMeasured { estimate });
            self.call_model(env, out);
            return;
        }
        let at_limit = self.rules.max_rounds != 0 && self.round >= self.rules.max_rounds;
        if at_limit && self.rules.at_limit == AtLimit::Stop {
            self.finish(TurnEnd::RoundLimit, None, out);
            return;
        }
        let repeats = self.repeats.exceed(self.rules.max_repeats);
        self.purpose = if self.unknown_rounds >= UNKNOWN_ROUNDS || repeats {
            Purpose::SummaryWithoutTools
        } else if at_limit {
            Purpose::SummaryAtLimit
        } else {
            Purpose::Answer
        };
        self.round += 1;
        self.attempt = 0;
        // The next round may compact again: it adds results.
        self.compaction_tried = false;
        out.emit(ContextMeasured { estimate });
        self.call_model(env, out);
    }

    /// Sends the request of this round, for the first time or as a retry.
    pub(super) fn call_model(&mut self, env: &Env<'_>, out: &mut Out) {
        self.attempt += 1;
        self.pending.discard();
        // Nothing of the failed attempt is left; `stream_reset` was sent if clients saw any of it.
        self.streamed = false;
        self.calls.clear();
        self.committed = false;
        self.answer_usage = None;
        self.phase = Phase::Calling;
        let instruction = self.instruction();
        out.emit(ModelRequested {
            round: self.round,
            attempt: self.attempt,
            purpose: self.purpose,
            messages: env.state.view.messages.len() as u64,
            prompt: self.facts.prompt_sha256.clone(),
            tools: match self.purpose {
                Purpose::Answer => self.facts.tools_sha256.clone(),
                // The request still contains the tools, so that the cached prefix applies, but none
                // can be called.
                Purpose::SummaryAtLimit | Purpose::SummaryWithoutTools => None,
            },
            instruction: instruction.clone(),
            continues: self.unfinished.is_some(),
        });
        out.push(Effect::CallModel(ModelCall {
            round: self.round,
            attempt: self.attempt,
            purpose: self.purpose,
            instruction,
            max_output: self.max_output,
        }));
    }

    fn instruction(&self) -> Option<String> {
        match self.purpose {
            Purpose::Answer => match &self.unfinished {
                Some(Unfinished { cut: true, .. }) => Some(
                    "Your answer reached the output limit and was cut off. Continue it exactly where \
                     it stops: repeat nothing, and do not comment on the interruption."
                        .to_owned(),
                ),
                Some(Unfinished { cut: false, .. }) | None => None,
            },
            Purpose::SummaryAtLimit => Some(
                "The limit of tool rounds for this request is reached, so no more tools can be \
                 called. Answer now with what you have: say what you found or did, what is still \
                 missing, and that the user can ask you to go on."
                    .to_owned(),
            ),
            Purpose::SummaryWithoutTools if self.unknown_rounds < UNKNOWN_ROUNDS => Some(format!(
                "These calls failed again and again with the same arguments, so no more tools can be \
                 called: {}. Answer now without calling tools: say what you found or did, what \
                 failed and why, and what is still missing.",
                self.repeats.tools().join(", ")
            )),
            Purpose::SummaryWithoutTools => Some(format!(
                "These tools do not exist here, and the calls to them were not executed because \
                 they are not registered: {}. Answer now without calling tools: say what you \
                 found or did and what is still missing.",
                self.unknown_tools.join(", ")
            )),
        }
    }

    /// Ends the turn without calling the model, because the request would not fit. The answer says
    /// why and what the user can do.
    fn finish_context_full(&mut self, estimate: &ContextEstimate, env: &Env<'_>, out: &mut Out) {
        let threshold = crate::context::share_of(estimate.max, GUARD);
        let text = format!(
            "The conversation no longer fits into the model's context window, so nothing was \
             sent. Estimated tokens: {} of {} (serialized estimate {}, provider usage floor {}, \
             threshold {threshold} = 95 %). Compact or clear the conversation, or choose a model \
             with a larger window.",
            estimate.effective,
            estimate.max,
            estimate.serialized,
            estimate.provider.unwrap_or(0),
        );
        let message = Message::assistant(env.ids, text.clone(), MessageState::Complete)
            .with_metadata("context_full", true)
            .with_metadata("estimated_tokens", estimate.effective)
            .with_metadata("max_tokens", estimate.max)
            .with_metadata("serialized_estimate", estimate.serialized)
            .with_metadata("provider_usage_floor", estimate.provider.unwrap_or(0))
            .with_metadata("threshold", threshold);
        self.text = text;
        out.emit(AssistantMessage { round: self.round, message: message.into() });
        self.finish(TurnEnd::ContextFull, None, out);
    }
}
