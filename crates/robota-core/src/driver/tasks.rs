//! Performs all effects except the model call. Each is a task that ends in one input. If a task
//! panics, its input is the safe one: a denial or a failure.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::checkpoints::JournalCheckpoints;
use super::task_events::TaskEventQueue;
use super::{APPROVER_PANICKED, Ports, SessionConfig};
use crate::approve::{Answer, Approver, Question};
use crate::call::{CallContext, RetryWatch, UsageMeter};
use crate::checkpoint::{Checkpoints, NoCheckpoints};
use crate::compact::CompactionRequest;
use crate::context::ContextEstimate;
use crate::error::{ErrorData, ErrorKind};
use crate::event::{CompactionTrigger, ModelRetry, ProcessStarted, check_value};
use crate::gate::{Gate, Grant, Judgement, Source, judge_call};
use crate::guard::{drop_guarded, guarded};
use crate::hook::{
    AfterChange, BatchDecision, HookAnswer, HookInput, HookPoint, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use crate::ids::CallId;
use crate::message::{ResultBlock, ToolInput, ToolUse};
use crate::permission::{Class, Verdict};
use crate::process::{ProcessIdentity, ProcessWatch};
use crate::state::State;
use crate::telemetry;
use crate::tool::{DidRun, Progress, Tool, ToolContext, ToolOutcome};
use crate::turn::{ArgumentsAuthor, Effect, Input, JudgeResult, Target};
use crate::usage::Usage;

/// The tasks of one turn. Dropping it aborts all of them.
pub(super) struct Tasks {
    running: JoinSet<Input>,
    /// The input for the case that the task panics.
    fallback: HashMap<Id, Input>,
    /// Tasks other than tools. Cancelling one aborts it, and it sends no input.
    abortable: HashMap<Id, (Target, AbortHandle)>,
    /// Running tools. Cancelling one requests it to stop, and it still reports its outcome.
    tools: HashMap<CallId, CancellationToken>,
    task_events: TaskEventQueue,
    /// The parent of every call's context.
    context: CallContext,
    /// What the calls of the running compaction use.
    compacting: UsageMeter,
}

impl Tasks {
    pub(super) fn new(task_events: TaskEventQueue, context: CallContext) -> Self {
        Self {
            running: JoinSet::new(),
            fallback: HashMap::new(),
            abortable: HashMap::new(),
            tools: HashMap::new(),
            task_events,
            context,
            compacting: UsageMeter::default(),
        }
    }

    /// Starts an effect that is a task.
    pub(super) fn start(
        &mut self,
        effect: Effect,
        ports: &Ports,
        config: &SessionConfig,
        state: &State,
        round: &Span,
    ) {
        match effect {
            Effect::Judge { tool_use, author } => self.judge(tool_use, author, ports),
            Effect::RunTool { tool_use, class, grant } => {
                let span = telemetry::tool_span(round, &tool_use, class);
                self.run_tool(tool_use, (class, grant), ports, config, span);
            }
            Effect::AskPermission(question) => self.ask(question, ports),
            Effect::RunHook(input) => self.run_hook(input, ports),
            Effect::FindLimits => {
                let (provider, model) = (ports.provider.clone(), config.turn.model.clone());
                let task = async move {
                    let limits = drop_guarded("the provider", provider.limits(&model));
                    Input::LimitsFound(limits.await)
                };
                self.spawn(Some(Target::Limits), Input::LimitsFound(None), task);
            }
            Effect::Compact(before) => self.compact(before, ports, config, state, round),
            Effect::Wait(delay) => {
                let task = async move {
                    tokio::time::sleep(delay).await;
                    Input::WaitOver
                };
                self.spawn(Some(Target::Wait), Input::WaitOver, task);
            }
            // The driver performs these itself.
            // Listed instead of `_`, so that a new effect is a compile error here.
            Effect::Append(_) | Effect::CallModel(_) | Effect::Cancel(_) | Effect::Finish(_) => {}
        }
    }

    /// Returns the next input; `None` while no task runs.
    pub(super) async fn next(&mut self) -> Option<Input> {
        loop {
            match self.running.join_next_with_id().await? {
                Ok((id, input)) => {
                    let cancelled = !self.fallback.contains_key(&id);
                    self.forget(id, Some(&input));
                    if !cancelled {
                        return Some(input);
                    }
                }
                Err(error) => {
                    let fallback = self.fallback.remove(&error.id());
                    self.forget(error.id(), fallback.as_ref());
                    // A cancelled task sends no input; one that panicked sends its fallback.
                    if error.is_panic() && fallback.is_some() {
                        return fallback;
                    }
                }
            }
        }
    }

    /// Removes a task that ended. A turn may have any number of tasks, so none is kept.
    fn forget(&mut self, id: Id, input: Option<&Input>) {
        self.fallback.remove(&id);
        self.abortable.remove(&id);
        match input {
            Some(Input::ToolFinished { call, .. }) => {
                self.tools.remove(call);
            }
            Some(Input::Compacted(result)) => {
                let summary = result.as_ref().ok().and_then(|done| done.summary.usage);
                self.report_compaction(summary.unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Reports the tokens of a compaction that ended, beyond those that its summary counts.
    fn report_compaction(&self, counted: Usage) {
        for asked in self.compacting.take_beyond(counted) {
            self.task_events.push(asked.into());
        }
    }

    /// Cancels what was started for a target.
    pub(super) fn cancel(&mut self, target: &Target) {
        if *target == Target::Compaction {
            self.report_compaction(Usage::default());
        }
        if let Target::Tool(call) = target
            && let Some(token) = self.tools.get(call)
        {
            token.cancel();
        }
        // Tools are not in this list: they end by their token and still report an outcome.
        let fallback = &mut self.fallback;
        self.abortable.retain(|id, (of, handle)| {
            if of == target {
                handle.abort();
                // A task that has ended meanwhile, or whose destructors panic, sends no input either: the
                // machine would take it for the answer of what it started next.
                fallback.remove(id);
            }
            of != target
        });
    }

    fn spawn(
        &mut self,
        target: Option<Target>,
        fallback: Input,
        task: impl Future<Output = Input> + Send + 'static,
    ) {
        let handle = self.running.spawn(task);
        // The task may already have ended on another thread. Its end is read only in `next`, which
        // needs `&mut self`, so the fallback is registered in time.
        self.fallback.insert(handle.id(), fallback);
        if let Some(target) = target {
            self.abortable.insert(handle.id(), (target, handle));
        }
    }

    fn judge(&mut self, tool_use: ToolUse, author: ArgumentsAuthor, ports: &Ports) {
        let call = tool_use.call.clone();
        // The machine asks only about tools that exist. Without the tool nothing would run.
        let Some(tool) = ports.tools.get(&tool_use.name).cloned() else { return };
        let gate = ports.gate.clone();
        let denied = |reason: &str| Input::Judged {
            call: call.clone(),
            judged: JudgeResult::Judgement(Judgement {
                verdict: Verdict::Deny,
                class: Class::Execute,
                reason: reason.to_owned(),
                source: Source::Rule,
                rules: Vec::new(),
                grant: Grant::Full,
            }),
        };
        // A gate that fails must never let a call through.
        let fallback = denied("the gate panicked, so nothing may run");
        let call = tool_use.call.clone();
        self.spawn(None, fallback, async move {
            let judged = judge(&*gate, &*tool, &tool_use, author).await;
            Input::Judged { call, judged }
        });
    }

    fn run_tool(
        &mut self,
        tool_use: ToolUse,
        (class, grant): (Class, Grant),
        ports: &Ports,
        config: &SessionConfig,
        span: Span,
    ) {
        let call = tool_use.call.clone();
        let Some(tool) = ports.tools.get(&tool_use.name).cloned() else { return };
        let scope = self.context.child();
        // Registered before the task is spawned: an abort in between finds the token.
        self.tools.insert(call.clone(), scope.cancel.clone());
        let output = Arc::new(Mutex::new(scope.redactor.stream()));
        let (task_events, id, piece) =
            (self.task_events.clone(), call.clone(), Arc::clone(&output));
        let progress = Progress::new(move |text| {
            // The lock is held while the piece is queued, so that pieces from several threads are
            // queued in the order in which the redactor received them.
            let mut redacted = piece.lock().unwrap_or_else(PoisonError::into_inner);
            task_events.push_output(&id, redacted.push(&text));
        });
        let (task_events, id) = (self.task_events.clone(), call.clone());
        let processes = ProcessWatch::new(move |process, background| {
            let ProcessIdentity { pid, start_time, boot_id } = process;
            let call = id.clone();
            task_events.push(ProcessStarted { call, pid, start_time, boot_id, background }.into());
        });
        let checkpoints: Arc<dyn Checkpoints> = match &ports.blobs {
            Some(blobs) => {
                let (blobs, task_events) = (Arc::clone(blobs), self.task_events.clone());
                // A call that is proven to change nothing needs no comparison of files.
                let records_commands = class != Class::Inspect;
                Arc::new(JournalCheckpoints { blobs, task_events, records_commands })
            }
            None => Arc::new(NoCheckpoints),
        };
        let context = ToolContext {
            call: call.clone(),
            scope,
            progress,
            processes,
            checkpoints,
            output: None,
            grant,
            hooks: ports.hooks.clone(),
        };
        let (default_time, grace) = (config.tool_timeout, config.tool_grace);
        let task_events = self.task_events.clone();
        let fallback = Input::ToolFinished {
            call: call.clone(),
            outcome: panicked(&tool_use.name, "its task died"),
            duration: Duration::ZERO,
        };
        self.spawn(None, fallback, async move {
            let started = Instant::now();
            // The tool knows best: a command has a time limit of its own, which the model may choose.
            // Asked here and not in the driver, so that a panic ends only this call.
            let limits = Limits { time: tool.timeout().or(default_time), grace };
            let running = run_tool(tool, tool_use, context, limits);
            let outcome = storable(running.instrument(span.clone()).await);
            telemetry::record_outcome(&span, &outcome);
            // The redactor holds back the start of a possible secret until the output ends.
            let rest = output.lock().unwrap_or_else(PoisonError::into_inner).finish();
            task_events.push_output(&call, rest);
            Input::ToolFinished { call, outcome, duration: started.elapsed() }
        });
    }

    fn ask(&mut self, question: Question, ports: &Ports) {
        let call = question.call.call.clone();
        let approver: Arc<dyn Approver> = ports.approver.clone();
        let gate = ports.gate.clone();
        let deny = |why: &str| Answer::Deny { note: Some(why.to_owned()) };
        let fallback = Input::Answered { call: call.clone(), answer: deny(APPROVER_PANICKED) };
        self.spawn(Some(Target::Question(call.clone())), fallback, async move {
            let answer = match guarded("the gate", || gate.may_ask()) {
                Some(true) => {
                    let answer = drop_guarded("the approver", approver.ask(question));
                    storable_approval(answer.await)
                }
                // The mode may have changed since the question was announced.
                Some(false) => {
                    approver.withdraw(&call);
                    let reason = format!("{}; mode `dontAsk` does not ask", question.reason);
                    Answer::Unanswered { reason }
                }
                None => deny("the gate panicked, so the call is denied"),
            };
            Input::Answered { call, answer }
        });
    }

    fn run_hook(&mut self, input: HookInput, ports: &Ports) {
        let call = input.call().cloned();
        let hooks = ports.hooks.clone();
        let fallback = Input::Hooked {
            call: call.clone(),
            reply: refusal(input.point(), "it panicked").into(),
        };
        self.spawn(Some(Target::Hook(call.clone())), fallback, async move {
            let mut reply = drop_guarded("a hook", hooks.run(input)).await;
            reply.answer = storable_answer(reply.answer);
            Input::Hooked { call, reply }
        });
    }

    fn compact(
        &mut self,
        before: ContextEstimate,
        ports: &Ports,
        config: &SessionConfig,
        state: &State,
        round_span: &Span,
    ) {
        let unavailable = || {
            Input::Compacted(Err(ErrorData::new(
                ErrorKind::Configuration,
                "compaction is unavailable: no compactor is configured",
            )))
        };
        let compactor = ports.compactor.clone();
        let request = CompactionRequest {
            view: state.view.messages.clone(),
            system: config.system.clone(),
            trigger: CompactionTrigger::Auto,
            instructions: config.compact_instructions.clone(),
            before,
        };
        let fallback = Input::Compacted(Err(ErrorData::new(
            ErrorKind::Plugin,
            "the compactor panicked; the conversation stays as it was",
        )));
        let span = round_span.clone();
        let (task_events, round) =
            (self.task_events.clone(), state.turn.as_ref().map_or(0, |turn| turn.round));
        let mut context = self.context.child();
        context.retries = RetryWatch::new(move |retry| {
            task_events.push(ModelRetry::of(round, retry).into());
        });
        context.meter = UsageMeter::default();
        self.compacting = context.meter.clone();
        self.spawn(Some(Target::Compaction), fallback, async move {
            match compactor {
                Some(compactor) => {
                    let compacting = compactor.compact(request, context).instrument(span);
                    Input::Compacted(drop_guarded("the compactor", compacting).await)
                }
                None => unavailable(),
            }
        });
    }
}

async fn judge(
    gate: &dyn Gate,
    tool: &dyn Tool,
    tool_use: &ToolUse,
    author: ArgumentsAuthor,
) -> JudgeResult {
    let Some(input) = tool_use.input.json() else {
        return JudgeResult::Invalid("the arguments are not JSON".to_owned());
    };
    let checked = match author {
        ArgumentsAuthor::Model => tool.check(input),
        ArgumentsAuthor::Changed => tool.check_changed(input),
    };
    if let Err(invalid) = checked {
        return JudgeResult::Invalid(invalid.to_string());
    }
    JudgeResult::Judgement(judge_call(gate, tool, tool_use).await)
}

/// How long a call may take.
#[derive(Clone, Copy)]
struct Limits {
    /// The maximum run time; `None` means no limit.
    time: Option<Duration>,
    /// The time to report an outcome after the call was cancelled.
    grace: Duration,
}

/// Runs a tool in its own task, so that a panic ends only this call. The tool is cancelled when the
/// call is cancelled or its time is up. It then has a grace period to report an outcome; after that
/// the driver abandons it.
async fn run_tool(
    tool: Arc<dyn Tool>,
    tool_use: ToolUse,
    context: ToolContext,
    Limits { time, grace }: Limits,
) -> ToolOutcome {
    let cancel = context.scope.cancel.clone();
    let name = tool_use.name;
    let input = match tool_use.input {
        ToolInput::Json(input) => input,
        ToolInput::Unparsed(unparsed) => {
            return ToolOutcome::not_run("invalid_input", unparsed.error);
        }
    };
    let mut task = JoinSet::new();
    // In the span of the call, so that spans of the tool are its children.
    let running = async move { drop_guarded("a tool", tool.run(input, context)).await };
    task.spawn(running.in_current_span());
    let time_up = async {
        match time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    // Not biased: a call that ended and was cancelled at the same moment may count as either.
    tokio::select! {
        joined = task.join_next() => outcome(&name, joined),
        () = time_up => {
            // Cancelled and not aborted: the tool ends its processes and reports what it has. After
            // the grace period it is aborted together with `task`.
            cancel.cancel();
            let reported = tokio::time::timeout(grace, task.join_next()).await;
            timed_out(&name, time.unwrap_or_default(), reported.ok().map(|joined| outcome(&name, joined)))
        }
        () = cancel.cancelled() => match tokio::time::timeout(grace, task.join_next()).await {
            Ok(joined) => outcome(&name, joined),
            Err(_elapsed) => {
                let text = format!(
                        "{name} was cancelled and did not stop within {} s; it was abandoned and may \
                         have had effects.",
                    grace.as_secs_f64()
                );
                ToolOutcome { ran: DidRun::Maybe, ..ToolOutcome::failed("interrupted", text) }
            }
        },
    }
}

/// Returns the outcome of a call whose time was up; `reported` is its own outcome after it was
/// cancelled.
fn timed_out(name: &str, time: Duration, reported: Option<ToolOutcome>) -> ToolOutcome {
    let ended =
        if reported.is_some() { "was stopped" } else { "did not stop, so it was abandoned" };
    let text = format!(
        "{name} ran longer than {} s and {ended}. It may have had effects.",
        time.as_secs_f64()
    );
    let mut outcome = ToolOutcome::failed("timeout", text);
    if let Some(reported) = reported {
        // What the tool reported after the cancellation follows the notice: partial output helps
        // the model.
        outcome.content.extend(reported.content);
        outcome.metadata = reported.metadata;
    } else {
        outcome.ran = DidRun::Maybe;
    }
    outcome
}

fn outcome(name: &str, joined: Option<Result<ToolOutcome, JoinError>>) -> ToolOutcome {
    match joined {
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) if error.is_panic() => {
            let panic = error.into_panic();
            let message = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".to_owned());
            panicked(name, &message)
        }
        Some(Err(_)) | None => panicked(name, "its task was cancelled"),
    }
}

/// Returns the outcome as it can be recorded: metadata that no journal can store fails the call.
fn storable(mut outcome: ToolOutcome) -> ToolOutcome {
    if outcome.metadata.is_empty() {
        return outcome;
    }
    if let Err(reason) = check_value(&outcome.metadata) {
        let text = format!("Error: the metadata of the result cannot be recorded: {reason}.");
        outcome.ok = false;
        outcome.error_code = Some("invalid_metadata".to_owned());
        outcome.metadata.clear();
        // What the call did is still worth knowing.
        outcome.content.insert(0, ResultBlock::text(text));
    }
    outcome
}

/// Returns the answer of a hook as it can be recorded.
fn storable_answer(answer: HookAnswer) -> HookAnswer {
    match answer {
        HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }) => {
            HookAnswer::PostToolUse(PostToolDecision::Replace { outcome: storable(outcome) })
        }
        HookAnswer::PreToolUse(PreToolDecision::Answer { outcome }) => {
            HookAnswer::PreToolUse(PreToolDecision::Answer { outcome: storable(outcome) })
        }
        HookAnswer::PreToolUse(decision) => {
            let checked = match &decision {
                PreToolDecision::Change { input, then: AfterChange::Ask(question) } => {
                    check_value(input).and_then(|()| check_value(&question.metadata))
                }
                PreToolDecision::Change { input, .. } => check_value(input),
                PreToolDecision::Ask(question) => check_value(&question.metadata),
                _ => Ok(()),
            };
            match checked {
                Ok(()) => HookAnswer::PreToolUse(decision),
                Err(reason) => {
                    let why = format!("its answer cannot be recorded: {reason}");
                    refusal(HookPoint::PreToolUse, &why)
                }
            }
        }
        answer => answer,
    }
}

/// Returns the answer of an approver as it can be recorded.
fn storable_approval(answer: Answer) -> Answer {
    let (answer, by_hook) = answer.without_hook();
    let checked = match &answer {
        Answer::AllowChanged { input, .. } | Answer::Update { input: Some(input), .. } => {
            check_value(input)
        }
        _ => Ok(()),
    };
    let answer = match checked {
        Ok(()) => answer,
        Err(reason) => {
            let note = format!("the changed arguments cannot be recorded: {reason}");
            Answer::Deny { note: Some(note) }
        }
    };
    if by_hook { answer.by_hook() } else { answer }
}

fn panicked(name: &str, message: &str) -> ToolOutcome {
    ToolOutcome::failed("panic", format!("Error: {name} failed: it panicked ({message})."))
}

/// Returns the answer of a hook that failed: hooks never fail open.
fn refusal(point: HookPoint, why: &str) -> HookAnswer {
    let reason = format!("the {point:?} hook failed: {why}");
    match point {
        HookPoint::UserPromptSubmit => {
            HookAnswer::UserPromptSubmit(PromptDecision::Block { reason })
        }
        HookPoint::PreToolUse => HookAnswer::PreToolUse(PreToolDecision::Deny { reason }),
        HookPoint::PostToolUse => HookAnswer::PostToolUse(PostToolDecision::Block { reason }),
        HookPoint::PostToolBatch => HookAnswer::PostToolBatch(BatchDecision::Stop { reason }),
        // A hook that failed must not keep the turn running.
        HookPoint::Stop => HookAnswer::Stop(StopDecision::Finish),
    }
}

#[cfg(test)]
mod tests;
