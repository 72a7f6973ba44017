//! Performs effects without I/O, as the driver's contract says, and checks the invariants at every
//! step.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::invariants::Watch;
use crate::approve::{Answer, Question};
use crate::compact::Compaction;
use crate::error::{ErrorData, ErrorKind};
use crate::event::{
    Delivery, Envelope, Event, InputAccepted, Opened, SessionCreated, ToolOutput, TurnEnd,
};
use crate::gate::{Grant, Judgement, Source};
use crate::hook::{HookAnswer, HookInput, HookReply};
use crate::ids::{CallId, CountingIds, InputId};
use crate::message::{Block, Cause, Message, ToolInput, ToolUse};
use crate::permission::{Class, Verdict};
use crate::provider::{Delta, ProviderError, RetryPolicy, StopReason};
use crate::state::State;
use crate::tool::{AwaitedTools, ToolOutcome};
use crate::turn::{
    AtLimit, Effect, Env, HookPoints, Input, JudgeResult, ModelCall, Target, ToolConcurrency, Turn,
    TurnFacts, TurnInput, TurnReport, TurnRules,
};
use crate::usage::Usage;

/// An effect that the machine started and that has no answer yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Job {
    Model(ModelCall),
    Judge(ToolUse),
    Tool { tool_use: ToolUse, class: Class, cancelled: bool },
    Question(Question),
    Hook(HookInput),
    Limits,
    Compaction,
    Wait(Duration),
}

/// One turn and everything around it.
pub(super) struct Run {
    pub(super) turn: Turn,
    /// The same machine without serialisation; it must behave equally.
    twin: Option<(Turn, CountingIds)>,
    ids: CountingIds,
    pub(super) state: State,
    /// The events that are durable.
    pub(super) journal: Vec<Envelope>,
    /// The events whose append failed.
    pub(super) unwritten: Vec<Envelope>,
    inbox: VecDeque<Input>,
    fail_at: Option<u64>,
    appends: u64,
    pub(super) failed: bool,
    pub(super) elapsed: Duration,
    pub(super) jobs: Vec<Job>,
    /// Every effect but appends, as it was executed.
    pub(super) effects: Vec<Effect>,
    pub(super) report: Option<TurnReport>,
    /// Set if the append before the end failed: the driver reports the end then.
    pub(super) finish_dropped: bool,
    pub(super) watch: Watch,
}

/// How a run begins.
pub(super) struct Setup {
    pub(super) config: TurnConfig,
    pub(super) before: Vec<Event>,
    pub(super) input: TurnInput,
    /// The append that fails, counted from zero.
    pub(super) fail_at: Option<u64>,
    /// Whether the machine is serialised and deserialised at every step.
    pub(super) reload: bool,
}

pub(super) const INPUT: &str = "input-1";

/// Rules and facts together, as tests vary them.
#[derive(Debug, Clone)]
pub(super) struct TurnConfig {
    pub(super) max_rounds: u32,
    pub(super) at_limit: AtLimit,
    pub(super) context_window: u64,
    pub(super) compact_at: Option<f64>,
    pub(super) concurrency: ToolConcurrency,
    pub(super) retry: RetryPolicy,
    pub(super) has_compactor: bool,
    pub(super) assumed_limits: bool,
    pub(super) max_continues: u32,
    pub(super) max_repeats: u32,
    pub(super) hooks: HookPoints,
    pub(super) tools: Vec<String>,
    pub(super) awaited: Vec<AwaitedTools>,
    pub(super) tools_sha256: Option<String>,
    pub(super) prompt_sha256: Option<String>,
}

impl TurnConfig {
    fn split(&self) -> (TurnRules, TurnFacts) {
        let rules = TurnRules {
            max_rounds: self.max_rounds,
            at_limit: self.at_limit,
            context_window: self.context_window,
            compact_at: self.compact_at,
            concurrency: self.concurrency,
            retry: self.retry,
            max_continues: self.max_continues,
            max_repeats: self.max_repeats,
            ..TurnRules::new("model-1")
        };
        let facts = TurnFacts {
            provider: "scripted".to_owned(),
            has_compactor: self.has_compactor,
            assumed_limits: self.assumed_limits,
            hooks: self.hooks.clone(),
            tools: self.tools.clone(),
            awaited: self.awaited.clone(),
            tools_sha256: self.tools_sha256.clone(),
            prompt_sha256: self.prompt_sha256.clone(),
        };
        (rules, facts)
    }
}

/// Returns four tools, two of which are read-only.
pub(super) fn config() -> TurnConfig {
    let tools = ["bash", "edit", "grep", "read"].map(str::to_owned).to_vec();
    let rules = TurnRules::new("model-1");
    TurnConfig {
        awaited: Vec::new(),
        max_rounds: rules.max_rounds,
        at_limit: rules.at_limit,
        context_window: rules.context_window,
        compact_at: rules.compact_at,
        concurrency: rules.concurrency,
        retry: rules.retry,
        has_compactor: false,
        assumed_limits: false,
        max_continues: rules.max_continues,
        max_repeats: rules.max_repeats,
        hooks: HookPoints::default(),
        tools,
        tools_sha256: None,
        prompt_sha256: None,
    }
}

/// Returns the class of each tool.
pub(super) fn class_of(name: &str) -> Class {
    match name {
        "edit" => Class::Modify,
        "bash" => Class::Execute,
        _ => Class::Inspect,
    }
}

/// Returns the judgement of a gate with this verdict.
pub(super) fn judgement(verdict: Verdict, name: &str) -> Judgement {
    let reason = format!("{name}: as the test says");
    Judgement {
        verdict,
        class: class_of(name),
        reason,
        source: Source::Mode,
        rules: Vec::new(),
        grant: Grant::Full,
    }
}

pub(super) fn say(text: &str) -> TurnInput {
    TurnInput::Message { input: Some(InputId::from(INPUT)), content: vec![Block::text(text)] }
}

pub(super) fn store_error() -> ErrorData {
    ErrorData::new(ErrorKind::Storage, "the disk is full")
}

pub(super) fn tool_call(id: &str, name: &str, input: ToolInput) -> Delta {
    Delta::Block(Block::ToolUse(ToolUse::new(CallId::from("ignored"), id, name, input)))
}

impl Run {
    /// Creates a run that says "hello", with that configuration.
    pub(super) fn new(config: TurnConfig) -> Self {
        Self::begin(Setup {
            config,
            before: Vec::new(),
            input: say("hello"),
            fail_at: None,
            reload: true,
        })
    }

    pub(super) fn begin(setup: Setup) -> Self {
        let ids = CountingIds::default();
        let mut state = State::default();
        let mut journal = Vec::new();
        let session = SessionCreated {
            session: "session-1".into(),
            format: crate::event::FORMAT,
            cwd: None,
            parent: None,
            spawned_by: None,
        };
        let mut before: Vec<Event> =
            vec![session.into(), Opened { epoch: 1, after_seq: 0, pid: None }.into()];
        before.extend(setup.before);
        if let TurnInput::Message { input: Some(input), content } = &setup.input {
            before.push(accepted(input, content.clone()).into());
        }
        for event in before {
            let envelope = envelope(&state, None, event);
            state.apply(&envelope).unwrap();
            journal.push(envelope);
        }
        let start = |ids: &CountingIds| {
            let env = Env { state: &state, ids, elapsed: Duration::ZERO };
            let (rules, facts) = setup.config.split();
            Turn::start(rules, facts, setup.input.clone(), &env)
        };
        let (turn, effects) = start(&ids);
        let twin = setup.reload.then(|| {
            let ids = CountingIds::default();
            (start(&ids).0, ids)
        });
        let mut run = Self {
            turn,
            twin,
            ids,
            state,
            journal,
            unwritten: Vec::new(),
            inbox: VecDeque::new(),
            fail_at: setup.fail_at,
            appends: 0,
            failed: false,
            elapsed: Duration::ZERO,
            jobs: Vec::new(),
            effects: Vec::new(),
            report: None,
            finish_dropped: false,
            watch: Watch::new(setup.config),
        };
        run.execute(effects);
        run.check();
        run.drain();
        run
    }

    /// Passes an input to the machine, and continues until no further input is waiting.
    pub(super) fn feed(&mut self, input: Input) {
        self.feed_all([input]);
    }

    /// Passes several inputs; the answers to appends come after all of them.
    pub(super) fn feed_all(&mut self, inputs: impl IntoIterator<Item = Input>) {
        self.inbox.extend(inputs);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(input) = self.inbox.pop_front() {
            self.step(input);
        }
    }

    fn step(&mut self, input: Input) {
        self.watch.input(&input, self.model().is_some());
        self.answer_job(&input);
        let env = Env { state: &self.state, ids: &self.ids, elapsed: self.elapsed };
        let effects = self.turn.on(input.clone(), &env);
        if let Some((twin, ids)) = &mut self.twin {
            let env = Env { state: &self.state, ids, elapsed: self.elapsed };
            assert_eq!(twin.on(input, &env), effects, "a machine read back does something else");
            let written = serde_json::to_string(&self.turn).unwrap();
            assert_eq!(serde_json::to_string(twin).unwrap(), written);
            self.turn = serde_json::from_str(&written).unwrap();
        }
        self.execute(effects);
        self.check();
    }

    /// Removes the effect that the input answers from the open ones.
    fn answer_job(&mut self, input: &Input) {
        let at = match input {
            Input::Delta(Delta::End(_)) | Input::ModelFailed(_) => {
                self.find(|job| matches!(job, Job::Model(_)))
            }
            Input::Judged { call, .. } => {
                self.find(|job| matches!(job, Job::Judge(tool_use) if tool_use.call == *call))
            }
            Input::Answered { call, .. } => {
                self.find(|job| matches!(job, Job::Question(asked) if asked.call.call == *call))
            }
            Input::Hooked { call, .. } => {
                self.find(|job| matches!(job, Job::Hook(hook) if hook.call() == call.as_ref()))
            }
            Input::ToolFinished { call, .. } => {
                self.find(|job| matches!(job, Job::Tool { tool_use, .. } if tool_use.call == *call))
            }
            Input::LimitsFound(_) => self.find(|job| *job == Job::Limits),
            Input::Compacted(_) => self.find(|job| *job == Job::Compaction),
            Input::WaitOver => self.find(|job| matches!(job, Job::Wait(_))),
            Input::Appended
            | Input::AppendFailed { .. }
            | Input::Delta(_)
            | Input::Withdraw { .. }
            | Input::Abort { .. } => None,
        };
        if let Some(Job::Wait(delay)) = at.map(|at| self.jobs.remove(at)) {
            self.elapsed += delay;
        }
    }

    fn find(&self, what: impl Fn(&Job) -> bool) -> Option<usize> {
        self.jobs.iter().position(what)
    }

    fn execute(&mut self, effects: Vec<Effect>) {
        let mut effects = effects.into_iter();
        while let Some(effect) = effects.next() {
            assert!(self.report.is_none(), "after the end: {effect:?}");
            let harmless =
                matches!(effect, Effect::Append(_) | Effect::Cancel(_) | Effect::Finish(_));
            assert!(harmless || !self.failed, "started after an append failed: {effect:?}");
            if let Effect::Append(events) = effect {
                if self.append(events) {
                    self.inbox.push_back(Input::Appended);
                } else {
                    self.append_failed(effects.collect());
                    return;
                }
                continue;
            }
            self.watch.effect(&effect, &self.journal, &self.state, &self.jobs);
            self.effects.push(effect.clone());
            match effect {
                Effect::Append(_) => {}
                Effect::CallModel(call) => self.jobs.push(Job::Model(call)),
                Effect::Judge { tool_use, .. } => self.jobs.push(Job::Judge(tool_use)),
                Effect::RunTool { tool_use, class, .. } => {
                    self.jobs.push(Job::Tool { tool_use, class, cancelled: false });
                }
                Effect::AskPermission(question) => self.jobs.push(Job::Question(question)),
                Effect::RunHook(hook) => self.jobs.push(Job::Hook(hook)),
                Effect::FindLimits => self.jobs.push(Job::Limits),
                Effect::Compact(_) => self.jobs.push(Job::Compaction),
                Effect::Wait(delay) => self.jobs.push(Job::Wait(delay)),
                Effect::Cancel(target) => self.cancel(&target),
                Effect::Finish(report) => self.report = Some(report),
            }
        }
    }

    fn append_failed(&mut self, dropped: Vec<Effect>) {
        self.inbox.clear();
        let error = store_error();
        let finish = dropped.iter().find_map(|effect| match effect {
            Effect::Finish(report) => Some(report.clone()),
            _ => None,
        });
        if let Some(report) = finish {
            let end = TurnEnd::StoreFailed;
            self.finish_dropped = true;
            self.report = Some(TurnReport { end, error: Some(error.clone()), ..report });
        }
        self.inbox.push_back(Input::AppendFailed { error, dropped });
    }

    fn append(&mut self, events: Vec<Event>) -> bool {
        let fails = self.fail_at == Some(self.appends);
        self.appends += 1;
        self.failed |= fails;
        for event in events {
            let envelope = envelope(&self.state, Some(self.turn.id().clone()), event);
            self.state.apply(&envelope).unwrap();
            self.watch.event(&envelope.event);
            let kept = if self.failed { &mut self.unwritten } else { &mut self.journal };
            kept.push(envelope);
        }
        !fails
    }

    fn cancel(&mut self, target: &Target) {
        let at = match target {
            Target::Model => self.find(|job| matches!(job, Job::Model(_))),
            Target::Tool(call) => {
                for job in &mut self.jobs {
                    if let Job::Tool { tool_use, cancelled, .. } = job
                        && tool_use.call == *call
                    {
                        *cancelled = true;
                        return;
                    }
                }
                None
            }
            Target::Question(call) => {
                self.find(|job| matches!(job, Job::Question(asked) if asked.call.call == *call))
            }
            Target::Hook(call) => {
                self.find(|job| matches!(job, Job::Hook(hook) if hook.call() == call.as_ref()))
            }
            Target::Limits => self.find(|job| *job == Job::Limits),
            Target::Compaction => self.find(|job| *job == Job::Compaction),
            Target::Wait => self.find(|job| matches!(job, Job::Wait(_))),
        };
        // After a failed append the machine also cancels what was never started.
        assert!(at.is_some() || self.failed, "nothing to cancel: {target:?}");
        if let Some(at) = at {
            self.jobs.remove(at);
        }
    }

    /// Checks that the machine's state and the fold of its events agree.
    fn check(&self) {
        if self.failed {
            return;
        }
        let mut folded = self.state.turn.clone();
        if let Some(turn) = &mut folded {
            turn.thinking.clear();
            // Tasks report it to the driver's queue; the machine gets no input for it.
            turn.calls.values_mut().for_each(|call| call.output = Default::default());
        }
        assert_eq!(self.turn.open_turn(), folded, "machine (left) and fold (right) differ");
    }

    /// Returns how many appends there were.
    pub(super) fn appended(&self) -> u64 {
        self.appends
    }

    /// Returns all events, written or not.
    pub(super) fn events(&self) -> Vec<Envelope> {
        self.journal.iter().chain(&self.unwritten).cloned().collect()
    }

    /// Returns the names of the events of the turn, in order.
    pub(super) fn kinds(&self) -> Vec<String> {
        let of_turn = self.journal.iter().chain(&self.unwritten).filter(|line| line.turn.is_some());
        of_turn.map(|line| line.event.kind().to_owned()).collect()
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.state.view.messages.iter().map(|message| (**message).clone()).collect()
    }

    pub(super) fn last_message(&self) -> Message {
        self.messages().last().unwrap().clone()
    }

    /// Returns the results of the last answer that has any: the tool's name and the text for the
    /// model.
    pub(super) fn results(&self) -> Vec<(String, String)> {
        let messages = self.messages();
        let last = messages.iter().rev().find(|message| message.tool_results().next().is_some());
        let results = last.into_iter().flat_map(|message| message.tool_results());
        results.map(|result| (result.name.clone(), result.as_text())).collect()
    }

    pub(super) fn report(&self) -> &TurnReport {
        self.report.as_ref().unwrap_or_else(|| panic!("not over yet: {:?}", self.jobs))
    }

    pub(super) fn model(&self) -> Option<&ModelCall> {
        self.jobs.iter().find_map(|job| match job {
            Job::Model(call) => Some(call),
            _ => None,
        })
    }

    /// Returns how many model calls there were.
    pub(super) fn model_calls(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::CallModel(_))).count()
    }

    /// Returns the tools that were run, in order.
    pub(super) fn ran(&self) -> Vec<String> {
        let ran = self.effects.iter().filter_map(|effect| match effect {
            Effect::RunTool { tool_use, .. } => Some(tool_use.name.clone()),
            _ => None,
        });
        ran.collect()
    }

    /// Returns the tools that run now.
    pub(super) fn running(&self) -> Vec<String> {
        let running = self.jobs.iter().filter_map(|job| match job {
            Job::Tool { tool_use, .. } => Some(tool_use.name.clone()),
            _ => None,
        });
        running.collect()
    }

    // Inputs from outside: the model, tools, hooks and users.

    pub(super) fn delta(&mut self, delta: Delta) {
        assert!(self.model().is_some(), "no model call is open: {:?}", self.jobs);
        self.feed(Input::Delta(delta));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.delta(Delta::Text(text.to_owned()));
    }

    pub(super) fn call(&mut self, id: &str, name: &str, input: Value) {
        self.delta(tool_call(id, name, ToolInput::Json(input)));
    }

    /// One call each, with ids of their own.
    pub(super) fn calls(&mut self, names: &[&str]) {
        for (at, name) in names.iter().enumerate() {
            self.call(&format!("call_{at}"), name, json!({ "at": at }));
        }
    }

    pub(super) fn end(&mut self) {
        self.delta(Delta::End(StopReason::EndTurn));
    }

    /// Lets the model answer with this text only.
    pub(super) fn answer(&mut self, text: &str) {
        self.text(text);
        self.end();
    }

    pub(super) fn usage(&mut self, input: u64, output: u64) {
        self.delta(Delta::Usage(Usage::new(input, output)));
    }

    pub(super) fn fail_model(&mut self, error: ProviderError) {
        assert!(self.model().is_some(), "no model call is open: {:?}", self.jobs);
        self.feed(Input::ModelFailed(error));
    }

    /// Answers every question to the gate with that verdict.
    pub(super) fn judge(&mut self, verdict: Verdict) {
        self.judge_with(|tool_use| JudgeResult::Judgement(judgement(verdict, &tool_use.name)));
    }

    pub(super) fn judge_with(&mut self, says: impl Fn(&ToolUse) -> JudgeResult) {
        while let Some(at) = self.find(|job| matches!(job, Job::Judge(_))) {
            let Job::Judge(tool_use) = self.jobs[at].clone() else { return };
            let judged = says(&tool_use);
            self.feed(Input::Judged { call: tool_use.call, judged });
        }
    }

    /// Ends the first running call of that tool.
    pub(super) fn finish(&mut self, name: &str, outcome: ToolOutcome) {
        let found = self.jobs.iter().find_map(|job| match job {
            Job::Tool { tool_use, .. } if tool_use.name == name => Some(tool_use.call.clone()),
            _ => None,
        });
        let call = found.unwrap_or_else(|| panic!("{name} does not run: {:?}", self.jobs));
        let duration = Duration::from_millis(5);
        self.feed(Input::ToolFinished { call, outcome, duration });
    }

    pub(super) fn reply(&mut self, answer: Answer) {
        let asked = self.jobs.iter().find_map(|job| match job {
            Job::Question(question) => Some(question.call.call.clone()),
            _ => None,
        });
        let call = asked.unwrap_or_else(|| panic!("no question is open: {:?}", self.jobs));
        self.feed(Input::Answered { call, answer });
    }

    pub(super) fn hook(&self) -> HookInput {
        let hook = self.jobs.iter().find_map(|job| match job {
            Job::Hook(hook) => Some(hook.clone()),
            _ => None,
        });
        hook.unwrap_or_else(|| panic!("no hook runs: {:?}", self.jobs))
    }

    pub(super) fn hooked(&mut self, answer: HookAnswer) {
        let call = self.hook().call().cloned();
        self.feed(Input::Hooked { call, reply: answer.into() });
    }

    /// Lets the open hook reply, with a decision and other values.
    pub(super) fn hook_replied(&mut self, reply: HookReply) {
        let call = self.hook().call().cloned();
        self.feed(Input::Hooked { call, reply });
    }

    pub(super) fn waits(&self) -> Option<Duration> {
        self.jobs.iter().find_map(|job| match job {
            Job::Wait(delay) => Some(*delay),
            _ => None,
        })
    }

    pub(super) fn wait_over(&mut self) {
        assert!(self.waits().is_some(), "nothing waits: {:?}", self.jobs);
        self.feed(Input::WaitOver);
    }

    pub(super) fn compacted(&mut self, result: Result<Compaction, ErrorData>) {
        assert!(self.jobs.contains(&Job::Compaction), "nothing compacts: {:?}", self.jobs);
        self.feed(Input::Compacted(result));
    }

    pub(super) fn abort(&mut self) {
        self.feed(Input::Abort { cause: Cause::User, note: None, keep_inputs: false });
    }

    /// Accepts an input and sends it to the running turn.
    pub(super) fn send(&mut self, id: &str, text: &str) {
        let delivery = Delivery::NextRound;
        let accepted = accepted(&InputId::from(id), vec![Block::text(text)]);
        self.side(InputAccepted { delivery, ..accepted }.into());
    }

    /// Appends output of a running call outside the machine.
    pub(super) fn output(&mut self, call: CallId, text: &str) {
        self.side(ToolOutput { call, text: text.to_owned() }.into());
    }

    /// An append that the machine did not request. The machine gets an input only if it fails.
    fn side(&mut self, event: Event) {
        if self.report.is_some() {
            return;
        }
        if !self.append(vec![event]) {
            self.append_failed(Vec::new());
            self.drain();
        }
    }
}

fn accepted(input: &InputId, content: Vec<Block>) -> InputAccepted {
    InputAccepted {
        input: input.clone(),
        delivery: Delivery::NextRound,
        content,
        metadata: serde_json::Map::new(),
        source: None,
    }
}

/// Returns the next line of the journal, written and read back.
fn envelope(state: &State, turn: Option<crate::ids::TurnId>, event: Event) -> Envelope {
    let seq = state.cursor.map_or(1, |cursor| cursor.seq + 1);
    let ts = jiff::Timestamp::from_second(1_800_000_000).unwrap();
    let envelope = Envelope { seq, epoch: 1, ts, turn, event, min_reader: None };
    let mut line = Vec::new();
    envelope.encode(&mut line).unwrap();
    let read = Envelope::decode(&line).unwrap();
    assert_eq!(read, envelope, "a line is not what was written");
    read
}
