use proptest::prelude::*;
use serde_json::json;

use super::*;

fn redactor() -> Redactor {
    Redactor::new(
        ["sk-12345678", "sk-12345678-longer", "short", "line\nbreak\"quote"].map(Secret::new),
    )
    .unwrap()
}

#[test]
fn sess_13_values_are_removed_from_text_and_short_ones_stay() {
    let redactor = redactor();
    let text = redactor.text("a sk-12345678 b sk-12345678-longer c short");
    assert_eq!(text, "a [REDACTED] b [REDACTED] c short");
    assert_eq!(redactor.text(r#"{"x":"line\nbreak\"quote"}"#), r#"{"x":"[REDACTED]"}"#);
    assert_eq!(Redactor::default().text("sk-12345678"), "sk-12345678");
}

#[test]
fn sess_13_secret_keys_are_found_in_any_style_at_any_depth() {
    let mut value = json!({
        "apiKey": "a", "API_KEY": "b", "x-api-key": "c", "Authorization": "Bearer d",
        "nested": [{ "access_token": { "deep": 1 }, "refreshToken": 7, "password": null }],
        "secret": "e", "CLIENT-SECRET": "f",
        "tokens": 12, "keyboard": "kept", "note": "has sk-12345678 inside",
    });
    redactor().value(&mut value);
    assert_eq!(
        value,
        json!({
            "apiKey": REDACTED, "API_KEY": REDACTED, "x-api-key": REDACTED, "Authorization": REDACTED,
            "nested": [{ "access_token": REDACTED, "refreshToken": REDACTED, "password": null }],
            "secret": REDACTED, "CLIENT-SECRET": REDACTED,
            "tokens": 12, "keyboard": "kept", "note": "has [REDACTED] inside",
        })
    );
}

#[test]
fn sess_13_variables_named_like_secrets_are_known() {
    for name in [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "aws_secret",
        "PGPASSWORD",
        "PASSWORD_FILE",
        "SECRET_KEY_BASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_DEVOPS_EXT_PAT",
        "MYSQL_PASS",
        "MARIADB_PASSWD",
        "SIGNING_PASSPHRASE",
    ] {
        assert!(is_secret_variable(name), "{name}");
    }
    for name in
        ["PATH", "KEYBOARD", "HOME", "TOKENS", "SSH_AUTH_SOCK", "GIT_ASKPASS", "SSH_ASKPASS"]
    {
        assert!(!is_secret_variable(name), "{name}");
    }
}

#[test]
fn sess_13_debug_of_a_redactor_shows_no_secret() {
    assert!(!format!("{:?}", redactor()).contains("sk-"));
}

#[test]
fn sess_13_large_and_many_secrets_are_all_removed() {
    let large = |name: char| format!("{name}{}", "x".repeat(100_000));
    let many = (0..5_000).map(|number| format!("secret-number-{number:05}"));
    let values: Vec<_> = ['a', 'b', 'c', 'd'].map(large).into_iter().chain(many).collect();
    let redactor = Redactor::new(values.iter().map(Secret::new)).unwrap();
    for value in &values {
        assert_eq!(redactor.text(&format!("<{value}>")), "<[REDACTED]>");
    }
    let whole = format!("{}-{}", values[0], values[5_003]);
    let mut stream = redactor.stream();
    let mut shown = String::new();
    for piece in whole.as_bytes().chunks(7_001) {
        shown.push_str(&stream.push(std::str::from_utf8(piece).unwrap()));
    }
    shown.push_str(&stream.finish());
    assert_eq!(shown, "[REDACTED]-[REDACTED]");
}

#[test]
fn sess_13_text_that_almost_repeats_a_long_secret_is_not_searched_again_and_again() {
    let secret = SecretText::new("x".repeat(100_000));
    let text = format!("{}y", "x".repeat(100_000));
    assert_eq!(secret.started_at_the_end_of(&text), 0);
    assert_eq!(secret.started_at_the_end_of(&text[..99_000]), 99_000);
    // A complete secret is not the start of one.
    assert_eq!(secret.started_at_the_end_of(&text[..100_000]), 99_999);
}

proptest! {
    #[test]
    fn sess_13_the_start_of_a_secret_at_the_end_of_a_text_is_found(
        secret in "[ab]{8,12}", text in "[ab]{0,30}",
    ) {
        let found = SecretText::new(secret.clone()).started_at_the_end_of(&text);
        let longest = (0..secret.len()).rev().find(|n| text.ends_with(&secret[..*n]));
        prop_assert_eq!(Some(found), longest);
    }

    #[test]
    fn sess_13_a_secret_cut_in_pieces_is_found(
        before in "[a-z sk1-]{0,12}",
        after in "[a-z sk1-]{0,12}",
        cuts in proptest::collection::vec(0_usize..40, 0..6),
    ) {
        let whole = format!("{before}sk-12345678{after}");
        let redactor = redactor();
        let mut stream = redactor.stream();
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut <= whole.len()).collect();
        cuts.sort_unstable();
        let mut shown = String::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([whole.len()]) {
            shown.push_str(&stream.push(&whole[from..cut]));
            from = cut;
        }
        shown.push_str(&stream.finish());
        prop_assert!(!shown.contains("sk-12345678"), "{}", shown);
        prop_assert_eq!(shown, redactor.text(&whole).into_owned());
    }
}

#[test]
fn secrets_that_become_known_later_are_removed_from_then_on() {
    let late = LateSecrets::default();
    let redactor = Redactor::new([Secret::new("sk-first-0001")]).unwrap().with_late(late.clone());
    let text = "sk-first-0001 sk-second-0002";
    assert_eq!(redactor.text(text), "[REDACTED] sk-second-0002");
    let mut stream = redactor.stream();
    let shown = stream.push("a sk-sec");
    late.add([Secret::new("sk-second-0002"), Secret::new("short")]).unwrap();
    assert_eq!(redactor.text(text), "[REDACTED] [REDACTED]", "clones share the list");
    assert_eq!(shown, "a sk-sec");
    let parts = ["b sk-sec", "ond-0002 sk-fir", "st-0001", " short"].map(|part| stream.push(part));
    assert_eq!(parts.concat() + &stream.finish(), "b [REDACTED] [REDACTED] short");
    assert_eq!(format!("{late:?}"), "LateSecrets(2)");
}
