//! The framing of bytes must not change the answer.

use serde_json::json;

use super::super::Suite;
use super::size;
use crate::mock::{Ended, Quirk, Reply, Step, Wire};

fn reply() -> Reply {
    Reply::new()
        .thinking("Grüße — 思考", Some("c2ln"))
        .pieces(["Grüße, ", "世界 🦀", "\n\ndata: not an event\n"])
        .tool("read", json!({"path": "ü 🦀.txt"}))
        .chunked(size(4))
}

/// Every framing gives the same answer.
pub async fn odd_framing(suite: Suite) {
    let plain = suite.bench(reply()).await.hello().await.unwrap();
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
        let bench = suite.bench(reply().quirks(quirks.clone())).await;
        let odd = bench.hello().await.unwrap_or_else(|error| panic!("{quirks:?}: {error}"));
        assert_eq!(odd.text(), plain.text(), "{quirks:?}");
        assert_eq!(odd.thinking(), plain.thinking(), "{quirks:?}");
        assert_eq!(odd.called(), plain.called(), "{quirks:?}");
        assert_eq!(odd.stop, plain.stop, "{quirks:?}");
        assert_eq!(odd.usage, plain.usage, "{quirks:?}");
    }
}

/// A lone surrogate is replaced, and the rest of the answer is kept.
pub async fn lone_surrogates(suite: Suite) {
    let reply = Reply::from("a\u{e000}b").quirks([Quirk::LoneSurrogate]);
    let answered = suite.bench(reply).await.hello().await.unwrap();
    assert_eq!(answered.text(), "a\u{fffd}b");
}

/// Reasoning has several field names on the Chat wire.
pub async fn reasoning_has_many_names(suite: Suite) {
    if suite.wire != Wire::OpenaiChat {
        return;
    }
    let reply = || Reply::new().thinking("Add.", None).text("5");
    let named = suite.bench(reply().quirks([Quirk::ReasoningField])).await;
    let answered = named.hello().await.unwrap();
    assert_eq!((answered.thinking().as_str(), answered.text().as_str()), ("Add.", "5"));
    let tagged = suite.local_bench(reply().quirks([Quirk::ThinkTags]).chunked(size(2))).await;
    let answered = tagged.hello().await.unwrap();
    assert_eq!((answered.thinking().as_str(), answered.text().trim()), ("Add.", "5"));
}

/// An endless line is not buffered without limit.
pub async fn an_endless_line_is_cut_off(suite: Suite) {
    // Larger than any real event, and small enough for a test.
    let line = format!("data: {}", " ".repeat(48 * 1024 * 1024));
    let bench = suite.bench(Reply::new().step(Step::Bytes(line))).await;
    let Err(error) = bench.hello().await else { panic!("the whole line was read") };
    assert!(error.to_string().len() < 10_000, "the error does not repeat it");
    assert_eq!(bench.sent(1).ended().await, Ended::HungUp, "the rest is not read");
}
