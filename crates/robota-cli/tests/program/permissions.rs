//! `robota permissions`: what users read when they ask why.

use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};

fn home() -> Home {
    let home = Home::new();
    home.write(
        "home/.robota/settings.json",
        json!({"permissions": {"allow": ["Bash(make *)"], "deny": ["Read(.env)", "Bash(git push *)"]}}),
    );
    home.write("project/src/main.rs", "fn main() {}\n");
    home
}

/// Returns the output of the program, with the exit code where it is not 0.
fn run(home: &Home, args: &[&str]) -> String {
    let output = home.command(&[&["permissions"], args].concat()).output().unwrap();
    let text = stdout(&output).replace(&home.path("").display().to_string(), "/TEMP/");
    match output.status.code() {
        Some(0) => text,
        code => format!("{text}{}exit code {code:?}\n", stderr(&output)),
    }
}

#[test]
fn check_shows_each_command_with_its_verdict() {
    let home = home();
    for (name, command) in [
        ("check_reads", "cd src && ls 2>&1 | head"),
        ("check_mixed", "for f in *.rs; do wc -l \"$f\"; done; make all > log.txt; npm publish"),
        ("check_nested", "echo \"$(cat .env)\" && (git push origin main)"),
        ("check_unreadable", "ls ("),
        ("check_one", "cargo test"),
    ] {
        insta::assert_snapshot!(name, run(&home, &["check", command]));
    }
    let text = run(&home, &["check", "ls | wc -l", "--json"]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["verdict"], "allow");
    assert_eq!(value["read_only_proof"], true);
    assert_eq!(value["commands"][1]["text"], "wc -l");
    assert_eq!(value["commands"][1]["verdict"], "allow");
    let old = run(&home, &["check", "--tool", "Read", "--input", r#"{"file_path": ".env"}"#]);
    assert!(old.starts_with("deny"), "{old}");
    // A tool is judged by the class that it declares, as in a run.
    for (tool, verdict) in [
        ("BashOutput", "allow"),
        ("KillShell", "allow"),
        ("ReadOutput", "allow"),
        ("Task", "allow"),
        ("Write", "ask"),
    ] {
        let text = run(&home, &["check", "--tool", tool, "--input", r#"{"file_path": "a.txt"}"#]);
        assert!(text.starts_with(verdict), "{tool}: {text}");
    }
    assert!(run(&home, &["check"]).contains("exit code Some(2)"));
    assert!(run(&home, &["check", "ls", "--tool", "Bash"]).contains("exit code Some(2)"));
}

#[test]
fn explain_shows_what_a_rule_covers() {
    let home = home();
    for (name, args) in [
        ("explain_allow", &["Bash(npm test *)"][..]),
        ("explain_deny", &["Bash(git push *)", "--list", "deny"]),
        ("explain_files", &["Edit(src/**)"]),
        ("explain_host", &["WebFetch(domain:docs.rs)"]),
    ] {
        insta::assert_snapshot!(name, run(&home, &[&["explain"], args].concat()));
    }
    assert!(run(&home, &["explain", "Bash(ls"]).contains("exit code Some(2)"));
}

#[test]
fn test_checks_expected_verdicts() {
    let home = home();
    home.write(
        "project/good.txt",
        "# rules\nallow make all\nallow ls | head\nask npm test\ndeny Read(.env)\nmode plan\ndeny npm test\n",
    );
    assert_eq!(run(&home, &["test", "good.txt"]), "5 passed, 0 failed\n");
    home.write("project/bad.txt", "allow npm publish\ndeny ls\nperhaps ls\n");
    insta::assert_snapshot!("test_failures", run(&home, &["test", "good.txt", "bad.txt"]));
}

#[test]
fn a_preset_is_shown_before_it_is_added() {
    let home = home();
    let list = run(&home, &["preset", "list"]);
    assert!(list.starts_with("queries  "), "{list}");
    let settings = || std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
    let before = settings();
    let shown = run(&home, &["preset", "add", "queries"]);
    assert!(shown.contains("allow Bash(") && shown.contains("Nothing was changed"), "{shown}");
    assert_eq!(settings(), before);
    let added = run(&home, &["preset", "add", "queries", "--yes"]);
    assert!(added.contains("rules to /TEMP/home/.robota/settings.json"), "{added}");
    let after: Value = serde_json::from_str(&settings()).unwrap();
    let allow = after["permissions"]["allow"].as_array().unwrap();
    assert!(allow.len() > 10 && allow[0] == "Bash(make *)", "{allow:?}");
    assert_eq!(after["permissions"]["deny"][0], "Read(.env)");
    assert!(run(&home, &["preset", "show", "nothing"]).contains("exit code Some(2)"));
}
