//! Writes of one key and one rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::{World, allowed, key};
use proptest::prelude::*;
use robota_config::{ConfigError, Layer, RuleList, Trust, Written};
use serde_json::{Value, json};

fn set(
    world: &World,
    layer: Layer,
    name: &str,
    value: impl Into<Value>,
) -> Result<Written, ConfigError> {
    let value = value.into();
    world.writer(|mut writer| writer.set(layer, &key(name), Some(&value)))
}

fn remove(world: &World, layer: Layer, name: &str) {
    world.writer(|mut writer| writer.set(layer, &key(name), None)).unwrap();
}

fn allow(world: &World, layer: Layer, rule: &str) -> Result<Written, ConfigError> {
    world.writer(|mut writer| writer.add_rule(layer, RuleList::Allow, rule, &|_, _| Ok(())))
}

#[test]
fn a_new_file_is_readable_by_its_owner_only() {
    let world = World::new();
    let written = set(&world, Layer::UserRobota, "providers.a.model", json!("m")).unwrap();
    assert!(written.trusted);
    let text = world.read(Layer::UserRobota);
    assert_eq!(
        text,
        "{\n  \"providers\": {\n    \"a\": {\n      \"model\": \"m\"\n    }\n  }\n}\n"
    );
    let mode = std::fs::metadata(&written.file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn an_object_of_keys_is_set_and_removed_as_a_whole() {
    let world = World::new();
    set(&world, Layer::UserRobota, "env", json!({"A": "1", "B": "2"})).unwrap();
    set(&world, Layer::UserRobota, "env", json!({"C": "3"})).unwrap();
    let text = world.read(Layer::UserRobota);
    assert_eq!(text, "{\n  \"env\": {\n    \"C\": \"3\"\n  }\n}\n");
    set(&world, Layer::UserRobota, "env", json!({})).unwrap();
    assert_eq!(world.read(Layer::UserRobota), "{\n  \"env\": {}\n}\n");
    remove(&world, Layer::UserRobota, "env");
    assert_eq!(world.read(Layer::UserRobota), "{}\n");

    // The members have to pass the checks that they would pass alone.
    let refused =
        |layer, name: &str, value| set(&world, layer, name, value).unwrap_err().to_string();
    let project = Layer::ProjectRobota;
    for (layer, name, value, reason) in [
        (Layer::UserRobota, "env", json!("A=1"), "expected an object"),
        (Layer::UserRobota, "providers", json!({"a": {"modle": "m"}}), "unknown key"),
        (Layer::UserRobota, "providers", json!({"a": {"timeout": 0}}), "nonzero"),
        (Layer::UserRobota, "permissions", json!({"allow": ["Bash"]}), "one by one"),
        (Layer::UserRobota, "sandbox", json!({}), "one by one"),
        (project, "pluginConfigs", json!({"a": {"options": {}}}), "only your own"),
    ] {
        let error = refused(layer, name, value);
        assert!(error.contains(reason), "{name}: {error}");
    }
    assert_eq!(world.read(Layer::UserRobota), "{}\n");
}

#[test]
fn the_rest_of_the_file_stays_unchanged() {
    let before = "\u{feff}{\r\n\t\"z\": 123456789012345678901234567890,\r\n\t\"model\":   \"old\", \"e\": 1.0e1,\r\n\t\"permissions\": {\"allow\": [\"A\"]},\r\n\t\"env\": {\r\n\t\t\"X\": \"1\"\r\n\t}\r\n}";
    let world = World::with(&[(Layer::UserRobota, before)]);
    set(&world, Layer::UserRobota, "model", json!("new")).unwrap();
    assert_eq!(world.read(Layer::UserRobota), before.replace("\"old\"", "\"new\""));
    allow(&world, Layer::UserRobota, "B").unwrap();
    set(&world, Layer::UserRobota, "env.Y", json!("2")).unwrap();
    set(&world, Layer::UserRobota, "sandbox.enabled", json!(true)).unwrap();
    let expected = before
        .replace("\"old\"", "\"new\"")
        .replace("[\"A\"]", "[\"A\", \"B\"]")
        .replace("\"1\"\r\n\t}", "\"1\",\r\n\t\t\"Y\": \"2\"\r\n\t},\r\n\t\"sandbox\": {\r\n\t\t\"enabled\": true\r\n\t}");
    assert_eq!(world.read(Layer::UserRobota), expected);
    remove(&world, Layer::UserRobota, "sandbox.enabled");
    remove(&world, Layer::UserRobota, "model");
    assert_eq!(
        world.read(Layer::UserRobota),
        expected
            .replace("{\r\n\t\t\"enabled\": true\r\n\t}", "{}")
            .replace(",\r\n\t\"model\":   \"new\"", "")
    );
}

#[test]
fn a_file_keeps_its_mode_and_its_link() {
    let world = World::with(&[(Layer::UserRobota, "{}")]);
    let file = world.file(Layer::UserRobota);
    let real = world.project().join("dotfiles.json");
    std::fs::rename(&file, &real).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    set(&world, Layer::UserRobota, "model", json!("m")).unwrap();
    assert!(file.symlink_metadata().unwrap().is_symlink());
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::read_to_string(&real).unwrap().contains("\"m\""));
    let leftovers = std::fs::read_dir(world.project()).unwrap().count();
    assert_eq!(leftovers, 1, "no temporary file is left");
}

#[test]
fn an_invalid_file_is_not_changed() {
    for text in [
        "",
        "{\"model\": \"x\",}",
        "[]",
        "{\"permissions\": {\"allow\": 7}}",
        "{\"a\": 1, \"a\": 2}",
        "// {}",
    ] {
        let world = World::with(&[(Layer::UserRobota, text)]);
        allow(&world, Layer::UserRobota, "A").unwrap_err();
        assert_eq!(world.read(Layer::UserRobota), text);
    }
    // An invalid value of another key does not matter.
    let world = World::with(&[(Layer::UserRobota, "{\"model\": 7}")]);
    allow(&world, Layer::UserRobota, "A").unwrap();
}

#[test]
fn unknown_keys_and_invalid_values_are_refused() {
    let world = World::with(&[(Layer::UserRobota, "{}")]);
    for (name, value) in [
        ("modle", json!("m")),
        ("permissions", json!({})),
        ("model", json!(7)),
        ("model.x", json!(7)),
        ("autoCompactThreshold", json!(2)),
        ("providers.a.timeout", json!(0)),
        ("permissions.deny", json!("Bash")),
        ("hooks.Stop", json!([{"hooks": [{"type": "command"}]}])),
    ] {
        let error = set(&world, Layer::UserRobota, name, value).unwrap_err();
        assert!(matches!(error, ConfigError::Key { .. }), "{name}: {error}");
    }
    assert_eq!(world.read(Layer::UserRobota), "{}");
    set(&world, Layer::UserRobota, "providers.a.options.deep.er", json!([1])).unwrap();
    let bad = world.writer(|mut writer| {
        writer.add_rule(Layer::UserRobota, RuleList::Deny, "(", &|_, _| Err("no name".to_owned()))
    });
    assert!(bad.unwrap_err().to_string().contains("no name"));
    set(&world, Layer::Flags, "model", json!("m")).unwrap_err();
}

#[test]
fn user_only_values_are_not_written_to_a_project() {
    let world = World::new();
    for (name, value) in [
        ("disableAllHooks", json!(true)),
        ("cleanupPeriodDays", json!(1)),
        ("permissions.defaultMode", json!("bypassPermissions")),
    ] {
        set(&world, Layer::ProjectRobotaLocal, name, value.clone()).unwrap_err();
        set(&world, Layer::UserRobota, name, value).unwrap();
    }
    set(&world, Layer::ProjectRobotaLocal, "permissions.defaultMode", json!("plan")).unwrap();
    assert!(!world.project().join(".claude").exists());
}

#[test]
fn a_rule_is_added_once() {
    let world = World::new();
    allow(&world, Layer::UserRobota, "A").unwrap();
    allow(&world, Layer::UserRobota, "B").unwrap();
    let text = world.read(Layer::UserRobota);
    allow(&world, Layer::UserRobota, "A").unwrap();
    assert_eq!(world.read(Layer::UserRobota), text);
    assert_eq!(allowed(&world.load()), ["A", "B"]);
}

#[test]
fn a_change_by_the_user_keeps_trust() {
    // In a folder without settings.
    let world = World::new();
    assert!(allow(&world, Layer::ProjectRobotaLocal, "A").unwrap().trusted);
    assert_eq!(world.status(), Trust::Trusted);
    assert_eq!(allowed(&world.load()), ["A"]);

    // In a trusted folder.
    world.write(Layer::ProjectClaude, r#"{"env": {"X": "1"}}"#);
    assert_eq!(world.status(), Trust::Changed);
    world.trust();
    assert!(allow(&world, Layer::ProjectRobotaLocal, "B").unwrap().trusted);
    assert!(set(&world, Layer::ProjectRobota, "model", json!("m")).unwrap().trusted);
    assert_eq!(world.status(), Trust::Trusted);
    assert_eq!(allowed(&world.load()), ["A", "B"]);
}

#[test]
fn a_rule_that_is_added_in_a_worktree_keeps_the_trust_of_both_folders() {
    let mut world = World::with(&[(Layer::ProjectRobotaLocal, r#"{"env": {"X": "1"}}"#)]);
    let main = world.places.cwd.canonicalize().unwrap();
    world.places.cwd.clone_from(&main);
    world.trust();
    let tree = main.parent().unwrap().join("tree");
    let state = main.join(".git/worktrees/tree");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(state.join("commondir"), "../..\n").unwrap();
    std::fs::write(state.join("gitdir"), tree.join(".git").display().to_string()).unwrap();
    std::fs::write(tree.join(".git"), format!("gitdir: {}\n", state.display())).unwrap();
    world.places.cwd.clone_from(&tree);
    assert_eq!(world.status(), Trust::Unknown);
    assert!(!allow(&world, Layer::ProjectRobotaLocal, "A").unwrap().trusted);
    world.trust();
    assert!(allow(&world, Layer::ProjectRobotaLocal, "B").unwrap().trusted);
    assert_eq!(allowed(&world.load()), ["A", "B"]);
    assert!(!tree.join(".robota").exists(), "the file of the main checkout was changed");
    world.places.cwd = main;
    assert_eq!(world.status(), Trust::Trusted);
    assert_eq!(allowed(&world.load()), ["A", "B"]);
}

#[test]
fn a_change_in_an_untrusted_folder_needs_trust() {
    let world = World::with(&[(Layer::ProjectClaude, r#"{"env": {"X": "1"}}"#)]);
    assert!(!allow(&world, Layer::ProjectRobotaLocal, "A").unwrap().trusted);
    assert_eq!(world.status(), Trust::Unknown);
    assert!(allowed(&world.load()).is_empty());
}

#[test]
fn a_link_in_a_checkout_is_not_written_through() {
    let world = World::with(&[(Layer::UserRobota, "{}"), (Layer::ProjectClaude, "{}")]);
    let file = world.file(Layer::ProjectRobotaLocal);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(world.file(Layer::UserRobota), &file).unwrap();
    let error = allow(&world, Layer::ProjectRobotaLocal, "A").unwrap_err();
    assert!(error.to_string().contains("outside the project"), "{error}");
    assert_eq!(world.read(Layer::UserRobota), "{}");

    // The folder itself may be the link, and the file may not exist yet.
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    let outside = world.places.home.clone().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, file.parent().unwrap()).unwrap();
    allow(&world, Layer::ProjectRobotaLocal, "A").unwrap_err();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_write_changes_only_its_key(
        names in prop::collection::vec("[a-c]{1,2}", 0..4),
        pretty in any::<bool>(),
        value in "[a-z\"\\\\\u{e9}]{0,6}",
    ) {
        let mut file = json!({"model": "m", "env": {}, "permissions": {"allow": ["A"], "deny": []}});
        for name in &names {
            file["env"][name] = json!("1");
        }
        let text = if pretty { serde_json::to_string_pretty(&file).unwrap() } else { file.to_string() };
        let world = World::with(&[(Layer::UserRobota, &text)]);
        set(&world, Layer::UserRobota, "env.b", json!(value)).unwrap();
        set(&world, Layer::UserRobota, "language", json!(value)).unwrap();
        allow(&world, Layer::UserRobota, &value).unwrap();
        remove(&world, Layer::UserRobota, "env.a");
        remove(&world, Layer::UserRobota, "model");

        file["env"]["b"] = json!(value);
        file["language"] = json!(value);
        if value != "A" {
            file["permissions"]["allow"].as_array_mut().unwrap().push(json!(value));
        }
        file["env"].as_object_mut().unwrap().shift_remove("a");
        file.as_object_mut().unwrap().shift_remove("model");
        let after: Value = serde_json::from_str(&world.read(Layer::UserRobota)).unwrap();
        prop_assert_eq!(after, file);
    }
}
