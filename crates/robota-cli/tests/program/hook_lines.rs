//! Lines about hooks (`--include-hook-events`).

use serde_json::{Value, json};

use crate::headless::{BYPASS, TOUCH, lines};
use crate::home::Home;

const SHOWN: &str = "--include-hook-events";

/// Returns the lines of this subtype.
fn of<'a>(lines: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["subtype"] == subtype).collect()
}

/// Returns the position of the first line that fits.
fn at(lines: &[Value], fits: impl Fn(&Value) -> bool) -> usize {
    lines.iter().position(fits).unwrap_or_else(|| panic!("{lines:?}"))
}

#[test]
fn sdk_08_hooks_that_nobody_configured_have_no_lines() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
    let answer = "tools: [{tool: StructuredOutput, input: {a: 1}}]";
    for (script, args) in [
        (format!("- {TOUCH}\n- Done."), &[BYPASS[0], SHOWN][..]),
        (format!("- Words.\n- {answer}"), &[SHOWN, "--json-schema", schema]),
    ] {
        let (printed, code) = lines(&Home::new(), &script, args);
        assert_eq!(code, Some(0), "{printed:?}");
        let of_hooks = [of(&printed, "hook_started"), of(&printed, "hook_response")].concat();
        assert!(of_hooks.is_empty(), "{of_hooks:?}");
    }
}

#[test]
fn sdk_08_each_hook_that_runs_has_two_lines() {
    let home = Home::new();
    let command = |text: &str| json!({"type": "command", "command": text});
    let hooks = json!({
        "SessionStart": [{"hooks": [command("echo began")]}],
        "PreToolUse": [{"matcher": "Write", "hooks": [command("exit 2")]}],
        "PostToolUse": [{"matcher": "Bash", "hooks": [
            command("echo out; echo err >&2; exit 3"),
            command("true"),
        ]}],
        "SessionEnd": [{"hooks": [command("echo ended")]}],
    });
    home.write("home/.robota/settings.json", json!({"hooks": hooks}));
    let (printed, code) = lines(&home, &format!("- {TOUCH}\n- Done."), &[BYPASS[0], SHOWN]);
    assert_eq!(code, Some(0), "{printed:?}");
    let responses = of(&printed, "hook_response");
    let mut seen: Vec<_> = responses
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            let all = (text("hook_name"), text("stdout"), text("stderr"));
            assert_eq!(line["output"], format!("{}{}", all.1, all.2));
            (all, line["exit_code"].as_i64().unwrap(), text("outcome"))
        })
        .collect();
    seen.sort();
    let run = |name: &str, stdout: &str, stderr: &str, code: i64, outcome: &str| {
        ((name.to_owned(), stdout.to_owned(), stderr.to_owned()), code, outcome.to_owned())
    };
    assert_eq!(
        seen,
        [
            run("PostToolUse:Bash", "", "", 0, "success"),
            run("PostToolUse:Bash", "out\n", "err\n", 3, "error"),
            run("SessionEnd:other", "ended\n", "", 0, "success"),
            run("SessionStart:startup", "began\n", "", 0, "success"),
        ]
    );
    let started = of(&printed, "hook_started");
    let ids = |lines: &[&Value]| {
        let mut ids: Vec<_> = lines.iter().map(|line| line["hook_id"].to_string()).collect();
        ids.sort();
        ids.dedup();
        ids
    };
    assert_eq!((ids(&started), ids(&started).len()), (ids(&responses), 4), "one pair per hook");
    let call = at(&printed, |line| line["type"] == "assistant");
    let first = at(&printed, |line| line["hook_event"] == "PostToolUse");
    let result = at(&printed, |line| line["type"] == "user");
    assert!(call < first && first < result, "{printed:?}");
    let begin = at(&printed, |line| line["hook_event"] == "SessionStart");
    assert!(begin < at(&printed, |line| line["subtype"] == "init"), "{printed:?}");
}

#[test]
fn sdk_08_hooks_of_the_start_always_have_lines() {
    let home = Home::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "echo began"}]}]);
    home.write(
        "home/.robota/settings.json",
        json!({"hooks": {"SessionStart": hook, "Stop": hook}}),
    );
    let (printed, _) = lines(&home, "- Done.", &[]);
    let names: Vec<_> = of(&printed, "hook_response").iter().map(|it| &it["hook_name"]).collect();
    assert_eq!(names, ["SessionStart:startup"]);
}
