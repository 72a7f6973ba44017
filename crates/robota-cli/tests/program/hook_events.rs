//! Events of hooks that a program causes: questions to the user, failed calls, preparation of a project,
//! loaded instructions.

use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::{Home, stderr};
use crate::host::{Host, kinds};

const TOUCH: &str = "- {tools: [{tool: Bash, input: {command: touch made}}]}\n- Done.";
const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

/// Configures a command at an event.
fn with_hook(event: &str, matcher: &str, command: &str) -> Home {
    let home = Home::new();
    let hooks = json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {event: hooks}}));
    home
}

/// Returns what the hook received.
fn received(home: &Home) -> Value {
    let text = std::fs::read_to_string(home.path("seen.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Answers the next request of the program.
fn deny(host: &mut Host) {
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["subtype"], "can_use_tool");
    host.answer(&asked, &json!({"behavior": "deny", "message": "no"}));
}

#[test]
fn core_22_a_hook_of_the_settings_answers_a_question() {
    let decision = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow"}}});
    for (matcher, args, asked, made) in [
        ("Bash", &ASKS[..], false, true),
        ("Read", &ASKS, true, false),
        (
            "Bash",
            &["--permission-prompt-tool", "stdio", "--permission-mode", "dontAsk"],
            false,
            false,
        ),
        // A run that asks nobody has no questions.
        ("Bash", &[], false, false),
    ] {
        let home = with_hook("PermissionRequest", matcher, &format!("echo '{decision}'"));
        let mut host = Host::start(&home, TOUCH, args);
        host.say("go");
        if asked {
            deny(&mut host);
        }
        let lines = host.until("result");
        assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{matcher} {args:?}");
        assert_eq!(home.path("project/made").exists(), made, "{matcher} {args:?}");
        host.finish();
    }
}

#[test]
fn core_22_a_hook_is_notified_of_a_question() {
    let home = Home::new();
    let mut host = Host::start(&home, TOUCH, &ASKS);
    let hooks =
        json!({"Notification": [{"matcher": "permission_prompt", "hookCallbackIds": ["h-1"]}]});
    let answer = host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["response"]["unsupported_hook_events"], json!([]));
    host.say("go");
    // The user is asked at the same time.
    let mut notified = None;
    for _ in 0..2 {
        let request = host.until("control_request").pop().unwrap();
        if request["request"]["subtype"] == "hook_callback" {
            notified = Some(request["request"]["input"].clone());
            host.answer(&request, &json!({}));
        } else {
            host.answer(&request, &json!({"behavior": "allow"}));
        }
    }
    let notified = notified.unwrap();
    assert_eq!(notified["hook_event_name"], "Notification");
    assert_eq!(notified["notification_type"], "permission_prompt");
    assert_eq!(notified["message"], "Robota needs your permission to use Bash");
    host.until("result");
    assert!(home.path("project/made").exists());
    host.finish();
}

#[test]
fn core_22_a_hook_of_the_settings_sees_a_call_that_failed() {
    let command = "cat > ../seen.json; echo look elsewhere >&2; exit 2";
    let home = with_hook("PostToolUseFailure", "Read", command);
    let script = "- {tools: [{tool: Read, input: {file_path: missing.txt}}]}\n\
                  - {expect: {last: look elsewhere}, text: Done.}";
    let mut host = Host::start(&home, script, &BYPASS);
    host.say("go");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Done.");
    let received = received(&home);
    assert_eq!(received["hook_event_name"], "PostToolUseFailure");
    assert!(received["error"].as_str().unwrap().contains("missing.txt"), "{received}");
    host.finish();
}

#[test]
fn core_22_setup_hooks_run_when_they_are_asked_for() {
    let home = with_hook("Setup", "init", "cat > ../seen.json");
    home.write("project/script.yaml", "- Hi.");
    let run = |args: &[&str]| {
        let script = ["--provider", "scripted:script.yaml"];
        let output = home.command(&[&script[..], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let ran = home.path("seen.json").exists().then(|| received(&home)["trigger"].clone());
        let _ = std::fs::remove_file(home.path("seen.json"));
        (String::from_utf8(output.stdout).unwrap(), ran)
    };
    assert_eq!(run(&["--init-only"]), (String::new(), Some(json!("init"))));
    assert_eq!(run(&["-p", "hi", "--init"]), ("Hi.\n".to_owned(), Some(json!("init"))));
    assert_eq!(run(&["-p", "hi", "--maintenance"]), ("Hi.\n".to_owned(), None), "another trigger");
    assert_eq!(run(&["-p", "hi"]), ("Hi.\n".to_owned(), None));
}

#[test]
fn core_22_hooks_see_which_instructions_were_loaded() {
    let home = with_hook("InstructionsLoaded", "session_start", "cat > ../seen.json");
    home.write("project/script.yaml", "- Hi.").write("project/CLAUDE.md", "Be brief.");
    let args = ["-p", "hi", "--provider", "scripted:script.yaml"];
    let output = home.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let received = received(&home);
    assert_eq!(received["file_path"], json!(home.path("project/CLAUDE.md")));
    assert_eq!(received["memory_type"], "Project");
}

#[test]
fn core_22_a_hook_that_never_runs_is_reported() {
    let home = with_hook("FileChanged", "", "true");
    home.write("project/script.yaml", "- Hi.");
    let args = ["-p", "hi", "--provider", "scripted:script.yaml"];
    let output = home.command(&args).output().unwrap();
    assert!(stderr(&output).contains("never run"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn core_22_a_run_with_one_prompt_waits_for_a_hook_that_would_wake_the_model() {
    let home = Home::new();
    let command = "mkdir ../reported 2>/dev/null || exit 0; echo 'the tests fail' >&2; exit 2";
    let hook = json!({"type": "command", "command": command, "asyncRewake": true});
    home.write("home/.robota/settings.json", json!({"hooks": {"Stop": [{"hooks": [hook]}]}}));
    home.write("script.yaml", "- Done.\n- {expect: {last: the tests fail}, text: Repaired.}");
    let script = format!("scripted:{}", home.path("script.yaml").display());
    let args = ["-p", "go", "--provider", &script, "--output-format", "json"];
    let output = home.command(&args).output().unwrap();
    // One JSON value: a second turn would print another one.
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["result"], "Repaired.", "{result}");
}

#[test]
fn core_22_the_report_of_a_hook_in_the_background_starts_a_turn() {
    let home = Home::new();
    let command = "mkdir ../reported 2>/dev/null || exit 0; \
        until test -e ../go; do sleep 0.01; done; echo 'the tests fail' >&2; exit 2";
    let hook = json!({"type": "command", "command": command, "asyncRewake": true});
    home.write("home/.robota/settings.json", json!({"hooks": {"Stop": [{"hooks": [hook]}]}}));
    let script = "- Done.\n- {expect: {last: the tests fail}, text: Repaired.}";
    let mut host = Host::start(&home, script, &[]);
    host.say("go");
    assert_eq!(host.until("result").pop().unwrap()["result"], "Done.");
    let listing = host.request(&json!({"subtype": "get_hooks_listing"}));
    assert_eq!(listing["response"]["hooks"][0]["runsInBackground"], true, "{listing}");
    home.write("go", "");
    let result = host.until("result").pop().unwrap();
    assert_eq!(result["result"], "Repaired.", "{result}");
    assert_eq!(result["origin"]["kind"], "task-notification", "{result}");
    assert_eq!(host.finish().1, Some(0));
}
