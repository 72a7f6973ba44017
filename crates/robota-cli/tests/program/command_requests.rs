//! What a host sends while a command runs: requests are answered at once, messages wait for its end.

use std::process::Command;

use serde_json::{Value, json};

use crate::home::Home;
use crate::host::{Host, STREAM, kinds};

const SKILL: &str = "---\ndescription: Makes\ncontext: fork\n---\nMake it.\n";

/// Starts a run whose first message is a skill that waits for its agent.
fn start(home: &Home, script: &str, args: &[&str]) -> Host {
    home.write("home/.claude/skills/maker/SKILL.md", SKILL);
    let mut host = Host::start(home, script, args);
    host.say("/maker");
    host
}

/// Starts one whose agent asks the host. Returns the question too.
fn asking(home: &Home, then: &str) -> (Host, Value) {
    let call = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let args = ["--permission-prompt-tool", "stdio"];
    let mut host = start(home, &format!("- {call}\n{then}"), &args);
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["tool_name"], "Bash");
    (host, asked)
}

fn message(text: &str, uuid: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}, "uuid": uuid})
}

#[test]
fn cli_03_requests_are_answered_while_a_command_runs() {
    let home = Home::new();
    let (mut host, asked) = asking(&home, "- Made.");
    for request in [
        json!({"subtype": "set_model", "model": "later"}),
        json!({"subtype": "set_permission_mode", "mode": "plan"}),
        json!({"subtype": "set_permission_mode", "mode": "default"}),
        json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 1000}),
        json!({"subtype": "apply_flag_settings", "settings": {"effortLevel": "low"}}),
        json!({"subtype": "initialize", "hooks": null}),
        json!({"subtype": "mcp_status"}),
        json!({"subtype": "mcp_set_servers", "servers": {}}),
        json!({"subtype": "get_context_usage"}),
        json!({"subtype": "get_settings"}),
        json!({"subtype": "get_usage"}),
        json!({"subtype": "get_session_cost"}),
        json!({"subtype": "get_hooks_listing"}),
        json!({"subtype": "get_binary_version"}),
        json!({"subtype": "list_models"}),
        json!({"subtype": "list_permission_rules"}),
        json!({"subtype": "file_suggestions", "query": "no"}),
        json!({"subtype": "read_file", "path": "notes.txt"}),
        json!({"subtype": "reload_skills"}),
        json!({"subtype": "reload_output_styles"}),
        json!({"subtype": "rename_session", "title": "A name"}),
        json!({"subtype": "background_tasks"}),
        json!({"subtype": "cancel_async_message", "message_uuid": "none"}),
    ] {
        let answer = host.request(&request);
        assert_eq!(answer["subtype"], "success", "{request}: {answer}");
    }
    let unknown = host.request(&json!({"subtype": "stop_task", "task_id": "no-such-task"}));
    assert_eq!(unknown["subtype"], "error", "{unknown}");
    // The turn waits for an answer of this host, so the files cannot be restored.
    let rewind = json!({"subtype": "rewind_files", "user_message_id": "none"});
    let refused = host.request(&rewind);
    assert!(refused["error"].as_str().unwrap().contains("answer first"), "{refused}");
    host.answer(&asked, &json!({"behavior": "allow"}));
    let result = host.until("result").pop().unwrap();
    assert_eq!(result["is_error"], false, "{result}");
    assert!(home.path("project/made").exists());
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn cli_03_messages_wait_for_the_command_and_keep_their_order() {
    let home = Home::new();
    let wait = "{tools: [{tool: Bash, input: {command: 'until test -e go; do :; done'}}]}";
    let script = format!("- {wait}\n- Made.\n- Two.\n- Four.\n");
    let mut host = start(&home, &script, &["--allowedTools", "Bash"]);
    host.send(&message("/cost", "11111111-1111-4111-8111-111111111111"));
    host.send(&message("two", "22222222-2222-4222-8222-222222222222"));
    host.send(&json!({"type": "control_request", "request_id": "rewind",
        "request": {"subtype": "rewind_files", "user_message_id": "none"}}));
    host.send(&message("three", "33333333-3333-4333-8333-333333333333"));
    host.send(&message("four", "44444444-4444-4444-8444-444444444444"));
    let uuid = "33333333-3333-4333-8333-333333333333";
    let cancelled = host.request(&json!({"subtype": "cancel_async_message", "message_uuid": uuid}));
    assert_eq!(cancelled["response"], json!({"cancelled": true}));
    home.write("project/go", "");
    let (lines, code, errors) = host.finish();
    let ends = lines
        .iter()
        .filter(|line| matches!(line["type"].as_str(), Some("result" | "control_response")));
    let ends: Vec<_> = ends
        .map(|line| match line["type"].as_str() {
            Some("result") => line["result"].as_str().unwrap().to_owned(),
            _ => line["response"]["request_id"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(ends.len(), 5, "{ends:?} {errors}");
    assert!(ends[1].contains("Tokens:"), "{ends:?}");
    assert_eq!((&*ends[2], &*ends[3], &*ends[4]), ("Two.", "rewind", "Four."));
    assert_eq!(code, Some(0));
}

#[test]
fn cli_03_an_interrupt_of_a_command_keeps_the_messages_that_wait() {
    for cancel in [false, true] {
        let home = Home::new();
        let (mut host, _) = asking(&home, "- Two.");
        let uuid = "22222222-2222-4222-8222-222222222222";
        host.send(&message("two", uuid));
        let receipt = host.request(&json!({"subtype": "interrupt", "cancel_queued": cancel}));
        let expected = match cancel {
            true => json!({"still_queued": [], "cancelled": [uuid]}),
            false => json!({"still_queued": [uuid]}),
        };
        assert_eq!(receipt["response"], expected);
        let command = host.until("result").pop().unwrap();
        assert_eq!(command["is_error"], true, "{command}");
        assert!(command["result"].as_str().unwrap().contains("interrupted"), "{command}");
        let (lines, code, _) = host.finish();
        let results: Vec<_> = lines
            .iter()
            .filter(|line| line["type"] == "result")
            .map(|line| &line["result"])
            .collect();
        if cancel {
            assert_eq!((results.len(), code), (0, Some(1)), "{lines:?}");
        } else {
            assert_eq!((results, code), (vec![&json!("Two.")], Some(0)), "{lines:?}");
        }
        assert!(!home.path("project/made").exists());
    }
}

#[test]
fn cli_03_the_session_is_idle_after_the_command_and_no_turn_follows_for_its_agent() {
    let home = Home::new();
    home.write("home/.claude/skills/maker/SKILL.md", SKILL);
    let script = "- {tools: [{tool: Bash, input: {command: touch made}}]}\n- Made.\n";
    home.write("project/script.yaml", script);
    let more = ["--provider", "scripted:script.yaml", "--permission-prompt-tool", "stdio"];
    let mut command = home.command(&[&STREAM[..], &more].concat());
    let mut host = Host::spawn(command.env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"));
    host.say("/maker");
    let mut lines = host.until("control_request");
    let asked = lines.last().unwrap().clone();
    host.answer(&asked, &json!({"behavior": "allow"}));
    // No turn follows for the agent of the command: its result was what the agent found.
    while lines.last().unwrap()["state"] != "idle" {
        lines.push(host.line().unwrap());
    }
    assert_eq!(lines.iter().filter(|line| line["type"] == "result").count(), 1);
    let states: Vec<_> = lines.iter().filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(states, ["running", "requires_action", "running", "idle"], "{:?}", kinds(&lines));
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn cli_03_a_host_that_goes_away_ends_the_command() {
    for closes_output in [true, false] {
        let home = Home::new();
        let (mut host, _) = asking(&home, "- Denied.");
        drop(host.stdin.take());
        if closes_output {
            drop(host.stdout.take());
            let output = host.child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(1));
        } else {
            let (lines, code, errors) = host.finish();
            let result = lines.iter().find(|line| line["type"] == "result").unwrap();
            assert_eq!((&result["result"], code), (&json!("Denied."), Some(0)), "{errors}");
        }
        assert!(!home.path("project/made").exists());
    }
}

#[test]
fn cli_03_a_message_that_waits_for_a_command_is_not_sent_after_a_signal() {
    let home = Home::new();
    let (mut host, _) = asking(&home, "- Late.");
    host.send(&message("two", "11111111-1111-4111-8111-111111111111"));
    // Once a later request is answered, the message was read.
    host.request(&json!({"subtype": "mcp_status"}));
    let child = host.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &child]).status().unwrap().success());
    let mut lines = Vec::new();
    while let Some(line) = host.line() {
        lines.push(line);
    }
    assert!(lines.iter().all(|line| !line.to_string().contains("Late.")), "{:?}", kinds(&lines));
    assert_eq!(host.child.wait().unwrap().code(), Some(143));
}
