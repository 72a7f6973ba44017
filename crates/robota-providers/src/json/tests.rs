use serde_json::json;

use super::*;

#[test]
fn lone_surrogates_become_the_replacement_character() {
    let cases = [
        (r#""a\ud83d""#, "a\u{fffd}"),
        (r#""\ude00b""#, "\u{fffd}b"),
        (r#""\ud83d\ude00""#, "😀"),
        (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
        (r#""\\ud83d""#, "\\ud83d"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
    ];
    for (json, text) in cases {
        let mut repaired = None;
        let read: LenientStr<'_> = decode(json, &mut repaired).unwrap();
        assert_eq!(&*read, text, "{json}");
    }
}

#[test]
fn text_without_escapes_is_borrowed() {
    let read: LenientStr<'_> = serde_json::from_str("\"plain\"").unwrap();
    assert!(matches!(read.0, Cow::Borrowed("plain")));
}

#[test]
fn unexpected_types_are_read_leniently() {
    let number = |text: &str| serde_json::from_str::<LenientCount>(text).unwrap().0;
    assert_eq!(number("3"), Some(3));
    assert_eq!(number("3.9"), Some(3));
    assert_eq!(number("\"4\""), Some(4));
    assert_eq!(number("-1"), None);
    assert_eq!(number("null"), None);
    let arguments =
        |text: &str| serde_json::from_str::<Arguments<'_>>(text).unwrap().0.into_owned();
    assert_eq!(arguments(r#"{"a":1}"#), r#"{"a":1}"#);
    assert_eq!(arguments(r#""{\"a\":1}""#), r#"{"a":1}"#);
    assert_eq!(arguments("null"), "");
}

#[test]
fn merge_is_per_key_and_null_removes() {
    let mut into = json!({"a": {"b": 1, "c": 2}, "d": 3, "e": 4});
    merge(&mut into, &json!({"a": {"c": 5}, "d": [1], "e": null}));
    assert_eq!(into, json!({"a": {"b": 1, "c": 5}, "d": [1]}));
}
