//! Arbitrary runs: every choice of the outside world comes from a list of numbers, so a failing
//! run shrinks to a short list. When the numbers run out, every choice is the simplest one, and the
//! run must end.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::{Job, Run, Setup, TurnConfig, config, judgement, say, tool_call};
use super::invariants::assert_ended;
use crate::approve::Answer;
use crate::compact::Compaction;
use crate::error::{ErrorData, ErrorKind};
use crate::event::{Event, MessageInjected};
use crate::gate::Source;
use crate::hook::{
    AfterChange, BatchDecision, HookAnswer, HookInput, HookPoint, HookQuestion, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use crate::ids::{CallId, CountingIds};
use crate::message::{Block, Cause, Message, Role, ToolInput};
use crate::permission::Verdict;
use crate::provider::RetryPolicy;
use crate::provider::{Delta, FailureReason, ProviderError, StopReason};
use crate::tool::ToolOutcome;
use crate::turn::{HookPoints, Input, JudgeResult, ToolConcurrency, TurnInput};
use crate::usage::Usage;

/// Takes choices from a list; the first option once it is used up.
struct Choices {
    numbers: std::vec::IntoIter<u32>,
    count: u32,
}

impl Choices {
    fn pick(&mut self, options: u32) -> u32 {
        self.numbers.next().map_or(0, |number| number % options)
    }

    fn one_in(&mut self, options: u32) -> bool {
        self.pick(options) == 1
    }

    fn of<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.pick(options.len() as u32) as usize].clone()
    }

    fn used_up(&self) -> bool {
        self.numbers.len() == 0
    }

    /// Words that occur once in a run.
    fn words(&mut self) -> String {
        self.count += 1;
        match self.pick(8) {
            1 => String::new(),
            2 => format!("\n\n \u{1F980} {}\u{0}", self.count),
            3 => format!("<{}>", self.count).repeat(40),
            4 => "   ".to_owned(),
            _ => format!("words {} ", self.count),
        }
    }

    fn json(&mut self) -> Value {
        self.of(&[
            json!({}),
            json!({ "path": "a/b", "depth": 3 }),
            json!({ "n": [1, -2, 0.1, 1e300, 5e-324], "big": u64::MAX }),
            json!(null),
            json!({ "$unparsed": "not what it seems", "$error": "none" }),
            json!({ "$json": { "$json": 1 } }),
        ])
    }

    fn outcome(&mut self) -> ToolOutcome {
        match self.pick(4) {
            0 => ToolOutcome::ok(self.words()),
            1 => ToolOutcome::failed("timeout", self.words()),
            2 => ToolOutcome::ok("long ".repeat(200)),
            _ => ToolOutcome::ok("fact").with_metadata("exit_code", 1),
        }
    }

    fn turn_config(&mut self) -> TurnConfig {
        let points = [
            HookPoint::UserPromptSubmit,
            HookPoint::PreToolUse,
            HookPoint::PostToolUse,
            HookPoint::PostToolBatch,
            HookPoint::Stop,
        ];
        let hooks: Vec<_> = points.into_iter().filter(|_| self.one_in(3)).collect();
        TurnConfig {
            max_rounds: self.of(&[10, 0, 1, 2, 3, 4]),
            context_window: self.of(&[200_000, 0, 100, 400, 1_000]),
            compact_at: self.of(&[Some(0.835), None, Some(0.1)]),
            has_compactor: self.one_in(2),
            assumed_limits: self.one_in(2),
            max_continues: self.pick(3),
            max_repeats: self.pick(4),
            concurrency: self.of(&[
                ToolConcurrency::Parallel { max: Some(8) },
                ToolConcurrency::Sequential,
                ToolConcurrency::Parallel { max: None },
                ToolConcurrency::Parallel { max: Some(0) },
                ToolConcurrency::Parallel { max: Some(2) },
            ]),
            hooks: HookPoints::new(hooks),
            retry: self.of(&[
                RetryPolicy::default(),
                RetryPolicy::never(),
                RetryPolicy {
                    budget: Duration::from_secs(2),
                    base: Duration::from_millis(100),
                    cap: Duration::from_secs(1),
                    max_retries: Some(2),
                },
            ]),
            ..config()
        }
    }

    fn setup(&mut self) -> Setup {
        let ids = CountingIds::default();
        let before = (0..self.pick(3)).map(|at| {
            let text = format!("before {at} ").repeat(20);
            let mut message = Message::user(&ids, text);
            message.id = format!("before-{at}").as_str().into();
            Event::from(MessageInjected { message: message.into() })
        });
        let before = before.collect();
        Setup {
            config: self.turn_config(),
            before,
            input: self.of(&[say("hello"), TurnInput::Continue]),
            fail_at: self.one_in(3).then(|| u64::from(self.pick(40))),
            reload: self.one_in(3),
        }
    }

    fn failure(&mut self) -> ProviderError {
        let kind = self.of(&[
            ErrorKind::Authentication,
            ErrorKind::Network,
            ErrorKind::RateLimit,
            ErrorKind::Provider,
        ]);
        let error = ProviderError::new(kind, "it failed");
        let error = if self.one_in(2) { error.with_hint("try this") } else { error };
        let error =
            if self.one_in(4) { error.with_reason(FailureReason::ContextTooLong) } else { error };
        match self.pick(6) {
            1 => error.with_retry_after(Duration::ZERO),
            2 => error.with_retry_after(Duration::from_secs(1)),
            3 => error.with_retry_after(Duration::from_secs(100_000)),
            4 => error.with_retry_after(Duration::MAX),
            _ => error,
        }
    }

    fn model(&mut self) -> Input {
        let delta = match self.pick(16) {
            0 => Delta::End(self.of(&[
                StopReason::EndTurn,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Pause,
                StopReason::Refusal,
                StopReason::Filtered,
                StopReason::WindowFull,
                StopReason::Other("odd".to_owned()),
            ])),
            1 | 2 => Delta::Text(self.words()),
            3 => Delta::Thinking(self.words()),
            4 => Delta::Block(Block::text(self.words())),
            5 => Delta::Block(Block::thinking(self.words(), Some("proof".to_owned()))),
            6..=10 => {
                let input = self.json();
                let input = match self.pick(8) {
                    1 => ToolInput::parse("{\"half\": "),
                    2 => ToolInput::parse(""),
                    3 => ToolInput::parse(&input.to_string()),
                    _ => ToolInput::Json(input),
                };
                let name = self
                    .of(&["read", "grep", "edit", "bash", "read", "grep", "read", "edit", "nope"]);
                tool_call(
                    self.of(&["call_0", "call_1", "call_2", "call_3", "call_4", ""]),
                    name,
                    input,
                )
            }
            11 => {
                let json = self.words();
                Delta::ToolInput { index: 0, id: None, name: None, json }
            }
            12 => Delta::Usage(Usage::new(u64::from(self.pick(90)), 3)),
            13 => self.of(&[
                Delta::Activity,
                Delta::Block(Block::Unknown(json!({ "type": "novel", "x": [1] }))),
            ]),
            14 if self.one_in(2) => return Input::ModelFailed(self.failure()),
            _ => Delta::Activity,
        };
        Input::Delta(delta)
    }

    fn judged(&mut self, name: &str) -> JudgeResult {
        let verdict =
            self.of(&[Verdict::Allow, Verdict::Allow, Verdict::Ask, Verdict::Deny, Verdict::Allow]);
        let mut says = judgement(verdict, name);
        says.source = self.of(&[Source::Mode, Source::Rule]);
        if self.one_in(8) {
            JudgeResult::Invalid("wrong".to_owned())
        } else {
            JudgeResult::Judgement(says)
        }
    }

    fn hook_answer(&mut self, point: HookPoint) -> HookAnswer {
        let reason = "the hook says so".to_owned();
        let point = if self.one_in(12) { HookPoint::Stop } else { point };
        match point {
            HookPoint::UserPromptSubmit => HookAnswer::UserPromptSubmit(self.of(&[
                PromptDecision::Continue { context: None },
                PromptDecision::Continue { context: Some("context".to_owned()) },
                PromptDecision::Block { reason },
            ])),
            HookPoint::PreToolUse => {
                let (input, outcome) = (self.json(), self.outcome());
                let then = self.of(&[
                    AfterChange::Judge,
                    AfterChange::Allow { reason: None },
                    AfterChange::Ask(HookQuestion::new(reason.clone())),
                ]);
                HookAnswer::PreToolUse(self.of(&[
                    PreToolDecision::Continue,
                    PreToolDecision::Allow { reason: None },
                    PreToolDecision::Ask(HookQuestion::new(reason.clone())),
                    PreToolDecision::Deny { reason },
                    PreToolDecision::Change { input, then },
                    PreToolDecision::Answer { outcome },
                ]))
            }
            HookPoint::PostToolUse => {
                let outcome = self.outcome();
                HookAnswer::PostToolUse(self.of(&[
                    PostToolDecision::Continue,
                    PostToolDecision::Replace { outcome },
                    PostToolDecision::Block { reason },
                ]))
            }
            HookPoint::PostToolBatch => HookAnswer::PostToolBatch(self.of(&[
                BatchDecision::Continue { context: None },
                BatchDecision::Continue { context: Some("context".to_owned()) },
                BatchDecision::Stop { reason },
            ])),
            HookPoint::Stop => HookAnswer::Stop(
                self.of(&[StopDecision::Finish, StopDecision::Continue { reason }]),
            ),
        }
    }

    fn compaction(&mut self, run: &Run) -> Result<Compaction, ErrorData> {
        if self.one_in(3) {
            return Err(ErrorData::new(ErrorKind::Provider, "no summary"));
        }
        self.count += 1;
        let mut summary = Message::user(&CountingIds::default(), "summary");
        summary.id = format!("summary-{}", self.count).as_str().into();
        let users: Vec<_> =
            run.messages().into_iter().filter(|message| message.role() == Role::User).collect();
        let keep = self.pick(users.len() as u32 + 1) as usize;
        let keep_from = keep.checked_sub(1).map(|at| users[at].id.clone());
        Ok(Compaction { summary, keep_from })
    }

    /// Returns an input that answers no open effect.
    fn stray(&mut self) -> Input {
        let call = CallId::from("nobody");
        match self.pick(7) {
            0 => Input::WaitOver,
            1 => Input::Judged { call, judged: JudgeResult::Invalid("late".to_owned()) },
            2 => Input::Answered { call, answer: Answer::Allow { note: None } },
            3 => Input::Hooked {
                call: Some(call),
                reply: HookAnswer::PreToolUse(PreToolDecision::Continue).into(),
            },
            4 => Input::ToolFinished { call, outcome: self.outcome(), duration: Duration::ZERO },
            5 => Input::Compacted(Err(ErrorData::new(ErrorKind::Provider, "late"))),
            _ => Input::Appended,
        }
    }

    fn act(&mut self, run: &mut Run) {
        match self.pick(20) {
            1 if self.one_in(5) => {
                let cause = self.of(&[Cause::User, Cause::Shutdown]);
                run.feed(Input::Abort { cause, note: None, keep_inputs: false });
                return;
            }
            2 => {
                let count = run.appended();
                run.send(&format!("sent-{count}"), "and another thing");
                return;
            }
            3 => {
                let stray = self.stray();
                // A late `WaitOver` would end a wait that is open.
                if run.waits().is_none() && !run.jobs.contains(&Job::Compaction) {
                    run.feed(stray);
                }
                return;
            }
            4 => {
                run.elapsed += Duration::from_millis(u64::from(self.pick(3000)));
                return;
            }
            _ => {}
        }
        assert!(!run.jobs.is_empty(), "stuck: nothing is open and it is not over");
        let at = self.pick(run.jobs.len() as u32) as usize;
        match run.jobs[at].clone() {
            Job::Model(_) => {
                let burst: Vec<_> = (0..=self.pick(4)).map(|_| self.model()).collect();
                run.feed_all(burst);
            }
            Job::Judge(tool_use) => {
                let judged = self.judged(&tool_use.name);
                run.feed(Input::Judged { call: tool_use.call, judged });
            }
            Job::Tool { tool_use, .. } => {
                if self.one_in(4) {
                    run.output(tool_use.call.clone(), "output");
                }
                let (outcome, duration) = (self.outcome(), Duration::from_millis(7));
                run.feed(Input::ToolFinished { call: tool_use.call, outcome, duration });
            }
            Job::Question(question) => {
                let note = self.one_in(2).then(|| "so be it".to_owned());
                let answer = self.of(&[
                    Answer::Allow { note: note.clone() },
                    Answer::AllowChanged { input: json!({"changed": true}), note: note.clone() },
                    Answer::Unanswered { reason: "no one answered".to_owned() },
                    Answer::Deny { note },
                ]);
                run.feed(Input::Answered { call: question.call.call, answer });
            }
            Job::Hook(hook) => {
                let answer = self.hook_answer(HookInput::point(&hook));
                run.feed(Input::Hooked { call: hook.call().cloned(), reply: answer.into() });
            }
            Job::Limits => run.feed(Input::LimitsFound(None)),
            Job::Compaction => {
                let result = self.compaction(run);
                run.compacted(result);
            }
            Job::Wait(_) => run.feed(Input::WaitOver),
        }
    }
}

/// The maximum number of steps of a run that gets only the simplest choices.
const PATIENCE: u32 = 400;

fn play(numbers: Vec<u32>) -> Run {
    let mut choices = Choices { numbers: numbers.into_iter(), count: 0 };
    let setup = choices.setup();
    let mut run = Run::begin(setup);
    let mut left = PATIENCE;
    while run.report.is_none() {
        if choices.used_up() {
            left -= 1;
            assert!(left > 0, "it does not end");
        }
        choices.act(&mut run);
    }
    // Later inputs have no effect.
    run.feed(Input::Appended);
    run.feed(Input::Abort { cause: Cause::User, note: None, keep_inputs: false });
    run.feed(Input::Delta(Delta::Text("late".to_owned())));
    run
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    /// Every call gets exactly one result, text is never lost, the fold is the machine's state,
    /// the run ends: see the harness for what is checked on the way.
    #[test]
    fn core_08_any_interleaving_holds_every_promise(
        numbers in proptest::collection::vec(any::<u32>(), 0..400),
    ) {
        assert_ended(&play(numbers));
    }
}

/// Checks the generator itself: its runs reach every end and every event.
#[test]
fn core_08_arbitrary_runs_reach_every_end_and_every_event() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let numbers = proptest::collection::vec(any::<u32>(), 0..400);
    let mut ends = HashMap::<String, u32>::new();
    let mut kinds = HashMap::<String, u32>::new();
    let (mut several, mut overlapping) = (0, 0);
    for _ in 0..1500 {
        let run = play(numbers.new_tree(&mut runner).unwrap().current());
        *ends.entry(format!("{:?}", run.report().end)).or_default() += 1;
        several += u32::from(run.ran().len() > 1);
        overlapping += u32::from(run.watch.most_at_once > 1);
        for kind in run.kinds() {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(ends.len(), 9, "{ends:?}");
    assert!(ends.values().all(|count| *count >= 5), "{ends:?}");
    assert!(several > 100 && overlapping > 20, "{several} {overlapping}");
    let rare: Vec<_> = kinds.iter().filter(|(_, count)| **count < 20).collect();
    assert!(rare.is_empty() && kinds.len() >= 32, "{} {rare:?}", kinds.len());
}

/// Repeats one run, and in each repetition another append fails.
#[test]
fn core_03_no_event_is_lost_whichever_append_fails() {
    for fail_at in 0..60 {
        let setup = Setup {
            config: config(),
            before: Vec::new(),
            input: say("hello"),
            fail_at: Some(fail_at),
            reload: true,
        };
        let mut run = Run::begin(setup);
        let plan: &[&dyn Fn(&mut Run)] = &[
            &|run| run.text("I look "),
            &|run| run.call("call_0", "read", json!({})),
            &|run| run.judge(Verdict::Allow),
            &|run| run.call("call_1", "edit", json!({})),
            &|run| run.call("call_2", "nope", json!({})),
            &|run| run.judge(Verdict::Ask),
            &Run::end,
            &|run| run.reply(Answer::Allow { note: None }),
            &|run| run.finish("read", ToolOutcome::ok("contents")),
            &|run| run.finish("edit", ToolOutcome::ok("edited")),
            &|run| run.text("done"),
            &Run::end,
        ];
        for act in plan {
            if run.failed {
                break;
            }
            act(&mut run);
        }
        while run.report.is_none() {
            assert!(run.failed, "the plan ends the turn");
            let running = run.running();
            run.finish(&running[0], ToolOutcome::ok("drained"));
        }
        assert_ended(&run);
        if !run.failed {
            assert!(fail_at > 10, "fewer appends than there are events");
            return;
        }
    }
    panic!("more appends than expected");
}
