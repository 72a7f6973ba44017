//! The framing of bytes must not change the answer.

use serde_json::json;

use super::super::Suite;
use super::size;
use crate::mock::{Quirk, Reply, ResponseEnd, Step, Wire};

fn reply() -> Reply {
    Reply::new()
        .thinking("Grüße — 思考", Some("c2ln"))
        // Text that looks like an event must stay text.
        .pieces(["Grüße, ", "世界 🦀", "\n\ndata: not an event\n"])
        .tool("read", json!({"path": "ü 🦀.txt"}))
        .chunked(size(4))
}

/// Every framing gives the same answer.
pub async fn unusual_framing(suite: Suite) {
    let plain = suite.fixture(reply()).await.hello().await.unwrap();
    assert_eq!(plain.text(), "Grüße, 世界 🦀\n\ndata: not an event\n");
    assert_eq!(plain.thinking(), "Grüße — 思考");
    assert_eq!(plain.called(), [("read".to_owned(), json!({"path": "ü 🦀.txt"}))]);
    let quirks = [
        vec![Quirk::Bytes(size(1))],
        vec![Quirk::Bytes(size(7))],
        vec![Quirk::WriteEach],
        vec![Quirk::Crlf],
        vec![Quirk::Bom],
        vec![Quirk::Comments],
        vec![Quirk::NoSpace],
        vec![Quirk::NoEventNames],
        vec![Quirk::UnknownEvents],
        vec![Quirk::Padding(300_000)],
        vec![Quirk::Ascii],
        vec![Quirk::Bytes(size(1)), Quirk::Crlf, Quirk::Bom, Quirk::Comments, Quirk::Ascii],
    ];
    for quirks in quirks {
        let fixture = suite.fixture(reply().quirks(quirks.clone())).await;
        let answer = fixture.hello().await.unwrap_or_else(|error| panic!("{quirks:?}: {error}"));
        assert_eq!(answer.text(), plain.text(), "{quirks:?}");
        assert_eq!(answer.thinking(), plain.thinking(), "{quirks:?}");
        assert_eq!(answer.called(), plain.called(), "{quirks:?}");
        assert_eq!(answer.stop, plain.stop, "{quirks:?}");
        assert_eq!(answer.usage, plain.usage, "{quirks:?}");
    }
}

/// A lone surrogate is replaced, and the rest of the answer is kept.
pub async fn lone_surrogates(suite: Suite) {
    let reply = Reply::from("a\u{e000}b").quirks([Quirk::LoneSurrogate]);
    let answered = suite.fixture(reply).await.hello().await.unwrap();
    assert_eq!(answered.text(), "a\u{fffd}b");
}

/// Reasoning has several field names on the Chat wire.
pub async fn reasoning_field_names(suite: Suite) {
    if suite.wire != Wire::OpenaiChat {
        return;
    }
    let reply = || Reply::new().thinking("Add.", None).text("5");
    let named = suite.fixture(reply().quirks([Quirk::ReasoningField])).await;
    let answered = named.hello().await.unwrap();
    assert_eq!((answered.thinking().as_str(), answered.text().as_str()), ("Add.", "5"));
    let tagged =
        suite.fixture_with_text_calls(reply().quirks([Quirk::ThinkTags]).chunked(size(2))).await;
    let answered = tagged.hello().await.unwrap();
    assert_eq!((answered.thinking().as_str(), answered.text().trim()), ("Add.", "5"));
}

/// An endless line is not buffered without limit.
pub async fn an_endless_line_is_rejected(suite: Suite) {
    // Larger than any real event, and small enough for a test.
    let line = format!("data: {}", " ".repeat(48 * 1024 * 1024));
    let fixture = suite.fixture(Reply::new().step(Step::Bytes(line))).await;
    let Err(error) = fixture.hello().await else { panic!("the whole line was read") };
    assert!(error.to_string().len() < 10_000, "the error does not repeat it");
    assert_eq!(fixture.sent(1).ended().await, ResponseEnd::Disconnected, "the rest is not read");
}
