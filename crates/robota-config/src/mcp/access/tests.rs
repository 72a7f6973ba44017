#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::{List, McpAccess, Reached, is_at};
use crate::files::Files;
use crate::places::{Places, SettingsArgument};
use crate::settings::Settings;
use crate::trust::Trust;

fn load(places: &Places) -> McpAccess {
    let settings = Settings::from_files(&Files::read(places), Trust::Trusted, &|_, _| Ok(()));
    McpAccess::load(places, &settings)
}

/// Returns the access with these settings of the user, of the checkout and of the administrator.
fn access(user: &Value, project: &Value, managed: &Value) -> McpAccess {
    let folder = tempfile::tempdir().unwrap();
    let (home, cwd) = (folder.path().join("home"), folder.path().join("project"));
    for (path, value) in [
        (home.join(".robota/settings.json"), user),
        (cwd.join(".robota/settings.json"), project),
        (folder.path().join("etc/managed-settings.json"), managed),
    ] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !value.is_null() {
            std::fs::write(path, value.to_string()).unwrap();
        }
    }
    let managed = vec![folder.path().join("etc")];
    let places = Places { managed, ..Places::new(home, cwd) };
    load(&places)
}

fn names(access: &McpAccess) -> Vec<&'static str> {
    let args = ["-y".to_owned(), "server".to_owned()];
    let all = [
        ("program", Reached::Command("npx", &args)),
        ("other", Reached::Command("npx", &[])),
        ("web", Reached::Url("https://mcp.example.com/v1")),
        ("evil", Reached::Url("https://evil.test/.example.com/v1")),
        ("host", Reached::Host),
    ];
    let used = all.into_iter().filter(|(name, reached)| access.refusal(name, *reached).is_none());
    used.map(|(name, _)| name).collect()
}

const ALL: [&str; 5] = ["program", "other", "web", "evil", "host"];

#[test]
fn without_lists_all_servers_are_used() {
    assert_eq!(names(&access(&json!({}), &json!({}), &Value::Null)), ALL);
}

#[test]
fn a_server_that_any_list_denies_is_not_used() {
    let deny = |what: Value| json!({"deniedMcpServers": [what]});
    for what in
        [json!({"serverName": "program"}), json!({"serverCommand": ["npx", "-y", "server"]})]
    {
        let lists = [
            access(&deny(what.clone()), &json!({}), &Value::Null),
            access(&json!({}), &deny(what.clone()), &Value::Null),
            access(&json!({}), &json!({}), &deny(what.clone())),
        ];
        for access in lists {
            assert_eq!(names(&access), ["other", "web", "evil", "host"], "{what}");
        }
    }
    let both = json!({
        "allowedMcpServers": [{"serverName": "web"}], "deniedMcpServers": [{"serverUrl": "https://*/*"}],
    });
    assert!(names(&access(&both, &json!({}), &Value::Null)).is_empty(), "a denial wins");
}

#[test]
fn a_list_of_allowed_servers_excludes_others() {
    let allow = |list: Value| json!({"allowedMcpServers": list});
    let user = |list: Value| names(&access(&allow(list), &json!({}), &Value::Null));
    assert!(user(json!([])).is_empty(), "an empty list allows nothing");
    assert_eq!(user(json!([{"serverName": "web"}, {"serverName": "host"}])), ["web", "host"]);
    // A name is not enough where programs or addresses are listed.
    let list = json!([{"serverName": "evil"}, {"serverUrl": "https://*.example.com/*"}]);
    assert_eq!(user(list), ["web"]);
    let list = json!([{"serverName": "other"}, {"serverCommand": ["npx", "-y", "server"]}]);
    assert_eq!(user(list), ["program"]);
}

#[test]
fn a_checkout_cannot_allow_servers() {
    let allow = |name: &str| json!({"allowedMcpServers": [{"serverName": name}]});
    assert_eq!(names(&access(&allow("web"), &allow("evil"), &Value::Null)), ["web"]);
    assert_eq!(names(&access(&json!({}), &json!({"allowedMcpServers": []}), &Value::Null)), ALL);
}

#[test]
fn the_administrator_decides_first() {
    let allow = |name: &str| json!({"allowedMcpServers": [{"serverName": name}]});
    assert_eq!(names(&access(&allow("host"), &json!({}), &allow("web"))), ["web", "host"]);
    let mut only = allow("web");
    only["allowManagedMcpServersOnly"] = json!(true);
    assert_eq!(names(&access(&allow("host"), &json!({}), &only)), ["web"]);
    // A file that cannot be read allows nothing.
    assert!(names(&access(&json!({}), &json!({}), &json!({"deniedMcpServers": 1}))).is_empty());
}

#[test]
fn settings_of_this_run_cannot_remove_denials() {
    let folder = tempfile::tempdir().unwrap();
    let deny = json!({"deniedMcpServers": [{"serverName": "web"}]}).to_string();
    std::fs::create_dir_all(folder.path().join(".robota")).unwrap();
    std::fs::write(folder.path().join(".robota/settings.json"), deny).unwrap();
    let inline = json!({"deniedMcpServers": []}).to_string();
    let places = Places {
        settings: Some(SettingsArgument::Inline(inline)),
        ..Places::new(folder.path(), folder.path().join("project"))
    };
    assert_eq!(names(&load(&places)), ["program", "other", "evil", "host"]);
}

#[test]
fn addresses_are_compared_part_by_part() {
    for (pattern, url, expected) in [
        ("https://mcp.example.com/*", "https://mcp.example.com/v1", true),
        ("https://mcp.example.com", "https://mcp.example.com/v1", true),
        ("https://mcp.example.com/*", "http://mcp.example.com/v1", false),
        ("https://*.example.com/*", "https://a.b.example.com/", true),
        ("https://*.example.com/*", "https://evil.test/x.example.com/", false),
        ("https://*.example.com/*", "https://evil.test#.example.com/", false),
        ("https://*.example.com/*", "https://user:a.example.com@evil.test/", false),
        ("https://*.example.com/*", "https://evil-example.com/", false),
        ("http://localhost:*/*", "http://localhost:8080/mcp", true),
        ("http://localhost/*", "http://localhost:8080/mcp", false),
        ("https://example.com:443/*", "https://example.com/mcp", true),
        ("*://example.com/*", "https://EXAMPLE.com/mcp", true),
        ("example.com", "https://example.com/", false),
        ("https://example.com/a/*/c", "https://example.com/a/b/c", true),
        ("https://example.com/a/*/c", "https://example.com/a/b/d", false),
        ("http://[::1]/*", "http://[::1]/mcp", true),
        ("http://[::1]:8080/*", "http://[::1]:8080/mcp", true),
        ("http://[::1]:8080/*", "http://[::1]:8081/mcp", false),
    ] {
        assert_eq!(is_at(pattern, url, List::Allowed), expected, "{pattern} {url}");
        // A list of denied servers covers at least the same addresses.
        assert!(!expected || is_at(pattern, url, List::Denied), "{pattern} {url}");
    }
}

#[test]
fn a_denied_host_is_denied_with_a_user_name_and_at_every_port() {
    let pattern = "https://evil.example/*";
    for url in ["https://me:pw@evil.example/mcp", "https://evil.example:8443/mcp"] {
        assert!(is_at(pattern, url, List::Denied), "{url}");
        assert!(!is_at(pattern, url, List::Allowed), "{url}");
    }
    assert!(!is_at("https://evil.example:1/*", "https://evil.example:2/", List::Denied));
    assert!(!is_at(pattern, "https://evil.example@good.example/", List::Denied));
}
