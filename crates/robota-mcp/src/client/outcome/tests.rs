#![allow(clippy::unwrap_used)]
use robota_core::env_ref::Secret;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use robota_core::redact::Redactor;
use serde_json::json;

use super::*;

fn scope(store: &MemoryStore) -> CallContext {
    CallContext::detached().with_blobs(store.blobs(&SessionId::from("s")))
}

async fn outcome(result: Value) -> ToolOutcome {
    let store = MemoryStore::new();
    from_result(&result, &scope(&store)).await
}

#[tokio::test]
async fn images_become_blobs_and_other_media_notes() {
    let data = STANDARD.encode(b"not really a picture");
    let found = outcome(json!({"content": [
        {"type": "text", "text": "hi"},
        {"type": "image", "mimeType": "image/png", "data": data},
        {"type": "image", "mimeType": "image/tiff", "data": data},
        {"type": "image", "mimeType": "image/svg+xml", "data": "!"},
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
    assert!(text.contains("[image that cannot be decoded]"), "{text}");
}

#[tokio::test]
async fn what_models_cannot_read_is_kept_as_a_blob() {
    let store = MemoryStore::new();
    let blobs = store.blobs(&SessionId::from("s"));
    let large = vec![7; MAX_IMAGE + 1];
    let rows: Vec<_> = (0..20_000).map(|row| json!(row)).collect();
    let parts: [(&str, &str, &[u8]); 4] = [
        ("image", "image/svg+xml", b"<svg/>"),
        ("image", "image/png", &large),
        ("audio", "audio/wav", b"RIFF"),
        ("resource", "application/pdf", b"%PDF"),
    ];
    let content = parts.iter().map(|(kind, media, bytes)| match *kind {
        "resource" => json!({"type": kind, "resource":
            {"uri": "x://1", "mimeType": media, "blob": STANDARD.encode(bytes)}}),
        _ => json!({"type": kind, "mimeType": media, "data": STANDARD.encode(bytes)}),
    });
    let content: Vec<_> = content.collect();
    let result = json!({"content": content, "structuredContent": {"rows": rows}});
    let found = from_result(&result, &scope(&store)).await;
    let files = found.metadata["files"].as_array().unwrap();
    assert_eq!(files.len(), parts.len(), "{files:?}");
    for ((_, media, bytes), file) in parts.iter().zip(files) {
        let blob: BlobRef = serde_json::from_value(file["blob"].clone()).unwrap();
        assert_eq!(file["media_type"], *media);
        assert_eq!(blobs.get(&blob).await.unwrap().as_deref(), Some(*bytes), "{media}");
        assert!(found.text().contains(&blob.sha256), "{}", found.text());
    }
    let blob = found.metadata["structured_content_blob"].clone();
    let stored = blobs.get(&serde_json::from_value(blob).unwrap()).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&stored).unwrap(), json!({"rows": rows}));
}

#[tokio::test]
async fn sess_13_what_is_stored_of_a_result_contains_no_secrets() {
    const SECRET: &str = "sk-planted-secret-7b1f";
    let store = MemoryStore::new();
    let mut scope = scope(&store);
    scope.redactor = Redactor::new([Secret::new(SECRET)]).unwrap();
    let svg = STANDARD.encode(format!("<svg>{SECRET}</svg>"));
    let content = [json!({"type": "image", "mimeType": "image/svg+xml", "data": svg})];
    let rows = vec![json!({"key": SECRET, "password": "short"}); 20_000];
    let result = json!({"content": content, "structuredContent": {"rows": rows}});
    let found = from_result(&result, &scope).await;
    let stored = async |blob: &Value| {
        let blob = serde_json::from_value(blob.clone()).unwrap();
        String::from_utf8(scope.blobs.get(&blob).await.unwrap().unwrap()).unwrap()
    };
    let file = stored(&found.metadata["files"][0]["blob"]).await;
    assert_eq!(file, "<svg>[REDACTED]</svg>");
    let structured = stored(&found.metadata["structured_content_blob"]).await;
    assert!(!structured.contains(SECRET) && !structured.contains("short"));
    let rows =
        json!({"rows": vec![json!({"key": "[REDACTED]", "password": "[REDACTED]"}); 20_000]});
    assert_eq!(serde_json::from_str::<Value>(&structured).unwrap(), rows);
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
