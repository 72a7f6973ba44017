use proptest::prelude::*;

use super::*;

#[test]
fn kode_11_structured_names_are_parsed_and_formatted() {
    let full = "org:acme/team:eng/user:42/agent:pm/session:xyz789/fork:a/fork:b";
    let SessionName::Path(path) = SessionName::parse(full).unwrap() else { panic!() };
    assert_eq!(path.org.as_deref(), Some("acme"));
    assert_eq!(path.team.as_deref(), Some("eng"));
    assert_eq!(path.user.as_deref(), Some("42"));
    assert_eq!((path.agent.as_str(), path.session.as_str()), ("pm", "xyz789"));
    assert_eq!(path.forks, ["a", "b"]);
    for name in ["agent:assistant/session:abc123", full, "team:x/agent:a/session:b"] {
        assert_eq!(SessionName::parse(name).unwrap().to_string(), name);
    }
}

#[test]
fn kode_11_uuids_and_plain_names_are_names() {
    let uuid = "0197a4d2-7c1e-7000-8000-000000000001";
    assert!(matches!(SessionName::parse(uuid).unwrap(), SessionName::Uuid(_)));
    // Reads as a UUID, but would be written differently, so it is kept as a plain name.
    let simple = "0197A4D27C1E70008000000000000001";
    assert_eq!(SessionName::parse(simple).unwrap(), SessionName::Plain(simple.to_owned()));
    assert_eq!(SessionName::parse("notes.2").unwrap(), SessionName::Plain("notes.2".to_owned()));
}

#[test]
fn kode_11_hostile_and_malformed_names_are_refused_with_a_reason() {
    let long = "y".repeat(65);
    let lineage = format!("agent:a/session:b{}", "/fork:x".repeat(200));
    for (name, reason) in [
        ("", "it is empty"),
        ("..", "must begin with"),
        ("../../x", "`agent:` is missing"),
        ("/etc/passwd", "`agent:` is missing"),
        ("-rf", "must begin with"),
        (".hidden", "must begin with"),
        ("a\0b", "letters, digits"),
        ("a\u{202e}b", "letters, digits"),
        ("a b", "letters, digits"),
        ("a\\b", "letters, digits"),
        ("{019ac6a0-0000-7000-8000-000000000000}", "must begin with"),
        ("ünï", "must begin with"),
        ("agent:a/session:../../etc", "session must begin with"),
        ("agent:a/session:b/session:c", "only `fork:`"),
        ("agent:a/session:a b", "letters, digits"),
        ("agent:a/session:a\\b", "letters, digits"),
        ("agent:a/session:ab\n", "letters, digits"),
        ("session:main", "`agent:` is missing"),
        ("a@sfp:1", "`agent:` is missing"),
        ("agent:a", "`session:` is missing"),
        ("session:a/agent:b", "`agent:` is missing"),
        ("agent:/session:b", "agent is empty"),
        ("agent:a/session:..", "session must begin with"),
        ("agent:a/session:b/", "only `fork:`"),
        ("agent:a/session:b/fork:", "fork is empty"),
        ("agent:a/session:b/other:c", "only `fork:`"),
        ("team:a/org:b/agent:a/session:b", "`agent:` is missing"),
        ("agent:a/session:b@label:x", "letters, digits"),
        (long.as_str(), "longer than 64"),
        (lineage.as_str(), "longer than 1024"),
    ] {
        let error = SessionName::parse(name).unwrap_err();
        assert!(error.reason.contains(reason), "{name:?}: {}", error.reason);
        assert!(!error.to_string().contains(['\0', '\u{202e}']), "{error}");
    }
}

#[test]
fn kode_11_a_fork_continues_the_lineage() {
    let name = SessionName::parse("agent:dev/session:main").unwrap();
    let fork = name.fork("try-1").unwrap().fork("b").unwrap();
    assert_eq!(fork.to_string(), "agent:dev/session:main/fork:try-1/fork:b");
    name.fork("x/../y").unwrap_err();
    name.fork("").unwrap_err();
    SessionName::parse("plain").unwrap().fork("x").unwrap_err();
}

proptest! {
    #[test]
    fn kode_11_accepted_names_read_back_and_are_not_paths(text in "\\PC{0,40}|[a-z:/.-]{0,40}") {
        if let Ok(name) = SessionName::parse(&text) {
            prop_assert_eq!(name.to_string(), text.clone());
            prop_assert!(text.split('/').all(|part| part != ".." && part != "." && !part.is_empty()));
        }
    }
}
