//! Hosts take files back to their content before a message.

use serde_json::json;

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

fn rewind(uuid: &serde_json::Value) -> serde_json::Value {
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

#[test]
fn sdk_17_files_are_restored_after_the_turn_that_runs() {
    let home = Home::new();
    let script =
        "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- Written.\n";
    let mut host = Host::start(&home, script, &["--permission-prompt-tool", "stdio"]);
    let uuid = json!("6b7f8f3a-0000-4000-8000-000000000001");
    host.send(&json!({
        "type": "user",
        "uuid": uuid,
        "message": {"role": "user", "content": "write"},
    }));
    let asked = host.until("control_request").pop().unwrap();
    host.send(&json!({"type": "control_request", "request_id": "r", "request": rewind(&uuid)}));
    host.answer(&asked, &json!({"behavior": "allow"}));
    assert_eq!(host.until("result").last().unwrap()["result"], "Written.");
    let restored = host.until("control_response").pop().unwrap();
    assert_eq!(restored["response"]["response"]["canRewind"], true, "{restored}");
    assert!(!home.path("project/a.txt").exists());
    assert_eq!(host.finish().1, Some(0));
}
