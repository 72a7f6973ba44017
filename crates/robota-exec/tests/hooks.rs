//! Command hooks, run by the real runner and driver. Timeouts that must not expire are an hour,
//! timeouts that must expire are a millisecond, so no test waits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use robota_core::event::TurnEnd;
use robota_core::gate::AllowAll;
use robota_core::hook::{
    EventDecision, HookContext, HookData, HookDefinition, HookEffort, HookEvent, HookGroup,
    HookKind, HookNotice, HookRunner, SessionSource,
};
use robota_core::message::ResultBlock;
use robota_core::permission::{Class, Verdict};
use robota_exec::{CommandHooks, Environment, SessionVariables, Supervisor};
use robota_testkit::{FnTool, RecordingGate, Run, RunResult, ScriptedGate, fn_tool};
use serde_json::{Value, json};

fn commands(dir: &Path) -> CommandHooks {
    let environment = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    CommandHooks::new(Supervisor::new(), dir, "s-1", environment)
}

fn groups(groups: Value) -> Vec<HookGroup> {
    serde_json::from_value(groups).unwrap()
}

/// One group without a matcher, with a hook for each command and a timeout of an hour.
fn each(commands: &[&str]) -> Vec<HookGroup> {
    let hooks: Vec<_> = commands
        .iter()
        .map(|command| json!({"type": "command", "command": command, "timeout": 3600}))
        .collect();
    groups(json!([{ "hooks": hooks }]))
}

fn runner(dir: &Path) -> HookRunner {
    HookRunner::new(HookContext::new("s-1", dir.display().to_string()))
        .executor(HookKind::Command, Arc::new(commands(dir)))
}

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

const ONE_CALL: &str = "
- tools: [{tool: shell, input: {command: rm}}]
- {text: Done.}
";

fn shell() -> FnTool {
    fn_tool("shell", Class::Execute, |input| async move { input["command"].to_string() })
}

#[tokio::test]
async fn core_22_a_hook_can_deny_a_tool_call() {
    let dir = temp();
    let check = r#"grep -q '"command":"rm"' && echo "no rm here" >&2 && exit 2; exit 0"#;
    let hooks = groups(json!([{
        "matcher": "shell|other",
        "hooks": [{"type": "command", "command": check, "timeout": 3600}],
    }]));
    let tool = shell();
    let ran = Run::script(ONE_CALL)
        .tool(tool.clone())
        .gate(AllowAll)
        .hooks(runner(dir.path()).groups(HookEvent::PreToolUse, hooks))
        .prompt("Go.")
        .await;
    assert_eq!(tool.inputs(), Vec::<Value>::new());
    assert_eq!(ran.report.end, TurnEnd::Complete);
    assert!(ran.log().contains("Blocked by hook: no rm here"), "{}", ran.log());
}

#[tokio::test]
async fn core_22_arguments_changed_by_a_hook_are_judged_again() {
    let dir = temp();
    let change = r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls"}}}'"#;
    let gate = RecordingGate::new(ScriptedGate::new(Verdict::Allow));
    let tool = shell();
    let ran = Run::script(ONE_CALL)
        .tool(tool.clone())
        .gate(gate.clone())
        .hooks(runner(dir.path()).groups(HookEvent::PreToolUse, each(&[change])))
        .prompt("Go.")
        .await;
    assert_eq!(ran.text, "Done.");
    let judged: Vec<_> =
        gate.judgements().into_iter().map(|(call, _)| call.input.json().unwrap().clone()).collect();
    assert_eq!(judged, [json!({"command": "rm"}), json!({"command": "ls"})]);
    assert_eq!(tool.inputs(), [json!({"command": "ls"})]);
}

#[tokio::test]
async fn core_22_a_blocked_input_shows_the_message_of_the_hook() {
    let dir = temp();
    let hooks = runner(dir.path())
        .groups(HookEvent::UserPromptSubmit, each(&["echo fine", "echo 'not today' >&2; exit 2"]));
    let ran = Run::script("- {text: Never said.}").hooks(hooks).prompt("Go.").await;
    assert_eq!(ran.report.end, TurnEnd::Blocked);
    assert_eq!(ran.text, "Blocked by hook: not today");
    assert_eq!(ran.requests.len(), 0);
}

#[tokio::test]
async fn sess_15_the_output_of_a_prompt_hook_is_added_to_the_prompt() {
    let dir = temp();
    let hooks = runner(dir.path())
        .groups(HookEvent::UserPromptSubmit, each(&["echo It is Monday.", "echo It rains."]));
    let ran = Run::script("- {text: I see.}").hooks(hooks).prompt("Go.").await;
    assert_eq!(ran.text, "I see.");
    let first = ran.state.view.messages[0].text();
    assert!(first.contains("It is Monday.\nIt rains.") && first.contains("Go."), "{first}");
}

#[tokio::test]
async fn core_22_a_command_hook_has_the_effort_in_its_environment() {
    let dir = temp();
    let hooks = runner(dir.path())
        .groups(HookEvent::UserPromptSubmit, each(&["echo effort ${CLAUDE_EFFORT-unset}."]));
    let ran = Run::script("- {text: Yes.}").hooks(hooks).prompt("Go.").await;
    assert!(ran.state.view.messages[0].text().contains("effort unset."));
    let hooks = runner(dir.path())
        .groups(HookEvent::UserPromptSubmit, each(&["echo effort $CLAUDE_EFFORT $ROBOTA_EFFORT."]));
    hooks.update_context(|context| context.effort = Some(HookEffort { level: "high".to_owned() }));
    let ran = Run::script("- {text: Yes.}").hooks(hooks).prompt("Go.").await;
    assert!(ran.state.view.messages[0].text().contains("effort high high."));
}

#[tokio::test]
async fn sess_15_a_stop_hook_can_continue_a_turn_once() {
    let dir = temp();
    let stop = r#"grep -q '"stop_hook_active":true' || echo '{"decision": "block", "reason": "Run the tests."}'"#;
    let hooks = runner(dir.path()).groups(HookEvent::Stop, each(&[stop]));
    let ran = Run::script(
        "
- {text: Finished.}
- {text: Tested., expect: {last: Run the tests.}}
",
    )
    .hooks(hooks)
    .prompt("Go.")
    .await;
    assert_eq!((ran.report.end, ran.text.as_str()), (TurnEnd::Complete, "Tested."));
    assert_eq!(ran.requests.len(), 2);
}

#[tokio::test]
async fn core_22_a_post_tool_hook_gives_feedback_or_context_and_a_failed_one_withholds_the_result()
{
    let dir = temp();
    let run = |command: &str| {
        Run::script(ONE_CALL)
            .tool(shell())
            .gate(AllowAll)
            .hooks(runner(dir.path()).groups(HookEvent::PostToolUse, each(&[command])))
            .prompt("Go.")
    };
    let without = result(&run("true").await);
    let block = r#"echo '{"decision": "block", "reason": "not formatted"}'"#;
    for (command, reason) in [
        ("grep -q '\"success\":true' && echo badly named >&2; exit 2", "badly named"),
        (block, "not formatted"),
    ] {
        let blocked = result(&run(command).await);
        assert_eq!(blocked.0, without.0, "the result stays");
        assert_eq!(blocked.1, [without.1[0].clone(), format!("PostToolUse hook: {reason}")]);
    }
    let add = r#"echo '{"hookSpecificOutput": {"additionalContext": "mind the gap"}}'"#;
    assert_eq!(result(&run(add).await).1, [without.1[0].as_str(), "mind the gap"]);
    let (is_error, failed) = result(&run("kill -KILL $$").await);
    assert!(
        is_error && failed.len() == 1 && failed[0].starts_with("Blocked by hook: "),
        "{failed:?}"
    );
}

/// Returns the first result of a tool: whether it is an error, and its texts.
fn result(ran: &RunResult) -> (bool, Vec<String>) {
    let mut messages = ran.state.view.messages.iter();
    let result = messages.find_map(|message| message.tool_results().next()).unwrap();
    let text = |block: &ResultBlock| match block {
        ResultBlock::Text(text) => text.text.clone(),
        other => panic!("{other:?}"),
    };
    (result.is_error, result.content.iter().map(text).collect())
}

/// Returns the decision of a PreToolUse hook.
async fn pre_tool_use(dir: &Path, hook: Value) -> EventDecision {
    let data = HookData::PreToolUse {
        tool_name: "shell".to_owned(),
        tool_input: json!({"command": "rm"}),
        tool_use_id: "c".to_owned(),
    };
    let hooks = groups(json!([{ "hooks": [hook] }]));
    runner(dir).groups(HookEvent::PreToolUse, hooks).run_event(data).await.decision
}

async fn block_reason(dir: &Path, hook: Value) -> String {
    match pre_tool_use(dir, hook.clone()).await {
        EventDecision::Block { reason } => reason,
        decision @ EventDecision::Continue { .. } => panic!("{hook}: {decision:?}"),
    }
}

#[tokio::test]
async fn core_22_a_hook_that_fails_blocks_the_call() {
    let dir = temp();
    let command = |text: &str| json!({"type": "command", "command": text, "timeout": 3600});
    let flood = "printf '{'; head -c 3000000 /dev/zero | tr '\\0' ' '; printf '}'";
    for (text, why) in [
        ("kill -KILL $$", "signal 9"),
        ("bash -c 'kill -KILL $$'; exit $?", "signal 9"),
        ("no-such-program-here", "was not found (code 127)"),
        ("/etc/passwd", "may not be run (code 126)"),
        ("echo '{\"decision\": '", "cannot be read"),
        ("echo '{\"decision\": \"blck\"}'", "cannot be read"),
        ("printf '{\"reason\": \"\\377\"}'", "cannot be read"),
        (flood, "longer than"),
    ] {
        let reason = block_reason(dir.path(), command(text)).await;
        assert!(reason.contains(why), "{text}: {reason}");
    }
    let missing = json!({"type": "command", "command": "no-such-program", "args": ["x"]});
    assert!(block_reason(dir.path(), missing).await.contains("cannot find the program"));
    let shell = json!({"type": "command", "command": "x", "shell": "powershell"});
    assert!(block_reason(dir.path(), shell).await.contains("only bash"));
    assert!(matches!(
        pre_tool_use(dir.path(), command("exit 1")).await,
        EventDecision::Continue { .. }
    ));
}

#[tokio::test]
async fn core_22_a_hook_that_times_out_is_ended_and_blocks() {
    let dir = temp();
    // Neither the command nor its child would ever end.
    let command = "cat /dev/zero | tail -c 1";
    let hook = json!({"type": "command", "command": command, "timeout": 0.001});
    assert!(block_reason(dir.path(), hook).await.contains("its time was up"));
}

#[tokio::test]
async fn core_22_a_hook_receives_the_event_and_the_environment() {
    let dir = temp();
    let root = dir.path().canonicalize().unwrap();
    let line = r#"cat > payload; pwd > cwd; printf '%s %s' "$CLAUDE_PROJECT_DIR" "$CLAUDE_SESSION_ID" > variables"#;
    let start =
        HookData::SessionStart { source: SessionSource::Resume, model: None, session_title: None };
    let report =
        runner(&root).groups(HookEvent::SessionStart, each(&[line])).run_event(start).await;
    assert_eq!(report.notices, []);
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let payload: Value = serde_json::from_str(&read("payload")).unwrap();
    assert_eq!(payload["hook_event_name"], "SessionStart");
    assert_eq!((&payload["source"], &payload["session_id"]), (&json!("resume"), &json!("s-1")));
    assert_eq!(read("cwd").trim_end(), root.display().to_string());
    assert_eq!(read("variables"), format!("{} s-1", root.display()));
}

#[tokio::test]
async fn core_22_a_program_with_arguments_needs_no_shell() {
    let dir = temp();
    let hooks = groups(json!([{"hooks": [{
        "type": "command", "command": "printf", "args": ["%s", "$(id) ${CLAUDE_PROJECT_DIR}"],
    }]}]));
    let start =
        HookData::SessionStart { source: SessionSource::Startup, model: None, session_title: None };
    let report = runner(dir.path()).groups(HookEvent::SessionStart, hooks).run_event(start).await;
    let context = Some(format!("$(id) {}", dir.path().display()));
    assert_eq!(report.decision, EventDecision::Continue { context });
}

#[tokio::test]
async fn core_22_the_variables_of_a_plugin_are_replaced_in_arguments_too() {
    let dir = temp();
    let mut hooks = groups(json!([{"hooks": [{
        "type": "command", "command": "printf", "args": ["%s", "at ${CLAUDE_PLUGIN_ROOT}/x $HOME"],
    }]}]));
    let HookDefinition::Command(hook) = &mut hooks[0].hooks[0] else { panic!() };
    hook.variables.insert("CLAUDE_PLUGIN_ROOT".to_owned(), "/plugin".to_owned());
    let start =
        HookData::SessionStart { source: SessionSource::Startup, model: None, session_title: None };
    let report = runner(dir.path()).groups(HookEvent::SessionStart, hooks).run_event(start).await;
    let context = Some("at /plugin/x $HOME".to_owned());
    assert_eq!(report.decision, EventDecision::Continue { context });
}

#[tokio::test]
async fn core_22_notices_of_a_turn_are_shown() {
    let dir = temp();
    let shown: Arc<Mutex<Vec<HookNotice>>> = Arc::default();
    let keep = shown.clone();
    let hooks = runner(dir.path())
        .groups(HookEvent::Stop, each(&["exit 3", r#"echo '{"systemMessage": "well done"}'"#]))
        .on_notice(move |notice| keep.lock().unwrap().push(notice));
    let ran = Run::script("- {text: Done.}").hooks(hooks).prompt("Go.").await;
    assert_eq!(ran.report.end, TurnEnd::Complete);
    let texts: Vec<_> = shown.lock().unwrap().iter().map(|notice| notice.text.clone()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("code 3") && texts[1] == "well done", "{texts:?}");
}

#[tokio::test]
async fn core_22_a_session_start_hook_sets_variables_for_later_commands() {
    let dir = temp();
    let run = |commands: Vec<&'static str>, event: HookEvent| {
        let variables = SessionVariables::default();
        let executor = self::commands(dir.path()).session_variables(variables.clone());
        let runner = HookRunner::new(HookContext::new("s-1", "/"))
            .executor(HookKind::Command, Arc::new(executor))
            .groups(event, each(&commands));
        let data = match event {
            HookEvent::SessionStart => HookData::SessionStart {
                source: SessionSource::Startup,
                model: None,
                session_title: None,
            },
            HookEvent::CwdChanged => {
                HookData::CwdChanged { old_cwd: "/a".to_owned(), new_cwd: "/b".to_owned() }
            }
            _ => HookData::SessionEnd { reason: "other".to_owned() },
        };
        async move { (runner.run_event(data).await, variables) }
    };
    let value = |variables: &SessionVariables, name: &str| {
        let env = variables.apply(Environment::new().with("KEPT", "1"));
        env.get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    let (report, set) = run(
        vec![
            r#"echo 'export A=1' >> "$CLAUDE_ENV_FILE"; echo "export P=\$PATH:/x" >> "$ROBOTA_ENV_FILE""#,
            r#"echo 'export B=$(touch pwned)' >> "$CLAUDE_ENV_FILE"; echo C=3 >> "$CLAUDE_ENV_FILE""#,
            r#"echo 'export D=4' >> "$CLAUDE_ENV_FILE"; exit 1"#,
        ],
        HookEvent::SessionStart,
    )
    .await;
    assert_eq!(value(&set, "A").as_deref(), Some("1"));
    assert_eq!(value(&set, "P").as_deref(), Some("/usr/local/bin:/usr/bin:/bin:/x"));
    assert_eq!(
        (value(&set, "C").as_deref(), value(&set, "KEPT").as_deref()),
        (Some("3"), Some("1"))
    );
    assert_eq!((value(&set, "B"), value(&set, "D")), (None, None), "not run, and failed");
    let texts: Vec<_> = report.notices.iter().map(|notice| notice.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("not assignments")), "{texts:?}");
    assert!(!dir.path().join("pwned").exists());
    let sets = vec![r#"echo 'export A=2' >> "$CLAUDE_ENV_FILE""#];
    let (_, set) = run(sets, HookEvent::CwdChanged).await;
    assert_eq!(value(&set, "A").as_deref(), Some("2"));
    let (report, _) = run(vec![r#"test -z "$CLAUDE_ENV_FILE""#], HookEvent::SessionEnd).await;
    assert!(report.notices.is_empty(), "other events have no file: {report:?}");
}
