//! The turn machine: decides everything a turn does, and does nothing.
//!
//! [`Turn::start`] and [`Turn::on`] take what happened and return what is to be done, as a list
//! of [`Effect`]s. The rules:
//!
//! - An effect that follows an [`Effect::Append`] starts only when that append is as durable as
//!   its events ask. Each append is answered by [`Input::Appended`] or [`Input::AppendFailed`].
//! - The folded [`State`] that comes with each input contains everything appended so far.
//! - Every tool call gets exactly one result, in the order of the calls, in one message, before
//!   the model is called again.
//! - A turn ends: [`Effect::Finish`] is the last effect, and there is exactly one.
//!
//! The machine is plain data (it can be written down and read back) and pure: ids and the time
//! come with each input.

mod abort;
mod calls;
mod config;
mod effect;
mod finish;
mod prepare;
mod retry;
mod stream;
mod tools;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use calls::CallState;
pub use config::{DEFAULT_MAX_ROUNDS, HookPoints, ToolConcurrency, TurnFacts, TurnRules};
use effect::Out;
pub use effect::{Effect, Input, Judged, ModelCall, Target, TurnInput, TurnReport};

use crate::error::ErrorData;
use crate::event::{Author, HookFinished, HookStarted, Purpose, TurnStarted, UserMessage};
use crate::hook::{HookAnswer, HookInput, HookPoint, HookReply, PromptDecision};
use crate::ids::{Ids, InputId, TurnId};
use crate::message::{Block, Cause, Message};
use crate::provider::StopReason;
use crate::state::{OpenTurn, State};
use crate::streaming::StreamingAnswer;
use crate::usage::Usage;

/// The answer when a forced summary has no words.
pub const FALLBACK: &str =
    "Maximum rounds reached. Partial results available in conversation history.";

/// What a tool call that never ran is told when the user stopped the turn.
pub const INTERRUPTED_TOOL: &str = "Execution interrupted by user";

/// What a tool call is told when its result does not fit.
pub const SKIPPED_RESULT: &str =
    "Error: Context window near capacity. Tool execution result skipped.";

/// What comes with every input.
pub struct Env<'a> {
    /// Everything appended so far, folded.
    pub state: &'a State,
    /// Mints ids.
    pub ids: &'a dyn Ids,
    /// Time since the turn began.
    pub elapsed: Duration,
}

/// One turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turn {
    id: TurnId,
    rules: TurnRules,
    facts: TurnFacts,
    input: Option<InputId>,
    phase: Phase,
    round: u32,
    attempt: u32,
    purpose: Purpose,
    /// The answer being streamed.
    pending: StreamingAnswer,
    /// Whether watchers saw anything of it.
    streamed: bool,
    /// The calls of the answer being worked on, in order.
    calls: Vec<CallState>,
    /// Whether the answer that asks for them is part of the conversation.
    committed: bool,
    /// What the provider says the answer costs.
    answer_usage: Option<Usage>,
    usage: Usage,
    tools_executed: u32,
    /// The last words of the model.
    text: String,
    /// Why the model stopped its last answer.
    #[serde(default)]
    stop: Option<StopReason>,
    compaction_tried: bool,
    stop_continues: u8,
    /// Rounds in a row that asked for tools that do not exist, and which.
    unknown_rounds: u32,
    unknown_tools: Vec<String>,
    /// When the failures that are being retried began.
    failing_since: Option<Duration>,
    failures: u32,
    /// How long the next round waits, and for the end of which failure.
    next_round_after: Option<(Duration, ErrorData)>,
    /// How the turn is to end once its calls are settled.
    ending: Option<Ending>,
    /// Why a hook wants the turn to end.
    #[serde(default)]
    stopped: Option<String>,
}

/// Where a turn is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// A hook looks at the input.
    Prompting(Vec<Block>),
    /// The next model call is being prepared.
    Preparing,
    /// The conversation is being summarised.
    Compacting,
    /// The model answers.
    Calling,
    /// A failed call is about to be tried again; `true` sends the same request, `false` a new
    /// round.
    Waiting(bool),
    /// The calls of an answer are worked off.
    Working,
    /// The answer is final, if no hook and no input says otherwise.
    Answered,
    /// A hook looks at the answer.
    Stopping,
    /// The turn ends early, as soon as its running calls have ended.
    Closing,
    /// It is over.
    Finished,
}

/// How a turn is to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Ending {
    /// Somebody stopped it.
    Interrupted(Cause),
    /// The journal could not be written.
    StoreFailed(ErrorData),
    /// The model's service failed and its calls are being settled.
    ProviderFailed(ErrorData),
    /// A forced summary asked for tools although it was offered none.
    Forced,
    /// A hook said that all work is to stop.
    Stopped,
}

impl Turn {
    /// Begins a turn.
    #[must_use]
    pub fn start(
        rules: TurnRules,
        facts: TurnFacts,
        input: TurnInput,
        env: &Env<'_>,
    ) -> (Self, Vec<Effect>) {
        let mut turn = Self {
            id: TurnId::mint(env.ids),
            rules,
            facts,
            input: input.id().cloned(),
            phase: Phase::Preparing,
            round: 0,
            attempt: 0,
            purpose: Purpose::Answer,
            pending: StreamingAnswer::default(),
            streamed: false,
            calls: Vec::new(),
            committed: false,
            answer_usage: None,
            usage: Usage::default(),
            tools_executed: 0,
            text: String::new(),
            stop: None,
            compaction_tried: false,
            stop_continues: 0,
            unknown_rounds: 0,
            unknown_tools: Vec::new(),
            failing_since: None,
            failures: 0,
            next_round_after: None,
            ending: None,
            stopped: None,
        };
        let mut out = Out::default();
        out.emit(TurnStarted {
            input: turn.input.clone(),
            provider: turn.facts.provider.clone(),
            model: turn.rules.model.clone(),
            max_rounds: turn.rules.max_rounds,
        });
        match input {
            TurnInput::Continue => {}
            TurnInput::Message { content, .. }
                if turn.facts.hooks.contains(HookPoint::UserPromptSubmit) =>
            {
                out.emit(HookStarted { point: HookPoint::UserPromptSubmit, call: None });
                out.push(Effect::RunHook(HookInput::UserPromptSubmit { content: content.clone() }));
                turn.phase = Phase::Prompting(content);
            }
            TurnInput::Message { content, .. } => {
                turn.emit_user_message(content, Author::User, env, &mut out);
            }
        }
        (turn, out.into_effects())
    }

    /// Takes what happened; returns what is to be done. After the turn has finished nothing is.
    pub fn on(&mut self, input: Input, env: &Env<'_>) -> Vec<Effect> {
        let mut out = Out::default();
        // A turn that ends early only waits for its running calls.
        let heard = match self.phase {
            Phase::Finished => false,
            Phase::Closing => matches!(
                input,
                Input::Appended | Input::AppendFailed { .. } | Input::ToolFinished { .. }
            ),
            _ => true,
        };
        if !heard {
            return out.into_effects();
        }
        match input {
            Input::Appended => self.advance(env, &mut out),
            Input::AppendFailed { error, dropped } => {
                self.store_failed(error, &dropped, env, &mut out);
            }
            Input::Delta(delta) => self.on_delta(delta, env, &mut out),
            Input::ModelFailed(error) => self.model_failed(&error, env, &mut out),
            Input::Judged { call, judged } => self.judged(&call, judged, &mut out),
            Input::Answered { call, answer } => self.answered(&call, answer, &mut out),
            Input::Hooked { call, reply } => self.hooked(call.as_ref(), reply, env, &mut out),
            Input::ToolFinished { call, outcome, duration } => {
                self.tool_finished(&call, outcome, duration, &mut out);
            }
            Input::Compacted(result) => self.compacted(result, &mut out),
            Input::WaitOver => self.wait_over(env, &mut out),
            Input::Abort { cause, note } => self.abort(cause, note, env, &mut out),
        }
        out.into_effects()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &TurnId {
        &self.id
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// What the fold of its events should say about it: the same, or one of the two is wrong.
    #[must_use]
    pub fn open_turn(&self) -> Option<OpenTurn> {
        (self.phase != Phase::Finished).then(|| OpenTurn {
            id: Some(self.id.clone()),
            input: self.input.clone(),
            round: self.round,
            text: self.pending.content(),
            thinking: String::new(),
            usage: self.usage,
            tools_executed: self.tools_executed,
            interrupted: match self.ending {
                Some(Ending::Interrupted(cause)) => Some(cause),
                _ => None,
            },
            settling: None,
            calls: self
                .calls
                .iter()
                .map(|call| (call.tool_use.call.clone(), call.to_open(self.committed)))
                .collect(),
        })
    }

    /// Goes on after an append: the state is current now.
    fn advance(&mut self, env: &Env<'_>, out: &mut Out) {
        match self.phase {
            Phase::Preparing => self.prepare(env, out),
            Phase::Calling => self.work_calls(out),
            Phase::Working => {
                self.work_calls(out);
                if self.calls.iter().all(CallState::is_done) {
                    self.settle_calls(env, out);
                }
            }
            Phase::Answered => self.answered_finally(env, out),
            Phase::Closing => self.close_when_quiet(env, out),
            Phase::Prompting(_)
            | Phase::Compacting
            | Phase::Waiting(_)
            | Phase::Stopping
            | Phase::Finished => {}
        }
    }

    fn emit_user_message(&self, content: Vec<Block>, author: Author, env: &Env<'_>, out: &mut Out) {
        let input = match author {
            Author::User => self.input.clone(),
            Author::StopHook => None,
        };
        out.emit(UserMessage { message: Message::user(env.ids, content), input, author });
    }

    fn hooked(
        &mut self,
        call: Option<&crate::ids::CallId>,
        reply: HookReply,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        match (&self.phase, call) {
            (Phase::Prompting(content), None) => {
                let content = content.clone();
                self.prompt_hooked(content, reply.answer, env, out);
            }
            (Phase::Stopping, None) => self.stop_hooked(reply, env, out),
            (_, Some(call)) => self.call_hooked(call, reply, out),
            // An answer to a hook that was cancelled.
            (_, None) => {}
        }
    }

    fn prompt_hooked(
        &mut self,
        mut content: Vec<Block>,
        answer: HookAnswer,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        let decision = match answer {
            HookAnswer::UserPromptSubmit(decision) => decision,
            _ => PromptDecision::Block { reason: wrong_answer(HookPoint::UserPromptSubmit) },
        };
        let (word, reason) = match &decision {
            PromptDecision::Continue { .. } => ("continue", None),
            PromptDecision::Block { reason } => ("block", Some(reason.clone())),
        };
        out.emit(HookFinished {
            point: HookPoint::UserPromptSubmit,
            call: None,
            decision: word.to_owned(),
            reason,
            input: None,
            outcome: None,
            context: match &decision {
                PromptDecision::Continue { context } => context.clone(),
                PromptDecision::Block { .. } => None,
            },
            stop: None,
        });
        match decision {
            PromptDecision::Continue { context } => {
                if let Some(context) = context.filter(|context| !context.is_empty()) {
                    content.insert(0, Block::text(context));
                }
                self.phase = Phase::Preparing;
                self.emit_user_message(content, Author::User, env, out);
            }
            PromptDecision::Block { reason } => self.blocked(&reason, out),
        }
    }
}

/// Why an answer of another point counts as a refusal: hooks never fail open.
fn wrong_answer(point: HookPoint) -> String {
    format!("the {point:?} hook answered for another point")
}

#[cfg(test)]
mod tests;
