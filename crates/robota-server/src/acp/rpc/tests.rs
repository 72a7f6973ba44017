use serde_json::json;

use super::*;

#[test]
fn kinds_of_messages_are_distinguished() {
    let read = |text: &str| parse(text.as_bytes()).unwrap();
    let request = read(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":1}}"#);
    let (id, method, params) = (RequestId::Number(1), "initialize".to_owned(), json!({"a": 1}));
    assert_eq!(request, Incoming::Request { id, method, params });
    let text = read(r#"{"jsonrpc":"2.0","id":"x","method":"m"}"#);
    assert!(matches!(text, Incoming::Request { id: RequestId::Text(id), .. } if id == "x"));
    let note = read(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{}}"#);
    assert!(matches!(note, Incoming::Notification { .. }));
    // A response whose result is null is a response.
    let done = read(r#"{"jsonrpc":"2.0","id":7,"result":null}"#);
    let id = RequestId::Number(7);
    assert_eq!(done, Incoming::Response { id: id.clone(), result: Ok(Value::Null) });
    let failed = read(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#);
    assert_eq!(failed, Incoming::Response { id, result: Err(RpcError::new(-1, "no")) });
}

#[test]
fn lines_that_are_no_messages_are_refused_with_the_right_code() {
    for (line, code) in [
        ("{", PARSE_ERROR),
        ("[]", INVALID_REQUEST),
        ("{}", INVALID_REQUEST),
        (r#"{"id":1.5,"method":"m"}"#, INVALID_REQUEST),
        (r#"{"id":1}"#, INVALID_REQUEST),
    ] {
        assert_eq!(parse(line.as_bytes()).unwrap_err().code, code, "{line}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let line = format!(r#"{{"method":"m","params":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(parse(line.as_bytes()).unwrap_err().code, PARSE_ERROR);
}
