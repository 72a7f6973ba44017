#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;

#[test]
fn messages_of_a_usual_depth_stay_as_they_are() {
    for text in [r#"{"a": [1, "[[[[{{{{\"]"]}"#, "{broken", "", r#""\\""#] {
        assert!(matches!(flatten(text.as_bytes()), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn what_is_too_deep_is_null_and_the_rest_is_kept() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(50_000), "1".to_owned() + &"}".repeat(50_000));
    let text = format!(r#"{{"id": 1, "x": [true, -2, 3.5, "t", null], "deep": {deep}, "y": "z"}}"#);
    assert!(serde_json::from_str::<Value>(&text).is_err(), "the parser gives up");
    let read: Value = serde_json::from_slice(&flatten(text.as_bytes())).unwrap();
    assert_eq!(read["x"], json!([true, -2, 3.5, "t", null]));
    assert_eq!((&read["id"], &read["y"]), (&json!(1), &json!("z")));
    assert!(read["deep"]["a"]["a"].is_object());
    let lists = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(serde_json::from_slice::<Value>(&flatten(lists.as_bytes())).is_ok());
}
