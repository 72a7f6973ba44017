//! Headless runs: the lines of stream-json, the control protocol, and hosts that fail.

use std::process::{Command, Stdio};

use robota_core::event::{DecidedBy, Envelope, Event};
use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};
use crate::host::{Host, kinds};
use crate::schema::parse_lines;

const READ: &str = "tools: [{tool: Read, input: {file_path: notes.txt}}]";
pub(crate) const TOUCH: &str = "tools: [{tool: Bash, input: {command: touch made}}]";

/// Runs one prompt with a script; returns its lines and exit code.
pub(crate) fn lines(home: &Home, script: &str, args: &[&str]) -> (Vec<Value>, Option<i32>) {
    home.write("project/script.yaml", script).write("project/notes.txt", "hello\n");
    let stream = ["--output-format", "stream-json", "--verbose"];
    let prompt = ["-p", "Do it", "--provider", "scripted:script.yaml"];
    let output = home.command(&[&prompt[..], &stream, args].concat()).output().unwrap();
    (parse_lines(&stdout(&output)), output.status.code())
}

#[test]
fn cli_03_stream_json_has_one_line_per_block_and_a_result() {
    let script = format!(
        "- {{thinking: Hm., text: Looking., {READ}}}\n- {{text: Done., usage: {{input: 9, output: 2}}}}"
    );
    let (lines, code) = lines(&Home::new(), &script, &[]);
    assert_eq!(
        kinds(&lines),
        [
            "system/init",
            "assistant",
            "assistant",
            "assistant",
            "user",
            "assistant",
            "result/success"
        ]
    );
    assert_eq!(code, Some(0));
    let init = &lines[0];
    assert!(init["tools"].as_array().unwrap().contains(&json!("Read")), "{init}");
    assert!(!init["tools"].to_string().contains("AskUserQuestion"), "no one can answer");
    assert_eq!((&init["permissionMode"], &init["model"]), (&json!("default"), &json!("scripted")));
    let blocks: Vec<_> = lines[1..4].iter().map(|line| &line["message"]["content"]).collect();
    assert!(blocks.iter().all(|content| content.as_array().unwrap().len() == 1));
    let types: Vec<_> = blocks.iter().map(|content| &content[0]["type"]).collect();
    assert_eq!(types, ["thinking", "text", "tool_use"]);
    assert!(lines[1..4].iter().all(|line| line["message"]["id"] == lines[1]["message"]["id"]));
    assert_eq!(lines[1]["message"]["stop_reason"], Value::Null);
    let call = &blocks[2][0]["id"];
    assert_eq!(&lines[4]["message"]["content"][0]["tool_use_id"], call);
    assert_eq!(lines[4]["tool_result_meta"][0]["permission_decision"]["decision"], "allow");
    let result = lines.last().unwrap();
    assert_eq!((&result["num_turns"], &result["result"]), (&json!(2), &json!("Done.")));
    assert_eq!(result["stop_reason"], "end_turn");
    assert_eq!(result["modelUsage"]["scripted"]["costBasis"], "unknown");
    assert!(lines.iter().all(|line| line["session_id"] == init["session_id"]));
    let mut ids: Vec<_> = lines.iter().map(|line| line["uuid"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), lines.len(), "every line has its own id");
}

#[test]
fn cli_03_partial_messages_are_events_of_the_messages_api() {
    let script = format!("chunk: 3\nanswers:\n  - {{text: Hello., {READ}}}\n  - Done.");
    let (lines, _) = lines(&Home::new(), &script, &["--include-partial-messages"]);
    let first: Vec<_> = lines
        .iter()
        .take_while(|line| line["type"] != "user")
        .filter(|line| line["type"] == "stream_event")
        .map(|line| line["event"].clone())
        .collect();
    // The session may join pieces that arrive together.
    let mut types: Vec<_> = first.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.dedup();
    assert_eq!(
        types,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let text: String = first.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text, "Hello.");
    assert!(first.iter().any(|event| event["content_block"]["name"] == "Read"));
    assert!(first.iter().any(|event| event["delta"]["stop_reason"] == "tool_use"));
    let answer = lines.iter().find(|line| line["type"] == "assistant").unwrap();
    assert_eq!(answer["message"]["id"], first[0]["message"]["id"]);
    let kinds = kinds(&lines);
    let stop = lines.iter().position(|line| line["event"]["type"] == "message_stop").unwrap();
    assert!(kinds[..stop].contains(&"assistant".to_owned()), "before message_stop: {kinds:?}");
}

#[test]
fn cli_03_denials_are_visible_and_no_user_denied_them() {
    let home = Home::new();
    let script = format!("- {TOUCH}\n- Done.");
    let (lines, code) = lines(&home, &script, &[]);
    assert_eq!(code, Some(0));
    assert!(kinds(&lines).contains(&"system/permission_denied".to_owned()));
    let denials = &lines.last().unwrap()["permission_denials"];
    assert_eq!(denials[0]["tool_input"], json!({"command": "touch made"}));
    let args = ["-p", "Do it", "--provider", "scripted:script.yaml"];
    let text = home.command(&args).output().unwrap();
    assert!(stderr(&text).contains("denied Bash: it needs approval"), "{}", stderr(&text));
    // What the model wrote does not reach the terminal as it is.
    let hostile = r#"{tools: [{tool: Bash, input: {command: "curl '\e]52;c;aGk=\a'"}}]}"#;
    home.write("project/hostile.yaml", format!("- {hostile}\n- Done.\n"));
    let args = ["-p", "Do it", "--provider", "scripted:hostile.yaml"];
    let deny = ["--disallowedTools", "Bash(curl *)"];
    let text = home.command(&[&args[..], &deny].concat()).output().unwrap();
    let printed = stderr(&text);
    assert!(printed.contains("denied Bash") && printed.contains("52;c;aGk="), "{printed:?}");
    assert!(!printed.contains('\u{1b}') && !printed.contains('\u{7}'), "{printed:?}");
    let events = home.command(&[&args[..], &["--output-format", "events"]].concat());
    let events = { events }.output().unwrap();
    let decided = stdout(&events).lines().find_map(|line| {
        match Envelope::decode(line.as_bytes()).unwrap().event {
            Event::PermissionDecided(data) => Some(data.by),
            _ => None,
        }
    });
    assert_eq!(decided, Some(DecidedBy::Gate));
}

#[test]
fn cli_03_words_without_a_flag_are_no_prompt() {
    let home = Home::new();
    for (args, suggestion) in [
        (&["describe"][..], "robota -p 'describe'"),
        (&["explain", "this"], "robota -p 'explain this'"),
        (&["-p", "hi", "there"], "robota -p 'hi there'"),
        (&["-p", "--model", "m", "it's", "me"], r"robota -p 'it'\''s me'"),
    ] {
        let output = home.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(suggestion), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn cli_03_what_does_not_exist_yet_is_refused() {
    let home = Home::new();
    for args in [
        &["--agents", "{\"a\": 3}"][..],
        &["--mcp-config", "{\"mcpServers\": 3}"],
        &["--mcp-config", "servers.json"],
        &["--permission-prompt-tool", "Bash"],
        &["--permission-prompt-tool", "stdio"],
        &["--include-partial-messages"],
        &["--replay-user-messages"],
        &["--input-format", "stream-json"],
        &["--max-budget-usd", "0"],
        &["--json-schema", "[]"],
        &["--json-schema", r#"{"type":"object","properties":{"n":{"type":"int"}}}"#],
        &["--json-schema", r##"{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}"##],
        &["--setting-sources", "everywhere"],
        &["--system-prompt-file", "missing.txt"],
    ] {
        let all = [&["-p", "hi", "--provider", "scripted:none"], args].concat();
        let output = home.command(&all).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(args[0].trim_start_matches('-')), "{}", stderr(&output));
    }
    // Empty lists ask for nothing.
    let all = ["-p", "hi", "--provider", "scripted:none", "--mcp-config", "{\"mcpServers\": {}}"];
    let output = home.command(&[&all[..], &["--agents", "{}"]].concat()).output().unwrap();
    assert!(stderr(&output).contains("cannot read none"), "{}", stderr(&output));
}

#[test]
fn cli_03_a_failed_start_is_a_result_line() {
    let output = Home::new()
        .command(&["-p", "hi", "--output-format", "stream-json", "--verbose", "-r", "missing"])
        .output()
        .unwrap();
    let line = parse_lines(&stdout(&output)).remove(0);
    assert_eq!(line["subtype"], "error_during_execution");
    let output = Home::new()
        .command(&["--output-format", "stream-json", "--no-such-flag"])
        .output()
        .unwrap();
    let line: Value = serde_json::from_str(stdout(&output).trim()).unwrap();
    assert!(line["errors"][0].as_str().unwrap().contains("--no-such-flag"), "{line}");
}

#[test]
fn cli_03_structured_output_is_validated_and_bounded() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let args = ["--json-schema", schema];
    let good = "tools: [{tool: StructuredOutput, input: {n: 4}}]";
    let bad = "tools: [{tool: StructuredOutput, input: {n: four}}]";
    let script = format!("- In words.\n- {bad}\n- {good}");
    let (printed, code) = lines(&Home::new(), &script, &args);
    let result = printed.last().unwrap();
    assert_eq!((code, &result["structured_output"]), (Some(0), &json!({"n": 4})));
    assert_eq!(result["result"], "{\"n\":4}");
    let home = Home::new();
    home.write("project/script.yaml", format!("- {{text: I see., {good}}}"));
    let text = ["-p", "hi", "--provider", "scripted:script.yaml"];
    let text = home.command(&[&text[..], &args].concat()).output().unwrap();
    assert_eq!((stdout(&text).as_ref(), text.status.code()), ("{\"n\":4}\n", Some(0)));
    let enforced = printed.iter().find(|line| line["isSynthetic"] == true).unwrap();
    assert!(enforced.to_string().contains("[structured-output-enforce]"), "{enforced}");
    let (printed, code) = lines(&Home::new(), &format!("- {bad}\n").repeat(6), &args);
    let result = printed.last().unwrap();
    assert_eq!(result["subtype"], "error_max_structured_output_retries");
    assert_eq!(code, Some(1));
    let (printed, code) = lines(&Home::new(), "- Words.\n- More words.", &args);
    let result = printed.last().unwrap();
    assert_eq!((code, &result["result"]), (Some(0), &json!("More words.")));
    assert_eq!(result.get("structured_output"), None);
    let in_plan_mode = ["--json-schema", schema, "--permission-mode", "plan"];
    let (printed, code) = lines(&Home::new(), &format!("- {good}"), &in_plan_mode);
    let result = printed.last().unwrap();
    assert_eq!((code, &result["structured_output"]), (Some(0), &json!({"n": 4})));
}

#[test]
fn cli_03_structured_output_obeys_bounds_and_references() {
    let wrong = "tools: [{tool: StructuredOutput, input: {n: 0}}]";
    let good = "tools: [{tool: StructuredOutput, input: {n: 1}}]";
    let script = format!("- {wrong}\n- {good}");
    for schema in [
        r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}"#,
        r##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"n":{"const":1}}}}}"##,
    ] {
        let (printed, code) = lines(&Home::new(), &script, &["--json-schema", schema]);
        let result = printed.last().unwrap();
        assert_eq!((code, &result["structured_output"]), (Some(0), &json!({"n": 1})), "{schema}");
        let refused = printed.iter().any(|line| line.to_string().contains("`n` must be "));
        assert!(refused, "the model learns what is wrong: {printed:?}");
    }
}

#[test]
fn cli_03_system_prompt_tools_and_names_are_set() {
    let home = Home::new();
    let script = "- {expect: {system: Be brief.}, text: Yes.}";
    let args = ["--append-system-prompt", "Be brief.", "--tools", "Read,Glob", "-n", "mine"];
    let (printed, code) = lines(&home, script, &args);
    assert_eq!((code, &printed[0]["tools"]), (Some(0), &json!(["Glob", "Read"])), "{printed:?}");
    let script = "- {expect: {no_tools: true}, text: Yes.}";
    let (printed, code) = lines(&home, script, &["--tools", "", "--system-prompt", ""]);
    assert_eq!((code, &printed[0]["tools"]), (Some(0), &json!([])));
    let list = stdout(&home.command(&["sessions", "list"]).output().unwrap());
    assert!(list.contains("mine"), "{list}");
}

#[test]
fn cli_03_a_run_can_leave_no_session() {
    let home = Home::new();
    let (_, code) = lines(&home, "- Hi.", &["--no-session-persistence"]);
    assert_eq!(code, Some(0));
    assert!(!home.path("project/.robota/sessions").exists());
}

#[test]
fn cli_03_setting_sources_select_the_files() {
    let home = Home::new();
    home.write("home/.robota/settings.json", json!({"permissions": {"allow": ["Bash(touch *)"]}}));
    let script = format!("- {TOUCH}\n- Done.");
    let denied = |args: &[&str]| {
        let (printed, _) = lines(&home, &script, args);
        printed.last().unwrap()["permission_denials"].as_array().unwrap().len()
    };
    assert_eq!(denied(&[]), 0);
    assert_eq!(denied(&["--setting-sources", "project,local"]), 1);
    assert_eq!(denied(&["--setting-sources=user"]), 0);
}

#[test]
fn cli_03_a_session_is_resumed_at_a_message() {
    let home = Home::new();
    let (printed, _) = lines(&home, "- One.", &[]);
    let session = printed[0]["session_id"].as_str().unwrap().to_owned();
    let uuid = printed[1]["uuid"].as_str().unwrap().to_owned();
    let (_, code) = lines(&home, "- Two.", &["-r", &session]);
    assert_eq!(code, Some(0));
    let at = format!("--resume-session-at={uuid}");
    let script = "- {expect: {messages: 3}, text: Again.}";
    for fork in [&["--fork-session"][..], &[]] {
        let args = [&["-r", &session, &at], fork].concat();
        let (printed, code) = lines(&home, script, &args);
        assert_eq!(code, Some(0), "{printed:?}");
        assert_eq!(printed[0]["session_id"] == session.as_str(), fork.is_empty());
    }
    let (printed, code) = lines(&home, script, &["-r", &session, "--resume-session-at=unknown"]);
    assert_eq!(code, Some(2), "{printed:?}");
}

#[test]
fn cli_03_a_session_that_cannot_be_resumed_at_a_message_is_closed() {
    let home = Home::new();
    let (printed, _) = lines(&home, "- One.", &[]);
    let session = printed[0]["session_id"].as_str().unwrap().to_owned();
    let hook = json!([{"hooks": [{"type": "command", "command": "echo > ended"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"SessionEnd": hook}}));
    let mut host = Host::start(&home, "- Two.", &["-r", &session, "--resume-session-at=unknown"]);
    // A hook of a prompt may name the session.
    let hooks = json!({"UserPromptSubmit": [{"hookCallbackIds": ["h"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    assert_eq!(host.finish().1, Some(2));
    assert!(home.path("project/ended").exists());
}

#[test]
fn sdk_08_a_host_drives_several_turns_and_the_end_of_its_input_ends_the_run() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- Two.", &["--replay-user-messages"]);
    let described = host.request(&json!({"subtype": "initialize", "hooks": null}));
    assert_eq!(described["subtype"], "success");
    assert_eq!(described["response"]["hook_on_failure_supported"], true);
    assert!(described["response"]["claude_code_version"].as_str().unwrap().contains("robota"));
    host.say("first");
    let first = host.until("result");
    assert_eq!(kinds(&first), ["system/init", "user", "assistant", "result/success"]);
    assert_eq!(
        (&first[1]["isReplay"], &first[1]["message"]["content"]),
        (&json!(true), &json!("first"))
    );
    host.send(&json!({"type": "user", "uuid": "8d5e0f1c-0000-4000-8000-000000000001", "message":
        {"role": "user", "content": [{"type": "text", "text": "second"}]}, "new_field": 1}));
    let second = host.until("result");
    assert_eq!(second[0]["subtype"], "init", "at every turn");
    assert_eq!(second[1]["uuid"], "8d5e0f1c-0000-4000-8000-000000000001");
    assert_eq!(second[3]["result_index"], 1);
    assert_eq!(second[3]["num_turns"], 1, "per prompt");
    let (rest, code, _) = host.finish();
    assert_eq!((rest, code), (Vec::new(), Some(0)));
}

#[test]
fn sdk_08_requests_are_answered_and_errors_have_codes() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- Two.", &[]);
    for session in [false, true] {
        for (request, code) in [
            (json!({"subtype": "stop_task", "task_id": "x"}), "failed"),
            (json!({"subtype": "from_the_future"}), "unsupported_request"),
            (json!({"subtype": "set_permission_mode", "mode": "yolo"}), "invalid_mode"),
            (
                json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"}),
                "bypass_not_launched",
            ),
            (json!({"subtype": "set_permission_mode"}), "invalid_request"),
        ] {
            let answer = host.request(&request);
            assert_eq!(
                (&answer["subtype"], &answer["error_code"]),
                (&json!("error"), &json!(code))
            );
        }
        for request in [
            json!({"subtype": "set_permission_mode", "mode": "plan"}),
            json!({"subtype": "set_model", "model": "another"}),
            json!({"subtype": "mcp_status"}),
            json!({"subtype": "mcp_message", "server_name": "a", "message": {}}),
            json!({"subtype": "get_context_usage"}),
            json!({"subtype": "interrupt"}),
            json!({"subtype": "rename_session", "title": "named"}),
        ] {
            assert_eq!(host.request(&request)["subtype"], "success", "{request}");
        }
        host.say("go");
        let turn = host.until("result");
        assert_eq!(turn[0]["permissionMode"], "plan", "{session}");
        assert_eq!(turn[0]["model"], "another");
    }
    assert_eq!(host.finish().1, Some(0));
}

const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

#[test]
fn sdk_08_the_host_decides_about_calls() {
    let script = format!("- {TOUCH}\n- Done.");
    for (answer, made, instead) in [
        (json!({"behavior": "allow"}), true, false),
        (json!({"behavior": "allow", "updatedInput": {"command": "touch made"}}), true, false),
        (json!({"behavior": "allow", "updatedInput": {"command": "touch instead"}}), false, true),
        (json!({"behavior": "deny", "message": "no"}), false, false),
        (json!({"behavior": "neither"}), false, false),
        (json!("nonsense"), false, false),
    ] {
        let home = Home::new();
        let mut host = Host::start(&home, &script, &ASKS);
        host.say("go");
        let asked = host.until("control_request");
        assert_eq!(asked[asked.len() - 2]["type"], "assistant", "after the call was printed");
        let request = asked.last().unwrap().clone();
        let suggestion = &request["request"]["permission_suggestions"][0]["rules"][0];
        assert_eq!(suggestion, &json!({"toolName": "Bash", "ruleContent": "touch made"}));
        host.answer(&request, &answer);
        let turn = host.until("result");
        assert_eq!(home.path("project/made").exists(), made, "{answer}");
        assert_eq!(home.path("project/instead").exists(), instead, "{answer}");
        let denials = turn.last().unwrap()["permission_denials"].as_array().unwrap().len();
        assert_eq!(denials == 0, made || instead, "{answer}");
        assert_eq!(host.finish().1, Some(0));
    }
}

#[test]
fn sdk_08_a_rule_that_the_host_returns_covers_the_next_call() {
    let home = Home::new();
    let mut host = Host::start(&home, &format!("- {TOUCH}\n- {TOUCH}\n- Done."), &ASKS);
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    let mut updates = request["request"]["permission_suggestions"].clone();
    updates[0]["destination"] = json!("session");
    host.answer(&request, &json!({"behavior": "allow", "updatedPermissions": updates}));
    let turn = host.until("result");
    assert!(!kinds(&turn).contains(&"control_request".to_owned()), "{turn:?}");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_host_that_does_not_answer_or_goes_away_denies() {
    let script = format!("- {TOUCH}\n- Done.");
    for goes in [true, false] {
        let home = Home::new();
        let args = [&ASKS[..], &["--host-timeout", "1"]].concat();
        let mut host = Host::start(&home, &script, &args);
        host.say("go");
        host.until("control_request");
        if goes {
            drop(host.stdin.take());
        }
        let turn = host.until("result");
        let denied = turn.iter().find(|line| line["subtype"] == "permission_denied").unwrap();
        let why = denied["message"].as_str().unwrap();
        assert!(why.contains(if goes { "closed" } else { "did not answer" }), "{why}");
        let cancelled = kinds(&turn).contains(&"control_cancel_request".to_owned());
        assert_eq!(cancelled, !goes, "a host that is there learns that it is too late");
        let (_, code, _) = host.finish();
        assert_eq!(code, Some(0), "the turn was finished");
        assert!(!home.path("project/made").exists());
    }
}

#[test]
fn sdk_08_hooks_of_the_host_decide() {
    let script = format!("- {TOUCH}\n- Done.");
    let hooks =
        json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h0"], "timeout": 5}]});
    for (answer, made, reason) in [
        (json!({}), true, "completed"),
        (json!({"continue": false, "stopReason": "enough"}), false, "hook_stopped"),
        (json!({"decision": "block", "reason": "no"}), false, "completed"),
        (json!({"async": true}), true, "completed"),
    ] {
        let home = Home::new();
        let args = ["--permission-mode", "bypassPermissions", "--include-hook-events"];
        let mut host = Host::start(&home, &script, &args);
        host.request(&json!({"subtype": "initialize", "hooks": hooks}));
        host.say("go");
        let request = host.until("control_request").pop().unwrap();
        assert_eq!(request["request"]["callback_id"], "h0");
        assert_eq!(request["request"]["input"]["hook_event_name"], "PreToolUse");
        assert_eq!(request["request"]["input"]["tool_use_id"], request["request"]["tool_use_id"]);
        host.answer(&request, &answer);
        let turn = host.until("result");
        assert!(kinds(&turn).contains(&"system/hook_response".to_owned()), "{turn:?}");
        assert_eq!(home.path("project/made").exists(), made, "{answer}");
        assert_eq!(turn.last().unwrap()["terminal_reason"], reason, "{answer}");
        let denied = kinds(&turn).contains(&"system/permission_denied".to_owned());
        assert_eq!(denied, !made, "{answer}: {:?}", kinds(&turn));
        assert_eq!(host.finish().1, Some(0));
    }
}

#[test]
fn sdk_08_a_hook_that_fails_blocks() {
    let home = Home::new();
    let args = ["--permission-mode", "bypassPermissions"];
    let mut host = Host::start(&home, &format!("- {TOUCH}\n- Done."), &args);
    let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["h0"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    host.send(&json!({"type": "control_response", "response": {"subtype": "error",
        "request_id": request["request_id"], "error": "the callback threw"}}));
    let turn = host.until("result");
    assert!(turn.iter().any(|line| line.to_string().contains("the callback threw")), "{turn:?}");
    assert!(!home.path("project/made").exists());
    let mut other = Host::start(&home, "- Hi.", &[]);
    let hooks = json!({"FileChanged": [{"hookCallbackIds": ["h0"], "onFailure": "block"}]});
    let answer = other.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["error_code"], "invalid_request", "a guard that never runs is refused");
}

#[test]
fn sdk_08_a_blocked_prompt_has_no_model_call() {
    let home = Home::new();
    let mut host = Host::start(&home, "- Never.", &[]);
    let hooks = json!({"UserPromptSubmit": [{"hookCallbackIds": ["h0"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    host.answer(&request, &json!({"decision": "block", "reason": "not now"}));
    let turn = host.until("result");
    let line = turn.iter().find(|line| line["subtype"] == "informational").unwrap();
    assert_eq!(line["prevent_continuation"], true);
    let result = turn.last().unwrap();
    assert_eq!((&result["num_turns"], &result["is_error"]), (&json!(0), &json!(false)));
    assert_eq!(result["result"], "not now");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_host_learns_the_state_when_it_asks() {
    let home = Home::new();
    home.write("project/script.yaml", format!("- {TOUCH}\n- Done."));
    let args = [&crate::host::STREAM[..], &["--provider", "scripted:script.yaml"], &ASKS].concat();
    let mut command = home.command(&args);
    let mut host = Host::spawn(command.env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"));
    host.say("go");
    let mut seen = host.until("control_request");
    let request = seen.last().unwrap().clone();
    host.answer(&request, &json!({"behavior": "allow"}));
    let (rest, code, _) = host.finish();
    seen.extend(rest);
    let states: Vec<_> = seen.iter().filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(states, ["running", "requires_action", "running", "idle"]);
    assert_eq!(kinds(&seen).last().unwrap(), "system/session_state_changed", "after the result");
    assert_eq!(code, Some(0));
}

#[test]
fn sdk_08_a_line_that_cannot_be_read_ends_the_run() {
    for broken in ["{", "{\"type\":\"user\"}", "nonsense"] {
        let home = Home::new();
        let mut host = Host::start(&home, "- Hi.", &[]);
        use std::io::Write as _;
        writeln!(host.stdin.as_mut().unwrap(), "{broken}").unwrap();
        let (_, code, errors) = host.finish();
        assert_eq!(code, Some(1), "{broken}");
        assert!(errors.contains("Error parsing streaming input line"), "{errors}");
    }
}

#[test]
fn sdk_08_a_failed_turn_is_reported_and_the_exit_code_is_1() {
    let home = Home::new();
    let script = "- error: {kind: authentication, message: The key was refused.}";
    let mut host = Host::start(&home, script, &[]);
    host.say("go");
    let (printed, code, _) = host.finish();
    assert_eq!(kinds(&printed), ["system/init", "assistant", "result/success"]);
    assert_eq!(printed[1]["error"], "authentication_failed");
    assert_eq!(printed[1]["message"]["model"], "<synthetic>");
    assert_eq!((&printed[2]["is_error"], code), (&json!(true), Some(1)));
    assert!(printed[2]["result"].as_str().unwrap().starts_with("API Error: "), "{printed:?}");
}

/// Returns a command that writes its process id into a pipe and runs until it is ended.
#[cfg(unix)]
pub(crate) fn long_command(home: &Home) -> (String, std::path::PathBuf) {
    let fifo = home.path("project/pid");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script =
        "- tools: [{tool: Bash, input: {command: \"echo $$ > pid; sleep 1000 & wait\"}}]\n- Go on.";
    (script.to_owned(), fifo)
}

#[cfg(unix)]
fn assert_gone(pid: &str) {
    let alive = Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status();
    assert!(!alive.unwrap().success(), "the command still runs");
}

#[cfg(unix)]
pub(crate) const BYPASS: [&str; 1] = ["--dangerously-skip-permissions"];

#[cfg(unix)]
#[test]
fn sdk_08_an_interrupt_ends_the_turn_and_the_session_continues() {
    let home = Home::new();
    let (script, fifo) = long_command(&home);
    let mut host = Host::start(&home, &script, &BYPASS);
    host.say("go");
    let pid = std::fs::read_to_string(&fifo).unwrap();
    assert_eq!(host.request(&json!({"subtype": "interrupt"}))["subtype"], "success");
    let turn = host.until("result");
    let result = turn.last().unwrap();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(
        (&result["terminal_reason"], &result["stop_reason"]),
        (&json!("aborted_tools"), &Value::Null)
    );
    assert_eq!(
        turn[turn.len() - 2]["message"]["content"][0]["text"],
        "[Request interrupted by user]"
    );
    assert_gone(&pid);
    host.say("go on");
    assert_eq!(host.until("result").last().unwrap()["result"], "Go on.");
    assert_eq!(host.finish().1, Some(0));
}

#[cfg(unix)]
#[test]
fn sdk_08_a_message_during_a_turn_joins_it() {
    let home = Home::new();
    let fifo = home.path("project/pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = "- tools: [{tool: Bash, input: {command: \"cat pipe\"}}]\n- {expect: {last: and this}, text: Both.}";
    let mut host = Host::start(&home, script, &BYPASS);
    host.say("go");
    host.until("assistant");
    host.say("and this");
    // Requests are answered in order: the message was taken.
    host.request(&json!({"subtype": "mcp_status"}));
    std::fs::write(&fifo, "done\n").unwrap();
    let (printed, code, _) = host.finish();
    let results: Vec<_> = printed.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!((results.len(), code), (1, Some(0)), "{printed:?}");
    assert_eq!(results[0]["result"], "Both.");
}

#[cfg(unix)]
#[test]
fn sdk_08_a_host_that_reads_no_more_ends_the_run_and_the_session_can_be_resumed() {
    let home = Home::new();
    let (script, fifo) = long_command(&home);
    let mut host = Host::start(&home, &script, &BYPASS);
    host.say("go");
    let pid = std::fs::read_to_string(&fifo).unwrap();
    // The host has exited: nothing reads the output, and its input has ended.
    drop(host.stdout.take());
    drop(host.stdin.take());
    let output = host.child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_gone(&pid);
    let (printed, code) = lines(&home, "- Resumed.", &["-c"]);
    assert_eq!((code, &printed.last().unwrap()["result"]), (Some(0), &json!("Resumed.")));
}

#[cfg(unix)]
#[test]
fn sdk_08_a_host_that_reads_nothing_does_not_hang_the_program() {
    let home = Home::new();
    // Far more than a pipe holds.
    let script = format!("- text: {}", "x".repeat(200_000));
    let mut host = Host::start(&home, &script, &["--host-timeout", "1"]);
    host.say("go");
    // Standard output stays open and is not read before the program has ended.
    let status = host.child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    drop(host);
    let (printed, code) = lines(&home, "- Resumed.", &["-c"]);
    assert_eq!((code, &printed.last().unwrap()["result"]), (Some(0), &json!("Resumed.")));
}

#[cfg(unix)]
#[test]
fn cli_03_sigterm_ends_the_turn_with_code_143() {
    for stream in [true, false] {
        let home = Home::new();
        let (script, fifo) = long_command(&home);
        home.write("project/script.yaml", &script);
        let prompt = ["-p", "go", "--provider", "scripted:script.yaml", BYPASS[0]];
        let format = ["--output-format", if stream { "stream-json" } else { "text" }, "--verbose"];
        let child = home.command(&[&prompt[..], &format].concat()).spawn().unwrap();
        let pid = std::fs::read_to_string(&fifo).unwrap();
        // `timeout` signals the process and its group at the same time.
        for _ in 0..2 {
            let child = child.id().to_string();
            assert!(Command::new("kill").args(["-TERM", &child]).status().unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
        assert!(!stderr(&output).contains("second interrupt"), "{}", stderr(&output));
        assert_gone(&pid);
    }
}

#[tokio::test]
async fn cli_03_another_model_answers_while_the_first_is_overloaded() {
    use robota_testkit::mock::{MockServer, Scenario};

    let home = Home::new();
    let scenario = Scenario::from_yaml(
        "answers:\n  - when: {model: claude-opus-5}\n    error: {status: 529, message: Overloaded}\n  - Second.",
    );
    let mock = MockServer::start(scenario.unwrap()).await.unwrap();
    let args = ["-p", "hi", "--model", "claude-opus-5", "--fallback-model", "claude-sonnet-5-5"];
    let stream = ["--output-format", "stream-json", "--verbose"];
    let variables =
        [("ANTHROPIC_BASE_URL", &*mock.origin()), ("ANTHROPIC_API_KEY", "sk-test-0123456789")];
    let output = home.robota(&[&args[..], &stream].concat(), &variables).await;
    let printed = parse_lines(&stdout(&output));
    let result = printed.last().unwrap();
    assert_eq!(result["result"], "Second.", "{}", stderr(&output));
    assert!(result["modelUsage"].get("claude-sonnet-5-5").is_some(), "{result}");
    assert_eq!(printed[1]["message"]["model"], "claude-sonnet-5-5");
}

#[test]
fn sdk_08_the_host_answers_questions_of_the_model() {
    let home = Home::new();
    let ask = "tools: [{tool: AskUserQuestion, input: {questions: [{question: Which?, header: H, \
               multiSelect: false, options: [{label: red, description: warm}, {label: blue}]}]}}]";
    let script = format!("- {ask}\n- {{expect: {{last: \"Which?: blue\"}}, text: Blue.}}");
    let mut host = Host::start(&home, &script, &ASKS);
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    let mut input = request["request"]["input"].clone();
    assert_eq!(input["questions"][0]["options"][0], json!({"label": "red", "description": "warm"}));
    input["answers"] = json!({"Which?": "blue"});
    host.answer(&request, &json!({"behavior": "allow", "updatedInput": input}));
    assert_eq!(host.until("result").last().unwrap()["result"], "Blue.");
    assert_eq!(host.finish().1, Some(0));
}
