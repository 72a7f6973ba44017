//! Hooks about the model that a session uses.

use serde_json::{Value, json};

use crate::home::Home;
use crate::host::Host;

/// Blocks the model `large`, and records what it is asked about.
const SEE: &str = "cat >> ../seen.jsonl; echo >> ../seen.jsonl";

fn received(home: &Home) -> Vec<(String, String, String, String)> {
    let text = std::fs::read_to_string(home.path("seen.jsonl")).unwrap_or_default();
    let field = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let of = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let of = |key: &str| field(&line, key);
        (of("hook_event_name"), of("old_model"), of("new_model"), of("source"))
    };
    text.lines().filter(|line| !line.is_empty()).map(of).collect()
}

#[test]
fn core_22_hooks_decide_about_the_model_that_a_host_or_a_command_sets() {
    let home = Home::new();
    let command = |text: &str| json!([{"type": "command", "command": text}]);
    let hooks = json!({
        "PreModelSwitch": [
            {"matcher": "large", "hooks": command("echo 'too expensive' >&2; exit 2")},
            {"matcher": "small|other", "hooks": command(SEE)},
        ],
        "PostModelSwitch": [{"hooks": command(SEE)}],
    });
    home.write("home/.robota/settings.json", json!({"hooks": hooks}));
    let mut host = Host::start(&home, "- Hi.\n- Hi again.\n", &["--model", "first"]);
    let set = |model: &str| json!({"subtype": "set_model", "model": model});
    // Without a session nothing is switched yet.
    host.say("go");
    host.until("result");
    let refused = host.request(&set("large"));
    assert_eq!(refused["subtype"], "error", "{refused}");
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains("PreModelSwitch hook: too expensive"), "{error}");
    assert!(received(&home).is_empty(), "nothing was switched");
    assert_eq!(host.request(&set("small"))["subtype"], "success");
    assert_eq!(host.request(&set("small"))["subtype"], "success", "the same model has no event");
    host.say("/model large");
    let result = host.until("result").pop().unwrap();
    assert_eq!(result["is_error"], true, "{result}");
    assert!(result.to_string().contains("too expensive"), "{result}");
    host.say("/model other");
    assert_eq!(host.until("result").pop().unwrap()["is_error"], false);
    host.say("go on");
    let lines = host.until("result");
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["model"], "other", "{init}");
    host.finish();
    let event = |name: &str, old: &str, new: &str, source: &str| {
        (name.to_owned(), old.to_owned(), new.to_owned(), source.to_owned())
    };
    assert_eq!(
        received(&home),
        [
            event("PreModelSwitch", "first", "small", "host"),
            event("PostModelSwitch", "first", "small", "host"),
            event("PreModelSwitch", "small", "other", "command"),
            event("PostModelSwitch", "small", "other", "command"),
        ]
    );
}

#[test]
fn core_22_a_model_switch_whose_hook_fails_does_not_happen() {
    let home = Home::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "kill -9 $$"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"PreModelSwitch": hook}}));
    let mut host = Host::start(&home, "- Hi.\n", &["--model", "first"]);
    host.say("go");
    host.until("result");
    let refused = host.request(&json!({"subtype": "set_model", "model": "other"}));
    assert_eq!(refused["subtype"], "error", "{refused}");
    host.finish();
}

/// Starts a host whose callback decides about the model, after a first turn.
fn with_callback(home: &Home, script: &str) -> Host {
    let mut host = Host::start(home, script, &["--model", "first"]);
    let hooks = json!({"PreModelSwitch": [{"hookCallbackIds": ["h-1"], "timeout": 20}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("go");
    host.until("result");
    host
}

/// Sends a request, without waiting for the answer.
fn send(host: &mut Host, id: &str, request: &Value) {
    host.send(&json!({"type": "control_request", "request_id": id, "request": request}));
}

/// Returns the next answer to a request: its id and how it ended.
fn answered(host: &mut Host) -> (String, String) {
    let answer = host.until("control_response").pop().unwrap()["response"].take();
    let text = |key: &str| answer[key].as_str().unwrap().to_owned();
    (text("request_id"), text("subtype"))
}

#[test]
fn core_22_requests_are_answered_while_a_callback_decides_about_the_model() {
    let home = Home::new();
    let mut host = with_callback(&home, "- Hi.\n- Hi again.\n- And again.\n");
    let pair = |id: &str, end: &str| (id.to_owned(), end.to_owned());
    send(&mut host, "r-1", &json!({"subtype": "set_model", "model": "small"}));
    let callback = host.until("control_request").pop().unwrap();
    assert_eq!(callback["request"]["input"]["new_model"], "small", "{callback}");
    send(&mut host, "r-2", &json!({"subtype": "mcp_status"}));
    assert_eq!(answered(&mut host), pair("r-2", "success"));
    // A later change, and a message, wait for the first one.
    let later = json!({"model": "large", "effortLevel": "low"});
    send(&mut host, "r-3", &json!({"subtype": "apply_flag_settings", "settings": later}));
    host.say("go on");
    send(&mut host, "r-4", &json!({"subtype": "interrupt"}));
    assert_eq!(answered(&mut host), pair("r-4", "success"));
    host.answer(&callback, &json!({}));
    assert_eq!(answered(&mut host), pair("r-1", "success"));
    let callback = host.until("control_request").pop().unwrap();
    let input = &callback["request"]["input"];
    assert_eq!((&input["old_model"], &input["new_model"]), (&json!("small"), &json!("large")));
    host.answer(&callback, &json!({"decision": "block", "reason": "too expensive"}));
    assert_eq!(answered(&mut host), pair("r-3", "error"));
    let lines = host.until("result");
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["model"], "small", "{init}");
    host.finish();
}

#[test]
fn core_22_a_command_that_waits_for_a_callback_about_the_model_can_be_interrupted() {
    let home = Home::new();
    let mut host = with_callback(&home, "- Hi.\n- Hi again.\n");
    host.say("/model small");
    let callback = host.until("control_request").pop().unwrap();
    send(&mut host, "r-1", &json!({"subtype": "interrupt"}));
    let lines = host.until("result");
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"control_response"), "{kinds:?}");
    assert_eq!(lines.last().unwrap()["is_error"], true, "{lines:?}");
    host.answer(&callback, &json!({}));
    host.say("/model other");
    let callback = host.until("control_request").pop().unwrap();
    assert_eq!(callback["request"]["input"]["old_model"], "first", "the first one was not made");
    host.answer(&callback, &json!({}));
    assert_eq!(host.until("result").pop().unwrap()["is_error"], false);
    host.say("go on");
    let lines = host.until("result");
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["model"], "other", "{init}");
    host.finish();
}
