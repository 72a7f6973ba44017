use crate::event::{
    CompactionStarted, CompactionTrigger, Cursor, Delivery, Envelope, HookStarted, InputAccepted,
    ModelRequested, PermissionAsked, PermissionDecided, Purpose, SessionCreated, TextChunk,
    ToolCalled, ToolStarted, TurnStarted, UserMessage,
};
use crate::hook::BatchDecision;
use crate::ids::CountingIds;
use crate::message::{ToolInput, ToolUse};
use crate::permission::{Class, Verdict};
use crate::usage::Usage;
use serde_json::json;

use super::*;
use crate::ids::InputId;

fn crash() -> Closing {
    Closing::of(Cause::Crash)
}

struct Journal {
    lines: Vec<Envelope>,
    ids: CountingIds,
}

impl Journal {
    /// Creates a session in whose first turn the user said something and the model was asked.
    fn new() -> Self {
        let mut journal = Self { lines: Vec::new(), ids: CountingIds::default() };
        let session = "s".into();
        journal.add(SessionCreated {
            session,
            format: 0,
            cwd: None,
            parent: None,
            spawned_by: None,
        });
        journal.add(TurnStarted {
            input: None,
            provider: "p".to_owned(),
            model: "m".to_owned(),
            max_rounds: 0,
        });
        let message = Message::user(&journal.ids, "Go");
        journal.add(UserMessage {
            message: message.into(),
            input: None,
            author: Default::default(),
        });
        journal.add(ModelRequested {
            round: 1,
            attempt: 1,
            purpose: Purpose::Answer,
            messages: 1,
            prompt: None,
            tools: None,
            instruction: None,
            continues: false,
        });
        journal
    }

    fn add(&mut self, event: impl Into<Event>) -> &mut Self {
        let seq = self.lines.len() as u64 + 1;
        let ts = "2026-01-02T03:04:05Z".parse().unwrap();
        let turn = Some("t".into());
        let event = event.into();
        self.lines.push(Envelope { seq, epoch: 1, ts, turn, event, min_reader: None });
        self
    }

    fn call(&mut self, call: &str) -> &mut Self {
        let tool_use = ToolUse::new(call.into(), "id", "bash", ToolInput::Json(json!({})));
        self.add(ToolCalled { round: 1, index: 0, tool_use })
    }

    /// Commits the answer that asks for the calls so far.
    fn commit(&mut self) -> &mut Self {
        let state = self.state();
        let calls = state.turn.iter().flat_map(|turn| turn.calls.values());
        let blocks: Vec<_> = calls.map(|call| Block::ToolUse(call.tool_use.clone())).collect();
        let message = Message::assistant(&self.ids, blocks, MessageState::Complete)
            .with_usage(Some(Usage::new(10, 5)));
        self.add(AssistantMessage { round: 1, message: message.into() })
    }

    fn state(&self) -> State {
        State::fold(&self.lines).unwrap()
    }

    /// Recovers, and checks the invariants of a recovered journal.
    fn recover(&mut self, known: &Closing) -> State {
        let events = recover(&self.state(), known, &self.ids);
        for event in events {
            self.add(event);
        }
        let state = self.state();
        assert_eq!(state.turn, None, "no turn is open");
        assert!(!state.compacting && open_operations(&state).is_empty());
        assert_eq!(recover(&state, known, &self.ids), [], "twice is safe");
        let mut open: Vec<CallId> = Vec::new();
        for message in state.view.messages.iter() {
            let results: Vec<_> =
                message.tool_results().map(|result| result.call.clone()).collect();
            assert_eq!(results, open, "one result each, in order, in one message");
            open = message.tool_uses().map(|tool_use| tool_use.call.clone()).collect();
        }
        assert!(open.is_empty());
        state
    }

    fn results(&mut self, known: &Closing) -> Vec<String> {
        let state = self.recover(known);
        let last = state.view.messages.last().unwrap();
        last.tool_results().map(crate::message::ToolResult::as_text).collect()
    }

    fn sealed(&self) -> Vec<CallId> {
        match &self.lines.last().unwrap().event {
            Event::Recovered(data) => data.sealed.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn started() -> ToolStarted {
    ToolStarted { call: "c1".into(), class: Class::Execute, input: None }
}

fn finished(outcome: ToolOutcome) -> ToolFinished {
    ToolFinished {
        call: "c1".into(),
        class: Some(Class::Execute),
        outcome: outcome.into(),
        duration_ms: 1,
    }
}

fn hook(point: HookPoint) -> HookStarted {
    HookStarted { point, call: Some("c1".into()) }
}

fn allowed() -> PermissionDecided {
    PermissionDecided {
        call: "c1".into(),
        verdict: Verdict::Allow,
        by: crate::event::DecidedBy::Gate,
        class: Some(Class::Execute),
        reason: String::new(),
        scope: None,
        rules: vec![],
    }
}

#[test]
fn kode_05_nothing_open_is_nothing_to_do() {
    assert_eq!(recover(&State::default(), &crash(), &CountingIds::default()), []);
}

#[test]
fn kode_05_a_before_the_model_request_nothing_enters_the_conversation() {
    let mut journal = Journal::new();
    let open = open_operations(&journal.state());
    assert!(matches!(&open[..], [OpenOperation::Model { text, .. }] if text.is_empty()));
    let state = journal.recover(&crash());
    assert_eq!(state.view.messages.len(), 1, "the user's words alone");
    assert_eq!(journal.sealed(), []);
}

#[test]
fn kode_05_g_while_streaming_the_partial_answer_is_committed_as_interrupted() {
    let mut journal = Journal::new();
    journal.add(TextChunk { round: 1, text: "Half an".to_owned() });
    let state = journal.recover(&crash());
    let last = state.view.messages.last().unwrap();
    assert_eq!(last.state(), MessageState::Interrupted(Cause::Crash));
    assert_eq!(last.text(), "Half an");
}

#[test]
fn kode_05_g_complete_calls_of_a_partial_answer_are_kept_and_get_results() {
    let mut journal = Journal::new();
    journal.add(TextChunk { round: 1, text: "I look.".to_owned() });
    journal.call("c1").add(allowed()).add(started());
    journal.call("c2");
    let state = journal.recover(&crash());
    let answer = &state.view.messages[1];
    assert_eq!((answer.text().as_str(), answer.tool_uses().count()), ("I look.", 2));
    let results: Vec<_> = state.view.messages[2].tool_results().map(|r| r.as_text()).collect();
    assert!(results[0].contains("may have had effects") && results[1].contains("did not run"));
}

#[test]
fn kode_05_b_d_c_and_allowed_did_not_run() {
    let asked = PermissionAsked {
        call: "c1".into(),
        reason: String::new(),
        rules: vec![],
        metadata: serde_json::Map::new(),
    };
    let points: [(&str, Vec<Event>); 4] = [
        ("called", vec![]),
        ("in_pre_hook", vec![hook(HookPoint::PreToolUse).into()]),
        ("asked", vec![asked.into()]),
        ("allowed", vec![allowed().into()]),
    ];
    for (word, events) in points {
        let mut journal = Journal::new();
        journal.call("c1").commit();
        for event in events {
            journal.add(event);
        }
        let results = journal.results(&crash());
        assert!(results[0].contains("did not run"), "{word}: {results:?}");
        assert_eq!(journal.sealed(), ["c1".into()]);
        let outcome = journal.lines.iter().find_map(|line| match &line.event {
            Event::ToolFinished(data) => Some(data.outcome.clone()),
            _ => None,
        });
        let outcome = outcome.unwrap();
        assert_eq!(
            (outcome.ran, outcome.ok, &outcome.metadata["sealed"]),
            (DidRun::No, false, &json!(word))
        );
    }
}

#[test]
fn kode_05_e_running_may_have_had_effects_and_says_what_is_known() {
    let mut journal = Journal::new();
    journal.call("c1").commit().add(allowed()).add(started());
    let call = CallId::from("c1");
    let partial_output = Some("compiling".to_owned());
    let hint = RecoveryHint { exit: Some(137), partial_output, ..RecoveryHint::of(call) };
    let hints = vec![hint];
    let results = journal.results(&Closing { hints, ..crash() });
    assert!(results[0].contains("may have had effects"), "{results:?}");
    assert!(results[0].contains("code 137") && results[0].ends_with("compiling"), "{results:?}");
}

#[test]
fn kode_05_f_a_hook_that_was_run_again_decides_about_the_recorded_outcome() {
    let decisions = [
        (PostToolDecision::Continue, "built"),
        (PostToolDecision::Replace { outcome: ToolOutcome::ok("other") }, "other"),
        (PostToolDecision::Block { reason: "secret".to_owned() }, "Blocked by hook: secret"),
    ];
    for (decision, result) in decisions {
        let mut journal = Journal::new();
        journal.call("c1").commit().add(allowed()).add(started());
        journal.add(finished(ToolOutcome::ok("built"))).add(hook(HookPoint::PostToolUse));
        assert_eq!(awaiting_post_hook(&journal.state(), false).len(), 1);
        let reply = HookAnswer::PostToolUse(decision).into();
        let post_hooks = HashMap::from([("c1".into(), reply)]);
        assert_eq!(journal.results(&Closing { post_hooks, ..crash() }), [result]);
        assert_eq!(journal.sealed(), [], "it ended, so nothing is sealed");
        let ends = journal.lines.iter().filter(|line| line.event.kind() == "tool_finished");
        assert_eq!(ends.count(), 1, "a recorded outcome is not replaced");
    }
}

#[test]
fn kode_05_f_a_hook_without_a_reply_withholds_the_result() {
    let mut journal = Journal::new();
    journal.call("c1").commit().add(allowed()).add(started());
    journal.add(finished(ToolOutcome::ok("a secret"))).add(hook(HookPoint::PostToolUse));
    let results = journal.results(&crash());
    assert!(results[0].contains("withheld") && !results[0].contains("secret"), "{results:?}");
}

#[test]
fn kode_05_f_an_outcome_that_no_hook_has_seen_yet_is_shown_to_it() {
    let mut journal = Journal::new();
    journal.call("c1").commit().add(allowed()).add(started());
    journal.add(finished(ToolOutcome::ok("built")));
    let state = journal.state();
    assert_eq!(awaiting_post_hook(&state, true).len(), 1, "the write was torn before the hook");
    assert_eq!(awaiting_post_hook(&state, false).len(), 0);
    assert_eq!(journal.results(&crash()), ["built"]);
}

#[test]
fn kode_05_f_the_hook_of_a_batch_that_was_run_again_adds_its_text_and_runs_no_call() {
    let replies = [
        (None, "built", "cancelled"),
        (Some(BatchDecision::Continue { context: Some("!".to_owned()) }), "built!", "continue"),
        (Some(BatchDecision::Stop { reason: "no".to_owned() }), "built", "block"),
    ];
    for (decision, result, recorded) in replies {
        let mut journal = Journal::new();
        let changed = serde_json::json!({"changed": true});
        let input = Some(changed.clone());
        journal.call("c1").commit().add(allowed()).add(ToolStarted { input, ..started() });
        journal.add(finished(ToolOutcome::ok("built")));
        assert_eq!(awaiting_batch_hook(&journal.state()), None, "it has not started");
        journal.add(HookStarted { point: HookPoint::PostToolBatch, call: None });
        let calls = awaiting_batch_hook(&journal.state()).unwrap();
        assert_eq!(calls[0].outcome.text(), "built");
        // The arguments it ran with, not those of the model.
        assert_eq!(calls[0].tool_use.input, crate::message::ToolInput::Json(changed));
        let batch_hook = decision.map(|it| HookAnswer::PostToolBatch(it).into());
        assert_eq!(journal.results(&Closing { batch_hook, ..crash() }), [result]);
        assert_eq!(journal.sealed(), []);
        let finished = journal.lines.iter().find_map(|line| match &line.event {
            Event::HookFinished(data) => Some(data.decision.clone()),
            _ => None,
        });
        assert_eq!(finished.as_deref(), Some(recorded));
        assert_eq!(awaiting_batch_hook(&journal.state()), None, "the turn is closed");
    }
}

#[test]
fn kode_05_f_the_text_of_a_batch_hook_survives_a_torn_append() {
    let mut journal = Journal::new();
    journal.call("c1").commit().add(allowed()).add(started());
    journal.add(finished(ToolOutcome::ok("built")));
    journal.add(HookStarted { point: HookPoint::PostToolBatch, call: None });
    let answer = BatchDecision::Continue { context: Some("!".to_owned()) };
    let reply = HookAnswer::PostToolBatch(answer).into();
    journal.add(crate::turn::batch_hook_finished(Some(&reply)));
    assert_eq!(awaiting_batch_hook(&journal.state()), None);
    assert_eq!(journal.results(&crash()), ["built!"]);
}

#[test]
fn kode_05_finished_calls_keep_their_results_with_the_text_of_hooks() {
    let mut journal = Journal::new();
    journal.call("c1").call("c2").commit().add(allowed()).add(started());
    journal.add(finished(ToolOutcome::ok("built"))).add(hook(HookPoint::PostToolUse));
    journal.add(HookFinished {
        point: HookPoint::PostToolUse,
        call: Some("c1".into()),
        decision: "continue".to_owned(),
        reason: None,
        input: None,
        outcome: None,
        context: Some(" (slowly)".to_owned()),
        stop: None,
    });
    assert!(awaiting_post_hook(&journal.state(), true).is_empty());
    let results = journal.results(&crash());
    assert_eq!(results[0], "built (slowly)");
    assert!(results[1].contains("did not run"));
    assert_eq!(journal.sealed(), ["c2".into()]);
    let Event::TurnFinished(end) = &journal.lines[journal.lines.len() - 2].event else { panic!() };
    assert_eq!((end.tools_executed, end.usage.total()), (1, 15), "what was paid stays paid");
}

#[test]
fn kode_05_the_caller_may_provide_an_outcome_but_not_replace_a_recorded_one() {
    let mut journal = Journal::new();
    journal.call("c1").call("c2").commit().add(allowed()).add(started());
    journal.add(finished(ToolOutcome::ok("recorded")));
    let said = |text: &str| CloseAs::Outcome(ToolOutcome::ok(text));
    let choices =
        HashMap::from([("c1".into(), said("other")), ("c2".into(), said("done by hand"))]);
    let results = journal.results(&Closing { choices, ..crash() });
    assert_eq!(results, ["recorded", "done by hand"]);
    assert_eq!(journal.sealed(), []);
}

#[test]
fn kode_05_an_input_whose_hook_did_not_finish_stays_to_be_delivered() {
    let mut journal = Journal { lines: Vec::new(), ids: CountingIds::default() };
    let session = "s".into();
    journal.add(SessionCreated { session, format: 0, cwd: None, parent: None, spawned_by: None });
    let content = vec![Block::text("Hi")];
    let metadata = serde_json::Map::new();
    let delivery = Delivery::AfterTurn;
    journal.add(InputAccepted { input: "i1".into(), delivery, content, metadata, source: None });
    journal.add(TurnStarted {
        input: Some("i1".into()),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        max_rounds: 0,
    });
    journal.add(HookStarted { point: HookPoint::UserPromptSubmit, call: None });
    let open = open_operations(&journal.state());
    assert_eq!(open, [OpenOperation::Input("i1".into())]);
    let state = journal.recover(&crash());
    assert!(state.inputs.contains_key(&InputId::from("i1")) && state.view.messages.is_empty());
}

#[test]
fn kode_05_an_unfinished_compaction_has_no_effect() {
    let mut journal = Journal { lines: Vec::new(), ids: CountingIds::default() };
    let session = "s".into();
    journal.add(SessionCreated { session, format: 0, cwd: None, parent: None, spawned_by: None });
    let before = State::default().context(0);
    journal.add(CompactionStarted { trigger: CompactionTrigger::Manual, before });
    assert_eq!(open_operations(&journal.state()), [OpenOperation::Compaction]);
    journal.recover(&crash());
    let kinds: Vec<_> = journal.lines.iter().skip(2).map(|line| line.event.kind()).collect();
    assert_eq!(kinds, ["compaction_failed", "recovered"]);
    assert_eq!(journal.state().cursor, Some(Cursor { epoch: 1, seq: 4 }));
}

#[test]
fn kode_05_results_that_a_torn_write_parted_are_one_message() {
    for kept in 1..=2 {
        let mut journal = Journal::new();
        journal.call("c1").call("c2").commit().add(allowed()).add(started());
        journal.add(finished(ToolOutcome::failed("exit", "broken")));
        let calls: Vec<_> = journal.state().turn.unwrap().calls.into_values().collect();
        for call in &calls[..kept] {
            let result = ToolOutcome::failed("exit", "failed").to_result(&call.tool_use);
            journal.add(ToolResultAdded { round: 1, message: "m9".into(), result: result.into() });
        }
        let state = journal.recover(&crash());
        assert_eq!(state.view.messages.last().unwrap().tool_results().count(), 2, "{kept}");
        let batch = journal.lines.iter().find_map(|line| match &line.event {
            Event::ToolBatchFinished(data) => Some((data.added, data.failed)),
            _ => None,
        });
        assert_eq!(batch, Some((2, 2)), "the batch is whole, and a safe point");
    }
}

/// Output, processes and file changes of a turn are part of the state, so recovery does not read
/// the journal again, for turns of any length.
#[test]
fn kode_05_e_the_end_of_the_output_is_in_the_result() {
    let mut journal = Journal::new();
    journal.call("c1").commit().add(allowed()).add(started());
    let process =
        crate::process::ProcessIdentity { pid: 7, start_time: 1, boot_id: "boot".to_owned() };
    journal.add(crate::event::ProcessStarted {
        call: "c1".into(),
        pid: process.pid,
        start_time: process.start_time,
        boot_id: process.boot_id.clone(),
        background: false,
    });
    for n in 0..6_000 {
        let text = format!("line {n}\n");
        journal.add(crate::event::ToolOutput { call: "c1".into(), text });
    }
    let state = journal.state();
    let call = &state.turn.as_ref().unwrap().calls[&CallId::from("c1")];
    assert_eq!(call.processes, [process]);
    let results = journal.results(&crash());
    assert!(results[0].ends_with("line 5998\nline 5999\n"), "{}", results[0]);
    assert!(results[0].len() < 5_000, "only the end of it");
}

/// For a dropped run, an abort and a crash, the texts of the results differ, and their pairing does
/// not.
#[test]
fn every_cause_gives_each_call_one_result() {
    for cause in [Cause::User, Cause::Shutdown, Cause::Provider, Cause::Store, Cause::Crash] {
        let mut journal = Journal::new();
        journal.call("c1").call("c2").commit().add(allowed()).add(started());
        let results = journal.results(&Closing::of(cause));
        assert!(results[0].contains("may have had effects"), "{results:?}");
        assert!(
            results[1].contains("did not run") || results[1].contains("interrupted"),
            "{results:?}"
        );
    }
}
