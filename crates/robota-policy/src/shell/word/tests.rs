use super::*;

#[test]
fn quotes_are_understood() {
    for (raw, want) in [
        ("ls", Some("ls")),
        ("l's'", Some("ls")),
        ("l\"s\"", Some("ls")),
        ("\\ls", Some("ls")),
        ("'a && b'", Some("a && b")),
        ("\"a \\\" b\"", Some("a \" b")),
        ("\"a\\nb\"", Some("a\\nb")),
        ("''", Some("")),
        ("$X", None),
        ("\"$X\"", None),
        ("l*", None),
        ("'l*'", Some("l*")),
        ("{a,b}", None),
        ("~/x", None),
        ("'~/x'", Some("~/x")),
        ("$'ls'", Some("ls")),
        ("$(x)", None),
        ("`x`", None),
        ("a$", Some("a$")),
    ] {
        assert_eq!(Word::parse(raw).literal().as_deref(), want, "{raw}");
    }
}

#[test]
fn ansi_strings_are_decoded_but_not_literal() {
    for raw in ["$'rm'", "$'\\x72\\x6d'", "$'\\162\\155'", "$'\\u0072m'"] {
        let word = Word::parse(raw);
        assert_eq!(word.value().as_deref(), Some("rm"), "{raw}");
        assert!(word.is_dynamic());
    }
}

#[test]
fn broken_words_do_not_panic() {
    for raw in
        ["'", "\"", "\\", "$", "${", "$(", "`", "$'", "$'\\", "$'\\x", "\"$", "\"\\", "$[", "<("]
    {
        let _ = Word::parse(raw).rendered();
    }
}
