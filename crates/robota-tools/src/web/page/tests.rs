use super::*;

fn text(content_type: &str, body: &[u8]) -> Option<String> {
    match readable(content_type, body, &|| false) {
        Readable::Text(text) => Some(text),
        Readable::Binary | Readable::Cancelled => None,
    }
}

#[test]
fn html_becomes_markdown() {
    let html = b"<html><head><title>t</title><style>x</style></head><body><h1>Hi</h1>\
        <p>a <b>bold</b> <a href='https://x.org/'>link</a></p><script>alert(1)</script>\
        <ul><li>one<li>two</ul></body></html>";
    let text = text("text/html; charset=utf-8", html).unwrap();
    assert!(text.contains("# Hi") && text.contains("**bold**"), "{text}");
    assert!(text.contains("[link](https://x.org/)") && !text.contains("alert"), "{text}");
}

#[test]
fn the_declared_encoding_is_used() {
    assert_eq!(text("text/plain; charset=iso-8859-1", b"gr\xf6\xdfe").unwrap(), "größe");
    let html = b"<html><meta charset=\"windows-1252\"><body>gr\xf6\xdfe</body></html>";
    assert_eq!(text("text/html", html).unwrap().trim(), "größe");
    assert_eq!(text("application/json", b"{}").unwrap(), "{}");
    assert_eq!(text("", b"plain").unwrap(), "plain");
    assert_eq!(text("image/png", b"\x89PNG"), None);
    assert_eq!(text("", b"a\0b"), None);
}

#[test]
fn a_very_deeply_nested_page_does_not_overflow_the_stack() {
    let deep = format!("{}bottom{}", "<div>".repeat(200_000), "</div>".repeat(200_000));
    assert_eq!(text("text/html", deep.as_bytes()).unwrap(), "bottom\n");
    let shallow = format!("{}bottom", "<div>".repeat(900));
    assert!(text("text/html", shallow.as_bytes()).unwrap().contains("bottom"));
}
