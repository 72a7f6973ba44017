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
