use super::*;

#[test]
fn unknown_fields_and_lines_are_ignored_and_broken_lines_are_named() {
    let user =
        br#"{"type":"user","message":{"role":"user","content":"hi","x":1},"session_id":"","y":{}}"#;
    let Ok(InputLine::User(user)) = parse(user) else { panic!() };
    assert_eq!((user.message.content, user.uuid), (Value::from("hi"), None));
    assert!(matches!(parse(br#"{"type":"keep_alive"}"#), Ok(InputLine::Other)));
    assert!(matches!(parse(br#"{"type":"from_the_future","a":[1]}"#), Ok(InputLine::Other)));
    for broken in ["{", "[]", "{\"message\":1}", "{\"type\":\"user\"}"] {
        let error = parse(broken.as_bytes()).unwrap_err();
        assert!(error.starts_with("Error parsing streaming input line ("), "{error}");
    }
}

#[test]
fn half_of_a_surrogate_pair_is_replaced() {
    for (text, expected) in [
        (r"a\ud800b", "a\u{fffd}b"),
        (r"\udc00", "\u{fffd}"),
        (r"\ud83d\ude00 \ud83d", "😀 \u{fffd}"),
        (r"\ud83d\u0041", "\u{fffd}A"),
        (r"\\ud800 \ud800", "\\ud800 \u{fffd}"),
    ] {
        let line = format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#);
        let Ok(InputLine::User(user)) = parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!(user.message.content, expected, "{line}");
    }
    assert!(replace_lone_surrogates(br#"{"a": "\u12"#).is_none());
    assert!(replace_lone_surrogates(br#"{"a": "\"#).is_none());
}

#[test]
fn an_answer_may_have_no_content() {
    let line = br#"{"type":"control_response","response":{"subtype":"success","request_id":"1"}}"#;
    let Ok(InputLine::ControlResponse { response }) = parse(line) else { panic!() };
    let success = AnswerInput::Success { request_id: "1".to_owned(), response: Value::Null };
    assert_eq!(AnswerInput::read(response), Some(success));
}

#[test]
fn sdk_08_fields_of_another_type_make_no_line_unreadable() {
    for (answer, error) in [
        (r#"{"subtype":"error","request_id":"1","error":{"code":5}}"#, r#"{"code":5}"#),
        (r#"{"subtype":"error","request_id":"1","error":null}"#, ""),
        (r#"{"subtype":"error","request_id":1,"error":"no"}"#, "no"),
    ] {
        let line = format!(r#"{{"type":"control_response","response":{answer}}}"#);
        let Ok(InputLine::ControlResponse { response }) = parse(line.as_bytes()) else {
            panic!("{line}")
        };
        let expected = AnswerInput::Error { request_id: "1".to_owned(), error: error.to_owned() };
        assert_eq!(AnswerInput::read(response), Some(expected), "{line}");
    }
    for response in [r#"{"subtype":"later","request_id":"1"}"#, "null", "5", "{}"] {
        let line = format!(r#"{{"type":"control_response","response":{response}}}"#);
        let Ok(InputLine::ControlResponse { response }) = parse(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(AnswerInput::read(response), None, "{line}");
    }
    assert!(parse(br#"{"type":"control_response"}"#).is_ok());
    let Ok(InputLine::ControlRequest(request)) =
        parse(br#"{"type":"control_request","request_id":"7"}"#)
    else {
        panic!()
    };
    assert_eq!((request.request_id.as_str(), request.request), ("7", Value::Null));
    let user = br#"{"type":"user","uuid":5,"shouldQuery":"no","client_composed":null,
        "message":{"role":7,"content":"hi"}}"#;
    let Ok(InputLine::User(user)) = parse(user) else { panic!() };
    assert_eq!((user.uuid, user.should_query, user.client_composed), (None, None, None));
}

#[test]
fn a_byte_order_mark_is_ignored_and_other_roles_are_refused() {
    let marked = b"\xef\xbb\xbf{\"type\":\"keep_alive\"}";
    assert!(matches!(parse(marked), Ok(InputLine::Other)));
    let answer = br#"{"type":"user","message":{"role":"assistant","content":"hi"}}"#;
    let error = parse(answer).unwrap_err();
    assert_eq!(error, "Error: Expected message role 'user', got 'assistant'");
    let none = br#"{"type":"user","message":{"content":"hi"}}"#;
    assert!(matches!(parse(none), Ok(InputLine::User(_))));
}
