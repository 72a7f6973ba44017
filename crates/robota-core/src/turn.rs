//! The turn machine: decides everything that a turn does, and performs nothing.
//!
//! [`Turn::start`] and [`Turn::on`] take an input and return the [`Effect`]s to perform, in order.
//! The rules:
//!
//! - An effect that follows an [`Effect::Append`] starts only when that append is as durable as
//!   its events require. Each append is answered by [`Input::Appended`] or [`Input::AppendFailed`].
//! - The [`State`] that comes with each input contains every event appended so far.
//! - Every tool call gets exactly one result, in the order of the calls, in one message, before
//!   the model is called again.
//! - A turn ends: [`Effect::Finish`] is the last effect, and there is exactly one.
//!
//! The machine is plain data (it can be serialised) and pure: ids and the time come with each
//! input.

mod abort;
mod batch;
mod calls;
mod config;
mod effect;
mod finish;
mod prepare;
mod repeats;
mod retry;
mod stream;
mod tools;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use batch::batch_hook_finished;
use calls::CallState;
pub use config::{
    AtLimit, CAREFUL_MAX_OUTPUT, DEFAULT_MAX_CONTINUES, DEFAULT_MAX_REPEATS, DEFAULT_MAX_ROUNDS,
    HookPoints, ToolConcurrency, TurnFacts, TurnRules,
};
use effect::Out;
pub use effect::{
    ArgumentsAuthor, Effect, FailedCall, Input, JudgeResult, ModelCall, Target, TurnInput,
    TurnReport,
};
use repeats::Repeats;

use crate::catalogue::CostSum;
use crate::error::ErrorData;
use crate::event::{
    Author, HookFinished, HookStarted, InputBlocked, Purpose, TurnStarted, UserMessage,
};
use crate::hook::{HookAnswer, HookInput, HookPoint, HookReply, PromptDecision};
use crate::ids::{Ids, InputId, TurnId};
use crate::message::{Block, Cause, Message};
use crate::provider::StopReason;
use crate::state::{OpenTurn, State};
use crate::streaming::StreamingAnswer;
use crate::tool::AwaitedTools;
use crate::usage::Usage;

/// The key of an input's metadata with the text that the user typed, if the content was made from it.
/// The UserPromptSubmit hooks receive this text.
pub const RAW_INPUT: &str = "raw";

/// The answer of a turn whose forced summary has no text.
pub const FALLBACK: &str =
    "Maximum rounds reached. Partial results available in conversation history.";

/// The result of a tool call that did not run because the user interrupted the turn.
pub const INTERRUPTED_TOOL: &str = "Execution interrupted by user";

/// The result of a tool call whose output does not fit into the context window.
pub const SKIPPED_RESULT: &str =
    "Error: Context window near capacity. Tool execution result skipped.";

/// The environment that comes with every input.
pub struct Env<'a> {
    /// The fold of all events appended so far.
    pub state: &'a State,
    /// Creates the ids of messages and calls; the machine has no other source.
    pub ids: &'a dyn Ids,
    /// The time since the turn started.
    pub elapsed: Duration,
}

/// Decides what happens next in one turn.
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
    /// The answer that is being streamed.
    pending: StreamingAnswer,
    /// Whether clients received chunks of it, so that a retry must reset the stream.
    streamed: bool,
    /// The calls of the current answer, in order.
    calls: Vec<CallState>,
    /// Whether the answer that asks for them is part of the conversation.
    committed: bool,
    /// The tokens that the provider reports for the current answer.
    answer_usage: Option<Usage>,
    usage: Usage,
    /// The cost of the calls that `usage` counts.
    #[serde(default)]
    cost: CostSum,
    tools_executed: u32,
    #[serde(default)]
    failed_calls: Vec<FailedCall>,
    /// The text of the model's last answer.
    text: String,
    /// Why the model stopped its last answer.
    #[serde(default)]
    stop: Option<StopReason>,
    /// The answer that the next model call continues.
    #[serde(default)]
    unfinished: Option<Unfinished>,
    /// How often the current answer was continued, by what stopped it.
    #[serde(default)]
    continued: Continued,
    compaction_tried: bool,
    /// The service said that the conversation is too long, and a compaction is to help.
    #[serde(default)]
    overflow: Option<Overflow>,
    /// The maximum length of the current answer, in tokens.
    #[serde(default)]
    max_output: u64,
    stop_continues: u8,
    /// The number of consecutive rounds that asked for tools that do not exist, and those tools.
    unknown_rounds: u32,
    unknown_tools: Vec<String>,
    /// The calls that keep failing.
    #[serde(default)]
    repeats: Repeats,
    /// When the current series of failed model calls began.
    failing_since: Option<Duration>,
    failures: u32,
    /// The wait before the next round, and the failure that caused it.
    next_round_after: Option<(Duration, ErrorData)>,
    /// How the turn ends once all its calls have results.
    ending: Option<Ending>,
    /// Why a hook stops the turn.
    #[serde(default)]
    stopped: Option<String>,
    /// Whether the PostToolBatch hooks of the current answer have started and not finished.
    #[serde(default)]
    batch_hook: bool,
}

/// An answer that another model call continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Unfinished {
    /// The text that has arrived; the next answer is appended to it.
    text: String,
    /// Whether a limit cut it, so that the model has to be asked to continue. An answer that the
    /// service paused needs no such request.
    cut: bool,
}

/// What happens after a service refused a conversation that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Overflow {
    /// The conversation is compacted; then the same round is tried again.
    Compacting,
    /// It was compacted and sent again. Another refusal is final.
    Retried,
}

/// How often an answer was continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Continued {
    cuts: u32,
    pauses: u32,
}

/// The phase of a turn: what it waits for, and so which inputs count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// The UserPromptSubmit hooks run on an input.
    Prompting(Prompt),
    /// The next model call is being prepared.
    Preparing,
    /// The driver asks the service for the limits of the model.
    FindingLimits,
    /// The compactor summarises the conversation.
    Compacting,
    /// The model is called and its answer streams.
    Calling,
    /// A failed call waits for its retry. `true` sends the same request again, `false` starts a
    /// new round.
    Waiting(bool),
    /// The calls of an answer are processed.
    Working,
    /// All calls of an answer have ended, and the PostToolBatch hooks run on them.
    Batching,
    /// The answer is final, unless a Stop hook or an input for the next round continues the turn.
    Answered,
    /// The Stop hooks run on the answer.
    Stopping,
    /// The turn ends early, as soon as its running calls have ended.
    Closing,
    /// The turn is over.
    Finished,
}

/// An input on which the UserPromptSubmit hooks run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Prompt {
    /// None if the turn was started without an accepted input.
    input: Option<InputId>,
    content: Vec<Block>,
    /// When the input is delivered.
    place: PromptPlace,
}

/// When an input becomes a message, if no hook blocks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum PromptPlace {
    /// It starts the turn; without it the turn ends.
    Start,
    /// Before a model call; without it the call is made all the same.
    Round,
    /// After an answer; without it the answer is final.
    Answer,
}

/// How a turn is going to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Ending {
    /// The user or a shutdown interrupted it.
    Interrupted(Cause),
    /// The journal could not be written.
    StoreFailed(ErrorData),
    /// The model service failed, and the calls of its answer still need results.
    ProviderFailed(ErrorData),
    /// A forced summary asked for tools although none were offered.
    Forced,
    /// The answer was refused or filtered, and its calls do not run.
    Withheld,
    /// A hook stopped the turn; its reason is in `stopped`.
    Stopped,
}

impl Turn {
    /// Starts a turn for an input and returns its first effects.
    #[must_use]
    pub fn start(
        rules: TurnRules,
        facts: TurnFacts,
        input: TurnInput,
        env: &Env<'_>,
    ) -> (Self, Vec<Effect>) {
        let mut turn = Self {
            id: TurnId::mint(env.ids),
            cost: CostSum::new(&rules.model),
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
            failed_calls: Vec::new(),
            text: String::new(),
            stop: None,
            unfinished: None,
            continued: Continued::default(),
            compaction_tried: false,
            overflow: None,
            max_output: 0,
            stop_continues: 0,
            unknown_rounds: 0,
            unknown_tools: Vec::new(),
            repeats: Repeats::default(),
            failing_since: None,
            failures: 0,
            next_round_after: None,
            ending: None,
            stopped: None,
            batch_hook: false,
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
            TurnInput::Message { content, input }
                if turn.facts.hooks.contains(HookPoint::UserPromptSubmit) =>
            {
                let place = PromptPlace::Start;
                turn.run_prompt_hook(Prompt { input, content, place }, env, &mut out);
            }
            TurnInput::Message { content, input } => {
                emit_user_message(content, input, Author::User, env, &mut out);
            }
        }
        (turn, out.into_effects())
    }

    /// Sets which hook points have hooks from now on: a call can add some, such as one that uses a
    /// skill.
    pub fn set_hook_points(&mut self, points: HookPoints) {
        // Read before every use and not copied at the start: a skill may bring hooks in the middle
        // of a turn.
        self.facts.hooks = points;
    }

    /// Takes an input and returns the effects to perform. After the turn has finished there are
    /// none.
    pub fn on(&mut self, input: Input, env: &Env<'_>) -> Vec<Effect> {
        let mut out = Out::default();
        // A turn that ends early ignores everything but appends and the outcomes of its running
        // calls: all other inputs belong to effects that were cancelled.
        let accepts = match self.phase {
            Phase::Finished => false,
            Phase::Closing => matches!(
                input,
                Input::Appended | Input::AppendFailed { .. } | Input::ToolFinished { .. }
            ),
            _ => true,
        };
        if !accepts {
            return out.into_effects();
        }
        match input {
            Input::Appended => self.advance(env, &mut out),
            Input::AppendFailed { error, dropped } => {
                self.on_append_failed(error, &dropped, env, &mut out);
            }
            Input::Delta(delta) => self.on_delta(delta, env, &mut out),
            Input::ModelFailed(error) => self.on_model_failed(&error, env, &mut out),
            Input::Judged { call, judged } => self.on_judged(&call, judged, &mut out),
            Input::Answered { call, answer } => self.on_permission_answer(&call, answer, &mut out),
            Input::Hooked { call, reply } => {
                self.on_hook_reply(call.as_ref(), reply, env, &mut out);
            }
            Input::ToolFinished { call, outcome, duration } => {
                self.on_tool_finished(&call, outcome, duration, &mut out);
            }
            Input::LimitsFound(limits) => self.on_limits_found(limits, env, &mut out),
            Input::Compacted(result) => self.on_compacted(result, &mut out),
            Input::WaitOver => self.on_wait_over(env, &mut out),
            Input::Withdraw { input } => self.on_withdraw(&input, &mut out),
            Input::Abort { cause, note, keep_inputs } => {
                self.on_abort(cause, note, keep_inputs, env, &mut out);
            }
        }
        out.into_effects()
    }

    /// Returns the id that all events of the turn carry.
    #[must_use]
    pub fn id(&self) -> &TurnId {
        &self.id
    }

    /// Returns the rules, with the limits that the turn found out.
    #[must_use]
    pub fn rules(&self) -> &TurnRules {
        &self.rules
    }

    /// Returns true while the next model call is being prepared.
    #[must_use]
    pub fn is_preparing(&self) -> bool {
        self.phase == Phase::Preparing
    }

    /// Sets the tools of the next model call: all names, sorted, those that may exist soon, and the hash of the
    /// offered ones.
    pub fn set_tools(
        &mut self,
        names: Vec<String>,
        awaited: Vec<AwaitedTools>,
        sha256: Option<String>,
    ) {
        self.facts.tools = names;
        self.facts.awaited = awaited;
        self.facts.tools_sha256 = sha256;
    }

    /// Returns true once the turn is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Counts the tokens of a model call.
    pub(crate) fn count(&mut self, usage: Usage) {
        self.usage += usage;
        self.cost.add(usage);
    }

    /// Returns the machine's own view of the open turn. It must equal [`State::turn`]; property
    /// tests compare the two after every append.
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
            batch_hook: self.batch_hook,
            calls: self
                .calls
                .iter()
                .map(|call| (call.tool_use.call.clone(), call.to_open_call(self.committed)))
                .collect(),
        })
    }

    /// Continues after an append: the state now contains the appended events.
    fn advance(&mut self, env: &Env<'_>, out: &mut Out) {
        match self.phase {
            Phase::Preparing => self.prepare(env, out),
            // The answer still streams, but reads that it asked for may already start.
            Phase::Calling => self.work_calls(out),
            Phase::Working => {
                self.work_calls(out);
                if self.calls.iter().all(CallState::is_done) {
                    self.end_batch(env, out);
                }
            }
            Phase::Answered => self.on_final_answer(env, out),
            Phase::Closing => self.close_when_idle(env, out),
            Phase::Prompting(_)
            | Phase::FindingLimits
            | Phase::Compacting
            | Phase::Waiting(_)
            | Phase::Batching
            | Phase::Stopping
            | Phase::Finished => {}
        }
    }

    /// Returns the input on which the UserPromptSubmit hooks run now.
    #[must_use]
    pub fn prompted_input(&self) -> Option<&InputId> {
        match &self.phase {
            Phase::Prompting(prompt) => prompt.input.as_ref(),
            _ => None,
        }
    }

    /// Runs the UserPromptSubmit hooks on an input. It becomes a message only after them: a blocked
    /// input never becomes part of the conversation.
    fn run_prompt_hook(&mut self, prompt: Prompt, env: &Env<'_>, out: &mut Out) {
        let pending = prompt.input.as_ref().and_then(|input| env.state.inputs.get(input));
        // A client may have expanded what the user typed (files, a skill); hooks look for the user's
        // own words.
        let typed = pending.and_then(|pending| pending.metadata.get(RAW_INPUT)?.as_str());
        let content =
            typed.map_or_else(|| prompt.content.clone(), |typed| vec![Block::text(typed)]);
        out.emit(HookStarted { point: HookPoint::UserPromptSubmit, call: None });
        out.push(Effect::RunHook(HookInput::UserPromptSubmit { content }));
        self.phase = Phase::Prompting(prompt);
    }

    fn on_hook_reply(
        &mut self,
        call: Option<&crate::ids::CallId>,
        reply: HookReply,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        match (&self.phase, call) {
            (Phase::Prompting(prompt), None) => {
                let prompt = prompt.clone();
                self.on_prompt_hook(prompt, reply.answer, env, out);
            }
            (Phase::Batching, None) => self.on_batch_hook(&reply, env, out),
            (Phase::Stopping, None) => self.on_stop_hook(reply, env, out),
            (_, Some(call)) => self.on_call_hook(call, reply, out),
            // The reply of a hook that was cancelled.
            (_, None) => {}
        }
    }

    fn on_prompt_hook(
        &mut self,
        Prompt { input, mut content, place }: Prompt,
        answer: HookAnswer,
        env: &Env<'_>,
        out: &mut Out,
    ) {
        let decision = match answer {
            HookAnswer::UserPromptSubmit(decision) => decision,
            _ => PromptDecision::Block { reason: wrong_hook_point(HookPoint::UserPromptSubmit) },
        };
        let (name, reason) = match &decision {
            PromptDecision::Continue { .. } => ("continue", None),
            PromptDecision::Block { reason } => ("block", Some(reason.clone())),
        };
        out.emit(HookFinished {
            point: HookPoint::UserPromptSubmit,
            call: None,
            decision: name.to_owned(),
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
                    // Before the prompt, so that the user's words come last.
                    content.insert(0, Block::text(context));
                }
                self.phase = Phase::Preparing;
                emit_user_message(content, input, Author::User, env, out);
            }
            PromptDecision::Block { reason } => {
                out.emit(InputBlocked { input, reason: reason.clone() });
                match place {
                    PromptPlace::Start => self.finish_blocked(&reason, out),
                    PromptPlace::Round => self.phase = Phase::Preparing,
                    PromptPlace::Answer => self.phase = Phase::Answered,
                }
            }
        }
    }
}

fn emit_user_message(
    content: Vec<Block>,
    input: Option<InputId>,
    author: Author,
    env: &Env<'_>,
    out: &mut Out,
) {
    out.emit(UserMessage { message: Message::user(env.ids, content).into(), input, author });
}

/// Returns the reason for rejecting a reply that is for another hook point: hooks never fail open.
fn wrong_hook_point(point: HookPoint) -> String {
    format!("the {point:?} hook answered for another point")
}

#[cfg(test)]
mod tests;
