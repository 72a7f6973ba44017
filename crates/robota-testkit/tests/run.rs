//! Whole runs through the real driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use robota_core::error::ErrorKind;
use robota_core::event::{Durability, TurnEnd};
use robota_core::gate::AllowAll;
use robota_core::permission::{Class, Verdict};
use robota_core::state::State;
use robota_testkit::{
    FailingJournal, FakeClock, FnTool, RecordingApprover, RecordingGate, Run, Script,
    ScriptedApprover, ScriptedGate, blocking_tool, fn_tool, kinds, panicking_tool, render,
    stubborn_tool, without, without_chunks,
};
use serde_json::json;

const TWO_ROUNDS: &str = "
- {text: Let me see., tools: [{tool: echo, input: {say: hello}}], usage: {input: 10, output: 5}}
- {text: It says hello., expect: {last: hello, tools: [echo]}, chunk: 3}
";

const TWO_ROUNDS_LOG: &str = r#"session_created session#1 format=1
input_accepted input#1 delivery=after_turn "hi"
prompt_set sha256=sha#1 text="Be kind."
tools_set sha256=sha#2 [echo]
turn#1 turn_started input#1 provider=scripted model=test-model max_rounds=10
  user_message msg#1 user "hi" input#1
  model_requested round=1 attempt=1 purpose=answer messages=1 prompt=sha#1 tools=sha#2
  tool_called round=1 index=0 call#1 echo{"say":"hello"}
  model_responded round=1 stop=tool_use usage=10+5 tool_calls=1
  assistant_message round=1 msg#2 assistant ["Let me see.", call#1 echo{"say":"hello"}] usage=10+5
  tool_batch_started round=1 [call#1] parallel=true max_concurrency=8
  permission_decided call#1 verdict=allow by=gate class=inspect reason="no gate was configured, so only read-only tools may run"
  tool_started call#1 class=inspect
  tool_finished call#1 class=inspect ok "hello"
  tool_result round=1 msg#3 call#1 ok "hello"
  tool_batch_finished round=1 added=1 skipped=0 failed=0
  model_requested round=2 attempt=1 purpose=answer messages=3 prompt=sha#1 tools=sha#2
  model_responded round=2 stop=end_turn tool_calls=0
  assistant_message round=2 msg#4 assistant "It says hello."
  turn_finished end=complete rounds=2 tools_executed=1 usage=10+5
"#;

fn echo(class: Class) -> FnTool {
    fn_tool(
        "echo",
        class,
        |input| async move { input["say"].as_str().unwrap_or_default().to_owned() },
    )
}

#[tokio::test]
async fn a_whole_run_is_a_five_line_test() {
    let ran = Run::script(TWO_ROUNDS).tool(echo(Class::Inspect)).prompt("hi").await;
    assert_eq!(ran.text, "It says hello.");
    assert_eq!((ran.report.end, ran.report.tools_executed), (TurnEnd::Complete, 1));
    assert_eq!(ran.requests.len(), 2);
    assert_eq!(State::fold(ran.events.iter().map(AsRef::as_ref)).unwrap(), ran.state);
}

#[tokio::test]
async fn the_log_of_a_run() {
    let ran =
        Run::script(TWO_ROUNDS).system("Be kind.").tool(echo(Class::Inspect)).prompt("hi").await;
    // The token counts are checked by other tests.
    let log = render(&without(&without_chunks(&ran.events), &["context_measured"]));
    assert_eq!(log, TWO_ROUNDS_LOG, "\n{log}");
}

/// With paused time, the durations of calls are always equal too.
#[tokio::test(start_paused = true)]
async fn equal_runs_have_equal_logs() {
    let run = || async {
        let clock = FakeClock::stepping(Duration::from_millis(1));
        let ran =
            Run::script(TWO_ROUNDS).tool(echo(Class::Inspect)).clock(clock).prompt("hi").await;
        (
            ran.log(),
            without_chunks(&ran.events).iter().map(|one| one.event.clone()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn chunks_are_logged_unless_removed() {
    let ran = Run::script("- {text: Hello there., chunk: 2}").prompt("hi").await;
    assert!(render(&ran.events).contains("  text_chunk round=1 text="));
    assert!(!ran.log().contains("text_chunk"));
    assert!(kinds(&ran.events).contains(&"text_chunk"));
}

#[tokio::test]
async fn without_a_gate_only_read_only_tools_run() {
    let tool = echo(Class::Modify);
    let ran = Run::script("- tools: [{tool: echo, input: {say: x}}]\n- Too bad.")
        .tool(tool.clone())
        .prompt("hi")
        .await;
    assert_eq!(ran.text, "Too bad.");
    assert!(tool.inputs().is_empty());
    assert!(ran.log().contains("ran=no"), "{}", ran.log());
}

#[tokio::test]
async fn gates_and_approvers_are_called_and_recorded() {
    let gate = RecordingGate::new(ScriptedGate::new(Verdict::Allow).on("echo", Verdict::Ask));
    let approver = RecordingApprover::new(ScriptedApprover::new().deny("echo", "not now"));
    let ran = Run::script("- tools: [echo, other]\n- Done.")
        .tool(echo(Class::Execute))
        .tool(fn_tool("other", Class::Execute, |_| async { "ran" }))
        .gate(gate.clone())
        .approver(approver.clone())
        .prompt("hi")
        .await;
    assert_eq!(ran.text, "Done.");
    let judged: Vec<_> =
        gate.judgements().iter().map(|(call, said)| (call.name.clone(), said.verdict)).collect();
    assert_eq!(judged.len(), 2);
    assert!(judged.contains(&("echo".to_owned(), Verdict::Ask)), "{judged:?}");
    assert!(judged.contains(&("other".to_owned(), Verdict::Allow)), "{judged:?}");
    assert_eq!(approver.questions().len(), 1);
    assert_eq!(approver.questions()[0].call.name, "echo");
    let results = ran.requests[1].messages.last().unwrap();
    let texts: Vec<String> = results.tool_results().map(|result| result.as_text()).collect();
    assert!(texts[0].contains("not now"), "{texts:?}");
    assert_eq!(texts[1], "ran");
}

#[tokio::test]
async fn an_unexpected_question_is_denied() {
    let tool = echo(Class::Execute);
    let ran = Run::script("- tools: [echo]\n- {text: ok, expect: {last: no answer for echo}}")
        .tool(tool.clone())
        .gate(ScriptedGate::new(Verdict::Ask))
        .approver(ScriptedApprover::new().allow("something else"))
        .prompt("hi")
        .await;
    assert_eq!((ran.text.as_str(), tool.inputs().len()), ("ok", 0));
}

#[tokio::test]
async fn an_approver_can_allow_or_never_answer() {
    let tool = echo(Class::Execute);
    let run = Run::script("- tools: [{tool: echo, input: {say: x}}]\n- ok")
        .tool(tool.clone())
        .gate(ScriptedGate::new(Verdict::Ask))
        .approver(ScriptedApprover::new().allow("echo"));
    assert_eq!(run.prompt("hi").await.text, "ok");
    assert_eq!(tool.inputs(), [json!({"say": "x"})]);

    let slow = blocking_tool("slow", Class::Inspect);
    let gate = ScriptedGate::new(Verdict::Allow).on("echo", Verdict::Ask);
    let run = Run::script("- tools: [slow, echo]")
        .tool(slow.clone())
        .tool(tool.clone())
        .gate(gate)
        .approver(ScriptedApprover::new().silent("echo"));
    let cancel = run.cancel();
    let (ran, ()) = tokio::join!(run.prompt("hi"), async {
        slow.started(1).await;
        cancel.cancel();
    });
    assert_eq!(ran.report.end, TurnEnd::Interrupted);
    assert_eq!(tool.inputs().len(), 1, "the unanswered call did not run");
}

#[tokio::test]
async fn a_session_continues_after_a_cancelled_run() {
    let run = Run::script(
        "- steps: [{text: Well}, {stall: {gate: go}}]\n- {text: Yes., expect: {last: more}}",
    );
    let (model, cancel) = (run.model(), run.cancel());
    let (ran, ()) = tokio::join!(run.prompt("Hi"), async {
        model.reached("go").await;
        cancel.cancel();
    });
    assert!(ran.report.interrupted());
    let ran = ran.then("more").await;
    assert_eq!((ran.report.end, ran.text.as_str()), (TurnEnd::Complete, "Yes."));
    assert_eq!(ran.requests.len(), 2);
    assert_eq!(ran.requests[1].messages.len(), 3, "hi, the partial answer, more");
}

#[tokio::test]
async fn a_panicking_tool_fails_one_call() {
    let ran = Run::script("- tools: [bang]\n- Oh.")
        .tool(panicking_tool("bang", Class::Inspect))
        .prompt("hi")
        .await;
    assert_eq!(ran.text, "Oh.");
    assert!(ran.log().contains("failed("), "{}", ran.log());
}

#[tokio::test(start_paused = true)]
async fn a_stubborn_tool_is_abandoned() {
    let mule = stubborn_tool("mule", Class::Execute);
    let run = Run::script("- tools: [mule]").tool(mule.clone()).gate(AllowAll);
    let cancel = run.cancel();
    let (ran, ()) = tokio::join!(run.prompt("hi"), async {
        mule.started(1).await;
        cancel.cancel();
        mule.cancelled(1).await;
    });
    assert_eq!(ran.report.end, TurnEnd::Interrupted);
    let log = ran.log();
    assert!(log.contains("tool_finished call#1 class=execute failed"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_retried_with_the_next_answer() {
    let ran = Run::script(
        "- error: {kind: rate_limit, message: Slow down., retry_after_ms: 20}\n- Here.",
    )
    .prompt("hi")
    .await;
    assert_eq!(ran.text, "Here.");
    assert!(
        ran.log().contains("model_retry round=1 attempt=1 rate_limit retryable \"Slow down.\"")
    );
}

#[tokio::test]
async fn an_exhausted_script_fails_the_run() {
    let ran = Run::new(Script::new().tool("echo", json!({})))
        .tool(echo(Class::Inspect))
        .prompt("hi")
        .await;
    assert_eq!(ran.report.end, TurnEnd::ProviderFailed);
    let error = ran.report.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Validation);
    assert!(error.message.contains("the script is over"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn any_failed_append_ends_the_run_with_an_error() {
    let whole = Run::script(TWO_ROUNDS).tool(echo(Class::Modify)).gate(AllowAll).prompt("hi").await;
    assert_eq!(whole.report.end, TurnEnd::Complete);
    let appends = whole.journal.appends().len();
    assert!(appends > 5, "{appends}");
    for nth in 1..=appends {
        let tool = echo(Class::Modify);
        let ran = Run::script(TWO_ROUNDS)
            .tool(tool.clone())
            .gate(AllowAll)
            .journal(FailingJournal::new().fail_from(nth))
            .prompt("hi")
            .await;
        assert_eq!(ran.report.end, TurnEnd::StoreFailed, "append {nth}");
        let started = ran.events.iter().filter(|one| one.event.kind() == "tool_started").count();
        assert_eq!(
            tool.inputs().len(),
            started,
            "append {nth}: no tool runs before its event is written"
        );
        State::fold(ran.events.iter().map(AsRef::as_ref)).unwrap();
    }
}

#[tokio::test]
async fn the_journal_records_the_durability_of_each_batch() {
    let ran = Run::script(TWO_ROUNDS).tool(echo(Class::Modify)).gate(AllowAll).prompt("hi").await;
    for append in ran.journal.appends() {
        let must = append.events.iter().map(|one| one.event.durability()).max().unwrap();
        assert_eq!(append.durability, must, "{:?}", append.kinds());
    }
    let safe: Vec<_> = ran
        .journal
        .appends()
        .iter()
        .filter(|append| append.durability == Durability::Synced)
        .flat_map(|append| append.kinds().into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for kind in ["input_accepted", "tool_started", "tool_finished", "turn_finished"] {
        assert!(safe.iter().any(|one| one == kind), "{kind} is not among {safe:?}");
    }
}

#[test]
#[should_panic(expected = "there is no key `txt` here")]
fn an_invalid_script_fails_its_test() {
    let _ = Run::script("- txt: hi");
}
