//! How layers are merged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::Duration;

use common::{World, allowed, key, problems, texts};
use robota_config::model::{HiddenSecret, HookDefinition};
use robota_config::{
    ConfigError, IgnoreReason, Layer, ProgramEnvironment, SettingsArgument, Severity, Trust,
};
use robota_core::error::{Diagnose, ErrorKind};
use robota_core::permission::Mode;
use serde_json::{Value, json};

#[test]
fn sdk_11_six_layers_and_two_above_them_the_highest_wins() {
    let mut world = World::new();
    let mut expected = None;
    let layers = Layer::FILES;
    let names = [
        "~/.robota/settings.json",
        "~/.claude/settings.json",
        ".robota/settings.json",
        ".robota/settings.local.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
    ];
    assert_eq!(layers.map(Layer::name), names);
    for layer in layers {
        world.write(layer, &json!({"model": layer.name(), "env": {layer.name(): "1"}}).to_string());
        expected = Some(layer.name().to_owned());
        assert_eq!(world.load_as(Trust::Trusted).values.model, expected);
    }
    assert_eq!(world.load_as(Trust::Trusted).values.env.len(), layers.len(), "env is per key");
    world.places.settings = Some(SettingsArgument::from(r#" {"model": "argument"}"#));
    assert_eq!(world.load_as(Trust::Trusted).values.model.as_deref(), Some("argument"));
    world.places.flags.insert("model".to_owned(), json!("flag"));
    let settings = world.load_as(Trust::Trusted);
    assert_eq!(settings.values.model.as_deref(), Some("flag"));

    let explained = &settings.explain(&key("model"))[0];
    assert_eq!(explained.set_by[0].layer, Layer::Flags);
    let order: Vec<_> = explained.overridden.iter().map(|(_, origin)| origin.layer).collect();
    let mut all = layers.to_vec();
    all.push(Layer::Argument);
    assert_eq!(order, all);
    assert!(expected.is_some());
}

#[test]
fn without_any_file_the_defaults_apply() {
    let settings = World::new().load();
    assert!(settings.report.is_empty(), "{:?}", settings.report);
    assert_eq!(settings.permissions.mode, Mode::Default);
    assert!(settings.provider().unwrap().is_none());
    assert_eq!(settings.trust, Trust::NotNeeded);
}

#[test]
fn sdk_11_lists_are_united_with_their_origins() {
    let world = World::with(&[
        (Layer::UserRobota, r#"{"permissions":{"deny":["A","B","A"]}}"#),
        (Layer::UserClaude, "{\"permissions\":{\n\"deny\":[\"B\",\n\"C\"],\"allow\":[\"X\"]}}"),
        (Layer::ProjectClaude, r#"{"permissions":{"deny":[],"allow":["Y"]}}"#),
    ]);
    let settings = world.load_as(Trust::Trusted);
    assert_eq!(
        texts(&settings.permissions.deny),
        ["A", "B", "B", "C"],
        "a path in each `B` is its own"
    );
    assert_eq!(allowed(&settings), ["X", "Y"]);
    let c = &settings.permissions.deny[3];
    assert_eq!((c.origin.layer, c.origin.line), (Layer::UserClaude, Some(3)));
    let places = settings.explain(&key("permissions.deny"))[0].set_by.clone();
    assert_eq!(places[0].layer, Layer::UserRobota);
}

#[test]
fn sdk_11_hooks_of_all_layers_are_kept() {
    let hook = |command: &str| {
        json!({"hooks": {"PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": command, "timeout": 5}]},
        ]}})
        .to_string()
    };
    let world = World::with(&[
        (Layer::UserRobota, &hook("one")),
        (Layer::UserClaude, &hook("two")),
        (Layer::ProjectClaude, &hook("three")),
    ]);
    let commands = |trust| {
        let settings = world.load_as(trust);
        settings.hooks["PreToolUse"]
            .iter()
            .map(|sourced| match &sourced.group.hooks[0] {
                HookDefinition::Command(hook) => hook.command.clone(),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(commands(Trust::Trusted), ["one", "two", "three"]);
    assert_eq!(commands(Trust::Unknown), ["one", "two"]);
    let settings = world.load_as(Trust::Unknown);
    assert_eq!(
        settings.hooks["PreToolUse"][0].group.hooks[0].timeout(),
        Some(Duration::from_secs(5))
    );
}

#[test]
fn an_invalid_hook_is_kept_and_reported() {
    let world = World::with(&[(
        Layer::UserRobota,
        "{\"hooks\": {\"PreToolUse\": [\n\
         {\"matcher\": \"Bash\", \"hooks\": [\n{\"type\": \"command\"},\n{\"type\": \"webhook\", \"server\": \"s\"}]},\n\
         {\"matcher\": 7, \"hooks\": []},\n\"echo\"],\n\"Stop\": {}}}",
    )]);
    let settings = world.load();
    let groups = &settings.hooks["PreToolUse"];
    assert!(
        matches!(&groups[0].group.hooks[0], HookDefinition::Unusable(hook) if hook.reason.contains("command"))
    );
    assert!(
        matches!(&groups[0].group.hooks[1], HookDefinition::Unusable(hook) if hook.kind.as_deref() == Some("webhook"))
    );
    assert_eq!(
        groups[1].group.matcher, None,
        "an invalid matcher makes the group apply to every call"
    );
    assert!(matches!(&groups[2].group.hooks[0], HookDefinition::Unusable(_)));
    assert!(matches!(&settings.hooks["Stop"][0].group.hooks[0], HookDefinition::Unusable(_)));
    let lines: Vec<_> = settings.report.problems.iter().map(|p| p.origin.line.unwrap()).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7, 7], "{:?}", problems(&settings));
}

#[test]
fn sdk_11_provider_profiles_merge_per_field() {
    let world = World::with(&[
        (
            Layer::UserRobota,
            r#"{"currentProvider": "a", "providers": {
                "a": {"type": "openai", "model": "m1", "apiKey": "$ENV:KEY", "options": {"x": {"y": 1, "z": [1]}}}}}"#,
        ),
        (
            Layer::UserClaude,
            r#"{"providers": {"a": {"model": "m2", "timeout": 5000, "options": {"x": {"z": [2]}}}}}"#,
        ),
    ]);
    let provider = world.load().provider().unwrap().unwrap();
    let environment = ProgramEnvironment::from_iter([("KEY".to_owned(), "k-123456789".to_owned())]);
    let config = provider.config(&environment.lookup()).unwrap();
    assert_eq!(config.provider_type, "openai");
    assert_eq!(config.model.as_deref(), Some("m2"));
    assert_eq!(config.api_key.unwrap().expose(), "k-123456789");
    assert_eq!(config.timeout, Some(Duration::from_secs(5)));
    assert_eq!(Value::Object(config.options), json!({"x": {"y": 1, "z": [2]}}));
    assert!(!format!("{provider:?}").contains("KEY"));

    let nothing = ProgramEnvironment::default();
    let error = provider.config(&nothing.lookup()).unwrap_err();
    assert!(error.to_data().message.contains("`KEY` is not set"));
}

#[test]
fn sdk_11_invalid_providers_are_configuration_errors() {
    let fails =
        |text: &str| World::with(&[(Layer::UserRobota, text)]).load().provider().unwrap_err();
    let missing = fails(r#"{"currentProvider": "b", "providers": {"a": {"type": "t"}}}"#);
    assert_eq!(missing.kind(), ErrorKind::Configuration);
    assert_eq!(missing.hint().unwrap(), "use one of: a");
    assert!(missing.to_string().contains("settings.json:1"), "{missing}");
    let untyped = fails(r#"{"currentProvider": "a", "providers": {"a": {"model": "m"}}}"#);
    assert!(matches!(untyped, ConfigError::NoType { .. }));
    assert!(matches!(fails(r#"{"provider": {"model": "m"}}"#), ConfigError::NoType { .. }));
}

#[test]
fn sdk_11_the_legacy_provider_is_used_without_current_provider() {
    let legacy = r#"{"provider": {"name": "anthropic", "model": "m", "apiKey": "k"}}"#;
    let world = World::with(&[(Layer::UserRobota, legacy)]);
    let provider = world.load().provider().unwrap().unwrap();
    assert_eq!((provider.kind.as_str(), provider.model.as_deref()), ("anthropic", Some("m")));
    assert_eq!(provider.timeout, Duration::from_secs(120), "the default");
    world.write(
        Layer::UserClaude,
        r#"{"model": "m9", "currentProvider": "a", "providers": {"a": {"type": "t"}}}"#,
    );
    let provider = world.load().provider().unwrap().unwrap();
    assert_eq!((provider.kind.as_str(), provider.model.as_deref()), ("t", Some("m9")));
}

#[test]
fn sdk_11_references_are_replaced_in_api_keys_only() {
    let world = World::with(&[(
        Layer::UserRobota,
        r#"{"currentProvider": "a", "providers": {"a": {"type": "t", "baseURL": "$ENV:URL", "apiKey": "$ENV:KEY"}}}"#,
    )]);
    let settings = world.load();
    let environment = ProgramEnvironment::from_iter(
        ["URL", "KEY"].map(|name| (name.to_owned(), "secret".to_owned())),
    );
    let config = settings.provider().unwrap().unwrap().config(&environment.lookup()).unwrap();
    assert_eq!(config.base_url.as_deref(), Some("$ENV:URL"));
    assert_eq!(problems(&settings).len(), 1, "{:?}", problems(&settings));
    assert!(problems(&settings)[0].contains("`providers.a.baseURL`"));
}

#[test]
fn local_settings_of_claude_code_are_found_at_the_root_of_the_checkout() {
    let deny = |rule: &str| format!(r#"{{"permissions": {{"deny": ["{rule}"]}}}}"#);
    let world = World::with(&[(Layer::ProjectClaudeLocal, &deny("Root"))]);
    std::fs::create_dir(world.places.cwd.join(".git")).unwrap();
    let root = world.file(Layer::ProjectClaudeLocal);
    let mut below = world.places.clone();
    below.cwd = world.places.cwd.join("apps/web");
    std::fs::create_dir_all(below.cwd.join(".claude")).unwrap();
    let denied = |places: &robota_config::Places| -> Vec<String> {
        let trust = robota_config::TrustStore::load(places);
        let settings = robota_config::load(places, &trust, &|_, _| Ok(()));
        settings.permissions.deny.iter().map(|rule| rule.text.clone()).collect()
    };
    assert_eq!(below.file(Layer::ProjectClaudeLocal), Some(root));
    assert_eq!(denied(&below), ["Root"]);
    // Its `/path` means the folder that has `.claude`, not the working folder.
    let anchor = |places: &robota_config::Places| {
        places.anchor(Layer::ProjectClaudeLocal).canonicalize().unwrap()
    };
    assert_eq!(anchor(&below), world.places.cwd.canonicalize().unwrap());
    let own = below.cwd.join(".claude/settings.local.json");
    std::fs::write(&own, deny("Own")).unwrap();
    assert_eq!(denied(&below), ["Own"], "a file in the working folder comes first");
    assert_eq!(anchor(&below), below.cwd.canonicalize().unwrap());
    std::fs::remove_file(&own).unwrap();
    std::fs::remove_dir(world.places.cwd.join(".git")).unwrap();
    assert_eq!(below.file(Layer::ProjectClaudeLocal), Some(own));
    assert!(denied(&below).is_empty(), "outside of a checkout nothing above is read");
}

#[test]
fn a_worktree_of_git_has_the_local_settings_of_its_main_checkout() {
    let deny = |rule: &str| format!(r#"{{"permissions": {{"deny": ["{rule}"]}}}}"#);
    let world = World::with(&[
        (Layer::ProjectClaudeLocal, &deny("Claude(/src/**)")),
        (Layer::ProjectRobotaLocal, &deny("Robota(/src/**)")),
    ]);
    let main = world.places.cwd.canonicalize().unwrap();
    let tree = main.parent().unwrap().join("tree");
    let write = |file: std::path::PathBuf, text: &str| {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let state = main.join(".git/worktrees/tree");
    write(state.join("commondir"), "../..\n");
    write(tree.join(".git"), &format!("gitdir: {}\n", state.display()));
    let mut places = world.places;
    places.cwd.clone_from(&tree);
    let denied = |places: &robota_config::Places| -> Vec<String> {
        let trust = robota_config::TrustStore::load(places);
        let settings = robota_config::load(places, &trust, &|_, _| Ok(()));
        settings.permissions.deny.iter().map(|rule| rule.text.clone()).collect()
    };
    assert!(denied(&places).is_empty(), "the repository does not name the worktree");
    write(state.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
    assert_eq!(denied(&places), ["Robota(/src/**)", "Claude(/src/**)"]);
    // The rules mean the paths of the worktree, where the agent works.
    for layer in [Layer::ProjectClaudeLocal, Layer::ProjectRobotaLocal] {
        assert_eq!(places.anchor(layer), tree);
    }
    // A subfolder of the worktree has the file of the same subfolder, and that of the root.
    let mut below = places.clone();
    below.cwd = tree.join("apps");
    std::fs::create_dir_all(&below.cwd).unwrap();
    assert_eq!(denied(&below), ["Claude(/src/**)"]);
    assert_eq!(below.anchor(Layer::ProjectClaudeLocal), tree);
    write(main.join("apps/.robota/settings.local.json"), &deny("Apps"));
    assert_eq!(denied(&below), ["Apps", "Claude(/src/**)"]);
    // The worktree's own files come first.
    write(tree.join(".claude/settings.local.json"), &deny("Own"));
    assert_eq!(denied(&places), ["Robota(/src/**)", "Own"]);
    // A copy of the link in another checkout is no worktree.
    let copy = main.parent().unwrap().join("copy");
    write(copy.join(".git"), &format!("gitdir: {}\n", state.display()));
    places.cwd = copy;
    assert!(denied(&places).is_empty());
}

#[test]
fn unknown_keys_are_kept_and_reported_once() {
    let world = World::with(&[
        (Layer::UserRobota, r#"{"$schema": "x", "colour": "blue", "sandbox": {"colour": {}}}"#),
        (Layer::UserClaude, r#"{"colour": "red", "permissions": {"new": 1}}"#),
    ]);
    let settings = world.load();
    assert_eq!(settings.values.other["colour"], "red");
    assert_eq!(settings.report.problems.len(), 3, "{:?}", problems(&settings));
    assert!(settings.report.problems.iter().all(|p| p.severity == Severity::Warning));
}

#[test]
fn a_value_of_the_wrong_type_is_reported_and_the_rest_applies() {
    let world = World::with(&[(
        Layer::UserRobota,
        "{\n\"model\": 7,\n\"language\": \"de\",\n\"providers\": {\"a\": {\n\"timeout\": -1, \"type\": \"t\"}},\n\
         \"statusLine\": {\"type\": \"command\",\n\"command\": 3},\n\"autoCompactThreshold\": 1.5,\n\"env\": []}",
    )]);
    let settings = world.load();
    assert_eq!(settings.values.language.as_deref(), Some("de"));
    assert_eq!(settings.values.providers["a"].kind.as_deref(), Some("t"));
    assert_eq!(settings.values.providers["a"].timeout, None);
    let found: Vec<_> = settings
        .report
        .problems
        .iter()
        .filter(|p| p.severity == Severity::Error)
        .map(|p| (p.origin.line.unwrap(), p.key.clone().unwrap().to_string()))
        .collect();
    let expected = [
        (2, "model"),
        (5, "providers.a.timeout"),
        (7, "statusLine.command"),
        (8, "autoCompactThreshold"),
        (9, "env"),
    ];
    assert_eq!(found, expected.map(|(line, key)| (line, key.to_owned())));
    assert!(settings.permissions.unreadable.is_empty(), "none of these forbids anything");
}

#[test]
fn sandbox_and_other_keys_have_types() {
    let world = World::with(&[(
        Layer::UserClaude,
        r#"{"sandbox": {"enabled": true, "filesystem": {"denyRead": ["~/.ssh"]}, "network": {"deniedDomains": ["x.y"]}},
            "autoCompactThreshold": false, "enabledPlugins": {"a@b": true}, "cleanupPeriodDays": 3,
            "fallbackModel": ["a", "b"], "defaultTrustLevel": "full", "model": null}"#,
    )]);
    let settings = world.load();
    let no_effect: Vec<_> =
        settings.report.problems.iter().map(|p| p.key.clone().unwrap().to_string()).collect();
    assert_eq!(no_effect, ["cleanupPeriodDays"]);
    assert!(settings.report.dropped.is_empty(), "{:?}", settings.report);
    let sandbox = settings.values.sandbox.unwrap();
    assert_eq!(sandbox.enabled, Some(true));
    assert_eq!(sandbox.filesystem.unwrap().deny_read, ["~/.ssh"]);
    assert_eq!(settings.values.auto_compact_threshold.unwrap().0, None);
    assert_eq!(settings.permissions.mode, Mode::AcceptEdits);
}

#[test]
fn credentials_of_the_sandbox_are_texts_or_objects_and_an_invalid_one_is_a_restriction() {
    let world = World::with(&[(
        Layer::UserClaude,
        r#"{"sandbox": {"credentials": {
            "files": ["~/.key", {"path": "~/.aws", "mode": "deny"}],
            "envVars": [{"name": "DEPLOY", "mode": "mask", "injectHosts": ["a.b"]}, "OTHER"]}}}"#,
    )]);
    let settings = world.load();
    assert!(settings.report.problems.is_empty(), "{:?}", settings.report);
    let credentials = settings.values.sandbox.unwrap().credentials.unwrap();
    let names = |list: &[HiddenSecret]| {
        list.iter().map(|secret| (secret.name().to_owned(), secret.is_masked())).collect::<Vec<_>>()
    };
    assert_eq!(names(&credentials.files), [("~/.key".into(), false), ("~/.aws".into(), false)]);
    assert_eq!(names(&credentials.env_vars), [("DEPLOY".into(), true), ("OTHER".into(), false)]);

    for invalid in [r#""files": "~/.key""#, r#""envVars": [{"mode": "deny"}]"#, r#""envVars": [1]"#]
    {
        let text = format!(r#"{{"sandbox": {{"credentials": {{{invalid}}}}}}}"#);
        let world = World::with(&[(Layer::UserRobota, text.as_str())]);
        let settings = world.load();
        assert_eq!(settings.report.problems.len(), 1, "{:?}", settings.report);
        assert_eq!(settings.permissions.unreadable.len(), 1, "{invalid}");
    }
}

/// A key that this version accepts and does not use is reported once, however many values it has,
/// and only where it would apply.
#[test]
fn sdk_11_keys_without_effect_are_reported() {
    let project = r#"{"theme": "dark", "transports": {"x": {}}}"#;
    let world = World::with(&[
        (Layer::UserRobota, "{\n\"preset\": \"high\"}"),
        (Layer::UserClaude, r#"{"preset": "low", "transports": {"a": {}, "b": {}}, "model": "m"}"#),
        (Layer::ProjectClaude, project),
    ]);
    let settings = world.load();
    let problems = problems(&settings);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("settings.json:2: `preset`: no effect yet"), "{problems:?}");
    assert!(problems[1].contains("`transports`: no effect yet"), "{problems:?}");
    assert!(settings.report.problems.iter().all(|p| p.severity == Severity::Warning));
    assert_eq!(settings.values.preset.as_deref(), Some("low"), "the value is kept");
}

#[test]
fn default_mode_overrides_the_trust_level_and_higher_layers_override_both() {
    let world = World::with(&[(
        Layer::UserRobota,
        r#"{"permissions": {"defaultMode": "plan"}, "defaultTrustLevel": "full"}"#,
    )]);
    assert_eq!(world.load().permissions.mode, Mode::Plan);
    world.write(Layer::UserClaude, r#"{"defaultTrustLevel": "full"}"#);
    assert_eq!(world.load().permissions.mode, Mode::AcceptEdits);
    let explained = &world.load().explain(&key("permissions.defaultMode"))[0];
    assert_eq!(explained.set_by[0].layer, Layer::UserClaude);
    assert_eq!(explained.value, "acceptEdits");
}

#[test]
fn an_unknown_mode_never_loosens() {
    for (low, unknown, expected) in [
        ("plan", "auto", Mode::Plan),
        ("acceptEdits", "auto", Mode::Default),
        ("bypassPermissions", "auto", Mode::Default),
        ("acceptEdits", "manual", Mode::Default),
        ("acceptEdits", "dontAsk", Mode::DontAsk),
    ] {
        let mode = |name: &str| json!({"permissions": {"defaultMode": name}}).to_string();
        let world =
            World::with(&[(Layer::UserRobota, &mode(low)), (Layer::UserClaude, &mode(unknown))]);
        assert_eq!(world.load().permissions.mode, expected, "{low} then {unknown}");
    }
}

#[test]
fn any_layer_can_forbid_the_bypass_mode() {
    let world = World::with(&[
        (Layer::UserRobota, r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#),
        (Layer::ProjectClaude, r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#),
    ]);
    let settings = world.load();
    assert_eq!(settings.permissions.mode, Mode::Default);
    assert!(settings.permissions.bypass_disabled);
    assert_eq!(settings.report.dropped[0].reason, IgnoreReason::BypassDisabled);
}

#[test]
fn in_the_home_folder_the_project_files_are_the_users_own() {
    let mut world = World::with(&[(Layer::UserRobota, r#"{"permissions": {"allow": ["X"]}}"#)]);
    world.places.cwd = world.places.home.clone().unwrap();
    let settings = world.load();
    assert_eq!(allowed(&settings), ["X"]);
    assert!(settings.report.is_empty(), "{:?}", settings.report);
}

#[test]
fn a_missing_settings_argument_is_reported() {
    let mut world = World::new();
    world.places.settings = Some(SettingsArgument::from("nowhere.json"));
    let settings = world.load();
    assert!(problems(&settings)[0].contains("the file does not exist"));
    assert_eq!(settings.permissions.unreadable.len(), 1);
}

#[test]
fn explanations_redact_secrets() {
    let world = World::with(&[
        (
            Layer::UserRobota,
            r#"{"env": {"A": "s3cret"}, "providers": {"a": {"apiKey": "s3cret", "options": {"headers": {"x": "s3cret"}}}}}"#,
        ),
        (
            Layer::UserClaude,
            r#"{"env": {"A": "s3cret2"}, "providers": {"a": {"apiKey": "$ENV:A_KEY"}}}"#,
        ),
        (
            Layer::ProjectClaude,
            r#"{"env": {"A": "s3cret"}, "providers": {"a": {"apiKey": "s3cret"}}, "mcpServers": {"m": {"env": {"B": "s3cret"}}}}"#,
        ),
    ]);
    let settings = world.load();
    let shown = serde_json::to_string(&[
        json!(settings.explain(&key("env"))),
        json!(settings.explain(&key("providers"))),
        json!(settings.report),
        json!(
            robota_config::Files::read(&world.places)
                .trust_subject()
                .items
                .iter()
                .filter(|item| item.key != key("env.A"))
                .collect::<Vec<_>>()
        ),
    ])
    .unwrap();
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("$ENV:A_KEY"));
    assert_eq!(settings.get(&key("env.A")), Some(json!("s3cret2")));
}

#[test]
fn invalid_rules_are_reported_and_only_allow_rules_are_ignored() {
    let world = World::with(&[(
        Layer::UserRobota,
        "{\"permissions\": {\"allow\": [\"good\",\n\"bad\"], \"deny\": [\"bad\"]}}",
    )]);
    let files = robota_config::Files::read(&world.places);
    let settings = robota_config::Settings::from_files(&files, Trust::Unknown, &|_, rule| {
        if rule == "bad" { Err("no `(`".to_owned()) } else { Ok(()) }
    });
    assert_eq!(allowed(&settings), ["good"]);
    assert_eq!(texts(&settings.permissions.deny), ["bad"], "never dropped");
    assert_eq!(settings.report.problems.len(), 2);
    assert!(problems(&settings)[0].contains("settings.json:2: `permissions.allow`"));
}

/// Writes files of the administrator, and returns the places that have them.
fn managed(world: &World, files: &[(&str, &str)]) -> robota_config::Places {
    let folder = world.places.cwd.parent().unwrap().join("etc");
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    robota_config::Places { managed: vec![folder], ..world.places.clone() }
}

fn load_in(places: &robota_config::Places) -> robota_config::Settings {
    let trust = robota_config::TrustStore::load(places);
    robota_config::load(places, &trust, &|_, _| Ok(()))
}

#[test]
fn managed_settings_are_the_highest_layer() {
    let mut world = World::with(&[(
        Layer::UserRobota,
        r#"{"permissions": {"allow": ["Mine"], "deny": ["Own"]}, "model": "mine", "language": "de"}"#,
    )]);
    world.places.settings = Some(r#"{"model": "argument"}"#.into());
    let places = managed(
        &world,
        &[
            (
                "managed-settings.json",
                r#"{"permissions": {"deny": ["Bash(curl *)"], "ask": ["Bash(git push *)"],
                    "disableBypassPermissionsMode": "disable"}, "model": "first"}"#,
            ),
            ("managed-settings.d/b.json", r#"{"model": "last"}"#),
            ("managed-settings.d/a.json", r#"{"model": "second"}"#),
            ("managed-settings.d/.c.json", r#"{"model": "hidden"}"#),
            ("managed-settings.d/notes.txt", "no settings"),
            // Read with the servers.
            ("managed-mcp.json", "{}"),
        ],
    );
    let settings = load_in(&places);
    assert_eq!(common::texts(&settings.permissions.deny), ["Own", "Bash(curl *)"]);
    assert_eq!(common::texts(&settings.permissions.ask), ["Bash(git push *)"]);
    assert!(settings.permissions.bypass_disabled);
    assert_eq!(settings.values.model.as_deref(), Some("last"));
    assert_eq!(settings.values.language.as_deref(), Some("de"));
    let origin = settings.permissions.deny[1].origin.to_string();
    assert!(origin.contains("managed-settings.json:1"), "{origin}");
    assert!(problems(&settings).is_empty(), "{:?}", problems(&settings));
    // One that cannot be read allows nothing.
    let places = managed(&world, &[("managed-settings.d/b.json", "{")]);
    let settings = load_in(&places);
    assert!(allowed(&settings).is_empty() && settings.permissions.unreadable.len() == 1);
}

#[test]
fn the_administrator_can_allow_no_other_rules_and_hooks() {
    let hook = |command: &str| {
        format!(
            r#"{{"PreToolUse": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}"#
        )
    };
    let keys = r#""allowManagedHooksOnly": true, "allowManagedPermissionRulesOnly": true"#;
    let own = format!(
        r#"{{"permissions": {{"allow": ["Mine"], "deny": ["Own"]}}, "hooks": {}, {keys}}}"#,
        hook("mine")
    );
    let world = World::with(&[(Layer::UserRobota, &own)]);
    // The keys mean nothing in other files.
    let settings = load_in(&world.places);
    assert_eq!((allowed(&settings), settings.hooks.len()), (vec!["Mine"], 1));
    let dropped = |settings: &robota_config::Settings| -> Vec<String> {
        settings.report.dropped.iter().map(ToString::to_string).collect()
    };
    let ignored = dropped(&settings).join("\n");
    assert_eq!(ignored.matches("only the managed settings").count(), 2, "{ignored}");
    let theirs = format!(
        r#"{{"permissions": {{"allow": ["Theirs"]}}, "hooks": {}, {keys}}}"#,
        hook("theirs")
    );
    let places = managed(&world, &[("managed-settings.json", &theirs)]);
    let settings = load_in(&places);
    assert_eq!(allowed(&settings), ["Theirs"]);
    assert_eq!(common::texts(&settings.permissions.deny), ["Own"], "restrictions still apply");
    let hooks = serde_json::to_string(&settings.hooks).unwrap();
    assert!(hooks.contains("theirs") && !hooks.contains("mine") && settings.managed_hooks_only);
    assert_eq!(dropped(&settings).join("\n").matches("allow no others").count(), 2);
}

#[test]
fn a_user_cannot_turn_off_the_hooks_of_the_administrator() {
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
    for layer in [Layer::UserRobota, Layer::UserClaude] {
        let world = World::with(&[(layer, r#"{"disableAllHooks": true}"#)]);
        let places = managed(&world, &[("managed-settings.json", hooks)]);
        let settings = load_in(&places);
        assert_eq!(settings.hooks.len(), 1);
        assert!(settings.values.disable_all_hooks.is_none() && settings.managed_hooks_only);
    }
    // The administrator can.
    let off = hooks.replacen('{', r#"{"disableAllHooks": true, "#, 1);
    let world = World::new();
    let places = managed(&world, &[("managed-settings.json", &off)]);
    assert_eq!(load_in(&places).values.disable_all_hooks, Some(true));
}

#[test]
fn members_without_effect_are_reported() {
    let world = World::with(&[(
        Layer::UserClaude,
        r#"{"worktree": {"baseRef": "head", "carryChanges": true}, "memory": {"enabled": true, "index": 1}}"#,
    )]);
    let reported = problems(&world.load());
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(reported[0].contains("`worktree.baseRef`: it has no effect; only carryChanges"));
    assert!(reported[1].contains("`memory.index`"), "{reported:?}");
}

#[test]
fn a_rule_whose_name_no_tool_can_have_is_reported_and_changes_nothing() {
    let world = World::with(&[(
        Layer::UserClaude,
        r#"{"permissions": {"deny": ["Edit:*", "mcp__a-b__c.d", "Bash(npm run x:*)"], "allow": ["server:tool"]}}"#,
    )]);
    let settings = world.load();
    let reported = problems(&settings);
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(reported[0].contains("no tool has the name `Edit:*`"), "{reported:?}");
    assert!(reported[1].contains("no tool has the name `server:tool`"), "{reported:?}");
    assert!(settings.permissions.unreadable.is_empty());
}
