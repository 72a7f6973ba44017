//! The verdicts that settings files result in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::World;
use proptest::prelude::*;
use robota_config::{Layer, Settings, Trust, rule_check};
use robota_core::permission::{Class, Verdict};
use robota_policy::{LexicalPaths, Policy, ToolCall};
use serde_json::{Value, json};

fn verdict(world: &World, settings: &Settings, tool: &str, input: &Value) -> Verdict {
    let class = match tool {
        "Read" | "Grep" => Class::Inspect,
        "Write" => Class::Modify,
        _ => Class::Execute,
    };
    let (policy, _) = Policy::new(&settings.policy_spec(&world.places), &LexicalPaths);
    policy.judge(&ToolCall { tool, input, class }, &LexicalPaths).verdict
}

fn calls(world: &World) -> Vec<(&'static str, Value)> {
    let file = |name: &str| world.project().join(name).display().to_string();
    vec![
        ("Read", json!({"file_path": file("src/a.rs")})),
        ("Read", json!({"file_path": file(".env")})),
        ("Read", json!({"file_path": "/etc/passwd"})),
        ("Write", json!({"file_path": file("src/a.rs"), "content": ""})),
        ("Bash", json!({"command": "git status"})),
        ("Bash", json!({"command": "npm test && npm run build"})),
        ("Bash", json!({"command": "curl http://x"})),
        ("WebFetch", json!({"url": "https://example.com/"})),
        ("mcp__server__tool", json!({})),
    ]
}

#[test]
fn a_path_in_a_rule_is_relative_to_the_folder_of_its_file() {
    let deny = r#"{"permissions": {"deny": ["Read(/secret)"]}}"#;
    let world = World::with(&[(Layer::UserRobota, deny)]);
    let home = world.places.home.clone().unwrap();
    let read = |world: &World, path: &std::path::Path| {
        verdict(world, &world.load(), "Read", &json!({"file_path": path.display().to_string()}))
    };
    assert_eq!(read(&world, &home.join(".robota/secret")), Verdict::Deny);
    assert_eq!(read(&world, &world.project().join("secret")), Verdict::Allow);
    world.write(Layer::ProjectClaude, deny);
    assert_eq!(read(&world, &home.join(".robota/secret")), Verdict::Deny);
    assert_eq!(read(&world, &world.project().join("secret")), Verdict::Deny);
}

#[test]
fn sdk_23_settings_start_with_the_rules_for_the_folders_of_agents() {
    let world = World::with(&[]);
    // Reads in the working folder are free; without that only the rules count.
    let spec = world.load().policy_spec(&world.places).free_reads(false);
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty());
    let judge = |tool: &str, input: Value| {
        policy
            .judge(&ToolCall { tool, input: &input, class: Class::Inspect }, &LexicalPaths)
            .verdict
    };
    for folder in [".agents", ".claude", ".robota"] {
        let pattern = format!("{folder}/**");
        assert_eq!(judge("Glob", json!({ "pattern": pattern })), Verdict::Allow, "{folder}");
        let file = world.project().join(folder).join("agents/a.md").display().to_string();
        assert_eq!(judge("Read", json!({ "file_path": file })), Verdict::Allow, "{folder}");
    }
    let file = world.project().join(".claude/settings.json").display().to_string();
    assert_eq!(judge("Read", json!({ "file_path": file })), Verdict::Ask);
    assert_eq!(judge("Glob", json!({"pattern": "src/**"})), Verdict::Ask);
}

#[test]
fn while_a_file_cannot_be_read_every_call_needs_approval() {
    let world = World::with(&[
        (
            Layer::UserRobota,
            r#"{"permissions": {"allow": ["Bash", "Read", "Write", "WebFetch", "mcp__server"], "defaultMode": "bypassPermissions"}}"#,
        ),
        (Layer::UserClaude, "{\"permissions\": {\"deny\": [\"Read(.env)\"],"),
    ]);
    let settings = world.load();
    for (tool, input) in calls(&world) {
        assert_ne!(verdict(&world, &settings, tool, &input), Verdict::Allow, "{tool} {input}");
    }
}

#[test]
fn additional_directories_need_trust() {
    let world = World::with(&[(
        Layer::ProjectClaude,
        r#"{"permissions": {"additionalDirectories": ["../other"]}}"#,
    )]);
    let other = world.project().with_file_name("other").join("x");
    let input = json!({"file_path": other.display().to_string()});
    assert_eq!(verdict(&world, &world.load(), "Read", &input), Verdict::Ask);
    world.trust();
    assert_eq!(verdict(&world, &world.load(), "Read", &input), Verdict::Allow);
}

#[test]
fn rules_are_checked_by_the_policy_parser() {
    let world = World::with(&[(
        Layer::UserRobota,
        r#"{"permissions": {"allow": ["Bash(git *)", "Bash(git", "mcp__*"], "deny": ["mcp__*"]}}"#,
    )]);
    let files = robota_config::Files::read(&world.places);
    let settings = Settings::from_files(&files, Trust::Unknown, &rule_check(&world.places));
    assert_eq!(common::allowed(&settings), ["Bash(git *)"]);
    assert_eq!(common::texts(&settings.permissions.deny), ["mcp__*"]);
    assert_eq!(settings.report.problems.len(), 2, "{:?}", settings.report.problems);
}

fn any_settings() -> impl Strategy<Value = String> {
    let rule = prop::sample::select(vec![
        "Bash",
        "Bash(npm *)",
        "Bash(git *)",
        "Bash(curl *)",
        "Read",
        "Read(/src/**)",
        "Read(.env)",
        "Read(//etc/**)",
        "Write",
        "Edit(/src/**)",
        "WebFetch",
        "WebFetch(domain:example.com)",
        "mcp__server",
        "mcp__*",
        "*",
        "Bash(",
        "",
    ]);
    let rules = || prop::collection::vec(rule.clone(), 0..4);
    let mode =
        prop::sample::select(vec!["plan", "default", "acceptEdits", "bypassPermissions", "?"]);
    (rules(), rules(), rules(), mode, 0..8_u8).prop_map(|(allow, ask, deny, mode, broken)| {
        let text = json!({"permissions": {
            "allow": allow, "ask": ask, "deny": deny, "defaultMode": mode,
            "additionalDirectories": ["/etc"],
        }})
        .to_string();
        if broken == 0 { text[..text.len() - 9].to_owned() } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sdk_11_a_project_layer_before_trust_never_loosens_a_verdict(
        user in any_settings(),
        project in any_settings(),
        layer in prop::sample::select(Layer::FILES[2..].to_vec()),
    ) {
        let world = World::with(&[(Layer::UserClaude, &user)]);
        let without = world.load();
        world.write(layer, &project);
        let with = world.load();
        for (tool, input) in calls(&world) {
            let (before, after) =
                (verdict(&world, &without, tool, &input), verdict(&world, &with, tool, &input));
            prop_assert!(after >= before, "{} {}: {:?} became {:?}", tool, input, before, after);
        }
    }
}
