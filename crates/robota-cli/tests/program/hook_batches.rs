//! PostToolBatch hooks: once for all calls of an answer, before the model has the results.

use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::Home;
use crate::host::Host;

const SEE: &str = "cat >> ../seen.jsonl; echo >> ../seen.jsonl";

/// An answer with two calls, one of which fails.
const TWO: &str = "- tools: [{tool: Read, input: {file_path: notes.txt}}, \
                   {tool: Bash, input: {command: touch made && exit 3}}]\n";

/// Configures a command at an event.
fn with_hook(home: &Home, event: &str, command: &str) {
    let hook = json!({"matcher": "Nothing", "hooks": [{"type": "command", "command": command}]});
    home.write("home/.robota/settings.json", json!({"hooks": {event: [hook]}}));
}

#[test]
fn core_22_a_batch_hook_sees_all_calls_and_its_text_reaches_the_model() {
    let home = Home::new();
    let context = json!({"hookSpecificOutput": {"hookEventName": "PostToolBatch",
        "additionalContext": "Mind the branch."}});
    with_hook(&home, "PostToolBatch", &format!("{SEE}; echo '{context}'"));
    let script = format!("{TWO}- {{expect: {{last: Mind the branch.}}, text: Done.}}\n");
    let mut host = Host::start(&home, &script, &BYPASS);
    host.say("go");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Done.");
    host.finish();
    let seen = std::fs::read_to_string(home.path("seen.jsonl")).unwrap();
    let seen: Vec<Value> = seen
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [seen] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(seen["hook_event_name"], "PostToolBatch");
    let calls = seen["tool_calls"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call["tool_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Read", "Bash"]);
    assert_eq!(calls[0]["tool_input"]["file_path"], json!(home.path("project/notes.txt")));
    assert!(calls[0]["tool_response"]["output"].to_string().contains("hello"), "{seen}");
    assert!(calls.iter().all(|call| call["tool_use_id"].is_string()), "{seen}");
    assert_eq!(calls[1]["tool_response"]["metadata"]["exit_code"], 3, "{seen}");
}

#[test]
fn core_22_a_batch_hook_that_blocks_or_fails_ends_the_turn() {
    for command in [
        "echo enough >&2; exit 2",
        r#"echo '{"decision": "block", "reason": "no"}'"#,
        r#"echo '{"continue": false, "stopReason": "end"}'"#,
        "kill -9 $$",
    ] {
        let home = Home::new();
        with_hook(&home, "PostToolBatch", command);
        let mut host = Host::start(&home, &format!("{TWO}- Never.\n"), &BYPASS);
        host.say("go");
        let lines = host.until("result");
        let result = lines.last().unwrap();
        assert_eq!(result["terminal_reason"], "hook_stopped", "{command}: {result}");
        assert_eq!(result["result"], "", "the model was not called again");
        let results = lines.iter().filter(|line| line["type"] == "user").count();
        assert!(results > 0, "the results stay: {lines:?}");
        assert!(home.path("project/made").exists());
        host.finish();
    }
}

#[test]
fn core_22_a_host_decides_about_the_calls_of_an_answer() {
    let home = Home::new();
    let mut host = Host::start(&home, &format!("{TWO}- Never.\n"), &BYPASS);
    let hooks = json!({"PostToolBatch": [{"hookCallbackIds": ["h-1"]}]});
    let answer = host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["response"]["unsupported_hook_events"], json!([]));
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    let input = &request["request"]["input"];
    assert_eq!(input["hook_event_name"], "PostToolBatch");
    assert_eq!(input["tool_calls"].as_array().unwrap().len(), 2);
    host.answer(&request, &json!({"decision": "block", "reason": "enough"}));
    assert_eq!(host.until("result").pop().unwrap()["terminal_reason"], "hook_stopped");
    host.finish();
}
