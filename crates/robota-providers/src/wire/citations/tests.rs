use serde_json::{Map, json};

use super::*;

fn of(wire: &str, value: Value, text: &str) -> Vec<Citation> {
    let block = Opaque { wire: wire.to_owned(), value, extra: Map::new() };
    citations(&block, text).unwrap()
}

fn shown(found: &[Citation]) -> Vec<(&str, &str, &str)> {
    found.iter().map(|it| (it.url.as_str(), it.title.as_str(), it.text.as_str())).collect()
}

#[test]
fn every_shape_has_address_title_and_text() {
    let page = json!({"type": "web_search_result_location", "url": "https://e.test", "title": "T",
        "encrypted_index": "aWR4", "cited_text": "y"});
    let document = json!({"type": "char_location", "document_title": "D", "cited_text": "z"});
    let found = of(MESSAGES, json!([page, document]), "");
    assert_eq!(shown(&found), [("https://e.test", "T", "y"), ("", "D", "z")]);
    assert_eq!(found[0].original, Some(page));

    let item = json!({"type": "url_citation", "url": "https://e.test", "title": "T",
        "start_index": 1, "end_index": 3});
    assert_eq!(shown(&of(RESPONSES, json!([item]), "aß©d")), [("https://e.test", "T", "ß©")]);
    let item = json!({"type": "url_citation", "url_citation": item});
    assert_eq!(shown(&of(CHAT, json!([item]), "")), [("https://e.test", "T", "")]);

    let metadata = json!({
        "groundingChunks": [{"web": {"uri": "https://a.test", "title": "A"}},
            {"web": {"uri": "https://b.test", "title": "B"}}],
        "groundingSupports": [{"segment": {"text": "part"}, "groundingChunkIndices": [1, 7]}],
    });
    assert_eq!(
        shown(&of(GROUNDING, metadata, "")),
        [("https://b.test", "B", "part"), ("https://a.test", "A", "")]
    );
}

#[test]
fn other_blocks_and_broken_ones_have_no_citations() {
    let other =
        Opaque { wire: "anthropic-messages".to_owned(), value: json!([]), extra: Map::new() };
    assert_eq!(citations(&other, ""), None);
    for kind in ALL {
        assert_eq!(of(kind, json!("broken"), ""), []);
    }
    assert_eq!(
        shown(&of(RESPONSES, json!([{"start_index": 5, "end_index": 2}]), "ab")),
        [("", "", "")]
    );
}
