//! Control requests of a host about files, settings and hooks, and modes that tools set.

use std::os::unix::fs::MetadataExt as _;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::{Home, files_with, stderr, stdout};
use crate::host::{Host, kinds};

fn ok(host: &mut Host, request: &Value) -> Value {
    let answer = host.request(request);
    assert_eq!(answer["subtype"], "success", "{request}: {answer}");
    answer["response"].clone()
}

#[test]
fn sdk_08_files_that_match_what_a_user_types() {
    let home = Home::new();
    home.write("project/src/parser.rs", "").write("project/src/private.rs", "");
    home.write("project/.gitignore", "target/").write("project/target/parser.rs", "");
    let mut host = Host::start(&home, "- Hi.", &["--disallowedTools", "Read(src/private.rs)"]);
    let files = |host: &mut Host, query: &str| {
        let answer = ok(host, &json!({"subtype": "file_suggestions", "query": query}));
        let paths = answer["suggestions"].as_array().unwrap().iter();
        paths.map(|it| it["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(files(&mut host, "srcpars"), ["src/parser.rs"]);
    assert_eq!(files(&mut host, "private"), [""; 0], "a rule denies it");
    host.say("hi");
    host.until("result");
    assert_eq!(files(&mut host, "notes"), ["notes.txt"]);
    host.finish();
}

const EDIT: &str =
    "{tools: [{tool: Edit, input: {file_path: notes.txt, old_string: hello, new_string: bye}}]}";

/// Returns when a file was changed, as hosts send it.
fn mtime(home: &Home, name: &str) -> u64 {
    let file = std::fs::metadata(home.path(name)).unwrap();
    u64::try_from(file.mtime() * 1_000 + file.mtime_nsec() / 1_000_000).unwrap()
}

#[test]
fn sdk_08_a_file_that_the_host_has_seen_read_can_be_edited() {
    for (age, in_session, edited) in [
        (None, false, false),
        (Some(0), false, true),
        (Some(0), true, true),
        (Some(1), true, false),
    ] {
        let home = Home::new();
        let script = format!("- Hi.\n- {EDIT}\n- Done.");
        let mut host = Host::start(&home, &script, &BYPASS);
        let seed = |host: &mut Host| {
            if let Some(age) = age {
                let mtime = mtime(&home, "project/notes.txt") - age;
                let request = json!({"subtype": "seed_read_state", "path": "notes.txt",
                    "mtime": mtime});
                assert_eq!(ok(host, &request), json!({}));
            }
        };
        if !in_session {
            seed(&mut host);
        }
        host.say("hi");
        host.until("result");
        if in_session {
            seed(&mut host);
        }
        host.say("edit it");
        host.until("result");
        let text = std::fs::read_to_string(home.path("project/notes.txt")).unwrap();
        assert_eq!(text == "bye\n", edited, "{age:?} {in_session}: {text}");
        host.finish();
    }
}

#[test]
fn sdk_08_settings_by_source() {
    let home = Home::new();
    home.write(
        "home/.robota/settings.json",
        json!({"effortLevel": "low", "permissions": {"deny": ["Read(a)"]}}),
    );
    home.write("project/.robota/settings.json", json!({"permissions": {"deny": ["Read(b)"]}}));
    let given = json!({"effortLevel": "high"}).to_string();
    let mut host = Host::start(&home, "- Hi.", &["--settings", &given, "--model", "m"]);
    let settings = ok(&mut host, &json!({"subtype": "get_settings"}));
    assert_eq!(settings["effective"]["effortLevel"], "high");
    assert_eq!(settings["effective"]["permissions"]["deny"], json!(["Read(a)", "Read(b)"]));
    assert_eq!(settings["applied"], json!({"model": "m", "effort": "high"}));
    assert_eq!(
        settings["sources"],
        json!([
            {"source": "userSettings",
                "settings": {"effortLevel": "low", "permissions": {"deny": ["Read(a)"]}}},
            {"source": "projectSettings", "settings": {"permissions": {"deny": ["Read(b)"]}}},
            {"source": "flagSettings", "settings": {"effortLevel": "high"}},
        ]),
        "lowest first: {settings}"
    );
    assert!(settings.get("errors").is_none(), "{settings}");
    host.finish();
    home.write("home/.robota/settings.json", r#"{"effortLevel": 5}"#);
    let mut host = Host::start(&home, "- Hi.", &[]);
    let error = &ok(&mut host, &json!({"subtype": "get_settings"}))["errors"][0];
    assert_eq!(error["path"], "effortLevel", "{error}");
    assert!(error["file"].as_str().unwrap().ends_with("settings.json"), "{error}");
    host.finish();
}

#[test]
fn sdk_08_the_host_saves_the_output_style_and_the_effort() {
    let home = Home::new();
    home.write("project/.robota/output-styles/terse.md", "---\nname: terse\n---\nBe short.");
    let update = |source: &str, key: &str, value: Value| {
        let settings = json!({key: value});
        json!({"subtype": "update_settings", "source": source, "settings": settings})
    };
    let mut host = Host::start(&home, "- Hi.", &["--trust"]);
    assert_eq!(ok(&mut host, &update("userSettings", "effortLevel", json!("high"))), json!({}));
    assert_eq!(ok(&mut host, &update("localSettings", "outputStyle", json!("terse"))), json!({}));
    for (request, code) in [
        (update("userSettings", "outputStyle", json!("terse")), "unsupported_request"),
        (update("localSettings", "permissions", json!({})), "unsupported_request"),
        (update("projectSettings", "outputStyle", json!("terse")), "invalid_request"),
        (update("localSettings", "outputStyle", json!("missing")), "invalid_request"),
        (update("userSettings", "effortLevel", json!("max")), "invalid_request"),
        (update("userSettings", "effortLevel", Value::Null), "invalid_request"),
        (
            json!({"subtype": "apply_flag_settings", "settings": {"effortLevel": "huge"}}),
            "invalid_request",
        ),
    ] {
        assert_eq!(host.request(&request)["error_code"], code, "{request}");
    }
    host.finish();
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(home.path(name)).unwrap()).unwrap()
    };
    assert_eq!(read("home/.robota/settings.json"), json!({"effortLevel": "high"}));
    assert_eq!(read("project/.robota/settings.local.json"), json!({"outputStyle": "terse"}));
    let mut host = Host::start(&home, "- Hi.", &["--trust", "--setting-sources", "project"]);
    let refused = host.request(&update("userSettings", "effortLevel", json!("low")));
    assert!(refused["error"].as_str().unwrap().contains("--setting-sources"), "{refused}");
    host.finish();
}

#[test]
fn sdk_08_hooks_are_listed_with_their_sources() {
    let home = Home::new();
    home.write(
        "home/.robota/settings.json",
        json!({"hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "true", "async": true,
                "statusMessage": "Checking"}]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http",
                "url": "http://localhost/\u{7}", "timeout": 5}]}],
        }}),
    );
    let mut host = Host::start(&home, "- Hi.", &[]);
    let hooks = json!({"Stop": [{"matcher": null, "hookCallbackIds": ["hook_0"]}]});
    ok(&mut host, &json!({"subtype": "initialize", "hooks": hooks}));
    let listing = ok(&mut host, &json!({"subtype": "get_hooks_listing"}));
    let events = listing["events"].as_array().unwrap();
    let counts: Vec<_> = events.iter().map(|it| (&it["name"], &it["hookCount"])).collect();
    assert_eq!(counts, [(&json!("PreToolUse"), &json!(1)), (&json!("Stop"), &json!(2))]);
    let rows = listing["hooks"].as_array().unwrap();
    assert_eq!(
        (&rows[0]["matcher"], &rows[0]["type"], &rows[0]["commandText"], &rows[0]["timeout"]),
        (&json!("Bash"), &json!("http"), &json!("http://localhost/\\u{7}"), &json!(5.0))
    );
    assert_eq!(
        (&rows[0]["source"], &rows[0]["contentLabel"]),
        (&json!("userSettings"), &json!("URL"))
    );
    assert_eq!(
        (&rows[1]["displayText"], &rows[1]["commandText"]),
        (&json!("Checking"), &json!("true"))
    );
    assert_eq!(rows[1]["runsInBackground"], true);
    assert_eq!((&rows[2]["source"], &rows[2]["type"]), (&json!("sessionHook"), &json!("callback")));
    assert_eq!(listing["policy"]["allDisabled"], false);
    assert!(listing["eventCatalog"].as_array().unwrap().len() > 10);
    host.finish();
}

#[test]
fn sdk_08_callbacks_are_listed_with_the_timeouts_that_they_have() {
    let home = Home::new();
    let mut host = Host::start(&home, "- Hi.", &[]);
    let own = json!({"hookCallbackIds": ["own"], "timeout": 90});
    let hooks = json!({
        "Stop": [{"hookCallbackIds": ["a"]}],
        "UserPromptSubmit": [{"hookCallbackIds": ["b"]}],
        "SessionEnd": [{"hookCallbackIds": ["c"]}, own],
    });
    ok(&mut host, &json!({"subtype": "initialize", "hooks": hooks}));
    let listing = ok(&mut host, &json!({"subtype": "get_hooks_listing"}));
    let timeout = |id: &str| {
        let rows = listing["hooks"].as_array().unwrap();
        rows.iter().find(|row| row["commandText"] == id).unwrap()["timeout"].as_f64().unwrap()
    };
    assert_eq!(["a", "b", "c", "own"].map(timeout), [60.0, 30.0, 1.5, 60.0]);
    host.finish();
}

#[test]
fn sdk_08_requests_that_are_not_supported_are_named() {
    let home = Home::new();
    let mut host = Host::start(&home, "- Hi.", &[]);
    for request in [
        json!({"subtype": "mcp_call", "tool": "mcp__a__b", "input_files": []}),
        json!({"subtype": "mcp_call", "tool": "mcp__a__b", "expires_at": "2026-01-01T00:00:00Z"}),
        json!({"subtype": "set_mcp_permission_mode_override", "serverName": "a", "mode": "auto"}),
        json!({"subtype": "reload_plugins"}),
    ] {
        let answer = host.request(&request);
        assert_eq!(answer["error_code"], "unsupported_request", "{answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.starts_with(request["subtype"].as_str().unwrap()), "{error}");
        assert!(error.contains("not supported"), "{error}");
    }
    let nothing = host.request(&json!({"subtype": "background_tasks"}));
    assert_eq!(nothing["response"], json!({"backgrounded": false}), "nothing runs");
    let clear =
        json!({"subtype": "set_mcp_permission_mode_override", "serverName": "a", "mode": null});
    assert_eq!(host.request(&clear)["response"], json!({}), "there is none to remove");
    host.finish();
}

const ENTER: &str = "{tools: [{tool: EnterPlanMode, input: {}}]}";

#[test]
fn sdk_08_a_mode_that_a_tool_sets_is_announced() {
    let home = Home::new();
    let plan = "{tools: [{tool: ExitPlanMode, input: {plan: '# Plan'}}]}";
    let script = format!("- {ENTER}\n- {plan}\n- Done.\n- Bye.");
    let mut host = Host::start(&home, &script, &["--permission-prompt-tool", "stdio"]);
    host.say("go");
    let asked = host.until("control_request");
    let modes = |lines: &[Value]| -> Vec<Value> {
        let changed = lines.iter().filter(|line| line["permissionMode"].is_string());
        changed.map(|line| line["permissionMode"].clone()).collect()
    };
    assert_eq!(modes(&asked), ["default", "plan"], "{:?}", kinds(&asked));
    let question = asked.last().unwrap();
    assert_eq!(question["request"]["tool_name"], "ExitPlanMode");
    host.answer(question, &json!({"behavior": "allow"}));
    assert_eq!(modes(&host.until("result")), ["default"]);
    host.say("bye");
    assert_eq!(host.until("result")[0]["permissionMode"], "default");
    host.finish();
}

#[test]
fn sdk_08_plan_mode_does_not_lead_out_of_dont_ask() {
    let home = Home::new();
    let plan = "{tools: [{tool: ExitPlanMode, input: {plan: '# Plan'}}]}";
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let script = format!("- {ENTER}\n- {plan}\n- {touch}\n- Done.");
    let args = ["--permission-prompt-tool", "stdio", "--permission-mode", "dontAsk"];
    let mut host = Host::start(&home, &script, &args);
    host.say("go");
    let lines = host.until("result");
    assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{:?}", kinds(&lines));
    // Plan mode does not begin, so the plan needs no approval; the command does.
    let denials = lines.last().unwrap()["permission_denials"].as_array().unwrap();
    let denied: Vec<_> = denials.iter().map(|denial| &denial["tool_name"]).collect();
    assert_eq!(denied, ["Bash"]);
    assert!(!home.path("project/made").exists());
    host.finish();
}

#[test]
fn sdk_08_an_approved_plan_asks_no_more_than_the_mode_before_it() {
    let home = Home::new();
    let plan = "{tools: [{tool: ExitPlanMode, input: {plan: '# Plan'}}]}";
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let script = format!("- Hi.\n- {plan}\n- {touch}\n- Done.");
    let mut host = Host::start(&home, &script, &["--permission-prompt-tool", "stdio"]);
    host.say("hello");
    host.until("result");
    for mode in ["dontAsk", "plan"] {
        host.request(&json!({"subtype": "set_permission_mode", "mode": mode}));
    }
    host.say("go");
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["tool_name"], "ExitPlanMode");
    host.answer(&asked, &json!({"behavior": "allow"}));
    let lines = host.until("result");
    assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{:?}", kinds(&lines));
    assert!(lines.iter().any(|line| line["permissionMode"] == "dontAsk"), "{lines:?}");
    let denials = lines.last().unwrap()["permission_denials"].as_array().unwrap();
    assert_eq!((denials.len(), home.path("project/made").exists()), (1, false));
    host.finish();
}

#[test]
fn cli_03_results_count_the_searches_of_the_provider() {
    let home = Home::new();
    let one = "{text: One., usage: {input: 5, output: 1, web_searches: 2}}";
    let mut host = Host::start(&home, &format!("- {one}\n- {one}"), &[]);
    let searches = |result: &Value| {
        let of_model = |key: &str| result[key]["scripted"]["webSearchRequests"].clone();
        (
            of_model("modelUsage"),
            of_model("model_usage_since_last_result"),
            result["usage"]["server_tool_use"]["web_search_requests"].clone(),
        )
    };
    host.say("one");
    let result = host.until("result").pop().unwrap();
    assert_eq!(searches(&result), (json!(2), json!(2), json!(2)), "{result}");
    host.say("two");
    let result = host.until("result").pop().unwrap();
    assert_eq!(searches(&result), (json!(4), json!(2), json!(2)), "{result}");
    host.finish();
}

#[tokio::test]
async fn a_key_that_the_helper_prints_later_is_never_shown() {
    let refused = Reply::new().error(Failure::status(401, "expired"));
    let print = Reply::new().tool("Bash", json!({"command": "cat ../key.sh.key"}));
    let echoed = Reply::new().error(Failure::status(400, "bad key sk-helper-secret-2"));
    let scenario = Scenario::reply(refused).then(print).then(echoed);
    let mock = MockServer::start(scenario).await.unwrap();
    let home = Home::new();
    let script = "echo x >> \"$0.calls\"; \
        echo sk-helper-secret-$(wc -l < \"$0.calls\") | tee \"$0.key\"";
    home.write("key.sh", script);
    let helper = format!("sh {}", home.path("key.sh").display());
    home.write("home/.robota/settings.json", json!({"apiKeyHelper": helper}));
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", origin.as_str())];
    let args = ["-p", "hi", "--output-format", "stream-json", "--verbose", BYPASS[0], "--debug"];
    let output = home.robota(&args, &variables).await;
    assert_eq!(mock.calls()[1].header("x-api-key"), Some("sk-helper-secret-2"));
    let sent = mock.calls()[2].json["messages"].to_string();
    assert!(sent.contains("[REDACTED]"), "{sent}");
    for text in [&stdout(&output), &stderr(&output), &sent] {
        assert!(!text.contains("sk-helper-secret-2"), "{text}");
    }
    assert!(stdout(&output).contains("bad key [REDACTED]"), "{}", stdout(&output));
    let kept = files_with("sk-helper-secret-2", &home.path(""));
    assert_eq!(kept, [home.path("key.sh.key")]);
}
