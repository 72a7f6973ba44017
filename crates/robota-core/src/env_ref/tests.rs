use super::*;

fn environment(name: &str) -> Option<String> {
    match name {
        "API_KEY" | "_k2" => Some("k-123".to_owned()),
        "EMPTY" => Some(String::new()),
        "SPACES" => Some("  ".to_owned()),
        _ => None,
    }
}

#[test]
fn core_23_references_are_distinguished_from_literals() {
    assert!(is_env_reference("$ENV:API_KEY"));
    assert!(is_env_reference("$ENV:"));
    for literal in ["", "sk-1", "$ENV", "$env:API_KEY", "x$ENV:API_KEY", "${API_KEY}"] {
        assert!(!is_env_reference(literal), "{literal}");
        assert_eq!(
            SecretSource::parse(literal),
            Ok(SecretSource::Literal(Secret::new(literal))),
            "{literal}"
        );
    }
}

#[test]
fn core_23_formatting_is_the_inverse_of_parsing() {
    for name in ["API_KEY", "_k2", "a"] {
        let text = EnvRef::new(name).unwrap().to_string();
        assert_eq!(text, format!("$ENV:{name}"));
        let SecretSource::Env(reference) = SecretSource::parse(&text).unwrap() else {
            panic!("{text}")
        };
        assert_eq!(reference.name(), name);
        assert_eq!(reference.to_string(), text);
    }
    assert_eq!(EnvRef::new(""), Err(EnvRefError::EmptyName));
}

#[test]
fn core_23_invalid_names_are_errors_that_explain() {
    assert_eq!(SecretSource::parse("$ENV:"), Err(EnvRefError::EmptyName));
    for (text, letter, position) in [
        ("$ENV: API_KEY", ' ', 1),
        ("$ENV:API_KEY ", ' ', 8),
        ("$ENV:1KEY", '1', 1),
        ("$ENV:KEY=v", '=', 4),
        ("$ENV:$ENV:KEY", '$', 1),
        ("$ENV:CLÉ", 'É', 3),
        ("$ENV:A\0", '\0', 2),
    ] {
        let error = SecretSource::parse(text).unwrap_err();
        assert_eq!(error, EnvRefError::InvalidName { letter, position }, "{text}");
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.hint().unwrap().contains("$ENV:NAME"));
    }
}

#[test]
fn core_23_a_key_pasted_after_the_prefix_is_not_repeated() {
    let error = SecretSource::parse("$ENV:sk-ant-very-secret").unwrap_err();
    let shown = format!("{error} {error:?} {:?}", error.to_data());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn core_23_resolving_uses_only_the_lookup() {
    let resolve = |text: &str| SecretSource::parse(text).unwrap().resolve(&environment);
    assert_eq!(resolve("$ENV:API_KEY").unwrap().expose(), "k-123");
    assert_eq!(resolve("literal").unwrap().expose(), "literal");
    assert_eq!(resolve("$ENV:NOPE"), Err(EnvRefError::Unset { name: "NOPE".to_owned() }));
    assert_eq!(resolve("$ENV:EMPTY"), Err(EnvRefError::Blank { name: "EMPTY".to_owned() }));
    assert_eq!(resolve(""), Err(EnvRefError::BlankLiteral));
    assert!(resolve("$ENV:NOPE").unwrap_err().hint().unwrap().contains("export NOPE="));
}

#[test]
fn core_23_a_blank_secret_is_not_usable() {
    for (text, usable) in [
        ("sk-1", true),
        ("$ENV:API_KEY", true),
        ("$ENV:_k2", true),
        ("", false),
        (" \t", false),
        ("$ENV:", false),
        ("$ENV:NOPE", false),
        ("$ENV:EMPTY", false),
        ("$ENV:SPACES", false),
        ("$ENV:not a name", false),
    ] {
        assert_eq!(has_usable_secret(text, &environment), usable, "{text:?}");
    }
}

#[test]
fn core_23_a_secret_does_not_print() {
    let source = SecretSource::parse("sk-1").unwrap();
    assert_eq!(format!("{source:?}"), "Literal([REDACTED])");
    assert_eq!(format!("{:#?}", Secret::new("sk-1")), "[REDACTED]");
}
