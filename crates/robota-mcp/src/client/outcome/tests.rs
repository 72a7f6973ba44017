#![allow(clippy::unwrap_used)]
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use serde_json::json;

use super::*;

async fn outcome(result: Value) -> ToolOutcome {
    let store = MemoryStore::new();
    from_result(&result, &*store.blobs(&SessionId::from("s"))).await
}

#[tokio::test]
async fn images_become_blobs_and_other_media_notes() {
    let data = STANDARD.encode(b"not really a picture");
    let found = outcome(json!({"content": [
        {"type": "text", "text": "hi"},
        {"type": "image", "mimeType": "image/png", "data": data},
        {"type": "image", "mimeType": "image/tiff", "data": data},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "x://1", "text": "body"}},
        {"type": "hologram", "depth": 3},
    ]}))
    .await;
    assert!(found.ok);
    assert!(
        matches!(&found.content[1], ResultBlock::Image(image) if image.media_type == "image/png")
    );
    let text = found.text();
    for part in
        ["hi", "image/tiff", "audio/wav", "file:///a", "[resource x://1]\nbody", "\"hologram\""]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn structured_content_is_text_if_there_is_no_other() {
    let found = outcome(json!({"content": [], "structuredContent": {"n": 1}})).await;
    assert_eq!(found.text(), "{\"n\":1}");
    assert_eq!(found.metadata["structured_content"], json!({"n": 1}));
    let both = outcome(
        json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"n": 1}}),
    )
    .await;
    assert_eq!(both.text(), "one");
}

#[tokio::test]
async fn errors_of_tools_and_empty_results_say_so() {
    let found =
        outcome(json!({"isError": true, "content": [{"type": "text", "text": "no"}]})).await;
    assert_eq!((found.ok, found.error_code.as_deref()), (false, Some("mcp_tool_error")));
    assert_eq!(outcome(json!({})).await.text(), "[the result is empty]");
}

#[test]
fn a_call_that_was_lost_may_have_had_effects() {
    let server = "s".to_owned();
    let lost = failed(&McpError::Closed { server: server.clone(), problem: "gone".to_owned() });
    assert_eq!(lost.ran, DidRun::Maybe);
    let refused = failed(&McpError::Connect { server, problem: "gone".to_owned() });
    assert_eq!(refused.ran, DidRun::No);
}
