//! Events of hooks about what changes in a session: commands that become prompts, the to-do list, the
//! working directory, settings, and a user who does not come back.

use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::Home;
use crate::host::Host;

/// Configures a command at an event.
fn with_hook(event: &str, matcher: &str, command: &str) -> Home {
    let home = Home::new();
    let hooks = json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {event: hooks}}));
    home
}

/// Returns what hooks received that end with `cat >> ../seen.jsonl; echo >> ../seen.jsonl`.
fn received(home: &Home) -> Vec<Value> {
    let text = std::fs::read_to_string(home.path("seen.jsonl")).unwrap_or_default();
    // What a hook receives may end with a line feed of its own.
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

const SEE: &str = "cat >> ../seen.jsonl; echo >> ../seen.jsonl";

/// Returns the result of the next prompt.
fn ask(host: &mut Host, prompt: &str) -> Value {
    host.say(prompt);
    host.until("result").pop().unwrap()
}

/// Starts a host with callbacks at an event.
fn with_callback(home: &Home, script: &str, args: &[&str], event: &str) -> Host {
    let mut host = Host::start(home, script, args);
    let hooks = json!({event: [{"hookCallbackIds": ["h-1"]}]});
    let answer = host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["response"]["unsupported_hook_events"], json!([]), "{event}");
    host
}

/// Waits for a callback, checks its event, and answers it. Returns its input.
fn call_back(host: &mut Host, event: &str, answer: &Value) -> Value {
    let request = host.until("control_request").pop().unwrap();
    assert_eq!(request["request"]["subtype"], "hook_callback", "{request}");
    let input = request["request"]["input"].clone();
    assert_eq!(input["hook_event_name"], event);
    host.answer(&request, answer);
    input
}

fn with_skill(home: &Home) {
    let text = "---\ndescription: Ships it\n---\nShip $0.";
    home.write("home/.claude/skills/ship/SKILL.md", text);
}

#[test]
fn core_22_hooks_decide_about_commands_that_become_prompts() {
    let context = json!({"hookSpecificOutput": {"hookEventName": "UserPromptExpansion",
        "additionalContext": "It is Friday."}});
    for (matcher, command, expected) in [
        ("ship", "echo 'not today' >&2; exit 2".to_owned(), "UserPromptExpansion hook: not today"),
        ("ship", "kill -9 $$".to_owned(), "UserPromptExpansion hook: "),
        ("other", "exit 2".to_owned(), "Plain."),
        ("ship", format!("{SEE}; echo 'It is Friday.'"), "With context."),
        ("", format!("echo '{context}'"), "With context."),
    ] {
        let home = with_hook("UserPromptExpansion", matcher, &command);
        with_skill(&home);
        let script = match expected {
            "With context." => "- {expect: {last: It is Friday.}, text: With context.}\n- Plain.",
            _ => "- {expect: {last: Ship it.}, text: Plain.}\n- Plain.",
        };
        let mut host = Host::start(&home, script, &[]);
        let result = ask(&mut host, "/ship it now");
        let text = result["result"].as_str().unwrap();
        assert!(text.starts_with(expected), "{matcher} {command}: {text}");
        let blocked = expected.starts_with("UserPrompt");
        assert_eq!(result["is_error"], blocked, "{result}");
        assert_eq!(result["num_turns"], u64::from(!blocked), "a blocked command asks no model");
        if command.starts_with("cat") {
            // Only commands that become prompts have the event.
            ask(&mut host, "/context");
            ask(&mut host, "ship it");
            let [seen]: [Value; 1] = received(&home).try_into().unwrap();
            assert_eq!(seen["expansion_type"], "slash_command");
            assert_eq!(
                (&seen["command_name"], &seen["command_args"]),
                (&json!("ship"), &json!("it now"))
            );
            assert_eq!(seen["command_source"], "userSettings");
            assert_eq!(seen["prompt"], "/ship it now");
        }
        host.finish();
    }
}

#[test]
fn core_22_a_host_blocks_a_command_before_it_becomes_a_prompt() {
    let home = Home::new();
    with_skill(&home);
    let mut host = with_callback(&home, "- Never.", &[], "UserPromptExpansion");
    host.say("/ship it");
    let block = json!({"decision": "block", "reason": "closed"});
    let input = call_back(&mut host, "UserPromptExpansion", &block);
    assert_eq!((&input["command_name"], &input["command_args"]), (&json!("ship"), &json!("it")));
    let result = host.until("result").pop().unwrap();
    assert_eq!(result["result"], "UserPromptExpansion hook: closed");
    host.finish();
}

fn todos(items: &[(&str, &str)]) -> String {
    let items: Vec<_> = items
        .iter()
        .map(|(text, status)| format!("{{content: {text}, status: {status}}}"))
        .collect();
    format!("- {{tools: [{{tool: TodoWrite, input: {{todos: [{}]}}}}]}}\n", items.join(", "))
}

#[test]
fn core_22_hooks_see_what_is_added_to_the_to_do_list_and_what_is_done() {
    let settings = json!({"hooks": {
        "TaskCreated": [{"hooks": [{"type": "command", "command": SEE}]}],
        "TaskCompleted": [{"hooks": [{"type": "command", "command": SEE}]}],
    }});
    let home = Home::new();
    home.write("home/.robota/settings.json", settings);
    let script = [
        todos(&[("Write", "pending"), ("Test", "pending")]),
        todos(&[("Plan", "completed"), ("Write", "completed"), ("Test", "in_progress")]),
    ];
    let mut host = Host::start(&home, &format!("{}- Done.\n", script.concat()), &[]);
    let result = ask(&mut host, "go");
    assert_eq!(result["result"], "Done.");
    let session = result["session_id"].as_str().unwrap().to_owned();
    host.finish();
    let seen = |home: &Home| -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let of = |it: &Value| {
            (text(&it["hook_event_name"]), text(&it["task_id"]), text(&it["task_subject"]))
        };
        received(home).iter().map(of).collect()
    };
    let event =
        |name: &str, id: &str, text: &str| (name.to_owned(), id.to_owned(), text.to_owned());
    let mut expected = vec![
        event("TaskCreated", "1", "Write"),
        event("TaskCreated", "2", "Test"),
        event("TaskCreated", "3", "Plan"),
        event("TaskCompleted", "3", "Plan"),
        event("TaskCompleted", "1", "Write"),
    ];
    assert_eq!(seen(&home), expected);
    // A session that is resumed knows its list.
    let script = todos(&[("Write", "completed"), ("Test", "completed"), ("Ship", "pending")]);
    let mut host =
        Host::start(&home, &format!("{script}- Done.\n"), &[&format!("--resume={session}")]);
    ask(&mut host, "continue");
    host.finish();
    expected.extend([event("TaskCompleted", "2", "Test"), event("TaskCreated", "4", "Ship")]);
    assert_eq!(seen(&home), expected);
}

#[test]
fn core_22_a_hook_keeps_the_to_do_list_as_it_was() {
    for (event, command) in [
        ("TaskCreated", "grep -q Deploy && { echo 'no deployment' >&2; exit 2; }; true"),
        ("TaskCompleted", "echo 'no tests yet' >&2; exit 2"),
        ("TaskCompleted", "kill -9 $$"),
    ] {
        let home = with_hook(event, "", command);
        let second = match event {
            "TaskCreated" => [("Write", "pending"), ("Deploy", "pending")],
            _ => [("Write", "completed"), ("Test", "pending")],
        };
        let last = format!("- {{expect: {{last: {event} hook}}, text: Refused.}}\n");
        let script = todos(&[("Write", "pending")]) + &todos(&second) + &last;
        let mut host = Host::start(&home, &script, &[]);
        host.say("go");
        let lines = host.until("result");
        assert_eq!(lines.last().unwrap()["result"], "Refused.", "{event} {command}");
        let result = ask(&mut host, "/todos");
        assert_eq!(result["result"], "☐ Write", "{event} {command}");
        host.finish();
    }
}

#[test]
fn core_22_a_host_refuses_an_item_of_the_to_do_list() {
    let home = Home::new();
    let script = todos(&[("Deploy", "pending")])
        + "- {expect: {last: 'TaskCreated hook: not now'}, text: Refused.}\n";
    let mut host = with_callback(&home, &script, &[], "TaskCreated");
    host.say("go");
    let block = json!({"decision": "block", "reason": "not now"});
    let input = call_back(&mut host, "TaskCreated", &block);
    assert_eq!((&input["task_id"], &input["task_subject"]), (&json!("1"), &json!("Deploy")));
    assert_eq!(host.until("result").pop().unwrap()["result"], "Refused.");
    host.finish();
}

#[test]
fn core_22_hooks_see_a_new_working_directory_before_the_next_command() {
    let command = format!("{SEE}; echo 'export PLACE=inside' >> \"$CLAUDE_ENV_FILE\"");
    let home = with_hook("CwdChanged", "", &command);
    let bash =
        |command: &str| format!("- {{tools: [{{tool: Bash, input: {{command: '{command}'}}}}]}}\n");
    let script = bash("mkdir sub")
        + &bash("cd sub")
        + &bash("cd /")
        + &bash("cd . && echo at $PLACE")
        + "- {expect: {last: at inside}, text: Done.}\n";
    let mut host = Host::start(&home, &script, &BYPASS);
    assert_eq!(ask(&mut host, "go")["result"], "Done.");
    host.finish();
    let [seen]: [Value; 1] = received(&home).try_into().unwrap();
    let project = home.path("project").canonicalize().unwrap();
    assert_eq!(seen["new_cwd"], json!(project.join("sub")));
    assert_eq!(seen["old_cwd"], json!(home.path("project")));
}

/// Returns the request that writes the effort of the user.
fn effort(level: &str) -> Value {
    json!({"subtype": "update_settings", "source": "userSettings",
        "settings": {"effortLevel": level}})
}

#[test]
fn core_22_hooks_decide_about_changes_of_settings_and_skills() {
    let blocks = format!("{SEE}; echo 'ask the owner' >&2; exit 2");
    for (matcher, command, blocked) in [
        ("user_settings|skills", blocks.as_str(), true),
        ("", "kill -9 $$", true),
        ("local_settings", "exit 2", false),
        ("user_settings", SEE, false),
    ] {
        let home = with_hook("ConfigChange", matcher, command);
        let before = std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
        let script = "- Hi.\n- {expect: {last: /ship it}, text: Unknown.}";
        let mut host = Host::start(&home, script, &[]);
        // Hooks run with the session.
        let early = host.request(&effort("low"));
        assert!(early["error"].as_str().unwrap().contains("before the first message"), "{early}");
        ask(&mut host, "hi");
        let answer = host.request(&effort("high"));
        let saved = std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
        assert_eq!(answer["subtype"] == "error", blocked, "{matcher} {command}: {answer}");
        assert_eq!(saved == before, blocked, "{matcher} {command}: {saved}");
        if command == SEE {
            let [seen]: [Value; 1] = received(&home).try_into().unwrap();
            assert_eq!(seen["source"], "user_settings");
            assert_eq!(seen["file_path"], json!(home.path("home/.robota/settings.json")));
        }
        if command == blocks {
            assert_eq!(answer["error"], "ConfigChange hook: ask the owner");
            with_skill(&home);
            let answer = host.request(&json!({"subtype": "reload_skills"}));
            assert_eq!(answer["error"], "ConfigChange hook: ask the owner");
            assert_eq!(received(&home)[1]["source"], "skills");
            assert_eq!(ask(&mut host, "/ship it")["result"], "Unknown.", "the skills stay");
        }
        host.finish();
    }
}

#[test]
fn core_22_a_host_keeps_a_rule_out_of_the_settings() {
    let home = Home::new();
    let script = "- {tools: [{tool: Bash, input: {command: touch made}}]}\n- Done.";
    let args = ["--permission-prompt-tool", "stdio"];
    let mut host = with_callback(&home, script, &args, "ConfigChange");
    host.say("go");
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["subtype"], "can_use_tool", "{asked}");
    let updates = json!([{"type": "addRules", "behavior": "allow", "destination": "localSettings",
        "rules": [{"toolName": "Bash", "ruleContent": "touch made"}]}]);
    host.answer(&asked, &json!({"behavior": "allow", "updatedPermissions": updates}));
    let block = json!({"decision": "block", "reason": "no"});
    let input = call_back(&mut host, "ConfigChange", &block);
    assert_eq!(input["source"], "local_settings");
    let file = home.path("project/.robota/settings.local.json");
    assert_eq!(input["file_path"], json!(file));
    host.until("result");
    assert!(home.path("project/made").exists(), "the call itself was allowed");
    let saved = std::fs::read_to_string(file).unwrap_or_default();
    assert!(!saved.contains("touch made"), "{saved}");
    host.finish();
}

#[test]
fn core_22_a_host_is_notified_once_that_the_session_waits() {
    let home = Home::new();
    home.write("home/.robota/settings.json", json!({"messageIdleNotifThresholdMs": 1}));
    let mut host = with_callback(&home, "- One.\n- Two.", &[], "Notification");
    for prompt in ["one", "two"] {
        ask(&mut host, prompt);
        let input = call_back(&mut host, "Notification", &json!({}));
        assert_eq!(input["notification_type"], "idle_prompt");
        assert_eq!(input["message"], "Robota is waiting for your input");
    }
    let (lines, code, errors) = host.finish();
    assert_eq!(code, Some(0), "{errors}");
    assert!(lines.iter().all(|line| line["type"] != "control_request"), "{lines:?}");
}
