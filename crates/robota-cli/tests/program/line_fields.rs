//! Fields of lines that hosts compare: usage, denials, and what a tool returned.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::headless::{BYPASS, TOUCH, lines};
use crate::home::Home;
use crate::host::Host;
use crate::protocol::{user, with_mock};

#[tokio::test]
async fn cli_03_an_answer_has_the_usage_of_its_start() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("A long answer of many words.")).await.unwrap();
    let args = ["--include-partial-messages"];
    let (printed, _) = with_mock(&home, &mock, &args, &format!("{}\n", user(&json!("hi")))).await;
    let find = |kind: &str| {
        let found =
            printed.iter().find(|line| line["type"] == kind || line["event"]["type"] == kind);
        found.unwrap().clone()
    };
    let start = find("message_start")["event"]["message"]["usage"].clone();
    let end = find("message_delta")["event"]["usage"].clone();
    assert_ne!(start, end);
    assert_eq!(find("assistant")["message"]["usage"], start);
    assert_eq!(find("result")["usage"]["output_tokens"], end["output_tokens"]);
}

#[test]
fn cli_03_what_a_hook_adds_is_no_output_of_the_tool() {
    let home = Home::new();
    let script = "- {tools: [{tool: Bash, input: {command: echo out}}]}\n\
        - {expect: {last: added by the hook}, text: Seen.}";
    let mut host = Host::start(&home, script, &BYPASS);
    let hooks = json!({"PostToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    let callback = host.until("control_request").pop().unwrap();
    let context = json!({"hookEventName": "PostToolUse", "additionalContext": "added by the hook"});
    host.answer(&callback, &json!({"hookSpecificOutput": context}));
    let turn = host.until("result");
    let result = turn.iter().find(|line| line["type"] == "user").unwrap();
    assert_eq!(result["tool_use_result"]["stdout"], "out", "{result}");
    assert_eq!(turn.last().unwrap()["result"], "Seen.");
    host.finish();
}

#[test]
fn cli_03_a_call_that_was_denied_with_an_interrupt_is_a_denial() {
    let home = Home::new();
    let mut host =
        Host::start(&home, &format!("- {TOUCH}"), &["--permission-prompt-tool", "stdio"]);
    host.say("go");
    let asked = host.until("control_request").pop().unwrap();
    host.answer(&asked, &json!({"behavior": "deny", "message": "no", "interrupt": true}));
    let turn = host.until("result");
    let denial = &turn.last().unwrap()["permission_denials"][0];
    assert_eq!(denial["tool_use_id"], asked["request"]["tool_use_id"], "{denial}");
    let result = turn.iter().find(|line| !line["tool_result_meta"].is_null()).unwrap();
    assert_eq!(result["tool_result_meta"][0]["permission_decision"]["decision"], "deny");
    host.finish();
}

#[tokio::test]
async fn cli_03_a_call_that_the_budget_stopped_was_not_denied() {
    let home = Home::new();
    let call = Reply::new().tool("Bash", json!({"command": "touch made"}));
    let mock = MockServer::start(Scenario::reply(call)).await.unwrap();
    let args = [&["--max-budget-usd", "0.0000001"], &BYPASS[..]].concat();
    let (printed, code) =
        with_mock(&home, &mock, &args, &format!("{}\n", user(&json!("hi")))).await;
    let result = printed.last().unwrap();
    assert_eq!((&result["subtype"], code), (&json!("error_max_budget_usd"), Some(4)));
    assert_eq!(result["permission_denials"], json!([]));
    assert!(!printed.iter().any(|line| line["subtype"] == "permission_denied"), "{printed:?}");
    assert!(!home.path("project/made").exists());
}

#[test]
fn cli_03_invalid_structured_answers_are_no_interrupt_of_the_user() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let bad = "- tools: [{tool: StructuredOutput, input: {n: four}}]\n";
    let (printed, _) = lines(&Home::new(), &bad.repeat(6), &["--json-schema", schema]);
    let result = printed.last().unwrap();
    assert_eq!(result["subtype"], "error_max_structured_output_retries");
    let has = |text: &str| printed.iter().any(|line: &Value| line.to_string().contains(text));
    assert!(!has("Request interrupted"), "{printed:?}");
    assert!(!has("Error: Error:"), "{printed:?}");
}
