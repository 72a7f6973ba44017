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
    let mut host = with_states(&home, &format!("{AGENT}\n- Started.\n- Waited."), &[]);
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
    let [.., end, state] = &kinds(&rest)[..] else { panic!("{rest:?}") };
    assert_eq!((&**end, &**state), ("system/task_notification", "system/session_state_changed"));
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
        let [.., end, result] = &lines[..] else { panic!("{text}") };
        assert_eq!(
            (&end["subtype"], &end["status"]),
            (&json!("task_notification"), &json!("stopped"))
        );
        assert_eq!(result["type"], "result", "{format}: the last line");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("robota: stopped with the session: bash_1"), "{errors}");
    }
}
