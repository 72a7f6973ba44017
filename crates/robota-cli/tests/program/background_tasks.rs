//! Background tasks of headless runs: when a host learns that a run is idle, and where the ends of tasks
//! are printed.

use std::path::Path;

use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::{Home, stdout};
use crate::host::{Host, STREAM, kinds};

/// A call that starts a command in the background, which ends when the pipe was written.
const WAITS: &str =
    "- {tools: [{tool: Bash, input: {command: cat pipe, run_in_background: true}}]}";

fn pipe(home: &Home) -> std::path::PathBuf {
    home.write("project/unused", "");
    let pipe = home.path("project/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe
}

fn write(pipe: &Path) {
    std::fs::write(pipe, "end").unwrap();
}

/// Starts a host that reads the states of the run.
fn with_states(home: &Home, script: &str, args: &[&str]) -> Host {
    home.write("project/script.yaml", script);
    let provider = ["--provider", "scripted:script.yaml"];
    let mut command = home.command(&[&STREAM[..], &provider, &BYPASS, args].concat());
    Host::spawn(command.env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"))
}

fn states(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["state"].as_str()).collect()
}

/// A call that starts an agent in the background.
const AGENT: &str = "- {tools: [{tool: Agent, input: {prompt: Wait., run_in_background: true}}]}";

#[test]
fn sdk_08_a_run_is_idle_when_its_last_agent_has_ended() {
    let home = Home::new();
    let pipe = pipe(&home);
    // The agent begins when the pipe was written.
    let hook = json!([{"hooks": [{"type": "command", "command": "cat pipe"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"SubagentStart": hook}}));
    let mut host = with_states(&home, &format!("{AGENT}\n- Started.\n- Waited.\n- Read it."), &[]);
    let version = json!({"type": "control_request", "request_id": "r",
        "request": {"subtype": "get_binary_version"}});
    host.say("go");
    let mut seen = host.until("result");
    host.send(&version);
    seen.extend(host.until("control_response"));
    assert_eq!(states(&seen), ["running"], "the agent runs");
    // A command is no reason to be idle either.
    host.say("/context");
    seen.extend(host.until("result"));
    host.send(&version);
    seen.extend(host.until("control_response"));
    assert!(!states(&seen).contains(&"idle"), "{:?}", kinds(&seen));
    write(&pipe);
    let mut rest = Vec::new();
    while !states(&rest).contains(&"idle") {
        rest.push(host.line().unwrap());
    }
    // The model receives the report of the agent at once.
    let [.., result, state] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!((&result["result"], &state["state"]), (&json!("Read it."), &json!("idle")));
    assert_eq!(result["origin"], json!({"kind": "task-notification"}), "{result}");
    let kinds_of_rest = kinds(&rest);
    let at = |kind: &str| kinds_of_rest.iter().position(|it| it == kind).unwrap();
    assert!(at("system/task_updated") < at("system/task_notification"), "{kinds_of_rest:?}");
    assert!(at("system/task_notification") < at("system/init"), "{kinds_of_rest:?}");
    let sets = seen.iter().chain(&rest).filter_map(|line| line["tasks"].as_array());
    let sets: Vec<_> = sets.map(Vec::len).collect();
    assert_eq!(sets, [1, 0], "the tasks in the background");
    let (rest, code, _) = host.finish();
    assert_eq!((kinds(&rest), code), (Vec::new(), Some(0)), "idle once");
}

/// A server that was started never ends.
#[test]
fn sdk_08_a_run_is_idle_although_a_command_runs_in_the_background() {
    let home = Home::new();
    pipe(&home);
    let mut host = with_states(&home, &format!("{WAITS}\n- Started."), &[]);
    host.say("go");
    let mut seen = host.until("result");
    while !states(&seen).contains(&"idle") {
        seen.push(host.line().unwrap());
    }
    let (_, code, errors) = host.finish();
    assert_eq!(code, Some(0));
    assert!(errors.contains("robota: stopped with the session: bash_1"), "{errors}");
}

#[test]
fn sdk_08_only_the_state_follows_an_error() {
    let home = Home::new();
    pipe(&home);
    let mut host = with_states(&home, &format!("{WAITS}\n- Never."), &["--max-turns", "1"]);
    host.say("go");
    assert_eq!(host.until("result").last().unwrap()["subtype"], "error_max_turns");
    let (rest, code, errors) = host.finish();
    assert_eq!(kinds(&rest), ["system/session_state_changed"], "the host shows the error");
    assert_eq!((states(&rest), code), (vec!["idle"], Some(4)));
    assert!(errors.contains("robota: stopped with the session: bash_1"), "{errors}");
}

#[test]
fn run_03_tasks_that_still_run_end_before_the_last_result() {
    for (format, limit) in
        [("stream-json", &[][..]), ("stream-json", &["--max-turns", "1"]), ("json", &[])]
    {
        let home = Home::new();
        pipe(&home);
        home.write("project/script.yaml", format!("{WAITS}\n- Started."));
        let args = ["-p", "go", "--provider", "scripted:script.yaml", "--verbose"];
        let format_args = ["--output-format", format];
        let args = [&args[..], &format_args, &BYPASS, limit].concat();
        let output = home.command(&args).output().unwrap();
        let text = stdout(&output);
        let lines: Vec<Value> = match format {
            "json" => serde_json::from_str(&text).unwrap(),
            _ => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        };
        let [.., end, changed, result] = &lines[..] else { panic!("{text}") };
        assert_eq!(
            (&end["subtype"], &end["status"]),
            (&json!("task_notification"), &json!("stopped"))
        );
        assert_eq!(changed["tasks"], json!([]), "{changed}");
        assert_eq!(result["type"], "result", "{format}: the last line");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("robota: stopped with the session: bash_1"), "{errors}");
    }
}

/// Lets an agent begin when the first turn of its session has ended.
fn agent_after_the_turn(home: &Home) {
    pipe(home);
    let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let after = "if [ -p pipe ]; then echo end > pipe; rm pipe; fi";
    let hooks = json!({"SubagentStart": hook("cat pipe"), "Stop": hook(after)});
    home.write("home/.robota/settings.json", json!({"hooks": hooks}));
}

#[test]
fn sdk_08_a_run_without_input_waits_for_its_agents_and_uses_what_they_found() {
    for format in ["text", "json", "stream-json"] {
        let home = Home::new();
        agent_after_the_turn(&home);
        let script = format!(
            "{AGENT}\n- Started.\n- Blue.\n- {{expect: {{last: Blue}}, text: It is blue.}}"
        );
        home.write("project/script.yaml", script);
        let args = ["-p", "go", "--provider", "scripted:script.yaml", "--output-format", format];
        let verbose: &[&str] = if format == "stream-json" { &["--verbose"] } else { &[] };
        let output = home.command(&[&args[..], &BYPASS, verbose].concat()).output().unwrap();
        let (text, errors) = (stdout(&output), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{text} {errors}");
        assert!(!errors.contains("stopped with the session"), "{errors}");
        match format {
            "text" => assert_eq!(text, "It is blue.\n"),
            "json" => {
                let result: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(result["result"], "It is blue.", "{result}");
                assert_eq!((&result["result_index"], &result["num_turns"]), (&json!(0), &json!(1)));
            }
            _ => {
                let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
                let results: Vec<Value> =
                    lines.filter(|line: &Value| line["type"] == "result").collect();
                let [first, last] = &results[..] else { panic!("{text}") };
                assert_eq!(
                    (&first["result"], &first["result_index"]),
                    (&json!("Started."), &json!(0))
                );
                assert_eq!(
                    (&last["result"], &last["result_index"]),
                    (&json!("It is blue."), &json!(1))
                );
                assert_eq!(
                    (&first["origin"], &last["origin"]["kind"]),
                    (&Value::Null, &json!("task-notification"))
                );
            }
        }
    }
}

#[test]
fn sdk_08_a_run_does_not_wait_longer_than_the_limit_for_its_agents() {
    let home = Home::new();
    pipe(&home);
    // The agent never begins.
    let hook = json!([{"hooks": [{"type": "command", "command": "cat pipe"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"SubagentStart": hook}}));
    home.write("project/script.yaml", format!("{AGENT}\n- Started."));
    let args = ["-p", "go", "--provider", "scripted:script.yaml"];
    let mut command = home.command(&[&args[..], &BYPASS].concat());
    let output = command.env("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "50").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((stdout(&output), output.status.code()), ("Started.\n".to_owned(), Some(0)));
    assert!(errors.contains("robota: stopped with the session: agent-"), "{errors}");
}

#[test]
fn sdk_08_a_host_that_closes_its_end_receives_the_turn_after_an_agent() {
    let home = Home::new();
    let pipe = pipe(&home);
    let hook = json!([{"hooks": [{"type": "command", "command": "cat pipe"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"SubagentStart": hook}}));
    let mut host = with_states(&home, &format!("{AGENT}\n- Started.\n- Waited.\n- Read it."), &[]);
    host.say("go");
    assert_eq!(host.until("result").last().unwrap()["result"], "Started.", "not held");
    drop(host.stdin.take());
    write(&pipe);
    let (rest, code, _) = host.finish();
    let results: Vec<_> = rest.iter().filter(|line| line["type"] == "result").collect();
    let [result] = &results[..] else { panic!("{rest:?}") };
    assert_eq!((&result["result"], code), (&json!("Read it."), Some(0)));
}

/// After a failure or an interrupt the user decides what comes next: the end of an agent starts no turn.
/// Its report waits for the next prompt, also in a later process.
#[test]
fn sdk_08_the_prompt_after_a_failed_turn_has_the_reports_of_agents() {
    for (interrupted, resumed) in [(false, false), (false, true), (true, false), (true, true)] {
        let home = Home::new();
        let pipe = pipe(&home);
        let hook = json!([{"hooks": [{"type": "command", "command": "cat pipe"}]}]);
        home.write("home/.robota/settings.json", json!({"hooks": {"SubagentStart": hook}}));
        let end = match interrupted {
            true => {
                "tools: [{tool: Bash, input: {command: until test -e never; do sleep 0.01; done}}]"
            }
            false => "error: {kind: validation, message: broken}",
        };
        let report = "- {expect: {last: Blue}, text: It is blue.}";
        let script = format!("{AGENT}\n- {{{end}}}\n- Blue.\n{report}");
        let mut host = with_states(&home, &script, &[]);
        host.say("go");
        if interrupted {
            host.until("assistant");
            host.until("assistant");
            host.request(&json!({"subtype": "interrupt"}));
        }
        assert_eq!(host.until("result").last().unwrap()["is_error"], true);
        write(&pipe);
        let mut seen = Vec::new();
        while !states(&seen).contains(&"idle") {
            seen.push(host.line().unwrap());
        }
        assert!(kinds(&seen).contains(&"system/task_notification".to_owned()), "{seen:?}");
        if resumed {
            let (rest, code, _) = host.finish();
            assert_eq!((kinds(&rest), code), (Vec::new(), Some(1)), "no turn follows");
            host = with_states(&home, report, &["--continue"]);
        }
        host.say("next");
        let turn = host.until("result");
        assert_eq!(turn.last().unwrap()["result"], "It is blue.", "{turn:?}");
        assert!(!kinds(&seen).contains(&"system/init".to_owned()), "no turn of its own: {seen:?}");
        assert_eq!(host.finish().1, Some(0));
    }
}
