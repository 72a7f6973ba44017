//! The invariants of every run, checked at each step.

use std::collections::{HashMap, HashSet};

use super::harness::{Job, Run, TurnConfig};
use crate::event::{Envelope, Event, Purpose, TurnEnd};
use crate::ids::CallId;
use crate::message::{Message, Role};
use crate::permission::{Class, Verdict};
use crate::project::ModelCalls;
use crate::provider::Delta;
use crate::state::State;
use crate::turn::{Effect, Input, JudgeResult};
use crate::usage::Usage;

/// Checks every input, effect and event.
pub(super) struct Watch {
    config: TurnConfig,
    /// All text the model streamed, and all text that was journaled as it came.
    fed: String,
    seen: String,
    /// Text and calls of the answer that streams.
    attempt: String,
    open: Vec<CallId>,
    committed: HashSet<CallId>,
    decided: HashMap<CallId, Verdict>,
    denied: HashSet<CallId>,
    classes: HashMap<CallId, Class>,
    started: HashSet<CallId>,
    finished: HashSet<CallId>,
    instructions: Vec<String>,
    runs: u32,
    pub(super) most_at_once: usize,
    usage: Usage,
    finishes: u32,
}

impl Watch {
    pub(super) fn new(config: TurnConfig) -> Self {
        Self {
            config,
            fed: String::new(),
            seen: String::new(),
            attempt: String::new(),
            open: Vec::new(),
            committed: HashSet::new(),
            decided: HashMap::new(),
            denied: HashSet::new(),
            classes: HashMap::new(),
            started: HashSet::new(),
            finished: HashSet::new(),
            instructions: Vec::new(),
            runs: 0,
            most_at_once: 0,
            usage: Usage::default(),
            finishes: 0,
        }
    }

    pub(super) fn input(&mut self, input: &Input, model_open: bool) {
        match input {
            Input::Delta(Delta::Text(text)) if model_open => self.fed.push_str(text),
            Input::Delta(Delta::Block(crate::message::Block::Text(text))) if model_open => {
                self.fed.push_str(&text.text);
            }
            Input::Judged { call, judged: JudgeResult::Judgement(judgement) } => {
                self.classes.insert(call.clone(), judgement.class);
            }
            _ => {}
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::ModelRequested(data) => {
                assert!(self.attempt.is_empty(), "text is lost: {:?}", self.attempt);
                assert!(self.open.is_empty(), "results are missing: {:?}", self.open);
                self.instructions.extend(data.instruction.clone());
            }
            Event::TextChunk(data) => {
                self.attempt.push_str(&data.text);
                self.seen.push_str(&data.text);
            }
            Event::StreamReset(_) => {
                self.attempt.clear();
                let started = self.open.iter().find(|call| self.started.contains(call));
                assert_eq!(started, None, "a call that ran is void");
                self.open.clear();
            }
            Event::AssistantMessage(data) => self.assistant_message(&data.message),
            Event::ModelAsked(data) => self.usage += data.usage.unwrap_or_default(),
            Event::UserMessage(data) => self.no_instruction_in(&data.message),
            Event::ToolCalled(data) => self.open.push(data.tool_use.call.clone()),
            Event::PermissionDecided(data) => {
                self.decided.insert(data.call.clone(), data.verdict);
                if data.verdict == Verdict::Deny {
                    self.denied.insert(data.call.clone());
                }
            }
            Event::HookFinished(data) if data.input.is_some() => {
                // The arguments changed, so the earlier decision no longer applies.
                self.decided.remove(data.call.as_ref().unwrap());
            }
            Event::ToolStarted(data) => {
                assert!(self.started.insert(data.call.clone()), "started twice");
            }
            Event::ToolFinished(data) => {
                assert!(self.finished.insert(data.call.clone()), "finished twice");
            }
            Event::ToolResultAdded(data) => {
                assert_eq!(self.open.first(), Some(&data.result.call), "results out of order");
                self.open.remove(0);
                assert!(self.finished.contains(&data.result.call), "a result of nothing");
            }
            Event::ToolBatchFinished(_) => assert_eq!(self.open, [], "results are missing"),
            Event::TurnFinished(data) => {
                assert!(self.attempt.is_empty(), "text is lost: {:?}", self.attempt);
                assert_eq!(self.open, [], "results are missing");
                assert_eq!(data.usage, self.usage, "the turn's cost is not that of its messages");
            }
            _ => {}
        }
    }

    fn assistant_message(&mut self, message: &Message) {
        let text = message.text();
        assert!(text.starts_with(&self.attempt), "text is lost: {:?} {text:?}", self.attempt);
        self.attempt.clear();
        let calls: Vec<_> = message.tool_uses().map(|tool_use| tool_use.call.clone()).collect();
        assert_eq!(calls, self.open, "the calls of an answer are not those that streamed");
        self.committed.extend(calls);
        self.usage += message.usage.unwrap_or_default();
        self.no_instruction_in(message);
    }

    fn no_instruction_in(&self, message: &Message) {
        let text = message.text();
        let found = self.instructions.iter().find(|instruction| text.contains(*instruction));
        assert_eq!(found, None, "an instruction for one call stays in the conversation");
    }

    pub(super) fn effect(
        &mut self,
        effect: &Effect,
        journal: &[Envelope],
        state: &State,
        jobs: &[Job],
    ) {
        match effect {
            Effect::CallModel(call) => {
                assert_paired(state);
                let last = journal.last().map(|line| line.event.kind());
                assert_eq!(last, Some("model_requested"), "called without a durable request");
                let continues = matches!(
                    journal.last().map(|line| &line.event),
                    Some(Event::ModelRequested(data)) if data.continues
                );
                if !continues {
                    assert_eq!(call.instruction.is_some(), call.purpose != Purpose::Answer);
                }
                for message in state.view.messages.iter() {
                    self.no_instruction_in(message);
                }
            }
            Effect::Judge { tool_use, .. } => {
                assert!(self.config.tools.contains(&tool_use.name), "an unknown tool is judged");
                assert!(tool_use.input.json().is_some(), "unreadable arguments are judged");
            }
            Effect::RunTool { tool_use, class, .. } => {
                self.may_run(&tool_use.call, *class, journal, jobs);
                assert!(self.config.tools.contains(&tool_use.name), "an unknown tool runs");
                self.runs += 1;
            }
            Effect::Finish(report) => {
                self.finishes += 1;
                assert_eq!(report.tools_executed, self.runs);
                assert_eq!(report.usage, self.usage);
                let left = jobs.iter().find(|job| !matches!(job, Job::Judge(_)));
                assert_eq!(left, None, "a turn is open at the end");
                assert_paired(state);
            }
            Effect::Append(_)
            | Effect::AskPermission(_)
            | Effect::RunHook(_)
            | Effect::FindLimits
            | Effect::Compact(_)
            | Effect::Wait(_)
            | Effect::Cancel(_) => {}
        }
    }

    fn may_run(&mut self, call: &CallId, class: Class, journal: &[Envelope], jobs: &[Job]) {
        let durable = journal.iter().any(
            |line| matches!(&line.event, Event::ToolStarted(started) if started.call == *call),
        );
        assert!(durable, "runs without a durable start");
        assert_eq!(self.decided.get(call), Some(&Verdict::Allow), "runs without being allowed");
        assert!(!self.denied.contains(call), "runs although it was denied");
        assert_eq!(self.classes.get(call), Some(&class), "runs as something it was not judged");
        let running: Vec<_> = jobs
            .iter()
            .filter_map(|job| match job {
                Job::Tool { class, .. } => Some(*class),
                _ => None,
            })
            .collect();
        self.most_at_once = self.most_at_once.max(running.len() + 1);
        assert!(running.len() < self.config.concurrency.limit(), "too many at once");
        if class != Class::Inspect {
            assert_eq!(running, [], "overlaps with something");
            assert!(self.committed.contains(call), "runs before its answer is committed");
        }
        assert!(running.iter().all(|class| *class == Class::Inspect), "overlaps with an effect");
        let at = self.open.iter().position(|open| open == call).expect("a result without a call");
        for earlier in &self.open[..at] {
            let passed = self.finished.contains(earlier)
                || (self.started.contains(earlier) && self.classes[earlier] == Class::Inspect);
            assert!(passed, "{call} overtakes {earlier}");
        }
    }
}

/// Asserts that every call has its result, in order, in the message right after it.
pub(super) fn assert_paired(state: &State) {
    let messages = &state.view.messages;
    for (at, message) in messages.iter().enumerate() {
        let asked: Vec<_> =
            message.tool_uses().map(|call| (call.call.clone(), call.id.clone())).collect();
        let next = messages.get(at + 1);
        let results: Vec<_> = next
            .filter(|message| message.role() == Role::Tool)
            .into_iter()
            .flat_map(|message| message.tool_results())
            .map(|result| (result.call.clone(), result.id.clone()))
            .collect();
        assert_eq!(asked, results, "calls (left) and results (right) differ");
    }
}

/// Asserts the invariants of a run that is over.
pub(super) fn assert_ended(run: &Run) {
    let report = run.report();
    assert!(run.turn.is_finished());
    assert_eq!(run.state.turn, None, "the turn is still open");
    assert_eq!(run.watch.finishes + u32::from(run.finish_dropped), 1, "ended once");
    if run.failed {
        assert_eq!(report.end, TurnEnd::StoreFailed);
        assert!(report.error.is_some());
    }
    assert_paired(&run.state);
    assert_eq!(run.watch.fed, run.watch.seen, "streamed text is not in the journal");
    let folded = State::fold(&run.events()).expect("a journal without gaps");
    assert_eq!(folded, run.state, "folding from zero gives another state");
    let messages = run.state.view.messages.iter();
    let calls = &mut ModelCalls::default();
    let used: Usage = run.events().iter().filter_map(|line| calls.push(&line.event)?.usage).sum();
    assert_eq!(used, run.state.usage, "a call is counted twice or not at all");
    let bytes: usize = messages.map(|message| serde_json::to_string(message).unwrap().len()).sum();
    assert_eq!(bytes as u64, run.state.view.bytes, "the running total drifted");
}
