//! Control requests of a host: what the program says about itself, and what it changes.

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::headless::{BYPASS, TOUCH, long_command};
use crate::home::{Home, stderr};
use crate::host::{Host, STREAM, kinds};
use crate::schema::parse_lines;

/// Writes a skill, a plugin and an output style.
fn folder_with_everything(home: &Home) -> String {
    home.write("project/.claude/skills/ship/SKILL.md", "---\ndescription: Ships it\n---\nShip $0.")
        .write("plugin/.claude-plugin/plugin.json", json!({"name": "tools", "version": "1.2.0"}))
        .write("plugin/commands/audit.md", "---\ndescription: Audits\n---\nAudit.")
        .write("plugin/agents/auditor.md", "---\nname: auditor\ndescription: Audits\n---\nAudit.");
    home.path("plugin").display().to_string()
}

#[test]
fn sdk_08_initialize_lists_commands_agents_styles_and_models() {
    let home = Home::new();
    let plugin = folder_with_everything(&home);
    let mut host = Host::start(&home, "- Hi.", &["--plugin-dir", &plugin, "--model", "m"]);
    let agents = json!({"mine": {"description": "Mine", "prompt": "Work."}});
    let answer = host.request(&json!({"subtype": "initialize", "agents": agents}));
    let response = &answer["response"];
    let command = |name: &str| {
        let commands = response["commands"].as_array().unwrap();
        commands.iter().find(|command| command["name"] == name).cloned().unwrap_or_default()
    };
    assert_eq!(
        command("ship"),
        json!({"name": "ship", "description": "Ships it", "argumentHint": ""})
    );
    assert_eq!(command("tools:audit")["description"], "Audits", "{response}");
    assert_eq!(command("compact")["builtin"], true);
    assert!(command("compact")["argumentHint"].is_string());
    let names = |key: &str, field: &str| -> Vec<Value> {
        response[key].as_array().unwrap().iter().map(|it| it[field].clone()).collect()
    };
    for agent in ["mine", "general-purpose", "Explore", "Plan", "tools:auditor"] {
        assert!(names("agents", "name").contains(&json!(agent)), "{agent}: {response}");
    }
    assert_eq!(names("models", "value")[0], "default");
    assert_eq!(response["models"][0]["resolvedModel"], "m");
    assert_eq!(response["available_output_styles"], json!(["default"]));
    assert_eq!(response["output_style"], "default");
    assert_eq!(response["account"], json!({"apiKeySource": "none"}));
    host.say("hi");
    let init = host.until("result").remove(0);
    assert_eq!(init["plugins"][0]["name"], "tools", "{init}");
    assert_eq!(init["plugins"][0]["version"], "1.2.0");
    assert_eq!(init["plugins"][0]["path"], plugin.as_str());
    assert!(init["skills"].as_array().unwrap().contains(&json!("ship")), "{init}");
    assert!(init["slash_commands"].as_array().unwrap().contains(&json!("tools:audit")));
    assert_eq!(init["terminal_slash_commands"], json!(["language", "reset", "resume"]));
    assert!(init["memory_paths"]["auto"].as_str().unwrap().ends_with("/memory/"));
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_a_host_chooses_the_skills_of_the_model() {
    let skill = |name: &str| format!("{{tools: [{{tool: Skill, input: {{skill: {name}}}}}]}}");
    for (chosen, one, two) in [
        (json!(["one"]), true, false),
        (json!(["two", "missing"]), false, true),
        (json!("all"), true, true),
        (Value::Null, true, true),
    ] {
        let home = Home::new();
        for name in ["one", "two"] {
            let text = format!("---\ndescription: About {name}\n---\nDo {name}.");
            home.write(&format!("project/.claude/skills/{name}/SKILL.md"), text);
        }
        let script = format!("- {}\n- {}\n- Done.", skill("one"), skill("two"));
        let mut host = Host::start(&home, &script, &[]);
        let answer = host.request(&json!({"subtype": "initialize", "skills": chosen}));
        assert_eq!(answer["subtype"], "success", "{answer}");
        host.say("go");
        let lines = host.until("result");
        let listed = lines[0]["skills"].as_array().unwrap();
        for (name, expected) in [("one", one), ("two", two)] {
            assert_eq!(listed.contains(&json!(name)), expected, "{chosen} {name}: {}", lines[0]);
            let read = lines.iter().any(|line| {
                line["type"] == "user" && line.to_string().contains(&format!("Do {name}."))
            });
            assert_eq!(read, expected, "{chosen} {name}");
        }
        host.finish();
    }
    for (field, value) in [("skills", json!(5)), ("excludeDynamicSections", json!(true))] {
        let home = Home::new();
        let mut host = Host::start(&home, "- Hi.", &[]);
        let answer = host.request(&json!({"subtype": "initialize", field: value}));
        assert_eq!(answer["error_code"], "invalid_request", "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(field), "{answer}");
    }
}

#[test]
fn sdk_08_slash_commands_can_be_disabled() {
    let home = Home::new();
    folder_with_everything(&home);
    let script = "- {expect: {last: /ship 1}, text: Yes.}";
    let mut host = Host::start(&home, script, &["--disable-slash-commands"]);
    let answer = host.request(&json!({"subtype": "initialize"}));
    assert_eq!(answer["response"]["commands"], json!([]));
    host.say("/ship 1");
    let turn = host.until("result");
    assert_eq!(turn[0]["slash_commands"], json!([]));
    assert_eq!(turn.last().unwrap()["result"], "Yes.");
    host.finish();
}

#[test]
fn sdk_08_a_composed_message_is_sent_as_it_is() {
    let home = Home::new();
    folder_with_everything(&home);
    let script = "- {expect: {last: /ship @notes.txt}, text: Yes.}";
    let mut host = Host::start(&home, script, &[]);
    host.send(&json!({"type": "user", "client_composed": true,
        "message": {"role": "user", "content": "/ship @notes.txt"}}));
    assert_eq!(host.until("result").pop().unwrap()["result"], "Yes.");
    host.finish();
}

#[test]
fn sdk_08_a_change_of_the_mode_is_announced() {
    let home = Home::new();
    let mut host = Host::start(&home, "- Hi.", &[]);
    host.send(&json!({"type": "control_request", "request_id": "r",
        "request": {"subtype": "set_permission_mode", "mode": "plan"}}));
    let lines = host.until("control_response");
    assert_eq!(kinds(&lines), ["system/status", "control_response"]);
    let status = &lines[0];
    assert_eq!((&status["status"], &status["permissionMode"]), (&Value::Null, &json!("plan")));
    assert_eq!(
        host.request(&json!({"subtype": "set_permission_mode", "mode": "plan"})),
        json!({"subtype": "success", "request_id": "r-1", "response": {"mode": "plan"}}),
        "the same mode is no change"
    );
    host.finish();
}

#[test]
fn sdk_08_requests_that_read() {
    let home = Home::new();
    home.write("project/AGENTS.md", "Use tabs.").write("project/secret.txt", "hidden");
    home.write("outside.txt", "outside");
    let pipe = home.path("project/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = ["--disallowedTools", "Read(secret.txt)", "--allowedTools", "Bash(ls *)", "Read"];
    let mut host = Host::start(&home, "- Hi.", &args);
    let before = host.request(&json!({"subtype": "get_context_usage"}));
    assert_eq!(before["response"]["totalTokens"], 0);
    host.say("hi");
    host.until("result");
    let ok = |host: &mut Host, request: Value| {
        let answer = host.request(&request);
        assert_eq!(answer["subtype"], "success", "{request}: {answer}");
        answer["response"].clone()
    };
    let file = ok(&mut host, json!({"subtype": "read_file", "path": "notes.txt"}));
    assert_eq!((&file["contents"], &file["lossy"]), (&json!("hello\n"), &json!(false)));
    assert!(file["absPath"].as_str().unwrap().ends_with("project/notes.txt"));
    let request = json!({"subtype": "read_file", "path": "notes.txt", "max_bytes": 2,
        "encoding": "base64"});
    let file = ok(&mut host, request);
    assert_eq!((&file["contents"], &file["truncated"]), (&json!("aGU="), &json!(true)));
    for (path, why) in [
        ("secret.txt", "a deny rule forbids it"),
        ("../outside.txt", "outside of the workspace"),
        ("missing.txt", "No such file"),
        (".", "it is not a file"),
        ("pipe", "it is not a file"),
    ] {
        let answer = host.request(&json!({"subtype": "read_file", "path": path}));
        assert!(answer["error"].as_str().unwrap().contains(why), "{path}: {answer}");
    }
    let usage = ok(&mut host, json!({"subtype": "get_context_usage"}));
    let rows: Vec<_> =
        usage["categories"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    for id in ["system_prompt", "system_tools", "memory_files", "free_space"] {
        assert!(rows.contains(&json!(id)), "{id}: {usage}");
    }
    let rows = usage["categories"].as_array().unwrap().iter();
    let used: u64 =
        rows.filter(|row| row["kind"] == "used").map(|row| row["tokens"].as_u64().unwrap()).sum();
    assert_eq!(usage["totalTokens"], used);
    assert!(usage["memoryFiles"][0]["path"].as_str().unwrap().ends_with("AGENTS.md"));
    let rules = ok(&mut host, json!({"subtype": "list_permission_rules"}));
    let rules = rules["state"]["rules"].as_array().unwrap().clone();
    for (behavior, rule) in
        [("deny", "Read(secret.txt)"), ("allow", "Bash(ls *)"), ("allow", "Read")]
    {
        let expected = json!({"behavior": behavior, "source": "cliArg", "rule": rule,
            "editability": "session"});
        assert!(rules.contains(&expected), "{rule}: {rules:?}");
    }
    let settings = ok(&mut host, json!({"subtype": "get_settings"}));
    assert_eq!(settings["effective"]["permissions"]["deny"], json!(["Read(secret.txt)"]));
    assert_eq!(settings["applied"]["model"], "scripted");
    let cost = ok(&mut host, json!({"subtype": "get_session_cost"}));
    assert!(cost["text"].as_str().unwrap().starts_with("Total cost: $"), "{cost}");
    let usage = ok(&mut host, json!({"subtype": "get_usage"}));
    assert_eq!(usage["rate_limits"], Value::Null);
    assert!(usage["session"]["model_usage"].get("scripted").is_some(), "{usage}");
    assert_eq!(
        ok(&mut host, json!({"subtype": "set_has_subscribers", "has_subscribers": false})),
        json!({})
    );
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_skills_that_were_added_can_be_used_after_a_reload() {
    let home = Home::new();
    let script =
        "- {expect: {last: /ship 1}, text: Unknown.}\n- {expect: {last: Ship 1.}, text: Shipped.}";
    let mut host = Host::start(&home, script, &[]);
    host.say("/ship 1");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Unknown.");
    folder_with_everything(&home);
    let answer = host.request(&json!({"subtype": "reload_skills"}));
    let expected = json!([{"name": "ship", "description": "Ships it", "argumentHint": ""}]);
    assert_eq!(answer["response"]["skills"], expected);
    host.say("/ship 1");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Shipped.");
    let answer = host.request(&json!({"subtype": "reload_output_styles"}));
    assert_eq!(answer["response"]["available_output_styles"], json!(["default"]));
    host.finish();
}

#[test]
fn sdk_08_the_output_of_a_background_command_can_be_read() {
    let home = Home::new();
    let call = r#"{tools: [{tool: Bash, input: {command: "echo one; echo two", run_in_background: true}}]}"#;
    let mut host = Host::start(&home, &format!("- {call}\n- Done."), &BYPASS);
    host.say("go");
    let lines = host.until("result");
    let started = lines.iter().find(|line| line["subtype"] == "task_started").unwrap();
    let task = started["task_id"].clone();
    if !lines.iter().any(|line| line["subtype"] == "task_notification") {
        while host.line().unwrap()["subtype"] != "task_notification" {}
    }
    let answer = host.request(&json!({"subtype": "get_task_output", "task_id": task}));
    let output = &answer["response"];
    assert!(output["output"].as_str().unwrap().contains("one\ntwo\n"), "{answer}");
    assert_eq!(output["truncated"], false);
    let answer = host.request(&json!({"subtype": "get_task_output", "task_id": "none"}));
    assert_eq!(answer["subtype"], "error", "{answer}");
    host.finish();
}

/// Runs a host with a mock server: sends these lines, and returns what was printed.
async fn with_mock(mock: &MockServer, args: &[&str], input: &[Value]) -> Vec<Value> {
    let home = Home::new();
    let text: String = input.iter().map(|line| format!("{line}\n")).collect();
    home.write("project/input.jsonl", text);
    let mut command = home.command(&[&STREAM[..], args].concat());
    command
        .stdin(std::fs::File::open(home.path("project/input.jsonl")).unwrap())
        .env("ANTHROPIC_BASE_URL", mock.origin())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let printed = parse_lines(&crate::home::stdout(&output));
    assert_eq!(output.status.code(), Some(0), "{} {printed:?}", stderr(&output));
    printed
}

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn request(request: &Value) -> Value {
    json!({"type": "control_request", "request_id": "r", "request": request})
}

#[tokio::test]
async fn sdk_08_beta_features_are_sent_where_the_service_has_them() {
    let mock = MockServer::start(Scenario::reply("Hi.")).await.unwrap();
    let args = ["--model", "claude-sonnet-4-5", "--betas", "context-1m-2025-08-07,other"];
    with_mock(&mock, &args, &[user("hi")]).await;
    assert_eq!(mock.calls()[0].header("anthropic-beta"), Some("context-1m-2025-08-07,other"));
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.");
    let args = ["-p", "hi", "--provider", "scripted:script.yaml", "--betas=other"];
    let output = home.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("--betas has no effect with a script"), "{}", stderr(&output));
}

#[tokio::test]
async fn sdk_08_the_host_changes_thinking_effort_and_model_by_settings() {
    let mock = MockServer::start(Scenario::reply("Hi.").looped()).await.unwrap();
    let input = [
        request(&json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 2_000})),
        request(&json!({"subtype": "apply_flag_settings", "settings": {"effortLevel": "low"}})),
        user("hi"),
    ];
    with_mock(&mock, &["--model", "claude-sonnet-4-5"], &input).await;
    let sent = mock.calls()[0].json.clone();
    assert_eq!(sent["thinking"], json!({"type": "enabled", "budget_tokens": 2_000}));
    assert_eq!(sent["output_config"]["effort"], "low", "{sent}");
    let settings = json!({"model": "opus", "alwaysThinkingEnabled": true});
    let input = [
        request(&json!({"subtype": "apply_flag_settings", "settings": {"hooks": {}}})),
        request(&json!({"subtype": "apply_flag_settings", "settings": settings})),
        user("hi"),
    ];
    let printed = with_mock(&mock, &["--thinking", "disabled"], &input).await;
    let refused = &printed[0]["response"];
    assert_eq!(refused["error_code"], "unsupported_request", "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("`hooks` cannot change"), "{refused}");
    let sent = mock.calls()[1].json.clone();
    assert_eq!(
        (&sent["model"], &sent["thinking"]["type"]),
        (&json!("claude-opus-5-5"), &json!("adaptive"))
    );
}

#[tokio::test]
async fn cli_03_models_have_short_names_and_thinking_has_flags() {
    for (args, model, thinking) in [
        (&["--model", "haiku"][..], "claude-haiku-5-5", Value::Null),
        (&["--model", "default"], "claude-sonnet-5-5", Value::Null),
        (
            &["--model", "sonnet", "--thinking", "adaptive"],
            "claude-sonnet-5-5",
            json!({"type": "adaptive"}),
        ),
        (
            &["--model", "claude-opus-4-5", "--max-thinking-tokens", "4096"],
            "claude-opus-4-5",
            json!({"type": "enabled", "budget_tokens": 4096}),
        ),
        (
            &["--thinking", "enabled", "--thinking-display", "omitted"],
            "claude-sonnet-5-5",
            json!({"type": "adaptive", "display": "omitted"}),
        ),
        (
            &["--settings", r#"{"model": "opus", "alwaysThinkingEnabled": true}"#],
            "claude-opus-5-5",
            json!({"type": "adaptive"}),
        ),
    ] {
        let mock = MockServer::start(Scenario::reply("Hi.")).await.unwrap();
        with_mock(&mock, args, &[user("hi")]).await;
        let sent = mock.calls()[0].json.clone();
        assert_eq!((&sent["model"], &sent["thinking"]), (&json!(model), &thinking), "{args:?}");
    }
}

#[tokio::test]
async fn cli_03_the_conversation_runs_as_an_agent() {
    let agents = json!({"poet": {"description": "Writes", "prompt": "You are a poet.",
        "tools": ["Read"], "model": "opus"}});
    let by_flag = ["--agents", &agents.to_string(), "--agent", "poet"].map(str::to_owned);
    let by_setting =
        ["--agents", &agents.to_string(), "--settings", r#"{"agent": "poet"}"#].map(str::to_owned);
    for args in [by_flag, by_setting] {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let mock = MockServer::start(Scenario::reply("Hi.")).await.unwrap();
        with_mock(&mock, &args, &[user("hi")]).await;
        let sent = mock.calls()[0].json.clone();
        assert!(
            sent["system"][0]["text"].as_str().unwrap().starts_with("You are a poet."),
            "{sent}"
        );
        assert_eq!(sent["model"], "claude-opus-5-5");
        let tools: Vec<_> =
            sent["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(tools, ["Read", "ReadOutput"]);
    }
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.");
    let agents = json!({"poet": {"description": "Writes", "prompt": "You are a poet.",
        "initialPrompt": "Read the plan."}, "lonely": {"description": "Alone", "prompt": "You work.",
        "isolation": "worktree"}})
    .to_string();
    home.write("project/script.yaml", "- {expect: {last: \"Read the plan.\"}, text: Hi.}");
    let run = |agent: &str| {
        let args =
            ["-p", "hi", "--provider", "scripted:script.yaml", "--agents", &agents, "--agent"];
        home.command(&[&args[..], &[agent]].concat()).output().unwrap()
    };
    let output = run("poet");
    assert_eq!(crate::home::stdout(&output).trim(), "Hi.", "{}", stderr(&output));
    let output = run("lonely");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("git worktree add"), "{}", stderr(&output));
    let args = ["-p", "hi", "--provider", "scripted:script.yaml", "--agent", "nobody"];
    let output = home.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no agent `nobody`; found: "), "{}", stderr(&output));
}

#[test]
fn sdk_08_servers_are_listed_before_the_first_message() {
    let home = Home::new();
    let servers = json!({"mcpServers": {"docs": {"command": "docs-server"}}}).to_string();
    let mut host = Host::start(&home, "- Hi.", &["--mcp-config", &servers]);
    let answer = host.request(&json!({"subtype": "mcp_status"}));
    let server = &answer["response"]["mcpServers"][0];
    assert_eq!(
        (&server["name"], &server["status"]),
        (&json!("docs"), &json!("pending")),
        "{answer}"
    );
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_nothing_to_interrupt() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- Two.", &[]);
    for _ in 0..2 {
        let answer = host.request(&json!({"subtype": "interrupt"}));
        assert_eq!(answer["response"], json!({"still_queued": []}));
    }
    host.say("one");
    assert_eq!(host.until("result").pop().unwrap()["result"], "One.");
    let answer = host.request(&json!({"subtype": "interrupt"}));
    assert_eq!(answer["response"], json!({"still_queued": []}), "between two turns");
    host.say("two");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Two.");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_input_that_is_not_utf8_or_very_long() {
    use std::io::Write as _;

    let home = Home::new();
    let mut host = Host::start(&home, "- Yes.", &[]);
    let mut line = br#"{"type":"user","message":{"role":"user","content":"caf"#.to_vec();
    line.extend_from_slice(b"\xe9\"}}\n");
    host.stdin.as_mut().unwrap().write_all(&line).unwrap();
    let (lines, code, errors) = host.finish();
    assert_eq!((lines.len(), code), (0, Some(1)), "{errors}");
    assert!(errors.contains("Error parsing streaming input line"), "{errors}");

    let mut host = Host::start(&home, "- Yes.", &[]);
    host.say(&"long ".repeat(100_000));
    assert_eq!(host.until("result").pop().unwrap()["result"], "Yes.");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn cli_03_results_tell_what_is_new_since_the_last() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- Two.", &[]);
    host.say("one");
    let first = host.until("result").pop().unwrap();
    host.say("two");
    let second = host.until("result").pop().unwrap();
    assert_eq!(first["modelUsage"], first["model_usage_since_last_result"]);
    let output = |result: &Value, key: &str| result[key]["scripted"]["outputTokens"].as_u64();
    let all = output(&second, "modelUsage").unwrap();
    let new = output(&second, "model_usage_since_last_result").unwrap();
    assert_eq!(all, new + output(&first, "modelUsage").unwrap(), "{second}");
    for key in ["ttft_stream_ms", "time_to_request_ms"] {
        assert!(first[key].is_u64(), "{key}: {first}");
    }
    host.finish();
}

#[test]
fn sdk_08_a_mode_that_does_not_exist() {
    let home = Home::new();
    let mut host = Host::start(&home, &format!("- {TOUCH}\n- Hi."), &[]);
    for (mode, code) in [
        ("yolo", "invalid_mode"),
        ("bypassPermissions", "bypass_not_launched"),
        ("", "invalid_mode"),
    ] {
        let answer = host.request(&json!({"subtype": "set_permission_mode", "mode": mode}));
        assert_eq!(answer["error_code"], code, "{answer}");
    }
    let answer = host.request(&json!({"subtype": "set_permission_mode"}));
    assert_eq!(answer["error_code"], "invalid_request", "{answer}");
    host.finish();
}

#[test]
fn sdk_08_a_repeated_initialize_in_a_turn_answers_with_the_state() {
    let home = Home::new();
    let (script, fifo) = long_command(&home);
    let mut host = Host::start(&home, &script, &BYPASS);
    host.say("go");
    std::fs::read_to_string(&fifo).unwrap();
    let answer = host.request(&json!({"subtype": "initialize"}));
    assert_eq!(answer["response"]["session_state"], "running");
    assert!(!answer["response"]["commands"].as_array().unwrap().is_empty());
    host.request(&json!({"subtype": "interrupt"}));
    host.until("result");
    host.finish();
}

#[test]
fn cli_03_errors_have_the_words_that_hosts_search_for() {
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.\n- Hi.");
    let script = ["--provider", "scripted:script.yaml"];
    let id = "00000000-0000-4000-8000-00000000000a";
    let created = home.command(&[&script[..], &["-p", "hi", "--session-id", id]].concat());
    assert!({ created }.output().unwrap().status.success());
    let stream = ["--output-format", "stream-json"];
    for (args, code, text) in [
        (
            &["-p", "hi", "--session-id", "x"][..],
            2,
            "Error: Invalid session ID. Must be a valid UUID.",
        ),
        (
            &["-p", "hi", "--session-id", id],
            1,
            &*format!("Error: Session ID {id} is already in use."),
        ),
        (&["-p", "hi", "-r", "missing"], 1, "No conversation found with session ID: missing"),
        (
            &["-p", "hi", "-r", id, "--session-id", id],
            2,
            "Error: --session-id can only be used with",
        ),
        (&["-p", "hi", "-r"], 2, "Error: --resume requires a valid session ID"),
        (
            &["-p", ""],
            2,
            "Error: Input must be provided either through stdin or as a prompt argument",
        ),
        (&["--frobnicate"], 2, "error: unknown option '--frobnicate'"),
        (&["--outptu-format", "json"], 2, "(Did you mean --output-format?)"),
        (
            &["-p", "hi", stream[0], stream[1]],
            2,
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            &["-p", "--input-format", "stream-json"],
            2,
            "Error: --input-format=stream-json requires output-format=stream-json.",
        ),
        (
            &["-p", "hi", "--include-partial-messages"],
            2,
            "Error: --include-partial-messages requires --print and --output-format=stream-json.",
        ),
        (&["-p", "hi", "--max-budget-usd", "0"], 2, "--max-budget-usd must be more than 0"),
        (&["-p", "hi", "--plugin-dir", "missing"], 2, "--plugin-dir: "),
    ] {
        let output = home.command(&[&script[..], args].concat()).output().unwrap();
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
        assert!(errors.contains(text), "{args:?}: {errors}");
    }
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.");
    let output = home.command(&[&script[..], &["-p", "hi", "-c"]].concat()).output().unwrap();
    assert!(stderr(&output).contains("No conversation found to continue"), "{}", stderr(&output));
}

#[test]
fn cli_03_options_take_several_values() {
    let home = Home::new();
    let script = "- tools: [{tool: Bash, input: {command: touch a}}, {tool: Bash, input: {command: touch b}}, {tool: Bash, input: {command: touch c}}]\n- Done.";
    home.write("project/script.yaml", script);
    let args = [
        "-p",
        "hi",
        "--provider",
        "scripted:script.yaml",
        "--allowedTools",
        "Bash(touch a)",
        "Bash(touch b)",
    ];
    let output = home.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let made = ["a", "b", "c"].map(|name| home.path("project").join(name).exists());
    assert_eq!(made, [true, true, false]);
}

#[tokio::test]
async fn cli_03_the_key_can_come_from_a_command_that_is_asked_again_when_it_expired() {
    let refused = Reply::new().error(Failure::status(401, "expired"));
    let scenario = Scenario::reply(refused).then("Hi.");
    let mock = MockServer::start(scenario).await.unwrap();
    let home = Home::new();
    home.write("key.sh", "echo x >> \"$0.calls\"; echo sk-helper-$(wc -l < \"$0.calls\")");
    let helper = format!("sh {}", home.path("key.sh").display());
    home.write("home/.robota/settings.json", json!({"apiKeyHelper": helper}));
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", origin.as_str())];
    let args = ["-p", "hi", "--output-format", "json"];
    let output = home.robota(&args, &variables).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let keys: Vec<_> =
        mock.calls().iter().map(|call| call.header("x-api-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["sk-helper-1", "sk-helper-2"]);
    assert_eq!(mock.calls()[1].header("authorization"), Some("Bearer sk-helper-2"));
    home.write("home/.robota/settings.json", json!({"apiKeyHelper": "echo no >&2; exit 3"}));
    let output = home.robota(&args, &variables).await;
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("apiKeyHelper failed"), "{}", stderr(&output));
}

#[tokio::test]
async fn cli_03_retries_can_be_limited_by_a_variable() {
    let busy = Reply::new().error(Failure::status(529, "Overloaded"));
    let mock = MockServer::start(Scenario::reply(busy).looped()).await.unwrap();
    let home = Home::new();
    let origin = mock.origin();
    let variables = [
        ("ANTHROPIC_BASE_URL", origin.as_str()),
        ("ANTHROPIC_API_KEY", "sk-1"),
        ("CLAUDE_CODE_MAX_RETRIES", "0"),
    ];
    let output = home.robota(&["-p", "hi"], &variables).await;
    assert_eq!((output.status.code(), mock.calls().len()), (Some(1), 1), "{}", stderr(&output));
}

#[tokio::test]
async fn cli_03_the_setting_fallback_model_is_used_while_the_first_is_overloaded() {
    let busy = Reply::new().error(Failure::status(529, "Overloaded"));
    let mock = MockServer::start(Scenario::reply(busy).then("Second.")).await.unwrap();
    let home = Home::new();
    home.write("home/.robota/settings.json", json!({"fallbackModel": ["haiku", "opus"]}));
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", origin.as_str()), ("ANTHROPIC_API_KEY", "sk-1")];
    let output = home.robota(&["-p", "hi"], &variables).await;
    assert_eq!(crate::home::stdout(&output), "Second.\n", "{}", stderr(&output));
    assert_eq!(mock.calls()[1].json["model"], "claude-haiku-5-5");
}

#[tokio::test]
async fn core_22_a_run_says_why_a_fallback_model_is_not_used() {
    let busy = Reply::new().error(Failure::status(529, "Overloaded"));
    let mock = MockServer::start(Scenario::reply(busy).looped()).await.unwrap();
    let home = Home::new();
    let hook = json!({"type": "command", "command": "echo too small >&2; exit 2"});
    let settings = json!({"fallbackModel": ["haiku"],
        "hooks": {"PreModelSwitch": [{"matcher": ".*haiku.*", "hooks": [hook]}]}});
    home.write("home/.robota/settings.json", settings);
    let origin = mock.origin();
    let variables = [
        ("ANTHROPIC_BASE_URL", origin.as_str()),
        ("ANTHROPIC_API_KEY", "sk-1"),
        ("CLAUDE_CODE_MAX_RETRIES", "0"),
    ];
    let why = "the fallback model claude-haiku-5-5 is not used: PreModelSwitch hook: too small";
    let output = home.robota(&["-p", "hi"], &variables).await;
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).matches(why).count(), 1, "{}", stderr(&output));
    let args = ["-p", "hi", "--output-format", "stream-json", "--verbose"];
    let output = home.robota(&args, &variables).await;
    let printed = crate::home::stdout(&output);
    let lines: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["subtype"] == "informational").unwrap();
    assert_eq!((&line["content"], &line["level"]), (&json!(why), &json!("warning")), "{line}");
    assert_eq!(line["prevent_continuation"], false, "{line}");
    assert_eq!(line.get("prompt_submit_outcome"), None, "{line}");
}

#[test]
fn sdk_08_the_text_of_agents_is_printed_on_request() {
    let task = "{tools: [{tool: Agent, input: {description: Look, prompt: Look around.}}]}";
    let script = format!("- {task}\n- Inside text.\n- All done.");
    for (args, initialize, expected) in [
        (&[][..], json!({"subtype": "initialize"}), 0),
        (&[], json!({"subtype": "initialize", "forwardSubagentText": true}), 1),
        (&["--forward-subagent-text"], json!({"subtype": "initialize"}), 1),
    ] {
        let home = Home::new();
        let args = [&BYPASS[..], args].concat();
        let mut host = Host::start(&home, &script, &args);
        host.request(&initialize);
        host.say("go");
        let lines = host.until("result");
        let inside = lines.iter().filter(|line| {
            !line["parent_tool_use_id"].is_null()
                && line["message"]["content"][0]["text"] == "Inside text."
        });
        assert_eq!(inside.count(), expected, "{args:?} {initialize} {lines:?}");
        assert!(lines[0]["tools"].as_array().unwrap().contains(&json!("Task")), "{}", lines[0]);
        host.finish();
    }
}

#[test]
fn sdk_08_the_first_event_of_a_streamed_turn_names_its_message() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One two.", &["--include-partial-messages"]);
    let uuid = "00000000-0000-4000-8000-000000000001";
    host.send(&json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": "hi"}}));
    let lines = host.until("result");
    let events: Vec<_> = lines.iter().filter(|line| line["type"] == "stream_event").collect();
    assert_eq!(events[0]["user_message_uuid"], uuid, "{}", events[0]);
    assert_eq!(events[0]["user_message_uuids"], json!([uuid]));
    assert!(events[1..].iter().all(|event| event.get("user_message_uuid").is_none()));
    host.finish();
}
