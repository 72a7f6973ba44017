//! The real folders of the administrator, `/etc/claude-code` and `/etc/robota`. The program runs in a mount
//! namespace in which temporary folders have these names: `/etc` of the machine does not change.

use std::process::Command;

use robota_testkit::{Part, requires};
use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};

/// Returns bubblewrap with an `/etc` that has only the folders of the administrator.
fn namespace(home: &Home) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/", "--tmpfs", "/etc"]);
    for (name, folder) in [("claude", "/etc/claude-code"), ("robota", "/etc/robota")] {
        std::fs::create_dir_all(home.path(name)).unwrap();
        command.arg("--ro-bind").arg(home.path(name)).arg(folder);
    }
    command
}

/// Returns a home with files of the administrator; none if namespaces cannot be made here.
fn managed() -> Option<Home> {
    let home = Home::new();
    let works = namespace(&home).arg("true").output().is_ok_and(|output| output.status.success());
    requires(Part::Bubblewrap, works.then_some(()))?;
    let settings = json!({"permissions": {"deny": ["Bash(rm *)"]}, "model": "first"});
    home.write("claude/managed-settings.json", settings)
        .write("claude/managed-settings.d/20.json", json!({"model": "third", "language": "German"}))
        .write("claude/managed-settings.d/10.json", json!({"model": "second"}))
        .write("claude/managed-settings.d/.99.json", json!({"model": "hidden"}))
        .write("claude/CLAUDE.md", "Instructions of the administrator.\n")
        .write("claude/.claude/agents/theirs.md", "---\nname: theirs\ndescription: d\n---\nWork.\n")
        .write("claude/.claude/skills/theirs/SKILL.md", "Do it.\n")
        .write("robota/managed-settings.json", json!({"permissions": {"ask": ["Bash(make *)"]}}));
    // What the user has of the same names counts less.
    home.write(
        "home/.claude/settings.json",
        json!({"model": "mine", "permissions": {"allow": ["Bash"]}}),
    )
    .write("project/script.yaml", "- Hello.\n");
    Some(home)
}

/// Runs the program in the namespace. Returns its exit code, output and errors.
fn run(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let program = home.command(args);
    let mut command = namespace(home);
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(home.path("project")).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn the_files_of_the_administrator_are_read_from_their_real_places() {
    let Some(home) = managed() else { return };
    let (code, list, errors) = run(&home, &["config", "explain"]);
    assert_eq!((code, &*errors), (Some(0), ""), "{list}");
    assert!(
        list.contains("model = \"third\"\n  set by /etc/claude-code/managed-settings.d/20.json:1")
    );
    for expected in [
        "language = \"German\"",
        "overrides \"second\" from /etc/claude-code/managed-settings.d/10.json:1",
        "overrides \"mine\"",
        "set by /etc/robota/managed-settings.json:1",
    ] {
        assert!(list.contains(expected), "{expected}: {list}");
    }
    assert!(!list.contains("hidden"), "{list}");
    let (_, denied, _) = run(&home, &["permissions", "check", "rm x"]);
    assert!(denied.starts_with("deny"), "{denied}");
    assert!(denied.contains("(/etc/claude-code/managed-settings.json:1) denies"), "{denied}");
    let (_, asked, _) = run(&home, &["permissions", "check", "make x"]);
    assert!(asked.contains("(/etc/robota/managed-settings.json:1) asks"), "{asked}");
    let script = ["--provider", "scripted:script.yaml"];
    let (_, context, _) = run(&home, &[&["-p", "/context"][..], &script].concat());
    assert!(context.contains("/etc/claude-code/CLAUDE.md"), "{context}");
    let stream = ["-p", "Hi.", "--output-format", "stream-json", "--verbose"];
    let (_, lines, _) = run(&home, &[&stream[..], &script].concat());
    let init: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&init["agents"][0], &init["skills"]), (&json!("theirs"), &json!(["theirs"])));
    // A file there that cannot be understood allows nothing.
    home.write("robota/managed-settings.json", "{");
    let (code, list, errors) = run(&home, &["config", "list"]);
    assert!(errors.contains("/etc/robota/managed-settings.json"), "{errors}");
    assert_eq!(code, Some(3), "{list}");
    let (_, asked, _) = run(&home, &["permissions", "check", "ls"]);
    assert!(asked.starts_with("ask"), "{asked}");
}

#[test]
fn no_server_is_added_where_only_those_of_the_administrator_are_used() {
    let Some(home) = managed() else { return };
    let servers = json!({"mcpServers": {"theirs": {"command": "true"}}});
    home.write("claude/managed-mcp.json", servers);
    let (_, list, _) = run(&home, &["mcp", "list"]);
    assert!(list.starts_with("theirs: true (managed"), "{list}");
    for scope in ["user", "local", "project"] {
        for args in [
            &["add", "-s", scope, "mine", "true"][..],
            &["add-json", "-s", scope, "mine", r#"{"command": "true"}"#],
        ] {
            let (code, text, errors) = run(&home, &[&["mcp"], args].concat());
            assert_eq!(code, Some(1), "{text}");
            assert!(
                errors.contains("allows only the MCP servers of /etc/claude-code/managed-mcp.json"),
                "{errors}"
            );
        }
    }
    for file in ["home/.robota/mcp.json", "project/.mcp.json"] {
        assert!(!home.path(file).exists(), "{file} was written");
    }
    // The file of the second folder has precedence, also if it cannot be read: it excludes all others.
    home.write("robota/managed-mcp.json", "{");
    let (code, _, errors) = run(&home, &["mcp", "add", "mine", "true"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("/etc/robota/managed-mcp.json"), "{errors}");
}
