use serde_json::json;

use super::*;
use crate::error::{ErrorData, ErrorKind};
use crate::event::*;
use crate::hook::HookPoint;
use crate::ids::CountingIds;
use crate::message::{Block, Cause, Message, MessageState, ToolInput, ToolResult, ToolUse};
use crate::permission::{Class, Verdict};
use crate::tool::ToolOutcome;

/// Numbers events and folds them.
struct Journal {
    lines: Vec<Envelope>,
    state: State,
}

impl Journal {
    fn new() -> Self {
        Self { lines: Vec::new(), state: State::default() }
    }

    fn add(&mut self, event: impl Into<Event>) -> &mut Self {
        let line = line(self.lines.len() as u64 + 1, 1, event.into());
        self.state.apply(&line).unwrap();
        self.lines.push(line);
        self
    }

    fn open(&self) -> &OpenTurn {
        self.state.turn.as_ref().unwrap()
    }

    fn stage(&self) -> &CallStage {
        &self.open().calls.values().next().unwrap().stage
    }
}

fn line(seq: u64, epoch: u32, event: Event) -> Envelope {
    let ts = "2026-01-02T03:04:05Z".parse().unwrap();
    Envelope { seq, epoch, ts, turn: Some("t1".into()), event, min_reader: None }
}

fn tool_use(call: &str) -> ToolUse {
    ToolUse::new(call.into(), "call_0", "read", ToolInput::Json(json!({ "n": 0.5 })))
}

fn user(id: &str, text: &str) -> Message {
    let mut message = Message::user(&CountingIds::default(), text);
    message.id = id.into();
    message
}

fn started() -> TurnStarted {
    TurnStarted { input: None, provider: "p".into(), model: "m".into(), max_rounds: 10 }
}

fn finished(end: TurnEnd, error: Option<ErrorData>) -> TurnFinished {
    TurnFinished { end, rounds: 1, tools_executed: 0, usage: Usage::default(), error, stop: None }
}

/// Creates a turn whose answer asks for one call.
fn with_call() -> Journal {
    let mut journal = Journal::new();
    journal.add(started());
    journal.add(ToolCalled { round: 1, index: 0, tool_use: tool_use("c1") });
    journal
}

fn tool_finished(text: &str) -> ToolFinished {
    let outcome = ToolOutcome::ok(text);
    ToolFinished {
        call: "c1".into(),
        class: Some(Class::Modify),
        outcome: outcome.into(),
        duration_ms: 1,
    }
}

#[test]
fn core_20_a_gap_or_an_older_writer_is_refused_and_changes_nothing() {
    let mut journal = Journal::new();
    journal.add(Renamed { name: "a".to_owned() }).add(Renamed { name: "b".to_owned() });
    let before = journal.state.clone();
    for (seq, epoch) in [(2, 1), (4, 1), (1, 1), (3, 0)] {
        let event = Renamed { name: "c".to_owned() }.into();
        let error = journal.state.apply(&line(seq, epoch, event)).unwrap_err();
        assert_eq!((error.expected, error.found), (3, Cursor { epoch, seq }));
        assert_eq!(journal.state, before);
    }
    journal.state.apply(&line(3, 7, Renamed { name: "c".to_owned() }.into())).unwrap();
    assert_eq!(journal.state.cursor, Some(Cursor { epoch: 7, seq: 3 }));
}

#[test]
fn core_20_rules_that_deny_calls_belong_to_a_turn_until_another_input_starts_one() {
    let mut journal = Journal::new();
    let rules = |input: Option<&str>, rule: &str| TurnRulesAdded {
        input: input.map(Into::into),
        deny: vec![rule.to_owned()],
    };
    let first = InputId::from("i1");
    journal.add(rules(Some("i1"), "Write")).add(rules(Some("i2"), "Edit"));
    let started = |input: Option<&str>| TurnStarted { input: input.map(Into::into), ..started() };
    journal.add(started(Some("i1"))).add(rules(None, "Bash(make *)")).add(rules(None, "Write"));
    assert_eq!(journal.state.restrictions.of(None), ["Write", "Bash(make *)"]);
    // If the journal fails before the message is recorded, the input starts another turn.
    assert_eq!(journal.state.restrictions.of(Some(&first)), ["Write"]);
    let message = user("m1", "one").into();
    journal.add(UserMessage { message, input: Some(first), author: Author::User });
    journal.add(finished(TurnEnd::Interrupted, None));
    assert_eq!(journal.state.restrictions.inputs.len(), 1);
    journal.add(started(None));
    assert_eq!(journal.state.restrictions.of(None), ["Write", "Bash(make *)"], "continued");
    journal.add(started(Some("i3")));
    assert!(journal.state.restrictions.turn.is_empty());
    journal.add(InputCancelled { input: "i2".into(), cause: Cause::User });
    assert!(journal.state.restrictions.is_empty());
}

#[test]
fn core_20_a_fork_starts_from_the_state_of_its_parent() {
    let line = line(500, 3, Renamed { name: "a".to_owned() }.into());
    assert_eq!(State::fold([&line]).unwrap().cursor, Some(Cursor { epoch: 3, seq: 500 }));
}

#[test]
fn core_20_unknown_events_count_and_change_nothing_else() {
    let mut journal = Journal::new();
    journal.add(Renamed { name: "a".to_owned() });
    let before = journal.state.clone();
    let data = RawJson::parse("{}").unwrap();
    journal.add(Event::Unknown { kind: "novel".to_owned(), data });
    assert_eq!(State { cursor: before.cursor, ..journal.state.clone() }, before);
    assert_eq!(journal.state.cursor.unwrap().seq, 2);
}

#[test]
fn core_20_inputs_wait_until_they_are_delivered_blocked_or_cancelled() {
    let mut journal = Journal::new();
    for id in ["i1", "i2", "i3", "i4"] {
        journal.add(InputAccepted {
            input: id.into(),
            delivery: Delivery::AfterTurn,
            content: vec![Block::text(id)],
            metadata: serde_json::Map::new(),
            source: None,
        });
    }
    let message = user("m1", "i1");
    journal
        .add(UserMessage {
            message: message.into(),
            input: Some("i1".into()),
            author: Author::User,
        })
        .add(InputBlocked { input: Some("i2".into()), reason: "no".to_owned() })
        .add(InputCancelled { input: "i3".into(), cause: Cause::User });
    let left: Vec<_> = journal.state.inputs.keys().map(InputId::as_str).collect();
    assert_eq!(left, ["i4"]);
}

#[test]
fn core_20_a_call_is_known_at_every_stage() {
    let mut journal = with_call();
    let call = || crate::ids::CallId::from("c1");

    assert_eq!(*journal.stage(), CallStage::Called);
    journal.add(HookStarted { point: HookPoint::PreToolUse, call: Some(call()) });
    assert_eq!(*journal.stage(), CallStage::InPreHook);
    let hook_finished = |outcome| HookFinished {
        point: HookPoint::PreToolUse,
        call: Some(call()),
        decision: "continue".to_owned(),
        reason: None,
        input: None,
        outcome,
        context: None,
        stop: None,
    };
    journal.add(hook_finished(None));
    assert_eq!(*journal.stage(), CallStage::Called);
    journal.add(PermissionAsked {
        call: call(),
        reason: "why".to_owned(),
        rules: Vec::new(),
        metadata: serde_json::Map::new(),
    });
    assert_eq!(*journal.stage(), CallStage::Asked);
    journal.add(PermissionDecided {
        call: call(),
        verdict: Verdict::Allow,
        by: DecidedBy::User,
        class: None,
        reason: "go".to_owned(),
        scope: None,
        rules: Vec::new(),
    });
    assert_eq!(*journal.stage(), CallStage::Allowed);
    journal.add(ToolStarted { call: call(), class: Class::Modify, input: None });
    assert_eq!(*journal.stage(), CallStage::Started);
    journal.add(tool_finished("raw"));
    assert_eq!(*journal.stage(), CallStage::Finished(Arc::new(ToolOutcome::ok("raw"))));
    journal.add(HookStarted { point: HookPoint::PostToolUse, call: Some(call()) });
    assert_eq!(*journal.stage(), CallStage::InPostHook(Arc::new(ToolOutcome::ok("raw"))));
    journal.add(hook_finished(Some(ToolOutcome::ok("clean"))));
    assert_eq!(*journal.stage(), CallStage::Finished(Arc::new(ToolOutcome::ok("clean"))));
    let result = ToolResult::text(&tool_use("c1"), "clean", false);
    journal.add(ToolResultAdded { round: 1, message: "m9".into(), result: result.into() });
    assert!(journal.open().calls.is_empty());
}

#[test]
fn core_20_a_post_hook_without_a_recorded_start_still_finishes_the_call() {
    let mut journal = with_call();
    journal.add(tool_finished("raw"));
    journal.add(HookFinished {
        point: HookPoint::PostToolUse,
        call: Some("c1".into()),
        decision: "cancelled".to_owned(),
        reason: None,
        input: None,
        outcome: Some(ToolOutcome::failed("withheld", "withheld")),
        context: None,
        stop: None,
    });
    let CallStage::Finished(outcome) = journal.stage() else { panic!("{:?}", journal.stage()) };
    assert_eq!(outcome.text(), "withheld");
}

#[test]
fn core_20_a_reset_clears_chunks_and_a_message_replaces_them() {
    let mut journal = with_call();
    journal.add(TextChunk { round: 1, text: "half".to_owned() });
    journal.add(ThinkingChunk { round: 1, text: "hm".to_owned() });
    assert_eq!((journal.open().text.as_str(), journal.open().thinking.as_str()), ("half", "hm"));
    journal.add(StreamReset { round: 1, attempt: 1 });
    assert_eq!(*journal.open(), OpenTurn { id: Some("t1".into()), ..OpenTurn::default() });

    let mut journal = with_call();
    journal.add(TextChunk { round: 1, text: "half".to_owned() });
    let blocks = vec![Block::text("half"), Block::ToolUse(tool_use("c1"))];
    let message = Message::assistant(&CountingIds::default(), blocks, MessageState::Complete);
    journal.add(AssistantMessage { round: 1, message: message.into() });
    assert_eq!(journal.open().text, "");
    assert!(journal.open().calls[&crate::ids::CallId::from("c1")].committed);
    journal.add(StreamReset { round: 1, attempt: 1 });
    assert_eq!(journal.open().calls.len(), 1, "what is part of the conversation is not void");
}

#[test]
fn core_20_results_of_one_answer_are_one_message_and_totals_are_exact() {
    let mut journal = Journal::new();
    journal.add(MessageInjected { message: user("m1", "h\u{e9}llo \"you\"").into() });
    let asks = vec![
        Block::thinking("hm", None),
        Block::ToolUse(tool_use("c1")),
        Block::ToolUse(tool_use("c2")),
    ];
    let message = Message::assistant(&CountingIds::default(), asks, MessageState::Complete);
    journal.add(AssistantMessage { round: 1, message: message.into() });
    for call in ["c1", "c2", "c3"] {
        let result = ToolResult::text(&tool_use(call), "\u{1F980}\n", call == "c2");
        journal.add(ToolResultAdded { round: 1, message: "m3".into(), result: result.into() });
        let messages = &journal.state.view.messages;
        let bytes: usize =
            messages.iter().map(|message| serde_json::to_vec(message).unwrap().len()).sum();
        assert_eq!(journal.state.view.bytes, bytes as u64);
    }
    assert_eq!(journal.state.view.messages.len(), 3);
    assert_eq!(journal.state.view.messages[2].tool_results().count(), 3);
}

#[test]
fn core_24_usage_counts_for_the_message_it_came_with() {
    let mut journal = Journal::new();
    let answer = Message::assistant(&CountingIds::default(), "hi", MessageState::Complete)
        .with_usage(Some(Usage::new(100, 20)));
    journal.add(AssistantMessage { round: 1, message: answer.into() });
    let exact = journal.state.context(1000);
    assert!(exact.exact);
    assert_eq!(exact.effective, 120);
    journal.add(MessageInjected { message: user("m2", &"x".repeat(800)).into() });
    let guess = journal.state.context(1000);
    assert!(!guess.exact && guess.effective > 200, "{guess:?}");
    assert_eq!(guess.provider, Some(120));
    assert_eq!(journal.state.usage.total(), 120);
}

#[test]
fn core_24_prompt_and_tools_count_too() {
    let mut journal = Journal::new();
    journal.add(PromptSet { sha256: "a".to_owned(), text: "x".repeat(398) });
    assert_eq!(journal.state.context(1000).effective, 100);
    journal.add(PromptSet { sha256: "b".to_owned(), text: String::new() });
    journal.add(ToolsSet { sha256: "c".to_owned(), tools: vec![] });
    assert_eq!(journal.state.context(1000).effective, 1);
}

#[test]
fn core_24_a_compaction_keeps_what_follows_it_and_forgets_old_counts() {
    let mut journal = Journal::new();
    journal.add(MessageInjected { message: user("m1", &"x".repeat(4000)).into() });
    let answer = Message::assistant(&CountingIds::default(), "hi", MessageState::Complete)
        .with_usage(Some(Usage::new(1000, 20)));
    journal.add(AssistantMessage { round: 1, message: answer.into() });
    journal.add(MessageInjected { message: user("m2", "kept").into() });
    let summary = user("s1", "in short");
    journal.add(CompactionFinished { summary: summary.into(), keep_from: Some("m2".into()) });
    let texts: Vec<_> = journal.state.view.messages.iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["in short", "kept"]);
    let estimate = journal.state.context(1000);
    assert!(estimate.effective < 100 && estimate.provider.is_none(), "{estimate:?}");
    let summary = user("s2", "shorter");
    journal.add(CompactionFinished { summary: summary.into(), keep_from: None });
    assert_eq!(journal.state.view.messages.len(), 1);
    assert_eq!(journal.state.usage.total(), 1020, "what was paid stays paid");
}

#[test]
fn core_20_turns_that_ended_with_an_answer_are_counted() {
    let mut journal = Journal::new();
    let failed = Some(ErrorData::new(ErrorKind::Network, "gone"));
    for (end, error) in [
        (TurnEnd::Complete, None),
        (TurnEnd::RoundLimit, None),
        (TurnEnd::Interrupted, None),
        (TurnEnd::Blocked, None),
        (TurnEnd::ProviderFailed, failed),
    ] {
        journal.add(started());
        assert!(journal.state.turn.is_some());
        journal.add(finished(end, error));
        assert_eq!(journal.state.turn, None);
    }
    assert_eq!(journal.state.turns_completed, 2);
}

#[test]
fn core_20_safe_points_are_where_every_call_has_its_result() {
    let mut journal = with_call();
    let asks = Message::assistant(
        &CountingIds::default(),
        vec![Block::ToolUse(tool_use("c1"))],
        MessageState::Complete,
    );
    journal.add(AssistantMessage { round: 1, message: asks.into() });
    assert_eq!(journal.state.safe_points, SafePoints::default());
    let result = ToolResult::text(&tool_use("c1"), "failed", false);
    journal.add(ToolResultAdded { round: 1, message: "m3".into(), result: result.into() });
    journal.add(ToolBatchFinished { round: 1, added: 1, skipped: 0, failed: 0 });
    let last = Some(Cursor { epoch: 1, seq: 5 });
    assert_eq!(
        journal.state.safe_points,
        SafePoints { count: 1, last, recent: last.into_iter().collect(), earlier: vec![] }
    );
}

fn texts(journal: &Journal) -> Vec<String> {
    journal.state.view.messages.iter().map(|message| message.text()).collect()
}

#[test]
fn sess_06_undoing_a_compaction_keeps_later_messages() {
    let mut journal = Journal::new();
    for (id, text) in [("m1", "one"), ("m2", "two"), ("m3", "three")] {
        journal.add(MessageInjected { message: user(id, text).into() });
    }
    let before = (journal.state.view.bytes, journal.state.view.chars);
    let summary = user("s1", "in short");
    journal.add(CompactionFinished { summary: summary.into(), keep_from: Some("m3".into()) });
    journal.add(ViewRestored { messages: 3 });
    assert_eq!(texts(&journal), ["one", "two", "three"]);
    assert_eq!((journal.state.view.bytes, journal.state.view.chars), before);
    assert_eq!(journal.state.view.before, None, "it is back only once");

    let summary = user("s2", "shorter");
    journal.add(CompactionFinished { summary: summary.into(), keep_from: Some("m3".into()) });
    journal.add(MessageInjected { message: user("m4", "four").into() });
    journal.add(ViewRestored { messages: 4 });
    assert_eq!(texts(&journal), ["one", "two", "three", "four"]);
    assert_eq!(State::fold(&journal.lines).unwrap(), journal.state);
}

#[test]
fn sess_01_a_conversation_that_is_rewound_ends_earlier() {
    let mut journal = Journal::new();
    for (id, text) in [("m1", "one"), ("m2", "two"), ("m3", "three")] {
        journal.add(MessageInjected { message: user(id, text).into() });
    }
    journal.add(CompactionFinished { summary: user("s1", "in short").into(), keep_from: None });
    journal.add(MessageInjected { message: user("m4", "four").into() });
    journal.add(Rewound { keep: 1, cause: RewindCause::Retry, undoable: false });
    assert_eq!(texts(&journal), ["in short"]);
    assert!(journal.state.view.before.is_some(), "what took its place is whole");
    journal.add(Rewound { keep: 0, cause: RewindCause::Clear, undoable: false });
    assert_eq!((texts(&journal).len(), journal.state.view.bytes), (0, 0));
    journal.add(ViewRestored { messages: 0 });
    assert!(journal.state.view.messages.is_empty(), "there is nothing to come back to");
}

#[test]
fn sdk_17_an_undoable_rewind_is_undone_and_two_of_them_together() {
    let undoable = |keep| Rewound { keep, cause: RewindCause::Checkpoint, undoable: true };
    let mut journal = Journal::new();
    for (id, text) in [("m1", "one"), ("m2", "two"), ("m3", "three")] {
        journal.add(MessageInjected { message: user(id, text).into() });
    }
    let before = journal.state.view.clone();
    journal.add(undoable(2)).add(undoable(1));
    assert_eq!(texts(&journal), ["one"]);
    let mut copy = Journal { lines: journal.lines.clone(), state: journal.state.clone() };
    journal.add(ViewRestored { messages: 3 });
    assert_eq!(texts(&journal), ["one", "two", "three"]);
    assert_eq!((journal.state.view.bytes, journal.state.view.chars), (before.bytes, before.chars));
    // Messages after the rewind stay when it is undone.
    copy.add(MessageInjected { message: user("m4", "four").into() });
    copy.add(ViewRestored { messages: 4 });
    assert_eq!(texts(&copy), ["one", "two", "three", "four"]);
    assert_eq!(State::fold(&copy.lines).unwrap(), copy.state);
}

#[test]
fn sdk_17_a_restore_is_open_until_it_is_finished() {
    let mut journal = Journal::new();
    journal.add(RestoreStarted {
        restore: "r".to_owned(),
        checkpoint: "t1".to_owned(),
        files: Vec::new(),
        view: None,
        last_message: None,
    });
    assert!(journal.state.restoring.is_some());
    assert!(journal.state.snapshot().is_none());
    let open = crate::close::open_operations(&journal.state);
    let restore = crate::close::OpenOperation::Restore { checkpoint: "t1".to_owned() };
    assert_eq!(open, [restore]);
    journal.add(RestoreFinished { restore: "r".to_owned(), failed: Vec::new() });
    assert!(journal.state.restoring.is_none());
}

#[test]
fn core_20_a_compaction_is_open_until_it_ends_or_its_turn_does() {
    let before = State::default().context(0);
    let begun = || CompactionStarted { trigger: CompactionTrigger::Auto, before };
    let mut journal = Journal::new();
    journal.add(started()).add(begun());
    assert!(journal.state.compacting);
    journal.add(finished(TurnEnd::Interrupted, None));
    assert!(!journal.state.compacting);
    journal.add(begun());
    journal.add(CompactionFailed { error: ErrorData::new(ErrorKind::Network, "gone") });
    assert!(!journal.state.compacting);
}

#[test]
fn sess_06_system_messages_are_not_summarised_and_stay_first() {
    let mut journal = Journal::new();
    journal.add(MessageInjected { message: user("m1", "one").into() });
    let mut rules = Message::system(&CountingIds::default(), "Be brief.");
    rules.id = "rules".into();
    journal.add(MessageInjected { message: rules.into() });
    journal.add(MessageInjected { message: user("m2", "two").into() });
    let summary = user("s1", "in short");
    journal.add(CompactionFinished { summary: summary.into(), keep_from: Some("m2".into()) });
    assert_eq!(texts(&journal), ["Be brief.", "in short", "two"]);
    journal.add(MessageInjected { message: user("m3", "three").into() });
    journal.add(ViewRestored { messages: 4 });
    assert_eq!(texts(&journal), ["one", "Be brief.", "two", "three"]);
}

#[test]
fn the_view_shares_the_messages_of_the_events() {
    let message = Arc::new(user("m1", &"x".repeat(4000)));
    let summary = Arc::new(user("s1", "in short"));
    let mut journal = Journal::new();
    journal.add(MessageInjected { message: message.clone() });
    assert!(Arc::ptr_eq(&journal.state.view.messages[0], &message));
    journal.add(CompactionFinished { summary: summary.clone(), keep_from: None });
    assert!(Arc::ptr_eq(&journal.state.view.messages[0], &summary));
}

#[test]
fn the_fold_shares_the_results_of_the_events() {
    let mut journal = with_call();
    let outcome = Arc::new(ToolOutcome::ok("x".repeat(4000)));
    journal.add(ToolFinished { outcome: outcome.clone(), ..tool_finished("") });
    let CallStage::Finished(kept) = journal.stage() else { panic!("{:?}", journal.stage()) };
    assert!(Arc::ptr_eq(kept, &outcome));
    let result = Arc::new(ToolResult::text(&tool_use("c1"), "x".repeat(4000), false));
    // The first result makes the message, the second one is added to it.
    for at in 0..2 {
        let (message, result_of) = ("m9".into(), result.clone());
        journal.add(ToolResultAdded { round: 1, message, result: result_of });
        let content = &journal.state.view.messages.last().unwrap().content;
        let Block::ToolResult(kept) = &content[at] else { panic!("{content:?}") };
        assert!(Arc::ptr_eq(kept, &result));
    }
}
