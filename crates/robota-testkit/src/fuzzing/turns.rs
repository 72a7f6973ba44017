//! Fuzzes the turn machine with inputs in any order.

use std::time::Duration;

use serde_json::{Value, json};

use super::bytes::Bytes;
use super::fake_driver::FakeDriver;
use robota_core::approve::{Answer, Scope};
use robota_core::compact::Compaction;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::gate::{Grant, Judgement, Source};
use robota_core::hook::{
    AfterChange, BatchDecision, HookAnswer, HookPoint, HookQuestion, HookReply, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use robota_core::ids::CallId;
use robota_core::message::{Block, Cause, Message, Opaque, ToolInput, ToolUse};
use robota_core::permission::{Class, Verdict};
use robota_core::provider::{Delta, LeftOut, ProviderError, RetryPolicy, StopReason};
use robota_core::tool::{DidRun, ToolOutcome};
use robota_core::turn::{
    Effect, HookPoints, Input, JudgeResult, ToolConcurrency, TurnFacts, TurnInput, TurnRules,
};
use robota_core::usage::Usage;

/// The tools of the turn, sorted; the model also calls one that does not exist.
const TOOLS: [&str; 2] = ["act", "look"];

/// Runs a turn with valid responses to its effects mixed with invalid inputs (results for unknown
/// calls, deltas after the end, unrequested append confirmations), in any order. The turn must end
/// with one report and a result for every call.
pub fn turns(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let ((rules, facts), input) = (config(&mut bytes), start(&mut bytes));
    let mut driver = FakeDriver::new(rules, facts, input);
    while let Some(byte) = bytes.next() {
        match byte % 8 {
            0..4 => driver.answer(&mut bytes),
            4 => driver.send(Input::Delta(delta(&mut bytes))),
            5 => {
                let input = arbitrary_input(&mut bytes, &driver);
                driver.send(input);
            }
            // The same byte decides and is the value, so that small changes of an input stay small
            // changes of a run.
            6 if byte < 128 => driver.advance_time(Duration::from_secs(u64::from(byte))),
            6 => driver.accept(bytes.text(), blocks(&mut bytes)),
            _ if byte < 64 => driver.fail_next_append(),
            // Rarely, because it takes longer than everything else.
            _ if byte >= 240 => driver.round_trip_turn(),
            _ => driver.advance_time(Duration::from_millis(1)),
        }
    }
    driver.run_to_end();
    driver.check();
}

fn config(bytes: &mut Bytes<'_>) -> (TurnRules, TurnFacts) {
    let mut rules = TurnRules::new("model");
    let mut facts = TurnFacts { provider: "fuzz".to_owned(), ..TurnFacts::default() };
    let points = bytes.pick(32);
    let all = [
        HookPoint::UserPromptSubmit,
        HookPoint::PreToolUse,
        HookPoint::PostToolUse,
        HookPoint::Stop,
        HookPoint::PostToolBatch,
    ];
    let chosen = all.into_iter().enumerate().filter(|(at, _)| points >> at & 1 == 1);
    facts.hooks = HookPoints::new(chosen.map(|(_, point)| point));
    facts.has_compactor = bytes.flag();
    rules.max_rounds = bytes.one_of(&[3, 0, 1, u32::MAX]);
    rules.context_window = bytes.one_of(&[100_000, 0, 300, u64::MAX]);
    // Also values that no setting accepts: the machine must not depend on the check of its
    // settings.
    rules.compact_at = bytes.one_of(&[Some(0.8), None, Some(0.0), Some(f64::NAN)]);
    rules.concurrency = bytes.one_of(&[
        ToolConcurrency::default(),
        ToolConcurrency::Sequential,
        ToolConcurrency::Parallel { max: Some(0) },
        ToolConcurrency::Parallel { max: None },
    ]);
    let longest = RetryPolicy {
        budget: Duration::MAX,
        base: Duration::MAX,
        cap: Duration::MAX,
        ..RetryPolicy::default()
    };
    rules.retry = bytes.one_of(&[RetryPolicy::default(), RetryPolicy::never(), longest]);
    facts.tools = TOOLS.map(str::to_owned).to_vec();
    (rules, facts)
}

fn start(bytes: &mut Bytes<'_>) -> TurnInput {
    match bytes.pick(3) {
        0 => TurnInput::Message { input: Some("input".into()), content: blocks(bytes) },
        1 => TurnInput::Message { input: None, content: Vec::new() },
        _ => TurnInput::Continue,
    }
}

/// Returns a delta of the model.
pub(super) fn delta(bytes: &mut Bytes<'_>) -> Delta {
    match bytes.pick(9) {
        0 => Delta::Text(bytes.text()),
        1 => Delta::Thinking(bytes.text()),
        // The largest index: it must not be used as the size of a list.
        2 => Delta::ToolInput { index: u32::MAX, id: None, name: None, json: bytes.text() },
        // The largest counts: their sum must not overflow.
        3 => Delta::Usage(Usage::new(bytes.one_of(&[1, 0, u64::MAX]), u64::MAX)),
        4 => Delta::Activity,
        5 => Delta::End(
            bytes
                .one_of(&[
                    &StopReason::EndTurn,
                    &StopReason::ToolUse,
                    &StopReason::MaxTokens,
                    &StopReason::Pause,
                ])
                .clone(),
        ),
        6 => Delta::Block(block(bytes)),
        8 => {
            Delta::LeftOut(LeftOut { attachments: bytes.one_of(&[0, 1, 2]), ..LeftOut::default() })
        }
        _ => Delta::Block(Block::ToolUse(tool_use(bytes))),
    }
}

fn tool_use(bytes: &mut Bytes<'_>) -> ToolUse {
    let name = bytes.one_of(&["look", "act", "ghost", ""]);
    let id = bytes.one_of(&["a", "b", "c", ""]);
    let input = match bytes.pick(3) {
        0 => ToolInput::Json(json!({"path": "x"})),
        1 => ToolInput::Json(Value::Null),
        _ => ToolInput::parse(&format!("{{{}", bytes.text())),
    };
    ToolUse::new(CallId::from("ignored"), id, name, input)
}

fn block(bytes: &mut Bytes<'_>) -> Block {
    match bytes.pick(4) {
        0 => Block::text(bytes.text()),
        1 => Block::thinking(bytes.text(), None),
        2 => Block::Opaque(Opaque {
            wire: bytes.text(),
            value: Value::Null,
            extra: serde_json::Map::new(),
        }),
        _ => Block::Unknown(json!({"type": "tomorrow"})),
    }
}

fn blocks(bytes: &mut Bytes<'_>) -> Vec<Block> {
    (0..bytes.pick(3)).map(|_| block(bytes)).collect()
}

/// Returns an input that may be unrelated to what the turn requested.
fn arbitrary_input(bytes: &mut Bytes<'_>, driver: &FakeDriver) -> Input {
    let call = driver.pick_call(bytes);
    match bytes.pick(11) {
        0 => Input::Appended,
        1 => {
            let dropped = if bytes.flag() {
                let tool_use = ToolUse { call, ..tool_use(bytes) };
                vec![Effect::RunTool { tool_use, class: class(bytes), grant: Grant::Full }]
            } else {
                Vec::new()
            };
            Input::AppendFailed { error: ErrorData::new(ErrorKind::Storage, "full"), dropped }
        }
        2 => Input::ModelFailed(failure(bytes)),
        3 => Input::Judged { call, judged: judged(bytes) },
        4 => Input::Answered { call, answer: answer(bytes) },
        5 => {
            let call = bytes.flag().then_some(call);
            Input::Hooked { call, reply: hook_reply(bytes) }
        }
        6 => Input::ToolFinished { call, outcome: outcome(bytes), duration: Duration::MAX },
        7 => Input::Compacted(compaction(bytes, driver)),
        8 => Input::WaitOver,
        9 => Input::Withdraw { input: driver.pick_input(bytes) },
        _ => {
            let cause = bytes.one_of(&[Cause::User, Cause::Shutdown, Cause::Crash]);
            Input::Abort {
                cause,
                note: bytes.flag().then(|| bytes.text()),
                keep_inputs: bytes.flag(),
            }
        }
    }
}

pub(super) fn failure(bytes: &mut Bytes<'_>) -> ProviderError {
    let kind = bytes.one_of(&[ErrorKind::Authentication, ErrorKind::Network, ErrorKind::Provider]);
    let error = ProviderError::new(kind, bytes.text());
    match bytes.pick(3) {
        0 => error,
        1 => error.with_retry_after(Duration::from_millis(1)),
        _ => error.with_retry_after(Duration::MAX).with_hint("wait"),
    }
}

fn class(bytes: &mut Bytes<'_>) -> Class {
    bytes.one_of(&[Class::Inspect, Class::Modify, Class::Execute])
}

pub(super) fn judged(bytes: &mut Bytes<'_>) -> JudgeResult {
    if bytes.pick(5) == 4 {
        return JudgeResult::Invalid(bytes.text());
    }
    JudgeResult::Judgement(Judgement {
        verdict: bytes.one_of(&[Verdict::Deny, Verdict::Allow, Verdict::Ask]),
        class: class(bytes),
        reason: bytes.text(),
        source: bytes.one_of(&[Source::Mode, Source::Rule]),
        rules: Vec::new(),
        grant: bytes.one_of(&[Grant::Full, Grant::ReadOnly]),
    })
}

pub(super) fn answer(bytes: &mut Bytes<'_>) -> Answer {
    let note = bytes.flag().then(|| bytes.text());
    match bytes.pick(5) {
        0 => Answer::Deny { note },
        1 => Answer::Allow { note },
        2 => Answer::AllowChanged { input: Value::String(bytes.text()), note },
        3 => Answer::Unanswered { reason: bytes.text() },
        _ => Answer::Remember { scope: Scope::Session, rules: vec![bytes.text()], note },
    }
}

pub(super) fn hook_reply(bytes: &mut Bytes<'_>) -> HookReply {
    let answer = hook_answer(bytes);
    let extras = bytes.pick(8);
    HookReply {
        answer,
        context: (extras == 1 || extras == 3).then(|| bytes.text()),
        stop: (extras >= 6).then(|| bytes.text()),
    }
}

fn hook_answer(bytes: &mut Bytes<'_>) -> HookAnswer {
    let reason = String::new();
    match bytes.pick(12) {
        0 => HookAnswer::Stop(StopDecision::Finish),
        1 => HookAnswer::Stop(StopDecision::Continue { reason: bytes.text() }),
        2 => HookAnswer::UserPromptSubmit(PromptDecision::Continue { context: Some(bytes.text()) }),
        3 => HookAnswer::UserPromptSubmit(PromptDecision::Block { reason }),
        4 => HookAnswer::PreToolUse(PreToolDecision::Continue),
        5 => HookAnswer::PreToolUse(match bytes.pick(4) {
            0 => PreToolDecision::Deny { reason },
            1 => PreToolDecision::Ask(HookQuestion::new(reason)),
            2 => PreToolDecision::Allow { reason: None },
            _ => PreToolDecision::Answer { outcome: outcome(bytes) },
        }),
        6 => {
            let input = json!([bytes.text()]);
            let then = match bytes.pick(3) {
                0 => AfterChange::Judge,
                1 => AfterChange::Allow { reason: None },
                _ => AfterChange::Ask(HookQuestion::new(reason)),
            };
            HookAnswer::PreToolUse(PreToolDecision::Change { input, then })
        }
        7 => HookAnswer::PostToolUse(PostToolDecision::Continue),
        8 => HookAnswer::PostToolUse(PostToolDecision::Replace { outcome: outcome(bytes) }),
        9 => HookAnswer::PostToolUse(PostToolDecision::Block { reason }),
        10 => HookAnswer::PostToolBatch(BatchDecision::Continue { context: Some(bytes.text()) }),
        _ => HookAnswer::PostToolBatch(BatchDecision::Stop { reason }),
    }
}

pub(super) fn outcome(bytes: &mut Bytes<'_>) -> ToolOutcome {
    let ran = bytes.one_of(&[DidRun::Yes, DidRun::No, DidRun::Maybe]);
    let length = bytes.one_of(&[0, 1, 1000]);
    ToolOutcome { ran, ok: bytes.flag(), ..ToolOutcome::ok("r".repeat(length)) }
}

/// Returns a summary that keeps no message, or those from a user message on: a conversation may
/// only start with a user message.
pub(super) fn compaction(
    bytes: &mut Bytes<'_>,
    driver: &FakeDriver,
) -> Result<Compaction, ErrorData> {
    if !bytes.flag() {
        return Err(ErrorData::new(ErrorKind::Provider, "no summary"));
    }
    let summary = Message::user(driver.ids(), bytes.text());
    Ok(Compaction { summary, keep_from: driver.pick_user_message(bytes) })
}
