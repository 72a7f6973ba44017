use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Document, SyntaxError> {
    Document::parse(text.to_owned())
}

fn fails(text: &str) -> (usize, String) {
    let error = parse(text).unwrap_err();
    (error.line, error.message)
}

#[test]
fn values_have_their_lines() {
    let document = parse("\u{feff}{\r\n  \"a\": [1,\r\n 2],\r\n \"b\": {}\r\n}\r\n").unwrap();
    let member = |key| document.root.member(key).unwrap();
    assert_eq!(document.line(member("a").key_at), 2);
    assert_eq!(document.line(member("b").node.span.start), 4);
    let Kind::Array(items) = &member("a").node.kind else { panic!() };
    assert_eq!(document.line(items[1].span.start), 3);
    assert_eq!(document.root.to_value(), serde_json::json!({"a": [1, 2], "b": {}}));
}

#[test]
fn comments_and_trailing_commas_are_read_and_noted() {
    let text = "// mine\n{\n  \"a\": [1, /* two */ 2,], // end\n  \"b\": \"// no comment\",\n}\n";
    let document = parse(text).unwrap();
    assert_eq!(document.root.to_value(), serde_json::json!({"a": [1, 2], "b": "// no comment"}));
    assert_eq!(document.lenient.map(|at| document.line(at)), Some(1));
    assert!(parse("{\"a\": 1\n,}").unwrap().lenient.is_some());
    assert_eq!(parse("{\"a\": [1]}").unwrap().lenient, None);
}

#[test]
fn syntax_errors_have_a_line_and_a_reason() {
    assert_eq!(fails(""), (1, "the file is empty".into()));
    assert_eq!(fails(" \n "), (2, "the file is empty".into()));
    assert_eq!(fails("{\n# no\n}"), (2, "JSON has no comments".into()));
    assert_eq!(fails("{/* no end").1, "expected a key in double quotes");
    assert_eq!(fails("{,}").1, "expected a key in double quotes");
    assert_eq!(fails("[,]").1, "expected a value");
    assert_eq!(fails("[1,,]").1, "expected a value");
    assert_eq!(fails("{\"a\" 1}").1, "expected `:`");
    assert_eq!(fails("{\"a\": 1 \"b\"}").1, "expected `,` or `}`");
    assert_eq!(fails("{\"a\": \"x\n\"}").1, "a string must end on the same line");
    assert_eq!(fails("{\"a").1, "unterminated string");
    assert_eq!(fails("{\"a\\").1, "unterminated string");
    assert_eq!(fails("{\"a\": tru}").1, "expected a value");
    assert_eq!(fails("{} {}").1, "unexpected text after the end of the settings");
    assert_eq!(fails("1e999").1, "invalid number");
}

#[test]
fn depth_is_bounded() {
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    parse(&nest(100)).unwrap();
    for depth in [102, 100_000] {
        assert_eq!(fails(&nest(depth)).1, "nested too deeply");
    }
}

#[test]
fn the_last_of_two_equal_keys_wins_and_both_are_kept() {
    let document = parse(r#"{"a": 1, "a": 2}"#).unwrap();
    assert_eq!(document.root.to_value(), serde_json::json!({"a": 2}));
    let Kind::Object(members) = &document.root.kind else { panic!() };
    assert_eq!(members.len(), 2);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_writes(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        let ours = parse(&text).unwrap().root.to_value();
        prop_assert_eq!(ours, serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn accepts_and_refuses_what_serde_json_does(text in r#"[\[\]{}",:0-9.eE+\\utrfalsn \n-]{0,24}"#) {
        let theirs = serde_json::from_str::<Value>(&text).ok();
        let ours = parse(&text).ok().map(|document| document.root.to_value());
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn never_panics(text in any::<String>()) {
        let _ = parse(&text);
    }
}
