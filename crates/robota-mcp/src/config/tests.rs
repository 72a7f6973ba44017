#![allow(clippy::unwrap_used, clippy::panic)]
use serde_json::json;

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "JSON built in place is passed by value")]
fn parse(entry: Value) -> Result<ParsedServer, ServerConfigError> {
    let lookup = |name: &str| match name {
        "TOKEN" => Some("secret".to_owned()),
        "TOOL" => Some("/opt/tool".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    ServerConfig::parse("one", entry.as_object().unwrap(), &lookup)
}

#[test]
fn variables_are_replaced_in_commands_arguments_environment_addresses_and_headers() {
    let parsed = parse(json!({
        "command": "${TOOL}", "args": ["--key=${TOKEN}", "${ABSENT:-fallback}", "$TOKEN", "${a b}"],
        "env": {"KEY": "${TOKEN}", "N": 3},
    }));
    let Endpoint::Stdio { command, args, env } = parsed.unwrap().config.endpoint else { panic!() };
    assert_eq!(command, "/opt/tool");
    assert_eq!(args, ["--key=secret", "fallback", "$TOKEN", "${a b}"]);
    assert_eq!((env["KEY"].as_str(), env["N"].as_str()), ("secret", "3"));
    let parsed = parse(json!({
        "type": "http", "url": "https://${ABSENT:-example.com}/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    }));
    let Endpoint::Http(http) = parsed.unwrap().config.endpoint else { panic!() };
    assert_eq!(http.url, "https://example.com/mcp");
    assert_eq!(http.headers["Authorization"], "Bearer secret");
}

#[test]
fn a_variable_that_is_not_set_stays_and_is_reported_once() {
    let parsed = parse(json!({"command": "x", "args": ["${NOPE}", "${NOPE}"]})).unwrap();
    assert_eq!(parsed.warnings, ["the variable NOPE is not set"]);
    let Endpoint::Stdio { args, .. } = parsed.config.endpoint else { panic!() };
    assert_eq!(args, ["${NOPE}", "${NOPE}"]);
}

#[test]
fn a_variable_that_is_empty_is_empty_unless_there_is_a_default() {
    let parsed =
        parse(json!({"command": "x", "args": ["a${EMPTY}b", "${EMPTY:-c}", "${ABSENT:-}"]}));
    let parsed = parsed.unwrap();
    assert_eq!(parsed.warnings, Vec::<String>::new());
    let Endpoint::Stdio { args, .. } = parsed.config.endpoint else { panic!() };
    assert_eq!(args, ["ab", "c", ""]);
}

#[test]
fn the_line_for_people_has_no_secrets() {
    for (entry, shown) in [
        (json!({"command": "x", "args": ["--key=${TOKEN}", "-v", "."]}), "x --key=${TOKEN} -v ."),
        (
            json!({"command": "npx", "args": ["-y", "server", "--api-key", "k123", "--token=t1", "z"]}),
            "npx -y server --api-key *** --token=*** z",
        ),
        (
            json!({"command": "npx", "args": ["remote", "--header", "Authorization: Bearer t1"]}),
            "npx remote --header Authorization: ***",
        ),
        (
            json!({"type": "http", "url": "https://ada:pw@example.com/a/mcp?api_key=k1&x=1&token=${TOKEN}"}),
            "https://***@example.com/a/mcp?api_key=***&x=1&token=${TOKEN} (HTTP)",
        ),
        (
            json!({"type": "sse", "url": "https://${ABSENT:-x.example}/@a"}),
            "https://${ABSENT:-x.example}/@a (SSE)",
        ),
    ] {
        assert_eq!(parse(entry).unwrap().config.summary(), shown);
    }
    let broken = parse(json!({"type": "http", "url": "http://[${TOKEN}"})).unwrap_err();
    assert!(!broken.to_string().contains("secret"), "{broken}");
}

#[test]
fn entries_that_cannot_be_used_say_why() {
    let error = |entry| parse(entry).unwrap_err();
    assert_eq!(error(json!({"url": "https://x"})).code(), "url_missing_type");
    for (entry, part) in [
        (json!({}), "neither `command` nor `url`"),
        (json!({"type": "stdio"}), "no `command`"),
        (json!({"type": "http"}), "no `url`"),
        (json!({"type": "ws", "url": "wss://x"}), "`ws` is not supported"),
        (json!({"command": ""}), "`command` is empty"),
        (json!({"command": "x", "args": "y"}), "`args` is not a list"),
        (json!({"type": "http", "url": "file:///etc/passwd"}), "use http or https"),
    ] {
        let error = error(entry);
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.code(), "invalid_config");
    }
}

#[test]
fn the_identity_is_that_of_what_runs_not_of_the_value_of_a_secret() {
    let of = |entry: Value, token: &'static str| {
        let lookup = move |name: &str| (name == "TOKEN").then(|| token.to_owned());
        let parsed = ServerConfig::parse("one", entry.as_object().unwrap(), &lookup).unwrap();
        parsed.config.identity().to_owned()
    };
    let entry = json!({"command": "x", "env": {"KEY": "${TOKEN}"}});
    assert_eq!(of(entry.clone(), "a"), of(entry.clone(), "b"));
    for other in [
        json!({"command": "y", "env": {"KEY": "${TOKEN}"}}),
        json!({"command": "x", "args": ["z"], "env": {"KEY": "${TOKEN}"}}),
        json!({"command": "x", "env": {"KEY": "other"}}),
        json!({"type": "http", "url": "http://x"}),
    ] {
        assert_ne!(of(entry.clone(), "a"), of(other, "a"));
    }
}
