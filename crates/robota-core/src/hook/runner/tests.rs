use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::approve::Question;
use crate::hook::{
    BatchDecision, EndedCall, PostToolDecision, PreToolDecision, PromptDecision, SessionSource,
    StopDecision,
};
use crate::message::{Block, ToolInput, ToolUse};
use crate::permission::{Class, Verdict};
use crate::tool::ToolOutcome;

/// Plays hooks: the command says how it ends, as `code:stdout:stderr`.
#[derive(Default)]
struct Played {
    runs: AtomicUsize,
}

#[async_trait::async_trait]
impl HookExecutor for Played {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        _timeout: Duration,
    ) -> HookExit {
        self.runs.fetch_add(1, Ordering::SeqCst);
        assert!(serde_json::from_str::<Value>(payload).unwrap().is_object());
        let command = command(definition);
        if command == "panic" {
            panic!("as the test wants");
        }
        if command == "hang" {
            return std::future::pending().await;
        }
        let mut parts = command.splitn(3, '~');
        let code = parts.next().unwrap().parse().unwrap();
        HookExit::code(code, parts.next().unwrap_or(""), parts.next().unwrap_or(""))
    }
}

fn command(definition: &HookDefinition) -> &str {
    match definition {
        HookDefinition::Command(hook) => &hook.command,
        other => panic!("{other:?}"),
    }
}

fn group(matcher: &str, hooks: &Value) -> HookGroup {
    serde_json::from_value(json!({"matcher": matcher, "hooks": hooks})).unwrap()
}

fn played(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

fn runner() -> (HookRunner, Arc<Played>) {
    let executor = Arc::new(Played::default());
    let runner = HookRunner::new(HookContext::new("s", "/work"))
        .executor(HookKind::Command, executor.clone());
    (runner, executor)
}

fn call(name: &str) -> HookInput {
    let input = ToolInput::Json(json!({"command": "rm"}));
    let tool_use = ToolUse::new("c".into(), "id", name, input);
    HookInput::PreToolUse { tool_use, verdict: Verdict::Allow }
}

async fn pre(runner: &HookRunner, tool: &str) -> PreToolDecision {
    match runner.run(call(tool)).await.answer {
        HookAnswer::PreToolUse(decision) => decision,
        other => panic!("{other:?}"),
    }
}

fn reason(decision: PreToolDecision) -> String {
    match decision {
        PreToolDecision::Deny { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn core_22_only_hooks_that_match_run_and_each_once() {
    let (runner, executor) = runner();
    let runner = runner.groups(
        HookEvent::PreToolUse,
        [
            group("Bash", &json!([played("0"), played("0~{}")])),
            group("Bash|Edit", &json!([played("0")])),
            group("", &json!([played("0"), {"type": "command", "command": "0", "timeout": 9}])),
            group("Write", &json!([played("2~~never")])),
        ],
    );
    assert_eq!(pre(&runner, "Bash").await, PreToolDecision::Continue);
    assert_eq!(executor.runs.load(Ordering::SeqCst), 3, "a copy is one hook, another timeout not");
    assert_eq!(reason(pre(&runner, "Write").await), "never");
    assert!(runner.has_point(HookPoint::PreToolUse) && !runner.has_point(HookPoint::PostToolUse));
}

#[tokio::test(start_paused = true)]
async fn core_22_a_hook_that_cannot_run_panics_or_hangs_blocks() {
    for (hook, why) in [
        (json!({"type": "http", "url": "http://x"}), "hooks of kind `http` yet"),
        (json!({"type": "prompt", "prompt": "ok?"}), "hooks of kind `prompt` yet"),
        (json!({"type": "agent", "prompt": "ok?"}), "hooks of kind `agent` yet"),
        (json!({"type": "webhook"}), "kind `webhook` cannot be run"),
        (json!({"type": "mcp_tool", "server": "s"}), "missing field `tool`"),
        (json!({"type": "command"}), "missing field `command`"),
        (json!("echo"), "a hook must be an object"),
        (played("panic"), "it panicked"),
        (played("hang"), "its time was up"),
    ] {
        let (runner, _) = runner();
        let runner = runner
            .groups(HookEvent::PreToolUse, [group("", &json!([played("0"), hook.clone()]))])
            .groups(HookEvent::UserPromptSubmit, [group("", &json!([hook.clone()]))])
            .groups(HookEvent::Stop, [group("", &json!([hook.clone()]))])
            .groups(HookEvent::SessionStart, [group("", &json!([hook]))]);
        let text = reason(pre(&runner, "Bash").await);
        assert!(text.contains(why), "{text}");
        let prompt = HookInput::UserPromptSubmit { content: vec![Block::text("Hi")] };
        assert!(matches!(
            runner.run(prompt).await.answer,
            HookAnswer::UserPromptSubmit(PromptDecision::Block { .. })
        ));
        let stop = runner.run_point(HookInput::Stop { text: String::new(), active: false }).await;
        assert_eq!(stop.reply.answer, HookAnswer::Stop(StopDecision::Finish));
        assert!(stop.notices[0].text.contains(why), "{stop:?}");
        let start = HookData::SessionStart {
            source: SessionSource::Startup,
            model: None,
            session_title: None,
        };
        let report = runner.run_event(start).await;
        assert_eq!(report.decision, EventDecision::Continue { context: None });
        assert!(report.notices[0].text.contains(why), "{report:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn core_22_a_hook_that_takes_too_long_after_a_call_withholds_nothing() {
    let tool_use = ToolUse::new("c".into(), "id", "Read", ToolInput::Json(json!({})));
    let input =
        HookInput::PostToolUse { tool_use, outcome: ToolOutcome::ok("x"), duration_ms: None };
    let strict = json!({"type": "command", "command": "hang", "onFailure": "block"});
    for (hook, withheld) in [(played("hang"), false), (strict, true)] {
        let (runner, _) = runner();
        let runner = runner.groups(HookEvent::PostToolUse, [group("", &json!([hook]))]);
        let report = runner.run_point(input.clone()).await;
        let goes_on = HookAnswer::PostToolUse(PostToolDecision::Continue);
        assert_eq!(report.reply.answer != goes_on, withheld, "{report:?}");
        assert_eq!(report.notices.len(), usize::from(!withheld), "{report:?}");
    }
}

#[test]
fn core_22_the_default_timeout_is_that_of_the_kind_and_of_the_event() {
    let hook = |value: Value| HookDefinition::read(&value).unwrap();
    let command = |timeout: Option<f64>| {
        let mut value = played("x");
        if let Some(timeout) = timeout {
            value["timeout"] = json!(timeout);
        }
        hook(value)
    };
    let prompt = hook(json!({"type": "prompt", "prompt": "ok?"}));
    let agent = hook(json!({"type": "agent", "prompt": "ok?"}));
    let http = hook(json!({"type": "http", "url": "http://x"}));
    for (hook, event, seconds) in [
        (&command(None), HookEvent::PreToolUse, 600.0),
        (&http, HookEvent::PostToolUse, 600.0),
        (&prompt, HookEvent::Stop, 30.0),
        (&agent, HookEvent::Stop, 60.0),
        (&command(None), HookEvent::UserPromptSubmit, 30.0),
        (&command(Some(90.0)), HookEvent::UserPromptSubmit, 90.0),
        (&command(None), HookEvent::SessionEnd, 1.5),
        (&command(Some(5.0)), HookEvent::SessionEnd, 5.0),
        (&command(Some(90.0)), HookEvent::SessionEnd, 60.0),
    ] {
        assert_eq!(hook.timeout_at(event), Duration::from_secs_f64(seconds), "{event} {hook:?}");
    }
    let session_end = Some(Duration::from_secs(100));
    let times = HookTimes { default: None, session_end };
    for (hook, event, seconds) in [
        (&command(None), HookEvent::SessionEnd, 100),
        (&command(Some(5.0)), HookEvent::SessionEnd, 5),
        (&command(Some(90.0)), HookEvent::SessionEnd, 90),
        (&command(None), HookEvent::PreToolUse, 600),
    ] {
        assert_eq!(
            hook.timeout_or(&times, event),
            Duration::from_secs(seconds),
            "{event} {hook:?}"
        );
    }
}

#[tokio::test]
async fn core_22_an_invalid_matcher_is_reported_and_decides() {
    let (runner, _) = runner();
    let runner = runner
        .groups(HookEvent::PreToolUse, [group("Bash(", &json!([played("2~~no")]))])
        .groups(HookEvent::SessionStart, [group("star(", &json!([played("0~hello")]))]);
    assert_eq!(runner.problems().len(), 2);
    assert_eq!(reason(pre(&runner, "Read").await), "no");
    let start =
        HookData::SessionStart { source: SessionSource::Startup, model: None, session_title: None };
    let report = runner.run_event(start).await;
    assert_eq!(report.decision, EventDecision::Continue { context: None });
}

struct OnlyRm;

impl HookCondition for OnlyRm {
    fn holds(&self, rule: &str, tool: &str, input: &Value) -> Option<bool> {
        assert_eq!(input, &json!({"command": "rm"}));
        (rule != "(").then(|| rule == format!("{tool}(rm)"))
    }
}

#[tokio::test]
async fn core_22_a_condition_is_evaluated_for_tool_calls() {
    let hook = |rule: &str| json!({"type": "command", "command": "2~~no", "if": rule});
    let at = |event, rule: &str| runner().0.groups(event, [group("", &json!([hook(rule)]))]);
    let pre_with = async |rule: &str| {
        pre(&at(HookEvent::PreToolUse, rule).condition(Arc::new(OnlyRm)), "Bash").await
    };
    assert_eq!(reason(pre_with("Bash(rm)").await), "no");
    assert_eq!(pre_with("Bash(ls)").await, PreToolDecision::Continue);
    assert_eq!(reason(pre_with("(").await), "no", "an invalid rule does not let the call pass");
    let unread = at(HookEvent::PreToolUse, "Bash(ls)");
    assert_eq!(
        reason(pre(&unread, "Bash").await),
        "no",
        "no condition evaluates it, so the hook runs"
    );
    let prompt = at(HookEvent::UserPromptSubmit, "Bash(ls)");
    let answer = prompt.run(HookInput::UserPromptSubmit { content: vec![] }).await;
    assert!(matches!(answer.answer, HookAnswer::UserPromptSubmit(PromptDecision::Block { .. })));
    let stop = at(HookEvent::Stop, "Bash(ls)");
    let answer = stop.run(HookInput::Stop { text: String::new(), active: false }).await;
    assert_eq!(answer.answer, HookAnswer::Stop(StopDecision::Finish));
}

#[tokio::test]
async fn core_22_the_session_does_not_wait_for_a_detached_hook() {
    let (runner, _) = runner();
    let (sender, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let late = json!({"type": "command", "command": "2~~too late", "async": true});
    let runner = runner
        .groups(HookEvent::PreToolUse, [group("", &json!([late]))])
        .on_notice(move |notice| drop(sender.send(notice)));
    assert_eq!(pre(&runner, "Bash").await, PreToolDecision::Continue);
    let notice = shown.recv().await.unwrap();
    assert!(notice.text.contains("too late"), "{notice:?}");
}

#[tokio::test]
async fn core_22_a_hook_that_wakes_the_model_is_waited_for_only_where_it_decides() {
    let wakes = |command: &str| json!({"type": "command", "command": command, "asyncRewake": true});
    let strict = json!({"type": "command", "command": "2~~strict", "asyncRewake": true,
        "onFailure": "block"});
    let with = |event: HookEvent, hooks: &[Value]| {
        let (sender, woken) = tokio::sync::mpsc::unbounded_channel();
        let (runner, _) = runner();
        let runner = runner.groups(event, [group("", &json!(hooks))]);
        (runner.on_wake(move |wake| drop(sender.send(wake))), woken)
    };
    let (before, mut woken) = with(HookEvent::PreToolUse, &[wakes("2~~no")]);
    assert!(matches!(pre(&before, "Bash").await, PreToolDecision::Deny { .. }));
    drop(before);
    assert_eq!(woken.recv().await, None);
    let input = || HookInput::PostToolUse {
        tool_use: ToolUse::new("c".into(), "id", "Bash", ToolInput::Json(json!({}))),
        outcome: ToolOutcome::ok("x"),
        duration_ms: None,
    };
    let hooks = [wakes("2~printed~ failed \n"), wakes("2~printed~"), wakes("0~~fine")];
    let (after, mut woken) = with(HookEvent::PostToolUse, &hooks);
    let reply = after.run(input()).await;
    assert_eq!(reply.answer, HookAnswer::PostToolUse(PostToolDecision::Continue));
    drop(after);
    let mut texts = Vec::new();
    while let Some(wake) = woken.recv().await {
        assert_eq!(wake.event, HookEvent::PostToolUse);
        texts.push(wake.text);
    }
    texts.sort();
    assert_eq!(texts, ["failed", "printed"]);
    // Without a receiver, and where a failure has to block, the hook decides.
    let (waits, _) = runner();
    let waits = waits.groups(HookEvent::PostToolUse, [group("", &json!([wakes("2~~now")]))]);
    for (waiting, said) in [(waits, "now"), (with(HookEvent::PostToolUse, &[strict]).0, "strict")] {
        let reply = waiting.run(input()).await;
        assert!(format!("{reply:?}").contains(said), "{reply:?}");
    }
}

#[tokio::test]
async fn core_22_a_hook_of_a_skill_runs_once_unless_it_fails() {
    let once = |command: &str| json!({"type": "command", "command": command, "once": true});
    let group_of = |hook: &Value| [group("", &json!([hook]))];
    let (runner, executor) = runner();
    let runner = runner
        .groups(HookEvent::PreToolUse, group_of(&once("0")))
        .skill_groups("the skill `s`", HookEvent::PreToolUse, group_of(&once("0")))
        .skill_groups("the skill `s`", HookEvent::PostToolUse, group_of(&once("1")));
    for runs in [2, 3, 4] {
        assert_eq!(pre(&runner, "Bash").await, PreToolDecision::Continue);
        let now = executor.runs.load(Ordering::SeqCst);
        assert_eq!(now, runs, "settings ignore `once`, and a skill's copy is a hook of its own");
    }
    let data = HookData::from(&call("Bash"));
    let HookData::PreToolUse { tool_name, tool_input, tool_use_id } = data else { panic!() };
    let post = HookData::PostToolUse {
        tool_name,
        tool_input,
        tool_use_id,
        tool_response: Value::Null,
        tool_output: String::new(),
        duration_ms: None,
    };
    for runs in [5, 6] {
        runner.run_event(post.clone()).await;
        assert_eq!(executor.runs.load(Ordering::SeqCst), runs, "it failed, so it runs again");
    }
}

/// A run that was cancelled is no run: only hooks that ended with code 0 are used up by it.
#[tokio::test(start_paused = true)]
async fn core_22_a_hook_that_runs_once_runs_again_after_a_cancelled_run() {
    let once = |command: &str| json!({"type": "command", "command": command, "once": true});
    let (runner, executor) = runner();
    let hooks = json!([once("0"), once("hang")]);
    let runner = runner.skill_groups("the skill `s`", HookEvent::PreToolUse, [group("", &hooks)]);
    for runs in [2, 3, 4] {
        let second = Duration::from_secs(1);
        tokio::time::timeout(second, pre(&runner, "Bash")).await.expect_err("it hangs");
        assert_eq!(executor.runs.load(Ordering::SeqCst), runs);
    }
}

#[tokio::test(start_paused = true)]
async fn core_22_a_detached_hook_that_runs_once_runs_again_after_a_failure() {
    let (runner, _) = runner();
    let (sender, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let hook = json!({"type": "command", "command": "1", "once": true, "async": true});
    let runner = runner
        .skill_groups("the skill `s`", HookEvent::PreToolUse, [group("", &json!([hook]))])
        .on_notice(move |notice| drop(sender.send(notice)));
    for run in 1..=2 {
        pre(&runner, "Bash").await;
        let notice = tokio::time::timeout(Duration::from_secs(1), shown.recv()).await;
        assert!(matches!(notice, Ok(Some(_))), "run {run}");
    }
}

#[tokio::test]
async fn core_22_the_status_message_is_shown_when_the_hook_starts() {
    let (runner, _) = runner();
    let (sender, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let hook =
        |command| json!({"type": "command", "command": command, "statusMessage": "checking"});
    let runner = runner
        .groups(HookEvent::PreToolUse, [group("Bash", &json!([hook("0")]))])
        .groups(HookEvent::PreToolUse, [group("Edit", &json!([hook("2")]))])
        .on_notice(move |notice| drop(sender.send(notice)));
    assert_eq!(pre(&runner, "Bash").await, PreToolDecision::Continue);
    assert_eq!(shown.recv().await, Some(HookNotice::status(HookEvent::PreToolUse, "checking")));
    assert!(shown.try_recv().is_err(), "hooks that do not match show nothing");
}

#[test]
fn core_22_a_timeout_in_milliseconds_is_reduced_and_reported() {
    let read = |timeout: f64| {
        HookDefinition::read(&json!({"type": "command", "command": "x", "timeout": timeout}))
            .unwrap()
    };
    for (given, used, warned) in
        [(30.0, 30, false), (900.0, 900, false), (5_000.0, 3_600, true), (30_000.0, 3_600, true)]
    {
        assert_eq!(read(given).timeout(), Some(Duration::from_secs(used)), "{given}");
        assert_eq!(read(given).timeout_warning().is_some(), warned, "{given}");
    }
    assert!(read(5_000.0).timeout_warning().unwrap().ends_with("write 5"));
}

#[tokio::test]
async fn core_22_hooks_receive_the_current_mode() {
    struct Mode;
    #[async_trait::async_trait]
    impl HookExecutor for Mode {
        async fn execute(&self, _: &HookDefinition, payload: &str, _: Duration) -> HookExit {
            let input: Value = serde_json::from_str(payload).unwrap();
            HookExit::code(2, "", input["permission_mode"].to_string())
        }
    }
    let runner = HookRunner::new(HookContext::new("s", "/work"))
        .executor(HookKind::Command, Arc::new(Mode))
        .groups(HookEvent::PreToolUse, [group("", &json!([played("x")]))]);
    assert_eq!(reason(pre(&runner, "Bash").await), "null");
    runner.update_context(|context| {
        context.permission_mode = Some(crate::permission::Mode::Plan);
    });
    assert_eq!(reason(pre(&runner, "Bash").await), "\"plan\"");
}

/// Lets hooks end in a given order.
struct Ordered {
    order: Vec<usize>,
    ended: std::sync::Mutex<usize>,
    turn: Notify,
}

#[async_trait::async_trait]
impl HookExecutor for Ordered {
    async fn execute(&self, definition: &HookDefinition, _: &str, _: Duration) -> HookExit {
        let (at, word) = command(definition).split_once(' ').unwrap();
        let at: usize = at.parse().unwrap();
        loop {
            let turn = self.turn.notified();
            tokio::pin!(turn);
            turn.as_mut().enable();
            if self.order[*self.ended.lock().unwrap()] == at {
                break;
            }
            turn.await;
        }
        *self.ended.lock().unwrap() += 1;
        self.turn.notify_waiters();
        let json = match word {
            "none" => json!({}),
            "context" => json!({"systemMessage": format!("m{at}")}),
            "change" => json!({"hookSpecificOutput": {"updatedInput": {"at": at}}}),
            word => json!({"hookSpecificOutput": {
                "permissionDecision": word, "permissionDecisionReason": format!("r{at}")}}),
        };
        HookExit::code(0, json.to_string(), "")
    }
}

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    let word = prop::sample::select(vec!["none", "context", "change", "allow", "ask", "deny"]);
    prop::collection::vec(word, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn core_22_the_order_of_completion_changes_nothing(
        (words, order) in words().prop_flat_map(|words| {
            let order: Vec<usize> = (0..words.len()).collect();
            (Just(words), Just(order).prop_shuffle())
        }),
    ) {
        let run = |order: Vec<usize>| {
            let hooks: Vec<_> =
                words.iter().enumerate().map(|(at, word)| played(&format!("{at} {word}"))).collect();
            let executor =
                Ordered { order, ended: std::sync::Mutex::new(0), turn: Notify::new() };
            let runner = HookRunner::new(HookContext::new("s", "/"))
                .executor(HookKind::Command, Arc::new(executor))
                .groups(HookEvent::PreToolUse, [group("", &json!(hooks))]);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.unwrap().block_on(runner.run_point(call("Bash")))
        };
        let (shuffled, in_order) = (run(order), run((0..words.len()).collect()));
        prop_assert_eq!(shuffled, in_order);
    }
}

#[tokio::test]
async fn core_22_a_call_that_failed_has_hooks_of_its_own() {
    let (runner, executor) = runner();
    let runner = runner.groups(
        HookEvent::PostToolUseFailure,
        [group("Bash", &json!([played("2~~look elsewhere"), played("9")]))],
    );
    assert!(runner.has_point(HookPoint::PostToolUse), "it is a part of that point");
    let after = |tool: &str, outcome: ToolOutcome| HookInput::PostToolUse {
        tool_use: ToolUse::new("c".into(), "id", tool, ToolInput::Json(json!({}))),
        outcome,
        duration_ms: Some(7),
    };
    let report = runner.run_point(after("Bash", ToolOutcome::failed("x", "no"))).await;
    assert_eq!(report.reply.answer, HookAnswer::PostToolUse(PostToolDecision::Continue));
    let context = report.reply.context.unwrap();
    assert_eq!(context, "PostToolUseFailure hook: look elsewhere", "the result stays");
    assert_eq!(report.notices.len(), 1, "a hook that fails is a warning: {:?}", report.notices);
    for quiet in
        [after("Bash", ToolOutcome::ok("fine")), after("Read", ToolOutcome::failed("x", "no"))]
    {
        assert_eq!(runner.run_point(quiet).await.reply.context, None);
    }
    assert_eq!(executor.runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn core_22_a_call_has_the_hooks_of_its_success_or_of_its_failure_never_both() {
    let (runner, _) = runner();
    let runner = runner
        .groups(HookEvent::PostToolUse, [group("", &json!([played("2~~good")]))])
        .groups(HookEvent::PostToolUseFailure, [group("", &json!([played("2~~bad")]))]);
    let ended = |code: i64| ToolOutcome::ok("x").with_metadata("exit_code", code);
    for (command, outcome, context) in [
        ("make", ToolOutcome::ok("x"), "PostToolUse hook: good"),
        ("make", ended(0), "PostToolUse hook: good"),
        ("make", ended(2), "PostToolUseFailure hook: bad"),
        ("grep x y", ended(1), "PostToolUse hook: good"),
        ("make", ToolOutcome::failed("timeout", "x"), "PostToolUseFailure hook: bad"),
    ] {
        let input = ToolInput::Json(json!({"command": command}));
        let tool_use = ToolUse::new("c".into(), "id", "Bash", input);
        let input = HookInput::PostToolUse { tool_use, outcome, duration_ms: None };
        let report = runner.run_point(input.clone()).await;
        assert_eq!(report.reply.context.as_deref(), Some(context), "{input:?}");
    }
}

#[tokio::test]
async fn core_22_a_hook_replaces_the_result_of_a_call_that_failed() {
    let json = json!({"hookSpecificOutput": {"updatedToolOutput": "hidden"}});
    let (runner, _) = runner();
    let runner = runner
        .groups(HookEvent::PostToolUseFailure, [group("", &json!([played(&format!("0~{json}"))]))]);
    let tool_use = ToolUse::new("c".into(), "id", "Read", ToolInput::Json(json!({})));
    let outcome = ToolOutcome::failed("x", "secret");
    let report =
        runner.run_point(HookInput::PostToolUse { tool_use, outcome, duration_ms: None }).await;
    let HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }) = report.reply.answer else {
        panic!("{report:?}");
    };
    assert_eq!((outcome.text().as_str(), outcome.ok), ("hidden", false));
}

#[tokio::test]
async fn core_22_hooks_decide_about_all_calls_of_an_answer() {
    let context = r#"{"hookSpecificOutput": {"additionalContext": "mind the branch"}}"#;
    let stop = |reason: &str| BatchDecision::Stop { reason: reason.to_owned() };
    for (command, expected) in [
        ("0~".to_owned(), BatchDecision::Continue { context: None }),
        (format!("0~{context}"), {
            BatchDecision::Continue { context: Some("mind the branch".to_owned()) }
        }),
        ("2~~enough".to_owned(), stop("enough")),
        (r#"0~{"decision": "block", "reason": "no"}"#.to_owned(), stop("no")),
        (r#"0~{"continue": false, "stopReason": "end"}"#.to_owned(), stop("end")),
        ("1~~a warning".to_owned(), BatchDecision::Continue { context: None }),
        ("0~{broken".to_owned(), stop("the PostToolBatch command hook")),
        ("127~".to_owned(), stop("the PostToolBatch command hook")),
    ] {
        let (runner, _) = runner();
        // The event has no matcher, so that one is ignored.
        let runner =
            runner.groups(HookEvent::PostToolBatch, [group("Nothing", &json!([played(&command)]))]);
        assert!(runner.has_point(HookPoint::PostToolBatch));
        let HookInput::PreToolUse { tool_use, .. } = call("Bash") else { panic!() };
        let calls = vec![EndedCall { tool_use, outcome: ToolOutcome::ok("text") }];
        let reply = runner.run(HookInput::PostToolBatch { calls }).await;
        match (reply.answer, expected) {
            (
                HookAnswer::PostToolBatch(BatchDecision::Stop { reason }),
                BatchDecision::Stop { reason: expected },
            ) => assert!(reason.starts_with(&expected), "{command}: {reason}"),
            (answer, expected) => {
                assert_eq!(answer, HookAnswer::PostToolBatch(expected), "{command}");
            }
        }
    }
}

#[tokio::test]
async fn core_22_a_hook_that_is_turned_off_does_not_run() {
    let (runner, executor) = runner();
    let off = |value: Value| json!({"type": "command", "command": "2~~no", "enabled": value});
    let unknown = json!({"type": "webhook", "enabled": false});
    let hooks = json!([off(json!(false)), unknown]);
    let runner = runner.groups(HookEvent::PreToolUse, [group("", &hooks)]);
    assert_eq!(pre(&runner, "Bash").await, PreToolDecision::Continue);
    assert!(!HookRunner::has_event(&runner, HookEvent::PreToolUse));
    // Only `false` turns a hook off: anything else may be a mistake in a hook that guards.
    let on = json!([off(json!(true)), off(json!("false"))]);
    let runner = runner.groups(HookEvent::PreToolUse, [group("", &on)]);
    assert_eq!(reason(pre(&runner, "Bash").await), "no");
    assert_eq!(executor.runs.load(Ordering::SeqCst), 2);
}

/// A question about a call with two rules that the answer could save.
fn question() -> Question {
    Question {
        call: ToolUse::new("c".into(), "id", "Bash", ToolInput::Json(json!({}))),
        class: Class::Execute,
        reason: "it runs a command".to_owned(),
        rules: vec!["Bash(ls *)".to_owned(), "Read".to_owned()],
        needs_user: false,
        metadata: Map::new(),
        agent: None,
        task: None,
    }
}

#[tokio::test]
async fn core_22_hooks_get_the_rules_of_a_question_and_may_accept_them() {
    let data = HookData::permission_request(&question());
    let sent = data.to_json(&HookContext::new("s", "/work"))["permission_suggestions"].clone();
    let rules = json!([{"toolName": "Bash", "ruleContent": "ls *"}, {"toolName": "Read"}]);
    let add = json!({"type": "addRules", "rules": rules, "behavior": "allow",
        "destination": "localSettings"});
    assert_eq!(sent, json!([add]));
    let set_mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    let unreadable = json!({"type": "setMode", "mode": "any", "destination": "session"});
    for (updates, taken, warnings) in [
        (json!([add]), json!([add]), 0),
        (json!([add, set_mode]), json!([add, set_mode]), 0),
        (json!([unreadable, add]), json!([add]), 1),
        (json!([unreadable]), json!([]), 1),
        (json!([]), json!([]), 0),
    ] {
        let decision = json!({"behavior": "allow", "updatedPermissions": updates});
        let output = json!({"hookSpecificOutput": {"decision": decision}});
        let (runner, _) = runner();
        let runner = runner.groups(
            HookEvent::PermissionRequest,
            [group("", &json!([played(&format!("0~{output}"))]))],
        );
        let report = runner.run_event(data.clone()).await;
        assert_eq!(report.notices.len(), warnings, "{report:?}");
        let updates = serde_json::from_value(taken).unwrap();
        assert_eq!(report.approval(&question()), Some(Answer::allow(None, updates, None)));
    }
}

#[tokio::test]
async fn core_22_only_a_hook_that_allows_the_call_adds_rules_and_repeated_arguments_keep_them() {
    let add = json!({"type": "addRules", "rules": [{"toolName": "Read"}], "behavior": "allow",
        "destination": "session"});
    let output =
        |decision: Value| format!("0~{}", json!({"hookSpecificOutput": {"decision": decision}}));
    let answer = async |outputs: &[String]| {
        let hooks: Vec<_> = outputs.iter().map(|output| played(output)).collect();
        let (runner, _) = runner();
        let groups = [group("", &json!(hooks))];
        let runner = runner.groups(HookEvent::PermissionRequest, groups);
        runner.run_event(HookData::permission_request(&question())).await.approval(&question())
    };
    let silent = output(json!({"updatedPermissions": [add]}));
    let allows = output(json!({"behavior": "allow"}));
    let allowed = Some(Answer::Allow { note: None });
    assert_eq!(answer(&[silent.clone(), allows.clone()]).await, allowed);
    assert_eq!(answer(&[allows, silent]).await, allowed);
    let repeats = json!({"behavior": "allow", "updatedInput": {}, "updatedPermissions": [add]});
    let updates = vec![serde_json::from_value(add).unwrap()];
    let updated = Answer::Update { updates, input: None, note: None };
    assert_eq!(answer(&[output(repeats)]).await, Some(updated));
}

#[tokio::test]
async fn core_22_hooks_deny_but_do_not_allow_a_call_that_needs_a_user() {
    let question = Question { needs_user: true, ..question() };
    for (behavior, allowed) in [("allow", None), ("deny", Some(false))] {
        let decision = json!({"behavior": behavior, "updatedInput": {"a": 1}});
        let output = json!({"hookSpecificOutput": {"decision": decision}});
        let (runner, _) = runner();
        let groups = [group("", &json!([played(&format!("0~{output}"))]))];
        let runner = runner.groups(HookEvent::PermissionRequest, groups);
        let report = runner.run_event(HookData::permission_request(&question)).await;
        let answer = report.approval(&question);
        assert_eq!(answer.map(|answer| answer.allows()), allowed, "{behavior}");
    }
}

#[tokio::test]
async fn core_22_hooks_name_the_session() {
    let output = json!({"hookSpecificOutput": {"sessionTitle": " Fix the parser "}});
    let hooks = || [group("", &json!([played(&format!("0~{output}"))]))];
    let (runner, _) = runner();
    let (sender, mut titles) = tokio::sync::mpsc::unbounded_channel();
    let runner = runner
        .groups(HookEvent::SessionStart, hooks())
        .groups(HookEvent::UserPromptSubmit, hooks())
        .on_title(move |title| drop(sender.send(title)));
    let start =
        HookData::SessionStart { source: SessionSource::Startup, model: None, session_title: None };
    let report = runner.run_event(start).await;
    assert_eq!(report.session_title.as_deref(), Some("Fix the parser"));
    runner.run(HookInput::UserPromptSubmit { content: vec![Block::text("Hi")] }).await;
    assert_eq!(titles.recv().await.unwrap(), "Fix the parser");
    assert!(titles.is_empty());
}

#[tokio::test]
async fn core_22_hooks_answer_the_question_about_a_call() {
    let answer = async |output: &str| {
        let (runner, _) = runner();
        let runner =
            runner.groups(HookEvent::PermissionRequest, [group("Bash", &json!([played(output)]))]);
        runner.run_event(HookData::permission_request(&question())).await.approval(&question())
    };
    let decided = async |decision: Value| {
        let specific = json!({"hookEventName": "PermissionRequest", "decision": decision});
        answer(&format!("0~{}", json!({"hookSpecificOutput": specific}))).await
    };
    assert_eq!(decided(json!({"behavior": "allow"})).await, Some(Answer::Allow { note: None }));
    let changed = decided(json!({"behavior": "allow", "updatedInput": {"command": "ls"}})).await;
    let input = json!({"command": "ls"});
    assert_eq!(changed, Some(Answer::AllowChanged { input, note: None }));
    let denied = decided(json!({"behavior": "deny", "message": "not now"})).await;
    assert_eq!(denied, Some(Answer::Deny { note: Some("not now".to_owned()) }));
    let stops = json!({"behavior": "deny", "message": "not here", "interrupt": true});
    let reason = "not here".to_owned();
    assert_eq!(decided(stops).await, Some(Answer::DenyAndStop { reason }));
    let allowed = decided(json!({"behavior": "allow", "interrupt": true})).await;
    assert_eq!(allowed, Some(Answer::Allow { note: None }), "only a denial ends the turn");
    assert_eq!(decided(json!({"behavior": "ask"})).await, None);
    assert_eq!(answer("0").await, None);
    for (output, reason) in
        [("2~~never", "never"), ("127", "was not found"), ("0~{\"x", "cannot be read")]
    {
        let Some(Answer::Deny { note: Some(note) }) = answer(output).await else {
            panic!("{output}")
        };
        assert!(note.contains(reason), "{note}");
    }
    let maybe = decided(json!({"behavior": "maybe"})).await;
    assert!(matches!(maybe, Some(Answer::Deny { .. })), "{maybe:?}");
}

/// Records what starts, and how it ends.
#[derive(Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

struct SeenRun {
    label: String,
    list: Arc<Mutex<Vec<String>>>,
    ended: bool,
}

impl HookObserver for Seen {
    fn started(&self, event: HookEvent, target: &str) -> Box<dyn ObservedHook> {
        let label = format!("{event}:{target}");
        self.0.lock().unwrap().push(format!("{label} started"));
        Box::new(SeenRun { label, list: self.0.clone(), ended: false })
    }
}

impl ObservedHook for SeenRun {
    fn ended(&mut self, exit: &HookExit) {
        self.ended = true;
        self.list.lock().unwrap().push(format!("{} {:?}", self.label, exit.end));
    }
}

impl Drop for SeenRun {
    fn drop(&mut self) {
        if !self.ended {
            self.list.lock().unwrap().push(format!("{} dropped", self.label));
        }
    }
}

#[tokio::test]
async fn sdk_06_each_run_of_a_hook_is_observed() {
    let seen = Seen::default();
    let list = seen.0.clone();
    let (runner, _) = runner();
    let hooks = json!([played("2~~no"), played("panic"), {"type": "http", "url": "http://a"}]);
    let runner = runner
        .groups(HookEvent::SessionStart, [group("startup", &hooks)])
        .groups(HookEvent::SessionEnd, [group("other", &json!([played("hang")]))])
        .observer(Arc::new(seen));
    let start = |source| HookData::SessionStart { source, model: None, session_title: None };
    runner.run_event(start(SessionSource::Resume)).await;
    assert!(list.lock().unwrap().is_empty(), "the matcher does not match");
    runner.run_event(start(SessionSource::Startup)).await;
    let mut runs = std::mem::take(&mut *list.lock().unwrap());
    runs.sort();
    assert_eq!(runs.len(), 6, "{runs:?}");
    assert!(runs.contains(&"SessionStart:startup Code(2)".to_owned()), "{runs:?}");
    assert!(runs.contains(&"SessionStart:startup Failed(\"it panicked\")".to_owned()), "{runs:?}");
    let hanging = runner.run_event(HookData::SessionEnd { reason: "other".to_owned() });
    assert!(futures::FutureExt::now_or_never(hanging).is_none());
    assert!(list.lock().unwrap().contains(&"SessionEnd:other dropped".to_owned()));
}
