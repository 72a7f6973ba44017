//! Tests of the table of keys, the schema, paths and places.

use std::path::Path;

use serde_json::Value;

use crate::keys::{CheckoutRule, KEYS, KeySupport, Merge, Strict};
use crate::{KeyPath, Layer, Places, ProgramEnvironment, SettingsArgument, schema};

#[test]
fn paths_are_parsed_and_formatted_alike() {
    for text in ["model", "permissions.allow", "env.\"A.B\"", "env.\"a b\".x", "enabledPlugins.a@b"]
    {
        assert_eq!(KeyPath::parse(text).unwrap().to_string(), text);
    }
    for wrong in ["", ".", "a.", ".a", "a..b", "\"a", "\"a\"b", "\"\""] {
        assert_eq!(KeyPath::parse(wrong), None, "{wrong}");
    }
    let path = KeyPath(vec!["a".to_owned(), "\u{1b}[2J".to_owned()]);
    assert_eq!(path.to_string(), "a.\"\\u001b[2J\"");
    assert_eq!(KeyPath::parse(&path.to_string()), Some(path));
}

#[test]
fn no_key_of_the_table_is_repeated_or_inside_another() {
    for (at, rule) in KEYS.iter().enumerate() {
        for other in &KEYS[at + 1..] {
            assert_ne!(rule.path, other.path);
            for (inner, outer) in [(rule, other), (other, rule)] {
                let below = format!("{}.", outer.path);
                assert!(!inner.path.starts_with(&below), "{} in {}", inner.path, outer.path);
            }
        }
    }
}

/// Every key of the table is in the schema, so that editors accept it. The description of a key
/// without effect says so, at the innermost step before `*`.
#[test]
fn the_schema_has_every_key_and_marks_those_without_effect() {
    let schema = schema();
    let root = schema.as_value();
    for rule in KEYS {
        let mut described = root;
        let mut at = root;
        for step in rule.path.split('.') {
            at = resolve(root, at);
            at = match step {
                "*" => &at["additionalProperties"],
                name => {
                    described = &at["properties"][name];
                    described
                }
            };
            assert!(!at.is_null(), "{}: no `{step}`", rule.path);
        }
        let description = described["description"].as_str().unwrap_or_default();
        let marked = description.replace('\n', " ").contains("No effect yet");
        match rule.support {
            KeySupport::NoEffect => assert!(marked, "{}: {description}", rule.path),
            KeySupport::Supported => assert!(!marked, "{}: {description}", rule.path),
            KeySupport::Partial | KeySupport::Members(_) => {}
        }
    }
}

fn resolve<'a>(root: &'a Value, at: &'a Value) -> &'a Value {
    let reference = at["$ref"].as_str().or_else(|| at["anyOf"][0]["$ref"].as_str());
    match reference.and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => root.pointer(pointer).unwrap(),
        None => at,
    }
}

#[test]
fn the_settings_page_has_the_table() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md"))
            .unwrap();
    let mut table = String::from("| key | merge | in a checkout | used |\n|---|---|---|---|\n");
    for rule in KEYS {
        let merge = match rule.merge {
            Merge::Highest => "highest",
            Merge::Union => "union",
            Merge::Concat => "concatenated",
            Merge::Deep => "deep",
            Merge::Sticky(_) => "sticky",
            Merge::Mode => "mode",
        };
        let effect = match rule.effect {
            CheckoutRule::Tightens => "without trust",
            CheckoutRule::TightensWhen(Strict::True) => "`true` without trust, else with trust",
            CheckoutRule::TightensWhen(Strict::False) => "`false` without trust, else with trust",
            CheckoutRule::TightensWhen(Strict::Disable) => {
                "`\"disable\"` without trust, else with trust"
            }
            CheckoutRule::OnlyTightensWhen(Strict::True) => "`true` without trust, else ignored",
            CheckoutRule::OnlyTightensWhen(Strict::False) => "`false` without trust, else ignored",
            CheckoutRule::OnlyTightensWhen(Strict::Disable) => {
                "`\"disable\"` without trust, else ignored"
            }
            CheckoutRule::Grants => "with trust",
            CheckoutRule::UserOnly | CheckoutRule::ManagedOnly => "ignored",
            CheckoutRule::Mode => "stricter without trust, else with trust",
        };
        let used = match rule.support {
            KeySupport::Supported => "yes",
            KeySupport::Partial | KeySupport::Members(_) => "partly",
            KeySupport::NoEffect => "**no effect yet**",
        };
        table.push_str(&format!("| `{}` | {merge} | {effect} | {used} |\n", rule.path));
    }
    assert!(page.contains(&table), "docs/settings.md must have this table:\n{table}");
}

#[test]
fn places_give_files_and_anchors() {
    let mut places = Places::new("/home/u", "/proj/p");
    assert_eq!(places.anchor(Layer::UserRobota), Path::new("/home/u/.robota"));
    assert_eq!(places.anchor(Layer::ProjectClaude), Path::new("/proj/p"));
    assert_eq!(places.anchor(Layer::Argument), Path::new("/proj/p"));
    places.settings = Some(SettingsArgument::from("conf/x.json"));
    assert_eq!(places.anchor(Layer::Argument), Path::new("/proj/p/conf"));
    places.claude_dir = Some("/elsewhere".into());
    assert_eq!(places.file(Layer::UserClaude).unwrap(), Path::new("/elsewhere/settings.json"));
    places.home = None;
    assert_eq!(places.file(Layer::UserRobota), None);
    assert_eq!(places.trust_file(), None);
}

#[test]
fn the_places_of_a_process_come_from_its_environment() {
    let pairs = [("HOME", "/home/x"), ("CLAUDE_CONFIG_DIR", ""), ("TOKEN", "s3cret")];
    let environment = ProgramEnvironment::from_iter(
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let places = Places::from_env(&environment).unwrap();
    assert_eq!(places.home.as_deref(), Some(Path::new("/home/x")));
    assert_eq!(places.claude_dir, None);
    assert!(places.cwd.is_absolute());
    assert!(!format!("{environment:?}").contains("s3cret"));
    assert!(ProgramEnvironment::of_process().get("PATH").is_some());
}
