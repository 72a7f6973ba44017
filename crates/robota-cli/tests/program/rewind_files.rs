//! Hosts take files back to their content before a message.

use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::Home;
use crate::host::{Host, kinds};

#[test]
fn sdk_17_a_host_takes_files_back_to_a_message() {
    let home = Home::new();
    let script = "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- Written.\n\
                  - {tools: [{tool: Bash, input: {command: echo two > b.txt}}]}\n- Again.\n";
    let args = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(echo *)"];
    let mut host = Host::start(&home, script, &args);
    let first = "6b7f8f3a-0000-4000-8000-000000000001";
    let second = "6b7f8f3a-0000-4000-8000-000000000002";
    for (uuid, text) in [(first, "write"), (second, "more")] {
        host.send(&json!({
            "type": "user",
            "uuid": uuid,
            "message": {"role": "user", "content": text},
        }));
        host.until("result");
    }
    let rewind = |host: &mut Host, uuid: &str, dry_run: bool| {
        let request = json!({
            "subtype": "rewind_files",
            "user_message_id": uuid,
            "dry_run": dry_run,
        });
        host.request(&request)["response"].clone()
    };
    let (a, b) = (home.path("project/a.txt"), home.path("project/b.txt"));
    assert!(a.exists() && b.exists());
    let unknown = rewind(&mut host, "6b7f8f3a-0000-4000-8000-000000000009", false);
    assert_eq!(unknown["canRewind"], false);
    let preview = rewind(&mut host, first, true);
    assert_eq!(preview["canRewind"], true, "{preview}");
    assert_eq!(preview["filesChanged"].as_array().unwrap().len(), 2);
    assert_eq!(preview["deletions"], 2);
    assert!(a.exists() && b.exists());
    let restored = rewind(&mut host, second, false);
    assert_eq!(restored["canRewind"], true, "{restored}");
    assert!(a.exists() && !b.exists());
    rewind(&mut host, first, false);
    assert!(!a.exists());
    assert_eq!(host.finish().1, Some(0));
}

fn rewind(uuid: &Value) -> Value {
    json!({"subtype": "rewind_files", "user_message_id": uuid})
}

#[test]
fn sdk_17_a_replayed_message_has_an_id_to_go_back_to() {
    let home = Home::new();
    let script =
        "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- Written.\n";
    let args = ["--permission-mode", "acceptEdits", "--replay-user-messages"];
    let mut host = Host::start(&home, script, &args);
    host.say("write");
    let lines = host.until("result");
    let sent = lines.iter().find(|line| line["isReplay"] == true).unwrap();
    let (uuid, session) = (sent["uuid"].clone(), sent["session_id"].as_str().unwrap().to_owned());
    assert!(home.path("project/a.txt").exists());
    host.finish();
    // Hosts resume with an empty message, and go back while they read the answer to it.
    let resume = format!("--resume={session}");
    let mut host = Host::start(&home, script, &[&args[..], &[&resume]].concat());
    host.say("");
    let answer = host.until("result");
    assert_eq!(kinds(&answer), ["system/init", "result/success"]);
    let result = answer.last().unwrap();
    assert_eq!((&result["num_turns"], &result["result"]), (&json!(0), &json!("")));
    let restored = host.request(&rewind(&uuid));
    assert_eq!(restored["response"]["canRewind"], true, "{restored}");
    assert!(!home.path("project/a.txt").exists());
    assert_eq!(host.finish().1, Some(0));
}

/// The arguments of a host that decides about calls.
const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

const FIRST: &str = "6b7f8f3a-0000-4000-8000-000000000001";
const SECOND: &str = "6b7f8f3a-0000-4000-8000-000000000002";

fn say(host: &mut Host, uuid: &str, text: &str) {
    host.send(&json!({
        "type": "user",
        "uuid": uuid,
        "message": {"role": "user", "content": text},
    }));
}

fn send_rewind(host: &mut Host, id: &str, uuid: &str) {
    let request = rewind(&json!(uuid));
    host.send(&json!({"type": "control_request", "request_id": id, "request": request}));
}

/// Waits until what was sent before has arrived.
#[cfg(unix)]
fn sync(host: &mut Host) {
    host.send(&json!({"type": "control_request", "request_id": "i",
        "request": {"subtype": "get_binary_version"}}));
    let answer = host.until("control_response").pop().unwrap();
    assert_eq!(answer["response"]["request_id"], "i", "{answer}");
}

#[cfg(unix)]
fn make_pipe(home: &Home) -> std::path::PathBuf {
    home.write("project/unused", "");
    let pipe = home.path("project/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe
}

/// Reads up to the line with a command that waits for the pipe.
#[cfg(unix)]
fn until_command(host: &mut Host, command: &str) {
    let input = |line: &Value| line["message"]["content"][0]["input"]["command"].clone();
    while input(host.until("assistant").last().unwrap()) != command {}
}

#[cfg(unix)]
#[test]
fn sdk_17_files_are_restored_after_the_turn_that_runs_and_before_later_messages() {
    let home = Home::new();
    let script = "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n\
                  - {tools: [{tool: Bash, input: {command: cat pipe}}]}\n- Written.\n\
                  - {tools: [{tool: Bash, input: {command: ls}}]}\n- Listed.\n";
    let pipe = make_pipe(&home);
    let mut host = Host::start(&home, script, &BYPASS);
    say(&mut host, FIRST, "write");
    until_command(&mut host, "cat pipe");
    send_rewind(&mut host, "r", FIRST);
    say(&mut host, SECOND, "list");
    sync(&mut host);
    assert!(home.path("project/a.txt").exists());
    std::fs::write(&pipe, "end").unwrap();
    assert_eq!(host.until("result").last().unwrap()["result"], "Written.");
    let restored = host.until("control_response").pop().unwrap();
    assert_eq!(restored["response"]["response"]["canRewind"], true, "{restored}");
    let lines = host.until("result");
    assert_eq!(lines.last().unwrap()["result"], "Listed.", "{:?}", kinds(&lines));
    let list = lines.iter().find(|line| line["type"] == "user").unwrap();
    assert!(!list.to_string().contains("a.txt"), "{list}");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_17_files_are_not_restored_while_the_turn_waits_for_the_host() {
    let home = Home::new();
    let script =
        "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- Written.\n";
    let mut host = Host::start(&home, script, &ASKS);
    say(&mut host, FIRST, "write");
    let asked = host.until("control_request").pop().unwrap();
    send_rewind(&mut host, "r", FIRST);
    let refused = host.until("control_response").pop().unwrap();
    assert_eq!(refused["response"]["subtype"], "error", "{refused}");
    assert!(refused["response"]["error"].to_string().contains("waits for an answer"), "{refused}");
    host.answer(&asked, &json!({"behavior": "allow"}));
    assert_eq!(host.until("result").last().unwrap()["result"], "Written.");
    assert!(home.path("project/a.txt").exists());
    assert_eq!(host.finish().1, Some(0));
}

#[cfg(unix)]
#[test]
fn sdk_17_a_second_request_waits_for_the_messages_before_it() {
    let home = Home::new();
    let script = "- {tools: [{tool: Bash, input: {command: cat pipe}}]}\n- One.\n\
                  - {tools: [{tool: Write, input: {file_path: b.txt, content: two}}]}\n- Two.\n";
    let pipe = make_pipe(&home);
    let mut host = Host::start(&home, script, &BYPASS);
    say(&mut host, FIRST, "wait");
    until_command(&mut host, "cat pipe");
    send_rewind(&mut host, "r1", FIRST);
    say(&mut host, SECOND, "write");
    send_rewind(&mut host, "r2", SECOND);
    sync(&mut host);
    std::fs::write(&pipe, "end").unwrap();
    let mut ends = Vec::new();
    while ends.len() < 4 {
        let line = host.line().unwrap();
        match line["type"].as_str() {
            Some("result") => ends.push(line["result"].clone()),
            Some("control_response") => {
                assert_eq!(line["response"]["response"]["canRewind"], true, "{line}");
                ends.push(line["response"]["request_id"].clone());
            }
            _ => {}
        }
    }
    assert_eq!(ends, ["One.", "r1", "Two.", "r2"]);
    assert!(!home.path("project/b.txt").exists());
    assert_eq!(host.finish().1, Some(0));
}

#[cfg(unix)]
#[test]
fn sdk_17_tasks_can_start_in_a_turn_that_waits_for_a_request() {
    let home = Home::new();
    let script = "- {tools: [{tool: Bash, input: {command: cat other, run_in_background: true}}]}\n\
                  - {tools: [{tool: Bash, input: {command: cat pipe}}]}\n- One.\n\
                  - {tools: [{tool: Bash, input: {command: 'true', run_in_background: true}}]}\n\
                  - Two.\n";
    let pipe = make_pipe(&home);
    let other = home.path("project/other");
    assert!(std::process::Command::new("mkfifo").arg(&other).status().unwrap().success());
    let mut host = Host::start(&home, script, &BYPASS);
    say(&mut host, FIRST, "wait");
    until_command(&mut host, "cat pipe");
    send_rewind(&mut host, "r", FIRST);
    say(&mut host, SECOND, "start");
    sync(&mut host);
    // No more input can come before the first result.
    drop(host.stdin.take());
    std::thread::sleep(std::time::Duration::from_millis(200));
    std::fs::write(&pipe, "end").unwrap();
    let first = host.until("result").pop().unwrap();
    assert_eq!((&first["result"], &first["queued_turn_count"]), (&json!("One."), &json!(1)));
    let second = host.until("result");
    let started = second.iter().find(|line| line["type"] == "user").unwrap();
    let block = &started["message"]["content"][0];
    assert_ne!(block["is_error"], true, "{started}");
    let last = second.last().unwrap();
    assert_eq!((&last["result"], &last["queued_turn_count"]), (&json!("Two."), &json!(0)));
    assert_eq!(host.finish().1, Some(0));
}

#[cfg(unix)]
#[test]
fn sdk_17_a_callback_that_runs_is_no_question() {
    let home = Home::new();
    let script =
        "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- Written.\n";
    let mut host = Host::start(&home, script, &BYPASS);
    let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["h"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    say(&mut host, FIRST, "write");
    let callback = host.until("control_request").pop().unwrap();
    send_rewind(&mut host, "r", FIRST);
    sync(&mut host);
    host.answer(&callback, &json!({}));
    let lines = host.until("result");
    assert!(!kinds(&lines).contains(&"control_response".to_owned()), "{lines:?}");
    let restored = host.until("control_response").pop().unwrap();
    assert_eq!(restored["response"]["response"]["canRewind"], true, "{restored}");
    assert!(!home.path("project/a.txt").exists());
    assert_eq!(host.finish().1, Some(0));
}

#[cfg(unix)]
#[test]
fn sdk_17_a_request_that_waits_is_refused_when_the_turn_asks_the_host() {
    let home = Home::new();
    let script = "- {tools: [{tool: Bash, input: {command: cat pipe}}]}\n\
                  - {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- Written.\n";
    let pipe = make_pipe(&home);
    let args = [&ASKS[..], &["--allowedTools", "Bash(cat *)"]].concat();
    let mut host = Host::start(&home, script, &args);
    say(&mut host, FIRST, "write");
    until_command(&mut host, "cat pipe");
    send_rewind(&mut host, "r", FIRST);
    sync(&mut host);
    std::fs::write(&pipe, "end").unwrap();
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["tool_name"], "Write", "{asked}");
    // Not answered: the host waits for the restore first.
    let refused = host.until("control_response").pop().unwrap();
    assert!(refused["response"]["error"].to_string().contains("waits for an answer"), "{refused}");
    host.answer(&asked, &json!({"behavior": "allow"}));
    assert_eq!(host.until("result").last().unwrap()["result"], "Written.");
    assert!(home.path("project/a.txt").exists());
    assert_eq!(host.finish().1, Some(0));
}
