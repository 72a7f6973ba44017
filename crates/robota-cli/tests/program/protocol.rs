//! The protocol from the side of a host that was written for Claude Code: odd lines, requests in the
//! middle of a turn, queues, resumed sessions, limits.

use std::io::Write as _;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario, Step};
use serde_json::{Value, json};

use crate::headless::{BYPASS, TOUCH, lines, long_command};
use crate::home::{Home, stderr, stdout};
use crate::host::{Host, kinds};
use crate::schema::parse_lines;

pub(crate) fn user(content: &Value) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content},
        "parent_tool_use_id": null, "session_id": ""})
}

fn with_uuid(content: &str, uuid: &str) -> Value {
    let mut line = user(&json!(content));
    line["uuid"] = json!(uuid);
    line
}

const FIRST: &str = "00000000-0000-4000-8000-000000000001";
const SECOND: &str = "00000000-0000-4000-8000-000000000002";

fn results(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["type"] == "result").collect()
}

/// Sends these lines as they are, closes standard input, and returns what was printed.
fn run_raw(script: &str, input: &str) -> (Vec<Value>, Option<i32>, String) {
    let home = Home::new();
    let mut host = Host::start(&home, script, &[]);
    host.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
    host.finish()
}

#[test]
fn sdk_08_odd_lines_do_no_harm() {
    let hi = r#"{"type":"user","message":{"role":"user","content":"hi"}}"#;
    for (input, expected) in [
        (format!("\n  \n\t\n{hi}\n\n"), "hi"),
        (format!("{hi}\r\n"), "hi"),
        (hi.to_owned(), "hi"),
        (format!("{}{hi}\n", "{\"type\":\"keep_alive\"}\n"), "hi"),
        (format!("{}{hi}\n", "{\"type\":\"control_cancel_request\",\"request_id\":\"x\"}\n"), "hi"),
        (format!("{}{hi}\n", "{\"type\":\"from_the_future\",\"x\":[1,{}]}\n"), "hi"),
        (
            format!(
                "{}{hi}\n",
                "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\
                 \"request_id\":\"nothing\",\"response\":{}}}\n"
            ),
            "hi",
        ),
        (
            r#"{"type":"user","isSynthetic":true,"priority":"now","parent_tool_use_id":"t","session_id":"other","message":{"role":"user","content":"hi","id":4},"future":{}}"#
                .to_owned(),
            "hi",
        ),
        // JavaScript and Python write half of a surrogate pair as an escape.
        (r#"{"type":"user","message":{"role":"user","content":"a\ud800b \ud83d\ude00 \\ud800"}}"#.to_owned(), "a\u{fffd}b 😀 \\ud800"),
        (r#"{"message":{"content":"late","role":"user"},"type":"user"}"#.to_owned(), "late"),
    ] {
        let script = format!("- {{expect: {{last: {}}}, text: Yes.}}", json!(expected));
        let (printed, code, errors) = run_raw(&script, &input);
        assert_eq!(code, Some(0), "{input}: {errors} {printed:?}");
        assert_eq!(printed.last().unwrap()["result"], "Yes.", "{input}");
    }
}

#[test]
fn sdk_08_no_message_is_no_run() {
    for input in ["", "\n", "{\"type\":\"keep_alive\"}\n"] {
        let (printed, code, _) = run_raw("- Never.", input);
        assert_eq!((printed.len(), code), (0, Some(0)), "{input:?}");
    }
}

#[test]
fn sdk_08_content_is_text_or_blocks() {
    let text = |text: &str| json!({"type": "text", "text": text});
    for (content, expected) in [
        (json!("plain"), "plain"),
        (json!([text("one block")]), "one block"),
        (json!([text("first"), text("second")]), "second"),
        (
            json!([{"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}}]),
            "cached",
        ),
        (json!([text("look"), {"type": "from_the_future", "x": 1}]), "look"),
        (json!([{"type": "tool_result", "tool_use_id": "t", "content": "a result"}]), "a result"),
        (
            json!([{"type": "tool_result", "tool_use_id": "t", "content": [text("in blocks")]}]),
            "in blocks",
        ),
    ] {
        let script = format!("- {{expect: {{last: {expected}}}, text: Yes.}}");
        let (printed, code, errors) = run_raw(&script, &format!("{}\n", user(&content)));
        assert_eq!(code, Some(0), "{content}: {errors}");
        assert_eq!(printed.last().unwrap()["result"], "Yes.", "{content}");
    }
    let large = "x ".repeat(100_000);
    let (printed, code, _) = run_raw("- Yes.", &format!("{}\n", user(&json!(large))));
    assert_eq!((code, &printed.last().unwrap()["result"]), (Some(0), &json!("Yes.")));
}

#[test]
fn sdk_08_content_that_cannot_be_read_ends_the_run() {
    for content in [json!(7), json!(null), json!({}), json!(["text"]), json!([{"text": "x"}])] {
        let (_, code, errors) = run_raw("- Never.", &format!("{}\n", user(&content)));
        assert_eq!(code, Some(1), "{content}");
        assert!(errors.contains("Error parsing streaming input line"), "{content}: {errors}");
    }
}

/// Runs the program with a mock server as a host: writes `input` and reads all lines.
pub(crate) async fn with_mock(
    home: &Home,
    mock: &MockServer,
    args: &[&str],
    input: &str,
) -> (Vec<Value>, Option<i32>) {
    home.write("project/input.jsonl", input);
    let stream = &crate::host::STREAM[..];
    let model = ["--model", "claude-sonnet-5-5"];
    let mut command = home.command(&[stream, &model, args].concat());
    let file = std::fs::File::open(home.path("project/input.jsonl")).unwrap();
    command
        .stdin(file)
        .env("ANTHROPIC_BASE_URL", mock.origin())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    (parse_lines(&stdout(&output)), output.status.code())
}

#[tokio::test]
async fn cli_03_a_failed_model_call_has_its_status() {
    for (status, class) in [
        (400, "invalid_request"),
        (401, "authentication_failed"),
        (402, "billing_error"),
        (404, "model_not_found"),
    ] {
        let home = Home::new();
        let failure = Reply::new().error(Failure::status(status, "No."));
        let mock = MockServer::start(Scenario::reply(failure)).await.unwrap();
        let (printed, code) =
            with_mock(&home, &mock, &[], &format!("{}\n", user(&json!("hi")))).await;
        assert_eq!(kinds(&printed), ["system/init", "assistant", "result/success"], "{status}");
        let (message, result) = (&printed[1], &printed[2]);
        assert_eq!((&message["error"], code), (&json!(class), Some(1)), "{message}");
        assert_eq!(message["message"]["stop_reason"], "stop_sequence");
        assert_eq!(result["api_error_status"], status);
        assert_eq!((&result["is_error"], &result["num_turns"]), (&json!(true), &json!(1)));
        assert_eq!(result["terminal_reason"], "api_error");
        let text = result["result"].as_str().unwrap();
        assert!(text.starts_with(&format!("API Error: {status} ")), "{text}");
        assert_eq!(message["message"]["content"][0]["text"], text, "both say the same");
    }
}

#[tokio::test]
async fn cli_03_a_retry_has_its_status_and_a_success_has_none() {
    let home = Home::new();
    let busy = Reply::new().error(Failure::status(529, "Overloaded").retry_after("0"));
    let mock = MockServer::start(Scenario::reply(busy).then("Here.")).await.unwrap();
    let (printed, code) = with_mock(&home, &mock, &[], &format!("{}\n", user(&json!("hi")))).await;
    let retry = printed.iter().find(|line| line["subtype"] == "api_retry").unwrap();
    assert_eq!((&retry["error_status"], &retry["error"]), (&json!(529), &json!("overloaded")));
    assert_eq!(retry["attempt"], 1);
    let result = printed.last().unwrap();
    assert_eq!((code, &result["is_error"]), (Some(0), &json!(false)));
    assert_eq!(result.get("api_error_status"), Some(&Value::Null));
}

#[tokio::test]
async fn cli_03_partial_messages_have_real_usage_and_streamed_arguments() {
    let home = Home::new();
    home.write("project/notes.txt", "hello");
    let size = std::num::NonZeroUsize::new(4).unwrap();
    let call = Reply::new()
        .text("Looking.")
        .tool("Read", json!({"file_path": "notes.txt"}))
        .tool("Glob", json!({"pattern": "*.txt"}))
        .chunked(size);
    let mock = MockServer::start(Scenario::reply(call).then("Done.")).await.unwrap();
    let args = ["--include-partial-messages"];
    let (printed, _) = with_mock(&home, &mock, &args, &format!("{}\n", user(&json!("hi")))).await;
    let events: Vec<_> = printed
        .iter()
        .take_while(|line| line["type"] != "user")
        .filter(|line| line["type"] == "stream_event")
        .map(|line| &line["event"])
        .collect();
    assert!(events[0]["message"]["usage"]["input_tokens"].as_u64().unwrap() > 0, "{}", events[0]);
    let calls: Vec<_> =
        events.iter().filter(|event| event["content_block"]["type"] == "tool_use").collect();
    assert_eq!(calls.len(), 2);
    for (call, arguments) in
        calls.iter().zip([json!({"file_path": "notes.txt"}), json!({"pattern": "*.txt"})])
    {
        let of_call: Vec<_> =
            events.iter().filter(|event| event["index"] == call["index"]).collect();
        assert_eq!(of_call[0]["type"], "content_block_start");
        assert_eq!(of_call.last().unwrap()["type"], "content_block_stop");
        let json: String =
            of_call.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), arguments);
        let id = &call["content_block"]["id"];
        let block = printed.iter().find(|line| line["message"]["content"][0]["id"] == *id);
        assert_eq!(block.unwrap()["message"]["content"][0]["input"], arguments);
    }
    // One block is open at a time.
    let mut open = None;
    for event in &events {
        match event["type"].as_str().unwrap() {
            "content_block_start" => assert_eq!(open.replace(&event["index"]), None),
            "content_block_delta" => assert_eq!(open, Some(&event["index"])),
            "content_block_stop" => assert_eq!(open.take(), Some(&event["index"])),
            _ => assert_eq!(open, None, "{event}"),
        }
    }
    let first = printed.iter().find(|line| line["event"]["type"] == "message_start").unwrap();
    assert!(first.get("ttft_ms").is_some(), "{first}");
    assert!(printed.last().unwrap().get("ttft_ms").is_some());
}

/// Returns the deltas of each streamed block, as the types and values of the Messages API, after the
/// block that started it.
fn streamed_blocks(printed: &[Value]) -> Vec<(Value, Vec<Value>)> {
    let mut blocks = Vec::new();
    for event in printed.iter().filter_map(|line| line.get("event")) {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(event["index"], blocks.len());
                blocks.push((event["content_block"].clone(), Vec::new()));
            }
            "content_block_delta" => {
                assert_eq!(event["index"], blocks.len() - 1);
                blocks.last_mut().unwrap().1.push(event["delta"].clone());
            }
            _ => {}
        }
    }
    blocks
}

/// Joins the pieces of a field.
fn joined(deltas: &[Value], field: &str) -> String {
    deltas.iter().filter_map(|delta| delta[field].as_str()).collect()
}

#[tokio::test]
async fn cli_03_signatures_and_citations_are_streamed_and_kept() {
    let home = Home::new();
    let citation = json!({"type": "web_search_result_location", "url": "https://e.test",
        "title": "T", "encrypted_index": "aWR4", "cited_text": "y"});
    let event = Step::Event;
    let reply = Reply::new()
        .thinking("Let me think.", Some("c2ln"))
        .thinking("", Some("ZW1wdHk="))
        .text("Sure: ")
        .step(event(json!({"type": "content_block_start", "index": 3,
            "content_block": {"type": "text", "text": "", "citations": []}})))
        .step(event(json!({"type": "content_block_delta", "index": 3,
            "delta": {"type": "text_delta", "text": "cited."}})))
        .step(event(json!({"type": "content_block_delta", "index": 3,
            "delta": {"type": "citations_delta", "citation": citation}})))
        .step(event(json!({"type": "content_block_stop", "index": 3})))
        .text(" More.");
    let mock = MockServer::start(Scenario::reply(reply)).await.unwrap();
    let args = ["--include-partial-messages"];
    let (printed, _) = with_mock(&home, &mock, &args, &format!("{}\n", user(&json!("hi")))).await;
    let blocks = streamed_blocks(&printed);
    let types: Vec<_> = blocks.iter().map(|(block, _)| block["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["thinking", "thinking", "text", "text"], "{blocks:?}");
    assert_eq!(joined(&blocks[0].1, "thinking"), "Let me think.");
    let signature = |signature: &str| json!({"type": "signature_delta", "signature": signature});
    assert_eq!(blocks[0].1.last(), Some(&signature("c2ln")));
    assert_eq!(blocks[1].1, [signature("ZW1wdHk=")], "its text is hidden");
    assert_eq!(joined(&blocks[2].1, "text"), "Sure: cited.");
    let cited = json!({"type": "citations_delta", "citation": citation});
    assert_eq!(blocks[2].1.last(), Some(&cited));
    assert_eq!(joined(&blocks[3].1, "text"), " More.");
    let answers = printed.iter().filter(|line| line["type"] == "assistant");
    let content: Vec<_> = answers.map(|line| line["message"]["content"][0].clone()).collect();
    assert_eq!(
        content[0],
        json!({"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"})
    );
    assert_eq!(
        content[2],
        json!({"type": "text", "text": "Sure: cited.", "citations": [citation]})
    );
    assert_eq!(content[3], json!({"type": "text", "text": " More."}));
    assert_eq!(content.len(), blocks.len());
}

#[test]
fn cli_03_arguments_are_streamed_as_they_arrive() {
    let script =
        "chunk: 5\nanswers:\n  - tools: [{tool: Read, input: {file_path: notes.txt}}]\n  - Done.";
    let (printed, _) = lines(&Home::new(), script, &["--include-partial-messages"]);
    let pieces: String =
        printed.iter().filter_map(|line| line["event"]["delta"]["partial_json"].as_str()).collect();
    assert_eq!(pieces, "{\"file_path\":\"notes.txt\"}");
    let start = printed.iter().find(|line| line["event"]["content_block"]["name"] == "Read");
    assert_eq!(start.unwrap()["event"]["content_block"]["id"], "call_0");
    assert_eq!(start.unwrap()["event"]["content_block"]["input"], json!({}));
}

#[test]
fn sdk_08_requests_are_answered_while_a_turn_runs() {
    let home = Home::new();
    let (script, fifo) = long_command(&home);
    let mut host = Host::start(&home, &script, &BYPASS);
    host.say("go");
    std::fs::read_to_string(&fifo).unwrap();
    for request in [
        json!({"subtype": "set_permission_mode", "mode": "acceptEdits"}),
        json!({"subtype": "set_model", "model": "later"}),
        json!({"subtype": "get_context_usage"}),
        json!({"subtype": "mcp_status"}),
        json!({"subtype": "list_models"}),
        json!({"subtype": "rename_session", "title": "named", "source": "host"}),
        json!({"subtype": "initialize", "hooks": {}}),
    ] {
        assert_eq!(host.request(&request)["subtype"], "success", "{request}");
    }
    let answer = host.request(&json!({"subtype": "no_such_request", "x": 1}));
    assert_eq!(answer["error_code"], "unsupported_request");
    assert!(answer["error"].as_str().unwrap().contains("no_such_request"), "{answer}");
    for broken in [json!({}), json!(null), json!({"subtype": 7}), json!("text")] {
        assert_eq!(host.request(&broken)["subtype"], "error", "{broken}");
    }
    host.request(&json!({"subtype": "interrupt"}));
    host.until("result");
    host.say("again");
    let turn = host.until("result");
    assert_eq!(
        (&turn[0]["model"], &turn[0]["permissionMode"]),
        (&json!("later"), &json!("acceptEdits"))
    );
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_initialize_can_be_repeated_and_reports_hooks_that_never_run() {
    let home = Home::new();
    let mut host = Host::start(&home, "- Hi.", &[]);
    let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["a"]}], "TeammateIdle":
        [{"hookCallbackIds": ["b"]}], "NoSuchEvent": [], "Stop": null});
    let first = host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    let unsupported = &first["response"]["unsupported_hook_events"];
    assert_eq!(unsupported, &json!(["NoSuchEvent", "TeammateIdle"]), "{first}");
    assert_eq!(first["response"]["hooks_applied"], true);
    assert_eq!(first["response"]["pending_permission_requests"], json!([]));
    host.say("hi");
    host.until("result");
    let second = host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(second["response"]["hooks_applied"], false, "{second}");
    let (_, code, errors) = host.finish();
    assert_eq!(code, Some(0));
    assert!(errors.contains("TeammateIdle does not exist here"), "{errors}");
}

fn parse_transcript(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn sdk_08_hooks_see_the_permission_mode() {
    let home = Home::new();
    let script = format!("- {TOUCH}\n- One.\n- {TOUCH}\n- Two.");
    let mut host = Host::start(&home, &script, &["--permission-mode", "bypassPermissions"]);
    let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["h"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    for mode in ["bypassPermissions", "acceptEdits"] {
        host.request(&json!({"subtype": "set_permission_mode", "mode": mode}));
        host.say("go");
        let request = host.until("control_request").pop().unwrap();
        let input = &request["request"]["input"];
        assert_eq!(input["permission_mode"], mode);
        assert_eq!(input["tool_name"], "Bash");
        assert_eq!(input["tool_input"], json!({"command": "touch made"}));
        for key in ["session_id", "cwd", "transcript_path", "hook_event_name", "tool_use_id"] {
            assert!(input.get(key).is_some(), "{key} in {input}");
        }
        let transcript = std::fs::read_to_string(input["transcript_path"].as_str().unwrap());
        let transcript = parse_transcript(&transcript.unwrap());
        let last = &transcript.last().unwrap()["message"]["content"][0];
        assert_eq!(last["id"], input["tool_use_id"], "the call that the hook is asked about");
        host.answer(&request, &json!({}));
        host.until("result");
    }
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_hook_adds_context_changes_arguments_and_lets_the_model_go_on() {
    let home = Home::new();
    let script = "- {expect: {last: from the hook}, tools: [{tool: Bash, input: {command: touch made}}]}\n\
                  - First.\n- {expect: {last: not yet}, text: Second.}";
    let mut host = Host::start(&home, script, &BYPASS);
    let hooks = json!({"UserPromptSubmit": [{"hookCallbackIds": ["prompt"]}],
        "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["before"]}],
        "PostToolUse": [{"hookCallbackIds": ["after"]}],
        "Stop": [{"hookCallbackIds": ["stop"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    let mut stops = 0;
    loop {
        let line = host.line().unwrap();
        if line["type"] == "result" {
            assert_eq!(line["result"], "Second.");
            break;
        }
        if line["type"] != "control_request" {
            continue;
        }
        let input = &line["request"]["input"];
        let answer = match line["request"]["callback_id"].as_str().unwrap() {
            "prompt" => json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit",
                "additionalContext": "from the hook"}}),
            "before" => json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
                "permissionDecision": "allow", "updatedInput": {"command": "touch instead"}}}),
            "after" => {
                assert_eq!(input["tool_input"]["command"], "touch instead", "{input}");
                json!({})
            }
            _ => {
                stops += 1;
                assert_eq!(input["stop_hook_active"], stops > 1);
                if stops == 1 {
                    json!({"decision": "block", "reason": "not yet"})
                } else {
                    json!({})
                }
            }
        };
        host.answer(&line, &answer);
    }
    assert_eq!(host.finish().1, Some(0));
    assert!(home.path("project/instead").exists() && !home.path("project/made").exists());
}

#[test]
fn sdk_08_user_messages_are_replayed_as_they_were_sent() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- Two.", &["--replay-user-messages"]);
    host.send(&with_uuid("first", FIRST));
    let turn = host.until("result");
    let replayed = turn.iter().find(|line| line["isReplay"] == true).unwrap();
    assert_eq!((&replayed["uuid"], &replayed["type"]), (&json!(FIRST), &json!("user")));
    let answer = turn.iter().find(|line| line["type"] == "assistant").unwrap();
    for line in [answer, turn.last().unwrap()] {
        assert_eq!(line["user_message_uuid"], FIRST, "{line}");
        assert_eq!(line["user_message_uuids"], json!([FIRST]));
    }
    let blocks = json!([{"type": "text", "text": "second"}]);
    host.send(&user(&blocks));
    let turn = host.until("result");
    let replayed = turn.iter().find(|line| line["isReplay"] == true).unwrap();
    assert_eq!(replayed["message"]["content"], blocks);
    assert_eq!(replayed["uuid"].as_str().unwrap().len(), 36);
    assert_eq!(turn.last().unwrap().get("user_message_uuid"), None, "the host gave none");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_message_without_a_query_joins_the_next_one() {
    let home = Home::new();
    let script = "- {expect: {messages: 2}, text: Yes.}";
    let mut host = Host::start(&home, script, &[]);
    let mut quiet = user(&json!("remember this"));
    quiet["shouldQuery"] = json!(false);
    host.send(&quiet);
    host.request(&json!({"subtype": "mcp_status"}));
    host.say("now");
    let turn = host.until("result");
    assert_eq!(turn.last().unwrap()["result"], "Yes.");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_message_without_a_query_does_not_stop_a_turn_that_asks() {
    let home = Home::new();
    let script = format!("- {TOUCH}\n- Done.\n- {{expect: {{messages: 6}}, text: Yes.}}");
    let mut host = Host::start(&home, &script, &["--permission-prompt-tool", "stdio"]);
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    let mut quiet = user(&json!("remember this"));
    quiet["shouldQuery"] = json!(false);
    host.send(&quiet);
    host.answer(&request, &json!({"behavior": "allow"}));
    assert_eq!(host.until("result").last().unwrap()["result"], "Done.");
    host.request(&json!({"subtype": "mcp_status"}));
    host.say("now");
    assert_eq!(host.until("result").last().unwrap()["result"], "Yes.");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_an_interrupt_keeps_or_cancels_what_waits() {
    for cancel in [false, true] {
        let home = Home::new();
        let (script, fifo) = long_command(&home);
        let mut host = Host::start(&home, &script, &BYPASS);
        host.send(&with_uuid("go", FIRST));
        std::fs::read_to_string(&fifo).unwrap();
        host.send(&with_uuid("and then this", SECOND));
        host.request(&json!({"subtype": "mcp_status"}));
        let answer = host.request(&json!({"subtype": "interrupt", "cancel_queued": cancel}));
        let receipt = if cancel {
            json!({"still_queued": [], "cancelled": [SECOND]})
        } else {
            json!({"still_queued": [SECOND]})
        };
        assert_eq!(answer["response"], receipt);
        let turn = host.until("result");
        assert_eq!(turn.last().unwrap()["subtype"], "error_during_execution");
        assert_eq!(turn.last().unwrap()["queued_turn_count"], u32::from(!cancel));
        if !cancel {
            assert_eq!(host.until("result").last().unwrap()["result"], "Go on.");
        }
        let (rest, code, _) = host.finish();
        assert_eq!(results(&rest).len(), 0, "{rest:?}");
        assert_eq!(code, Some(i32::from(cancel)), "by the last result");
    }
}

#[test]
fn sdk_08_a_waiting_message_can_be_cancelled() {
    let home = Home::new();
    let (script, fifo) = long_command(&home);
    let mut host = Host::start(&home, &script, &BYPASS);
    host.send(&with_uuid("go", FIRST));
    std::fs::read_to_string(&fifo).unwrap();
    host.send(&with_uuid("never mind", SECOND));
    host.request(&json!({"subtype": "mcp_status"}));
    for (uuid, cancelled) in [(FIRST, false), ("unknown", false), (SECOND, true)] {
        let request = json!({"subtype": "cancel_async_message", "message_uuid": uuid});
        assert_eq!(host.request(&request)["response"]["cancelled"], cancelled, "{uuid}");
    }
    host.request(&json!({"subtype": "interrupt"}));
    host.until("result");
    let (rest, _, _) = host.finish();
    assert_eq!(results(&rest).len(), 0, "{rest:?}");
}

#[test]
fn sdk_08_an_interrupt_without_a_turn_is_fine_and_one_at_once_has_one_result() {
    let home = Home::new();
    let mut host = Host::start(&home, "loop: true\nanswers: [Hi.]", &[]);
    let nothing = host.request(&json!({"subtype": "interrupt"}));
    assert_eq!(nothing["response"], json!({"still_queued": []}));
    for _ in 0..5 {
        host.say("go");
        let mut turn = Vec::new();
        host.send(&json!({"type": "control_request", "request_id": "i", "request":
            {"subtype": "interrupt"}}));
        // The turn may be over before the interrupt arrives: there is one result in each case.
        while !(turn.iter().any(|line: &Value| line["type"] == "result")
            && turn.iter().any(|line: &Value| line["type"] == "control_response"))
        {
            turn.push(host.line().unwrap());
        }
        assert_eq!(results(&turn).len(), 1, "{turn:?}");
    }
    let nothing = host.request(&json!({"subtype": "interrupt"}));
    assert_eq!(nothing["response"], json!({"still_queued": []}));
    let (rest, _, _) = host.finish();
    assert_eq!(results(&rest).len(), 0, "{rest:?}");
}

#[test]
fn sdk_08_limits_have_exit_code_4_also_for_hosts() {
    let home = Home::new();
    let script = format!("- {TOUCH}\n- Never.");
    let mut host = Host::start(&home, &script, &["--max-turns", "1"]);
    host.say("go");
    let (printed, code, _) = host.finish();
    let result = printed.last().unwrap();
    assert_eq!((code, &result["subtype"]), (Some(4), &json!("error_max_turns")));
    assert_eq!(
        (&result["num_turns"], &result["terminal_reason"]),
        (&json!(2), &json!("max_turns"))
    );
    assert_eq!(result.get("result"), None);
    assert_eq!(result.get("api_error_status"), None);
    // No provider: a configuration error, which the host also reads.
    let mut host = Host::spawn(&mut home.command(&crate::host::STREAM));
    host.say("go");
    let (printed, code, _) = host.finish();
    assert_eq!(
        (kinds(&printed), code),
        (vec!["result/error_during_execution".to_owned()], Some(3))
    );
}

#[test]
fn sdk_08_the_host_sets_a_schema_and_a_prompt() {
    let home = Home::new();
    let good = "tools: [{tool: StructuredOutput, input: {n: 4}}]";
    let script = format!("- {{expect: {{system: Be brief.}}, {good}}}");
    let mut host = Host::start(&home, &script, &[]);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    host.request(
        &json!({"subtype": "initialize", "jsonSchema": schema, "systemPrompt": ["You test."],
        "appendSystemPrompt": "Be brief.", "title": "mine"}),
    );
    host.say("go");
    let turn = host.until("result");
    assert!(turn[0]["tools"].as_array().unwrap().contains(&json!("StructuredOutput")));
    assert_eq!(turn.last().unwrap()["structured_output"], json!({"n": 4}));
    host.finish();
    let mut host = Host::start(&home, "- Never.", &[]);
    let answer = host.request(&json!({"subtype": "initialize", "jsonSchema": {"type": "array"}}));
    assert_eq!(answer["error_code"], "invalid_request");
}

#[tokio::test]
async fn cli_03_the_cost_of_a_session_continues_when_it_is_resumed() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply("Hello.").looped()).await.unwrap();
    let variables =
        [("ANTHROPIC_BASE_URL", &*mock.origin()), ("ANTHROPIC_API_KEY", "sk-test-0123456789")];
    let run = async |args: &[&str]| -> Value {
        let all = ["-p", "hi", "--model", "claude-sonnet-5-5", "--output-format", "json"];
        let output = home.robota(&[&all[..], args].concat(), &variables).await;
        parse_lines(&stdout(&output)).pop().unwrap_or_else(|| panic!("{}", stderr(&output)))
    };
    let cost = |result: &Value| result["total_cost_usd"].as_f64().unwrap();
    let output_tokens = |result: &Value| {
        result["modelUsage"]["claude-sonnet-5-5"]["outputTokens"].as_u64().unwrap()
    };
    let first = run(&[]).await;
    let session = first["session_id"].as_str().unwrap().to_owned();
    let second = run(&["-r", &session]).await;
    assert_eq!(second["session_id"], first["session_id"]);
    assert!(cost(&second) > cost(&first) * 1.5, "{second}");
    assert_eq!(output_tokens(&second), 2 * output_tokens(&first));
    assert_eq!(second["num_turns"], 1, "of this prompt");
    assert_eq!(second["usage"]["output_tokens"], first["usage"]["output_tokens"]);
    let continued = run(&["-c"]).await;
    assert_eq!(output_tokens(&continued), 3 * output_tokens(&first));
    let id = "00000000-0000-4000-8000-0000000000aa";
    let fork = run(&["-r", &session, "--fork-session", "--session-id", id]).await;
    assert_eq!(fork["session_id"], id);
    assert_eq!(output_tokens(&fork), 4 * output_tokens(&first));
    // The budget is that of one run.
    let budget = format!("{:.7}", cost(&first) * 1.2);
    let limited = run(&["-r", &session, "--max-budget-usd", &budget]).await;
    assert_eq!(limited["subtype"], "success", "{limited}");
}

#[test]
fn cli_03_sessions_are_named_as_hosts_expect() {
    let home = Home::new();
    let id = "00000000-0000-4000-8000-0000000000bb";
    let (printed, code) = lines(&home, "- Hi.", &["--session-id", id]);
    assert_eq!((code, &printed[0]["session_id"]), (Some(0), &json!(id)));
    for (args, text) in [
        (&["--session-id", id][..], "is already in use"),
        (&["--session-id", "not a session"], "Invalid session ID. Must be a valid UUID"),
        (&["-r", "00000000-0000-4000-8000-0000000000cc"], "No conversation found with session ID"),
        (
            &["--resume=00000000-0000-4000-8000-0000000000cc"],
            "No conversation found with session ID",
        ),
        (&["--fork-session"], "--fork-session requires --continue (-c) or --resume (-r)"),
        (&["-r", id, "--session-id", id], "--fork-session"),
        (&["-r", id, "--resume-session-at=nothing"], "No message found with message.uuid"),
    ] {
        let (printed, code) = lines(&home, "- Hi.", args);
        assert_ne!(code, Some(0), "{args:?}");
        let result = printed.last().unwrap();
        assert_eq!(result["subtype"], "error_during_execution", "{args:?}");
        assert!(result["errors"][0].as_str().unwrap().contains(text), "{args:?}: {result}");
    }
}

#[test]
fn cli_03_json_is_one_object_or_all_lines() {
    let home = Home::new();
    home.write("project/script.yaml", "- {text: Hi., usage: {input: 5, output: 2}}");
    let args = ["-p", "hi", "--provider", "scripted:script.yaml", "--output-format", "json"];
    let output = home.command(&args).output().unwrap();
    let one = parse_lines(&stdout(&output));
    assert_eq!(kinds(&one), ["result/success"]);
    for key in [
        "type",
        "subtype",
        "is_error",
        "api_error_status",
        "duration_ms",
        "duration_api_ms",
        "num_turns",
        "result",
        "stop_reason",
        "session_id",
        "total_cost_usd",
        "usage",
        "modelUsage",
        "permission_denials",
        "terminal_reason",
        "fast_mode_state",
        "uuid",
    ] {
        assert!(one[0].get(key).is_some(), "{key}: {}", one[0]);
    }
    assert_eq!(one[0]["usage"]["server_tool_use"]["web_search_requests"], 0);
    let output = home.command(&[&args[..], &["--verbose"]].concat()).output().unwrap();
    let all: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(kinds(&all), ["system/init", "assistant", "result/success"]);
    // A failed run is an object too.
    home.write("project/script.yaml", "- error: {kind: validation, message: Bad.}");
    let output = home.command(&args).output().unwrap();
    let failed = parse_lines(&stdout(&output));
    assert_eq!((output.status.code(), &failed[0]["is_error"]), (Some(1), &json!(true)));
}

#[test]
fn cli_03_the_prompt_and_standard_input_are_joined() {
    let home = Home::new();
    for (args, piped, expected) in [
        (&["-p", "Explain"][..], "piped text\n", "Explain\n\npiped text"),
        (&["-p"], "only piped\n", "only piped"),
        (&["-p", "-"], "dash\n", "dash"),
        (&["-p", "Explain"], "", "Explain"),
        (&["-p", "--output-format", "text", "late words"], "", "late words"),
    ] {
        home.write(
            "project/script.yaml",
            format!("- {{expect: {{last: {}}}, text: Yes.}}", json!(expected)),
        );
        let mut command = home.command(&[args, &["--provider", "scripted:script.yaml"]].concat());
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(piped.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(stdout(&output), "Yes.\n", "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn cli_03_text_has_the_answer_alone_on_standard_output() {
    let home = Home::new();
    for (script, printed, code, error) in [
        ("- \"Two\\nlines\\n\"", "Two\nlines\n", 0, ""),
        ("- \"\"", "\n", 0, ""),
        ("- {text: Part, stop: max_tokens}", "PartPartPartPart\n", 4, "output limit"),
        ("- {text: One, stop: max_tokens}\n  - Two.", "OneTwo.\n", 0, ""),
        ("- {text: No., stop: refusal}", "No.\n", 1, "refusal"),
        ("- error: {kind: validation, message: Bad request.}", "", 1, "Bad request."),
    ] {
        home.write("project/script.yaml", format!("loop: true\nanswers:\n  {script}"));
        let args = ["-p", "hi", "--provider", "scripted:script.yaml"];
        let output = home.command(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{script}: {}", stderr(&output));
        assert_eq!(stdout(&output), printed, "{script}");
        assert!(stderr(&output).contains(error), "{script}: {}", stderr(&output));
    }
}
