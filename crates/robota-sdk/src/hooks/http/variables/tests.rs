use super::*;

fn run(text: &str) -> Result<String, String> {
    let lookup = |name: &str| match name {
        "TOKEN" => Some("s3cret $OTHER".to_owned()),
        "A_1" => Some(String::new()),
        _ => None,
    };
    expand(text, &|name| name != "OTHER", &lookup)
}

#[test]
fn both_forms_are_replaced_once() {
    for (text, expected) in [
        ("Bearer $TOKEN", "Bearer s3cret $OTHER"),
        ("${TOKEN}x", "s3cret $OTHERx"),
        ("[$A_1]", "[]"),
        ("costs $5, $, ${, ${x-y}, ${}", "costs $5, $, ${, ${x-y}, ${}"),
        ("ü$TOKEN", "üs3cret $OTHER"),
    ] {
        assert_eq!(run(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_variable_must_be_listed_and_set() {
    assert!(run("$OTHER").unwrap_err().contains("allowedEnvVars"));
    assert!(run("${OTHER}").unwrap_err().contains("allowedEnvVars"));
    assert!(run("$UNSET").unwrap_err().contains("not set"));
}
