//! Files that are invalid, huge, not regular files, or hostile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{World, allowed, problems, texts};
use proptest::prelude::*;
use robota_config::{Files, IgnoreReason, Layer, Settings, Trust};
use robota_core::permission::Mode;
use serde_json::{Value, json};

const USER: &str = r#"{"permissions": {"allow": ["X"], "deny": ["D"], "ask": ["A"], "defaultMode": "acceptEdits", "additionalDirectories": ["/d"]}}"#;

/// Asserts that every call needs approval, as it must while a file cannot be read.
fn assert_every_call_asks(settings: &Settings) {
    assert!(settings.permissions.allow.is_empty());
    assert!(settings.permissions.additional_directories.is_empty());
    assert_eq!(texts(&settings.permissions.deny), ["D"]);
    assert_eq!(texts(&settings.permissions.ask), ["A", "*"]);
    assert_eq!(settings.permissions.mode, Mode::Default);
    assert!(settings.report.dropped.iter().any(|d| d.reason == IgnoreReason::Unreadable));
    assert!(!settings.permissions.unreadable.is_empty());
}

#[test]
fn an_invalid_file_never_widens_permissions_and_never_fails_the_start() {
    let broken = [
        "",
        "   \n",
        "{",
        "{\"permissions\": {\"deny\": [\"Bash(rm *)\"],,}}",
        "{\"permissions\": {\"deny\": [\"Bash(rm *)\"] \"allow\": []}}",
        "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other",
        "[]",
        "7",
        "{\"permissions\": []}",
        "{\"permissions\": {\"deny\": \"Bash\"}}",
        "{\"permissions\": {\"deny\": [\"x\", 7]}}",
        "{\"permissions\": {\"ask\": {}}}",
        "{\"permissions\": {\"defaultMode\": 7}}",
        "{\"sandbox\": true}",
        "{\"a\": 1e999}",
        &"[".repeat(200_000),
        &format!("{{\"a\": \"{}\"}}", "x".repeat(2 * 1024 * 1024)),
    ];
    for text in broken {
        for layer in [Layer::UserClaude, Layer::ProjectRobotaLocal] {
            let world = World::with(&[(Layer::UserRobota, USER), (layer, text)]);
            let settings = world.load();
            let at = text.chars().take(40).collect::<String>();
            assert!(!problems(&settings).is_empty(), "{at}");
            let mut deny = settings.clone();
            // The valid rules of the invalid file apply as well.
            deny.permissions.deny.retain(|rule| rule.origin.layer == Layer::UserRobota);
            assert_every_call_asks(&deny);
        }
    }
}

#[test]
fn a_path_that_is_not_a_regular_file_is_reported_and_does_not_block() {
    let world = World::with(&[(Layer::UserRobota, USER)]);
    let file = world.file(Layer::UserClaude);
    std::fs::create_dir_all(&file).unwrap();
    assert_every_call_asks(&world.load());
    assert!(problems(&world.load())[0].contains("it is a folder"));
    std::fs::remove_dir(&file).unwrap();

    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_every_call_asks(&world.load());
    assert!(problems(&world.load())[0].contains("not a regular file"));
    std::fs::remove_file(&file).unwrap();

    for target in ["/dev/zero", "nowhere", "settings.json"] {
        std::os::unix::fs::symlink(target, &file).unwrap();
        assert_every_call_asks(&world.load());
        std::fs::remove_file(&file).unwrap();
    }

    std::fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    assert!(problems(&world.load())[0].contains("not UTF-8"));
    std::fs::remove_file(&file).unwrap();

    let elsewhere = world.project().join("dotfiles.json");
    std::fs::write(&elsewhere, r#"{"model": "linked"}"#).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert_eq!(world.load().values.model.as_deref(), Some("linked"), "links are followed");
}

#[test]
fn byte_order_marks_and_crlf_are_accepted() {
    let world = World::with(&[(
        Layer::UserRobota,
        "\u{feff}{\r\n\"model\": \"m\",\r\n\"language\": 7\r\n}\r\n",
    )]);
    let settings = world.load();
    assert_eq!(settings.values.model.as_deref(), Some("m"));
    assert_eq!(settings.report.problems[0].origin.line, Some(3));
}

#[test]
fn of_repeated_keys_the_last_value_and_all_restrictions_apply() {
    let world = World::with(&[(
        Layer::UserRobota,
        r#"{"permissions": {"allow": ["X"], "deny": ["D1"], "deny": []},
            "permissions": {"allow": ["Y"], "deny": ["D2"]}, "model": "a", "model": "b"}"#,
    )]);
    let settings = world.load();
    assert_eq!(allowed(&settings), ["Y"]);
    assert_eq!(texts(&settings.permissions.deny), ["D1", "D2"]);
    assert_eq!(settings.values.model.as_deref(), Some("b"));
    assert!(settings.report.dropped.iter().all(|d| d.reason == IgnoreReason::Repeated));
    assert!(settings.report.problems.len() >= 3);
}

#[test]
fn the_number_of_reported_problems_is_limited() {
    let keys: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let world = World::with(&[(Layer::ProjectClaude, &Value::Object(keys).to_string())]);
    let settings = world.load();
    assert_eq!(settings.report.problems.len(), 51);
    assert!(problems(&settings)[50].ends_with("and 19950 more problems"));
}

#[test]
fn names_in_a_file_cannot_send_control_characters_to_the_terminal() {
    let world = World::with(&[(
        Layer::ProjectClaude,
        "{\"\\u001b[2Jx\": 1, \"permissions\": {\"defaultMode\": \"\\u001b[2J\"}}",
    )]);
    for problem in problems(&world.load()) {
        assert!(!problem.contains('\u{1b}'), "{problem:?}");
    }
}

#[test]
fn invalid_variables_are_ignored() {
    let world = World::with(&[(
        Layer::UserRobota,
        r#"{"env": {"": "1", "A=B": "1", "C\u0000": "1", "D": "\u0000", "E": ""}}"#,
    )]);
    let settings = world.load();
    assert_eq!(settings.values.env.keys().collect::<Vec<_>>(), ["E"]);
    assert_eq!(settings.report.problems.len(), 4, "{:?}", problems(&settings));
}

#[test]
fn hooks_of_an_unknown_event_are_reported() {
    let world = World::with(&[(
        Layer::UserRobota,
        r#"{"hooks": {"PreTooluse": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#,
    )]);
    let settings = world.load();
    assert_eq!(settings.hooks.len(), 1, "kept");
    assert!(problems(&settings)[0].contains("never run"));
}

const LISTS: [&str; 3] = ["allow", "ask", "deny"];

fn any_layer() -> impl Strategy<Value = String> {
    let rules = || prop::collection::vec("[ABCX*]", 0..4);
    let mode = prop::sample::select(vec![
        "plan",
        "default",
        "acceptEdits",
        "bypassPermissions",
        "dontAsk",
        "auto",
        "safe",
        "",
    ]);
    let extra = prop::sample::select(vec![
        json!(null),
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}),
        json!({"env": {"PATH": "."}, "disableAllHooks": true, "cleanupPeriodDays": 1}),
        json!({"providers": {"a": {"baseURL": "http://x"}}, "currentProvider": "a", "model": "m"}),
        json!({"apiKeyHelper": "x", "statusLine": {"type": "command", "command": "x"}}),
        json!({"sandbox": {"enabled": false, "excludedCommands": ["x"], "filesystem": {"allowRead": ["/"]}}}),
        json!({"mcpServers": {"m": {"command": "x"}}, "enableAllProjectMcpServers": true}),
        json!({"defaultTrustLevel": "full", "enabledPlugins": {"a": true}, "unknown": 1}),
        json!({"sandbox": {"enabled": true, "filesystem": {"denyRead": ["/s"]}}}),
    ]);
    let shape = (rules(), rules(), rules(), mode, any::<bool>(), extra, 0..12_u8).prop_map(
        |(allow, ask, deny, mode, disable, extra, broken)| {
            let mut settings = json!({"permissions": {
                "allow": allow, "ask": ask, "deny": deny, "additionalDirectories": ["/x"],
            }});
            if !mode.is_empty() {
                settings["permissions"]["defaultMode"] = json!(mode);
            }
            if disable {
                settings["permissions"]["disableBypassPermissionsMode"] = json!("disable");
            }
            if let Value::Object(extra) = extra {
                settings.as_object_mut().unwrap().extend(extra);
            }
            let text = settings.to_string();
            match broken {
                0 => text[..text.len() / 2].to_owned(),
                1 => format!("{text}}}"),
                2 => text.replacen("\"deny\":[", "\"deny\":[7,", 1),
                _ => text,
            }
        },
    );
    prop_oneof![9 => shape, 1 => any::<String>()]
}

fn looseness(mode: Mode) -> usize {
    Mode::ALL.iter().position(|other| *other == mode).unwrap()
}

fn list<'a>(settings: &'a Settings, name: &str) -> Vec<&'a str> {
    let permissions = &settings.permissions;
    texts(match name {
        "allow" => &permissions.allow,
        "ask" => &permissions.ask,
        _ => &permissions.deny,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn sdk_11_a_project_layer_before_trust_never_loosens(
        user in any_layer(),
        project in prop::collection::vec(any_layer(), 4),
        which in 0..4_usize,
    ) {
        let world = World::with(&[(Layer::UserRobota, &user)]);
        let layers = Layer::FILES[2..].to_vec();
        // Other project layers exist already; the added layer must not loosen them either.
        for (layer, text) in layers.iter().zip(&project).filter(|(layer, _)| **layer != layers[which]) {
            world.write(*layer, text);
        }
        let without = world.load_as(Trust::Unknown);
        world.write(layers[which], &project[which]);
        let with = world.load_as(Trust::Unknown);

        let (allow, fewer) = (list(&without, "allow"), list(&with, "allow"));
        prop_assert!(fewer.iter().all(|rule| allow.contains(rule)), "allow grew: {:?}", fewer);
        for name in &LISTS[1..] {
            let (before, after) = (list(&without, name), list(&with, name));
            prop_assert!(before.iter().all(|rule| after.contains(rule)), "{} shrank", name);
        }
        prop_assert!(looseness(with.permissions.mode) <= looseness(without.permissions.mode));
        prop_assert!(with.permissions.additional_directories.len() <= without.permissions.additional_directories.len());
        prop_assert!(with.permissions.bypass_disabled || !without.permissions.bypass_disabled);

        // No hook, provider or folder comes from the added layer.
        prop_assert_eq!(&with.hooks, &without.hooks);
        let values = |settings: &Settings| {
            let mut values = settings.values.clone();
            values.sandbox = None;
            values.disable_skill_shell_execution = None;
            values.enable_all_project_mcp_servers = None;
            values
        };
        prop_assert_eq!(values(&with), values(&without));
        let sandbox = |settings: &Settings| settings.values.sandbox.clone().unwrap_or_default();
        let (tight, loose) = (sandbox(&with), sandbox(&without));
        prop_assert!(tight.enabled == Some(true) || tight.enabled == loose.enabled);
        prop_assert_eq!(tight.excluded_commands, loose.excluded_commands);
        prop_assert_eq!(
            tight.filesystem.unwrap_or_default().allow_read,
            loose.filesystem.unwrap_or_default().allow_read
        );
    }

    #[test]
    fn a_project_layer_never_removes_a_restriction_of_the_user(user in any_layer(), project in any_layer()) {
        let world = World::with(&[(Layer::UserRobota, &user)]);
        let before = world.load_as(Trust::Trusted);
        world.write(Layer::ProjectClaudeLocal, &project);
        let after = world.load_as(Trust::Trusted);
        for name in &LISTS[1..] {
            let (before, after) = (list(&before, name), list(&after, name));
            prop_assert!(before.iter().all(|rule| after.contains(rule)));
        }
        prop_assert!(
            after.permissions.mode != Mode::BypassPermissions
                || before.permissions.mode == Mode::BypassPermissions
        );
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let world = World::new();
        let file = world.write(Layer::ProjectClaude, "");
        std::fs::write(file, &bytes).unwrap();
        let _ = Files::read(&world.places).trust_subject();
        let _ = world.load();
    }
}
