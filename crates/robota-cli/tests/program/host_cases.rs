//! Small differences to the program that hosts were written for, each found by trying it.

use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::{Home, stderr, stdout};
use crate::host::{Host, kinds};
use crate::schema::parse_lines;

/// Registers a hook at an event.
fn with_hook(home: &Home, script: &str, args: &[&str], event: &str) -> Host {
    let mut host = Host::start(home, script, args);
    let hooks = json!({event: [{"matcher": "Bash|Read", "hookCallbackIds": ["h-1"]}]});
    let answer = host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["response"]["unsupported_hook_events"], json!([]), "{answer}");
    host.say("go");
    host
}

/// Answers the callback of a hook with this output, and returns what the hook received.
fn answer_hook(host: &mut Host, output: &Value) -> Value {
    let request = host.until("control_request").pop().unwrap();
    assert_eq!(request["request"]["subtype"], "hook_callback", "{request}");
    host.answer(&request, output);
    request["request"]["input"].clone()
}

const TOUCH: &str = "- {tools: [{tool: Bash, input: {command: touch made}}]}\n- Done.";

#[test]
fn sdk_08_a_hook_decides_about_a_call_that_needs_approval() {
    let decision = |decision: Value| {
        json!({"hookSpecificOutput":
            {"hookEventName": "PermissionRequest", "decision": decision}})
    };
    for (answer, made) in [
        (decision(json!({"behavior": "allow"})), "made"),
        (
            decision(json!({"behavior": "allow", "updatedInput": {"command": "touch other"}})),
            "other",
        ),
        (decision(json!({"behavior": "deny", "message": "not now"})), ""),
        (json!({}), ""),
    ] {
        let home = Home::new();
        let mut host = with_hook(&home, TOUCH, &[], "PermissionRequest");
        let input = answer_hook(&mut host, &answer);
        assert_eq!(input["hook_event_name"], "PermissionRequest");
        assert_eq!(input["tool_input"], json!({"command": "touch made"}));
        let lines = host.until("result");
        let reported = kinds(&lines).contains(&"system/permission_denied".to_owned());
        assert_eq!(reported, made.is_empty(), "{:?}", kinds(&lines));
        let result = lines.last().unwrap();
        if answer != json!({}) {
            let called = lines.iter().find(|line| line["type"] == "user").unwrap();
            let decision = &called["tool_result_meta"][0]["permission_decision"];
            assert_eq!(decision["source"], "hook", "{called}");
        }
        for name in ["made", "other"] {
            assert_eq!(home.path("project").join(name).exists(), name == made, "{answer}");
        }
        let denied = result["permission_denials"].as_array().unwrap().len();
        assert_eq!(denied, usize::from(made.is_empty()), "{result}");
        host.finish();
    }
}

#[test]
fn sdk_08_a_hook_that_allows_a_call_changes_the_permissions() {
    let call = "tools: [{tool: Bash, input: {command: touch made}}]";
    let rules = json!([{"toolName": "Bash", "ruleContent": "touch *"}]);
    for (update, asked) in [
        (
            json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}),
            false,
        ),
        (
            json!({"type": "addRules", "rules": rules, "behavior": "deny", "destination": "session"}),
            false,
        ),
        (json!({"type": "setMode", "mode": "dontAsk", "destination": "session"}), false),
        (json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}), false),
        (json!({"type": "setMode", "mode": "bypassPermissions", "destination": "session"}), true),
    ] {
        let home = Home::new();
        let mut host = with_hook(
            &home,
            &format!("- {{{call}}}\n- {{{call}}}\n- Done."),
            &[],
            "PermissionRequest",
        );
        let decision = json!({"behavior": "allow", "updatedPermissions": [update]});
        let output = json!({"hookSpecificOutput":
            {"hookEventName": "PermissionRequest", "decision": decision}});
        answer_hook(&mut host, &output);
        if asked {
            answer_hook(&mut host, &output);
        }
        let lines = host.until("result");
        assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{update}");
        assert!(home.path("project/made").exists(), "{update}: the first call ran");
        let denied = update["behavior"] == "deny" || update["mode"] == "dontAsk";
        let denials = lines.last().unwrap()["permission_denials"].as_array().unwrap().len();
        assert_eq!(denials, usize::from(denied), "{update}");
        let modes = lines.iter().filter_map(|line| line["permissionMode"].as_str());
        let modes: Vec<_> = modes.filter(|mode| *mode != "default").collect();
        let expected = update["mode"].as_str().filter(|mode| *mode != "bypassPermissions");
        assert_eq!(modes, Vec::from_iter(expected), "{update}");
        host.finish();
    }
}

#[test]
fn sdk_08_a_hook_decides_before_the_host_is_asked() {
    let home = Home::new();
    let args = ["--permission-prompt-tool", "stdio"];
    let mut host = with_hook(&home, TOUCH, &args, "PermissionRequest");
    answer_hook(&mut host, &json!({}));
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["subtype"], "can_use_tool");
    host.answer(&asked, &json!({"behavior": "deny", "message": "no"}));
    host.until("result");
    assert!(!home.path("project/made").exists());
    host.finish();
}

#[test]
fn sdk_08_a_hook_of_a_prompt_names_the_session() {
    let home = Home::new();
    // The call of the turn takes longer than the renaming, which the prompt does not wait for.
    let script = "- {tools: [{tool: Bash, input: {command: 'true'}}]}\n- Done.";
    let mut host = with_hook(&home, script, &BYPASS, "UserPromptSubmit");
    answer_hook(&mut host, &json!({"hookSpecificOutput": {"sessionTitle": "Fix the parser"}}));
    host.until("result");
    host.finish();
    let listed = home.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("Fix the parser"), "{listed}");
}

#[test]
fn sdk_08_a_call_that_failed_has_a_hook_of_its_own() {
    let script = "- {tools: [{tool: Read, input: {file_path: missing.txt}}]}\n- Done.";
    let home = Home::new();
    let mut host = with_hook(&home, script, &BYPASS, "PostToolUseFailure");
    let context = json!({"hookSpecificOutput":
        {"hookEventName": "PostToolUseFailure", "additionalContext": "try again"}});
    let input = answer_hook(&mut host, &context);
    assert_eq!(input["hook_event_name"], "PostToolUseFailure");
    assert!(input["error"].as_str().unwrap().contains("missing.txt"), "{input}");
    let lines = host.until("result");
    let result = lines.iter().find(|line| line["type"] == "user").unwrap();
    assert!(result.to_string().contains("try again"), "{result}");
    host.finish();
    // A call that succeeds is not its event, and one that fails is not PostToolUse.
    let quiet = "- {tools: [{tool: Bash, input: {command: 'true'}}]}\n- Done.";
    for (script, event) in [(quiet, "PostToolUseFailure"), (script, "PostToolUse")] {
        let home = Home::new();
        let args = [&BYPASS[..], &["--include-hook-events"]].concat();
        let mut host = with_hook(&home, script, &args, event);
        let seen = kinds(&host.until("result"));
        for kind in ["control_request", "system/hook_started", "system/hook_response"] {
            assert!(!seen.contains(&kind.to_owned()), "{event}: {seen:?}");
        }
        host.finish();
    }
}

#[test]
fn sdk_08_a_hook_receives_the_result_as_the_lines_have_it() {
    let script = "- {tools: [{tool: Bash, input: {command: echo out}}]}\n- Done.";
    let home = Home::new();
    let mut host = with_hook(&home, script, &BYPASS, "PostToolUse");
    let input = answer_hook(&mut host, &json!({}));
    assert_eq!(input["tool_response"]["stdout"], "out", "{input}");
    host.until("result");
    host.finish();
}

#[test]
fn sdk_08_a_message_without_a_turn_comes_before_the_next() {
    let home = Home::new();
    let script = "- {expect: {messages: 2, last: go}, text: Yes.}";
    let mut host = Host::start(&home, script, &[]);
    host.send(&json!({"type": "user", "message": {"role": "user", "content": "A note."},
        "shouldQuery": false}));
    host.say("go");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Yes.");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_compaction_by_command_prints_its_lines() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- The summary.\n- Two.", &[]);
    host.say("go");
    host.until("result");
    host.say("/compact");
    let lines = host.until("result");
    let printed = kinds(&lines);
    let expected = [
        "system/init",
        "system/status",
        "system/status",
        "system/compact_boundary",
        "result/success",
    ];
    assert_eq!(printed, expected, "{lines:?}");
    assert_eq!((&lines[1]["status"], &lines[2]["status"]), (&json!("compacting"), &Value::Null));
    assert_eq!(lines[3]["compact_metadata"]["trigger"], "manual");
    host.finish();
}

#[test]
fn sdk_08_the_host_learns_changed_lines_and_the_tokens_of_the_last_call() {
    let home = Home::new();
    let script = "- tools: [{tool: Write, input: {file_path: a.txt, content: \"1\\n2\\n3\\n\"}}]\n\
                  - tools: [{tool: Edit, input: {file_path: a.txt, old_string: \"2\\n\", new_string: \"x\\ny\\n\"}}]\n\
                  - {text: Done., usage: {input: 7, output: 3}}";
    let mut host = Host::start(&home, script, &BYPASS);
    host.say("go");
    host.until("result");
    let usage = host.request(&json!({"subtype": "get_usage"}))["response"]["session"].clone();
    assert_eq!(
        (&usage["total_lines_added"], &usage["total_lines_removed"]),
        (&json!(5), &json!(1)),
        "{usage}"
    );
    let context = host.request(&json!({"subtype": "get_context_usage"}))["response"].clone();
    assert_eq!(context["apiUsage"]["input_tokens"], 7, "{context}");
    host.finish();
}

/// Runs a turn with a server `calc` in the host, and returns the call that reached it, and the lines.
fn with_calculator(script: &str, policies: &Value) -> (Option<Value>, Vec<Value>) {
    let home = Home::new();
    let mut host = Host::start(&home, script, &["--allowedTools", "mcp__calc__add"]);
    host.request(&json!({"subtype": "initialize", "sdkMcpServers": ["calc"],
        "sdkMcpServerConfigs": {"calc": {"tools": policies}}}));
    host.say("go");
    let (mut called, mut lines) = (None, Vec::new());
    while lines.last().is_none_or(|line: &Value| line["type"] != "result") {
        let line = host.line().unwrap();
        let message = &line["request"]["message"];
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "calc", "version": "1"}}),
            Some("tools/list") => {
                json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => {
                called = Some(message.clone());
                json!({"content": [{"type": "text", "text": "42"}]})
            }
            _ => json!({}),
        };
        if line["type"] == "control_request" {
            let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            host.answer(&line, &json!({"mcp_response": response}));
        }
        lines.push(line);
    }
    host.finish();
    (called, lines)
}

#[test]
fn sdk_08_calls_of_servers_in_the_host_have_the_id_of_the_model() {
    let script = "- {steps: [{tool: mcp__calc__add, id: toolu_7, input: {}}]}\n- Done.";
    let (called, lines) = with_calculator(script, &json!([]));
    let called = called.unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(called["params"]["_meta"]["claudecode/toolUseId"], "toolu_7", "{called}");
}

#[test]
fn sdk_08_servers_in_the_host_can_send_messages_by_themselves() {
    let home = Home::new();
    let script = "- {steps: [{tool: mcp__calc__add, id: toolu_7, input: {}}]}\n- Done.";
    let mut host = Host::start(&home, script, &["--allowedTools", "mcp__calc__add"]);
    host.request(&json!({"subtype": "initialize", "sdkMcpServers": ["calc"]}));
    host.say("go");
    let (mut question, mut answered, mut listed, mut call) = (None, None, 0, None);
    let mut asked = false;
    loop {
        let line = host.line().unwrap();
        if line["type"] == "result" {
            break;
        }
        if line["type"] != "control_request" {
            continue;
        }
        if line["request"]["subtype"] == "elicitation" {
            question = Some(line["request"]["message"].clone());
            host.answer(&line, &json!({"action": "accept", "content": {"name": "Ada"}}));
            continue;
        }
        let message = line["request"]["message"].clone();
        let respond = |result: Value| json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": result}});
        match message["method"].as_str() {
            Some("initialize") => {
                let result = json!({"protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "calc", "version": "1"}});
                host.answer(&line, &respond(result));
            }
            Some("tools/list") => {
                listed += 1;
                let tools = json!([{"name": "add", "inputSchema": {"type": "object"}}]);
                host.answer(&line, &respond(json!({"tools": tools})));
            }
            // The tool asks the user before it answers.
            Some("tools/call") => {
                call = Some((line.clone(), message["id"].clone()));
                asked = true;
                for message in [
                    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
                    json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {
                        "message": "Who?", "requestedSchema": {"type": "object",
                            "properties": {"name": {"type": "string"}}}}}),
                ] {
                    let request = json!({"subtype": "mcp_message", "server_name": "calc", "message": message});
                    host.send(
                        &json!({"type": "control_request", "request_id": "m", "request": request}),
                    );
                }
            }
            None if message["id"] == "q1" => {
                answered = Some(message["result"].clone());
                host.answer(&line, &json!({"mcp_response": {}}));
            }
            _ => host.answer(&line, &respond(json!({}))),
        }
        if asked
            && answered.is_some()
            && listed > 1
            && let Some((line, id)) = call.take()
        {
            let result = json!({"content": [{"type": "text", "text": "42"}]});
            let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
            host.answer(&line, &json!({"mcp_response": response}));
        }
    }
    assert_eq!(question, Some(json!("Who?")));
    assert_eq!(answered.unwrap(), json!({"action": "accept", "content": {"name": "Ada"}}));
    host.finish();
}

#[test]
fn sdk_08_the_host_restricts_the_tools_of_its_servers() {
    let script = "- {tools: [mcp__calc__add]}\n- Done.";
    for policy in ["always_deny", "always_ask"] {
        let policies = json!([{"name": "add", "permission_policy": policy}]);
        let (called, lines) = with_calculator(script, &policies);
        assert_eq!(called, None, "{policy}: {lines:?}");
        let denials = &lines.last().unwrap()["permission_denials"];
        assert_eq!(denials[0]["tool_name"], "mcp__calc__add", "{policy}");
    }
}

#[test]
fn sdk_14_an_agent_in_its_own_process_does_not_have_servers_of_the_host() {
    let home = Home::new();
    let agents = json!({"worker": {"description": "Works", "prompt": "You work.",
        "ownProcess": true, "tools": ["mcp__calc__add"]}});
    let task =
        "{tools: [{tool: Agent, input: {prompt: Do it., subagent_type: worker, description: d}}]}";
    let script = format!("- {task}\n- Done.");
    let agents = agents.to_string();
    let mut host = Host::start(&home, &script, &[&BYPASS[..], &["--agents", &agents]].concat());
    let servers = json!({"calc": {"command": "/no/such/program"}});
    host.request(&json!({"subtype": "mcp_set_servers", "servers": servers}));
    host.say("go");
    let lines = host.until("result");
    let text = json!(lines).to_string();
    assert!(text.contains("does not have the MCP server `calc`"), "{text}");
    host.finish();
}

#[tokio::test]
async fn cli_03_denied_tools_are_not_offered_and_tools_can_be_several_values() {
    let home = Home::new();
    home.write("project/script.yaml", "loop: true\nanswers: [Hi.]");
    let tools = async |args: &[&str]| {
        let stream = ["-p", "hi", "--output-format", "stream-json", "--verbose"];
        let script = ["--provider", "scripted:script.yaml"];
        let output = home.robota(&[&stream[..], &script, args].concat(), &[]).await;
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let init = parse_lines(&stdout(&output)).remove(0);
        let tools = init["tools"].as_array().unwrap().clone();
        tools.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let denied = tools(&["--disallowedTools", "Bash", "Task"]).await;
    assert!(denied.contains(&"Read".to_owned()), "{denied:?}");
    assert!(!denied.iter().any(|name| name == "Bash" || name == "Task"), "{denied:?}");
    let all = tools(&["--disallowedTools", "Bash(rm *)"]).await;
    assert!(all.contains(&"Bash".to_owned()), "{all:?}");
    assert_eq!(tools(&["--tools", "Bash", "Read,Glob"]).await, ["Bash", "Glob", "Read"]);
    assert_eq!(tools(&["--tools", ""]).await, [""; 0]);
}

#[tokio::test]
async fn cli_03_the_version_has_both_letters() {
    let home = Home::new();
    let long = stdout(&home.robota(&["--version"], &[]).await);
    for letter in ["-v", "-V"] {
        assert_eq!(stdout(&home.robota(&[letter], &[]).await), long);
    }
}

#[test]
fn sdk_08_nobody_is_asked_if_the_host_says_so() {
    let home = Home::new();
    let args = ["--permission-prompt-tool", "stdio", "--permission-prompts", "none"];
    let mut host = Host::start(&home, TOUCH, &args);
    host.say("go");
    let lines = host.until("result");
    assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{lines:?}");
    assert!(!home.path("project/made").exists());
    host.finish();
}

#[test]
fn sdk_08_the_host_moves_a_call_to_the_background() {
    let script = "- {tools: [{tool: Bash, id: toolu_1, input: {command: 'touch started; cat pipe'}}]}\n- Done.";
    let home = Home::new();
    home.write("project/unused", "");
    let pipe = home.path("project/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut host = Host::start(&home, script, &BYPASS);
    host.say("go");
    host.until("assistant");
    let mut moved = json!(null);
    // The call waits as soon as its command runs.
    while moved["response"]["backgrounded"] != true {
        let other = host.request(&json!({"subtype": "background_tasks", "tool_use_id": "toolu_2"}));
        assert_eq!(other["response"], json!({"backgrounded": false}), "{other}");
        moved = host.request(&json!({"subtype": "background_tasks", "tool_use_id": "toolu_1"}));
    }
    let lines = host.until("result");
    assert_eq!(lines.last().unwrap()["result"], "Done.");
    std::fs::write(&pipe, "end").unwrap();
    host.finish();
}

#[test]
fn sdk_08_options_of_other_programs_are_refused_with_a_reason() {
    let home = Home::new();
    for option in
        ["--session-mirror", "--task-budget=5", "--await-initialize", "--plugin-dir-no-mcp=x"]
    {
        let mut host =
            Host::spawn(&mut home.command(&[&crate::host::STREAM[..], &[option]].concat()));
        host.say("go");
        let (lines, code, errors) = host.finish();
        assert_eq!(code, Some(2), "{errors}");
        assert!(
            errors.contains("unknown option") && errors.contains("Not supported: "),
            "{errors}"
        );
        assert_eq!(kinds(&lines), ["result/error_during_execution"]);
    }
}

#[test]
fn cli_03_a_hook_that_blocks_is_no_failure_of_a_run_with_a_result() {
    let block = "echo '{\"decision\": \"block\", \"reason\": \"not now\"}'";
    let stop = "echo '{\"continue\": false, \"stopReason\": \"enough\"}'";
    for (event, command) in [("UserPromptSubmit", block), ("PreToolUse", stop)] {
        for (format, code) in [("json", 0), ("stream-json", 0), ("text", 1)] {
            let home = Home::new();
            let hooks = json!([{"hooks": [{"type": "command", "command": command}]}]);
            home.write("home/.robota/settings.json", json!({"hooks": {event: hooks}}));
            home.write("project/script.yaml", TOUCH);
            let args = ["-p", "go", "--provider", "scripted:script.yaml", "--verbose"];
            let args = [&args[..], &["--output-format", format]].concat();
            let output = home.command(&args).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{event} {format} {}", stderr(&output));
        }
    }
}

#[test]
fn cli_03_failures_have_the_shape_that_the_arguments_ask_for() {
    let home = Home::new();
    let run = |args: &[&str]| {
        let output = home.command(args).output().unwrap();
        let text = stdout(&output);
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| {
            panic!("{args:?} {error}: {text} {}", stderr(&output));
        })
    };
    let missing = ["-p", "go", "--provider", "scripted:missing.yaml", "--output-format", "json"];
    for (args, verbose) in [
        (&missing[..], false),
        (&[&missing[..], &["--verbose"]].concat(), true),
        (&["-p", "go", "--output-format", "json", "--no-such-option"], false),
        (&["-p", "go", "--output-format=json", "--verbose", "--no-such-option"], true),
    ] {
        let printed = run(args);
        assert_eq!(printed.is_array(), verbose, "{args:?} {printed}");
        let line = if verbose { &printed[0] } else { &printed };
        assert_eq!(line["subtype"], "error_during_execution", "{args:?} {printed}");
        assert_eq!(line["is_error"], true);
        assert_ne!(line["uuid"], line["session_id"]);
    }
}

#[test]
fn cli_03_a_failure_names_the_session_that_it_ends() {
    let home = Home::new();
    let id = "6b7f8f3a-0000-4000-8000-000000000001";
    home.write("project/script.yaml", "- Hi.");
    let args = ["-p", "go", "--provider", "scripted:script.yaml", "--output-format", "json"];
    let session = format!("--session-id={id}");
    // A file where the folder of the sessions should be.
    home.write("project/.robota/sessions", "");
    let output = home.command(&[&args[..], &[&session]].concat()).output().unwrap();
    let line: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&line["session_id"], &line["is_error"]), (&json!(id), &json!(true)), "{line}");
}

/// The most bytes of a line that the Agent SDK for Python reads.
const SDK_BUFFER: usize = 1 << 20;

/// The content of a file that is longer than a line, because each character is escaped in JSON.
fn long_content() -> String {
    "\"".repeat(600_000)
}

#[test]
fn sdk_08_a_call_that_is_too_long_for_a_line_is_denied_and_the_session_goes_on() {
    let content = long_content();
    let script = format!(
        "- {{tools: [{{tool: Write, input: {{file_path: long.txt, content: '{content}'}}}}]}}\n- Done."
    );
    for (event, args) in
        [(None, &["--permission-prompt-tool", "stdio"][..]), (Some("PreToolUse"), &BYPASS)]
    {
        let home = Home::new();
        // The call fits into the window of this model.
        let args = [args, &["--model", "claude-opus-5-5"]].concat();
        let mut host = Host::start(&home, &script, &args);
        if let Some(event) = event {
            let hooks = json!({event: [{"hookCallbackIds": ["h-1"]}]});
            host.request(&json!({"subtype": "initialize", "hooks": hooks}));
        }
        host.say("go");
        let lines = host.until("result");
        let longest = lines.iter().map(|line| line.to_string().len()).max().unwrap();
        assert!(longest < SDK_BUFFER, "{longest}");
        assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{event:?}");
        let called = lines.iter().find(|line| line["type"] == "user").unwrap().to_string();
        assert!(called.contains("make the arguments of the call shorter"), "{called}");
        let result = lines.last().unwrap();
        assert_eq!((&result["result"], &result["is_error"]), (&json!("Done."), &json!(false)));
        assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1);
        assert!(!home.path("project/long.txt").exists(), "{event:?}");
        assert_eq!(host.finish().1, Some(0));
    }
}

#[test]
fn sdk_08_a_hook_that_decides_nothing_about_a_call_receives_a_shorter_one() {
    let content = long_content();
    let script = format!(
        "- {{tools: [{{tool: Write, input: {{file_path: long.txt, content: '{content}'}}}}]}}\n- Done."
    );
    let home = Home::new();
    let mut host = Host::start(&home, &script, &BYPASS);
    let hooks = json!({"PostToolUse": [{"hookCallbackIds": ["h-1"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    assert!(request.to_string().len() < SDK_BUFFER);
    let shown = request["request"]["input"]["tool_input"]["content"].as_str().unwrap();
    assert!(shown.starts_with("\"\"") && shown.ends_with("[the rest is too long for a line]"));
    host.answer(&request, &json!({}));
    host.until("result");
    assert_eq!(std::fs::read_to_string(home.path("project/long.txt")).unwrap(), content);
    host.finish();
}

#[test]
fn sdk_08_a_request_about_a_call_comes_after_the_line_of_the_call() {
    let words = "word ".repeat(1_000);
    let call = "tools: [{tool: Read, input: {file_path: notes.txt}}]";
    let script = format!("chunk: 64\nanswers:\n- {{text: \"{words}\", {call}}}\n- Done.\n");
    for event in ["PreToolUse", "PostToolUse"] {
        let home = Home::new();
        let mut host = with_hook(&home, &script, &["--include-partial-messages"], event);
        let mut lines = host.until("control_request");
        let request = lines.pop().unwrap();
        assert_eq!(request["request"]["input"]["hook_event_name"], event, "{request}");
        let id = &request["request"]["tool_use_id"];
        let has_call = |line: &Value| {
            line["type"] == "assistant" && line["message"]["content"][0]["id"] == *id
        };
        assert!(lines.iter().any(has_call), "{event}: the request came before its call");
        host.answer(&request, &json!({}));
        host.until("result");
        host.finish();
    }
}
