#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;
use crate::files::Files;
use crate::trust::Trust;

struct Setup {
    _folder: tempfile::TempDir,
    places: Places,
}

fn setup() -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let (home, cwd) = (folder.path().join("home"), folder.path().join("project"));
    std::fs::create_dir_all(home.join(".robota")).unwrap();
    std::fs::create_dir_all(&cwd).unwrap();
    let places = Places::new(home, cwd.canonicalize().unwrap());
    Setup { _folder: folder, places }
}

fn write(path: &Path, value: &Value) {
    std::fs::write(path, value.to_string()).unwrap();
}

fn list(places: &Places, trust: Trust, arguments: &[&str], strict: bool) -> McpListing {
    let settings = Settings::from_files(&Files::read(places), trust, &|_, _| Ok(()));
    let arguments: Vec<_> = arguments.iter().map(|it| (*it).to_owned()).collect();
    mcp_servers(places, &settings, &arguments, strict)
}

fn names(listing: &McpListing) -> Vec<(&str, McpScope, &str)> {
    let command =
        |entry: &'_ McpEntry| entry.fields["command"].as_str().unwrap_or_default().to_owned();
    listing
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.scope, &*command(entry).leak()))
        .collect()
}

#[test]
fn local_servers_win_over_those_of_the_project_and_of_the_user() {
    let Setup { places, _folder } = setup();
    let server = |command: &str| json!({"command": command});
    write(
        &places.cwd.join(".mcp.json"),
        &json!({"mcpServers": {"a": server("project"), "b": server("project")}}),
    );
    let folder = places.cwd.display().to_string();
    write(
        &places.mcp_file().unwrap(),
        &json!({
            "mcpServers": {"a": server("user"), "b": server("user"), "c": server("user")},
            "projects": {folder: {"mcpServers": {"a": server("local")}}},
        }),
    );
    write(
        &places.claude_state().unwrap(),
        &json!({"mcpServers": {"c": server("claude"), "d": server("claude")}}),
    );
    let listing = list(&places, Trust::Trusted, &[], false);
    assert_eq!(
        names(&listing),
        [
            ("a", McpScope::Local, "local"),
            ("b", McpScope::Project, "project"),
            ("c", McpScope::User, "user"),
            ("d", McpScope::User, "claude"),
        ]
    );
    let argument = json!({"mcpServers": {"b": server("argument")}}).to_string();
    let listing = list(&places, Trust::Trusted, &[&argument], false);
    assert_eq!(names(&listing)[0], ("b", McpScope::Dynamic, "argument"));
    let strict = list(&places, Trust::Trusted, &[&argument], true);
    assert_eq!(names(&strict), [("b", McpScope::Dynamic, "argument")]);
}

#[test]
fn servers_of_the_checkout_wait_for_trust() {
    let Setup { places, _folder } = setup();
    write(&places.cwd.join(".mcp.json"), &json!({"mcpServers": {"a": {"command": "x"}}}));
    for trust in [Trust::Unknown, Trust::Changed] {
        let listing = list(&places, trust, &[], false);
        assert!(listing.entries.is_empty());
        assert_eq!(listing.waiting, ["a"]);
    }
}

#[test]
fn a_file_of_the_checkout_that_cannot_be_read_is_reported_with_the_reason() {
    let Setup { places, _folder } = setup();
    std::fs::create_dir(places.cwd.join(".mcp.json")).unwrap();
    let listing = list(&places, Trust::Trusted, &[], false);
    assert_eq!(listing.problems, ["cannot read .mcp.json: it is a folder"]);
    let files = crate::Files::read(&places);
    assert_eq!(files.trust_subject().items[0].key.to_string(), "\".mcp.json\"");
}

#[test]
fn settings_select_servers_of_the_checkout() {
    let Setup { mut places, _folder } = setup();
    let all = json!({"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}, "c": {"command": "x"}}});
    write(&places.cwd.join(".mcp.json"), &all);
    let mut with = |settings: Value| {
        places.settings = Some(crate::SettingsArgument::Inline(settings.to_string()));
        let listing = list(&places, Trust::Trusted, &[], false);
        listing.entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(with(json!({"disabledMcpjsonServers": ["b"]})), ["a", "c"]);
    let only = json!({"enableAllProjectMcpServers": false, "enabledMcpjsonServers": ["c"]});
    assert_eq!(with(only), ["c"]);
    assert_eq!(with(json!({"mcpServers": {"s": {"command": "y"}}})), ["s", "a", "b", "c"]);
}

#[test]
fn arguments_that_cannot_be_used_are_problems() {
    let Setup { places, _folder } = setup();
    for (argument, part) in [
        ("{", "not valid JSON"),
        ("{}", "no object `mcpServers`"),
        ("{\"mcpServers\": {\"a\": 3}}", "not valid"),
        ("nowhere.json", "file not found"),
    ] {
        let listing = list(&places, Trust::Trusted, &[argument], false);
        assert!(listing.problems[0].contains(part), "{:?}", listing.problems);
    }
    std::fs::write(places.cwd.join(".mcp.json"), "{").unwrap();
    assert!(list(&places, Trust::Trusted, &[], false).problems[0].contains(".mcp.json"));
}

#[test]
fn servers_are_added_and_removed_in_each_scope() {
    let Setup { places, _folder } = setup();
    for scope in [McpScope::Local, McpScope::Project, McpScope::User] {
        let entry = json!({"command": scope.name()}).as_object().unwrap().clone();
        add_server(&places, scope, "a", entry.clone()).unwrap();
        let again = add_server(&places, scope, "a", entry).unwrap_err();
        assert!(again.to_string().contains("already"));
        let listing = list(&places, Trust::Trusted, &[], false);
        assert_eq!(names(&listing), [("a", scope, scope.name())]);
        assert!(remove_server(&places, scope, "a").unwrap().is_some());
        assert_eq!(remove_server(&places, scope, "a").unwrap(), None);
    }
}

#[test]
fn no_server_is_added_that_the_administrator_excludes() {
    let Setup { mut places, _folder } = setup();
    let entry = || json!({"command": "true"}).as_object().unwrap().clone();
    add_server(&places, McpScope::User, "old", entry()).unwrap();
    let etc = _folder.path().join("etc");
    std::fs::create_dir(&etc).unwrap();
    places.managed = vec![etc.clone()];
    add_server(&places, McpScope::User, "mine", entry()).unwrap();
    let managed = etc.join("managed-mcp.json");
    // Also without a server, or if it cannot be read.
    for content in ["{\"mcpServers\": {}}", "{"] {
        std::fs::write(&managed, content).unwrap();
        for scope in [McpScope::User, McpScope::Local, McpScope::Project] {
            let refused = add_server(&places, scope, "new", entry()).unwrap_err().to_string();
            assert!(refused.contains(&managed.display().to_string()), "{refused}");
        }
    }
    assert!(!places.cwd.join(".mcp.json").exists());
    // What is there already can be removed.
    assert!(remove_server(&places, McpScope::User, "old").unwrap().is_some());
}

#[test]
fn files_as_people_write_them_are_read() {
    let Setup { places, _folder } = setup();
    let file = places.cwd.join(".mcp.json");
    let trusted = |text: &str| {
        std::fs::write(&file, text).unwrap();
        list(&places, Trust::Trusted, &[], false)
    };
    let text =
        "\u{feff}{\r\n  // ours\r\n  \"mcpServers\": {\"a b\": {\"command\": \"x\",},},\r\n}";
    let listing = trusted(text);
    assert_eq!(names(&listing), [("a b", McpScope::Project, "x")]);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    let listing = trusted(r#"{"docs": {"command": "x", "alwaysAllow": ["y"]}}"#);
    assert_eq!(names(&listing), [("docs", McpScope::Project, "x")], "without the wrapping key");
    let listing = trusted(r#"{"mcpServers": {"good": {"command": "x"}, "bad": "npx y"}}"#);
    assert_eq!(names(&listing), [("good", McpScope::Project, "x")]);
    assert!(listing.problems[0].contains("`bad`"), "{:?}", listing.problems);
    for text in
        ["[]", "{\"mcpServers\": []}", "<<<<<<< HEAD\n{}", "{\"a\": {\"command\": \"x\"} \"b\""]
    {
        let listing = trusted(text);
        assert!(listing.entries.is_empty() && !listing.problems.is_empty(), "{text}");
    }
    let listing = trusted(r#"{"mcpServers": null, "other": 1}"#);
    assert!(listing.entries.is_empty() && listing.problems.is_empty());
    std::fs::write(&file, r#"{"docs": {"command": "x"}}"#).unwrap();
    let entry = json!({"command": "y"}).as_object().unwrap().clone();
    add_server(&places, McpScope::Project, "more", entry).unwrap();
    let listing = list(&places, Trust::Trusted, &[], false);
    let both = [("docs", McpScope::Project, "x"), ("more", McpScope::Project, "y")];
    assert_eq!(names(&listing), both, "the file is wrapped before it is changed");
    std::fs::write(&file, r#"{"docs": {"command": "x"}}"#).unwrap();
    let untrusted = list(&places, Trust::Unknown, &[], false);
    assert_eq!(
        (untrusted.entries.len(), untrusted.waiting.as_slice()),
        (0, &["docs".to_owned()][..])
    );
}
