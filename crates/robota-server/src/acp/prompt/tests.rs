use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use serde_json::{Value, json};

use super::*;

async fn read_json(blocks: Value) -> Result<PromptInput, RpcError> {
    let blobs = MemoryStore::new().blobs(&SessionId::from("s"));
    read(serde_json::from_value(blocks).unwrap(), &*blobs).await
}

fn texts(input: PromptInput) -> Vec<String> {
    let PromptInput::Content(Content(blocks)) = input else { panic!("{input:?}") };
    let text = |block: &Block| match block {
        Block::Text(text) => text.text.clone(),
        Block::Image(image) => format!("{} {}", image.media_type, image.blob.bytes),
        other => panic!("{other:?}"),
    };
    blocks.iter().map(text).collect()
}

#[tokio::test]
async fn every_kind_of_block_is_read_or_refused() {
    let all = json!([
        {"type": "text", "text": "Look:"},
        {"type": "resource_link", "name": "a.rs", "uri": "file:///w/a.rs"},
        {"type": "resource_link", "name": "page", "uri": "https://example.com/"},
        {"type": "resource", "resource": {"uri": "file:///w/b", "text": "body"}},
        {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
        {"type": "resource", "resource":
            {"uri": "file:///w/c.png", "mimeType": "image/png", "blob": "aGVsbG8="}},
    ]);
    let expected = [
        "Look:",
        "@/w/a.rs",
        "[page](https://example.com/)",
        "<resource uri=\"file:///w/b\">\nbody\n</resource>",
        "image/png 5",
        "image/png 5",
    ];
    assert_eq!(texts(read_json(all).await.unwrap()), expected);
    for refused in [
        json!([{"type": "audio", "mimeType": "audio/wav", "data": ""}]),
        json!([{"type": "resource", "resource": {"uri": "file:///x.zip", "blob": ""}}]),
        json!([{"type": "image", "mimeType": "image/png", "data": "?"}]),
        json!([]),
    ] {
        let error = read_json(refused.clone()).await.unwrap_err();
        assert_eq!(error.code, super::super::rpc::INVALID_PARAMS, "{refused}");
    }
}

#[tokio::test]
async fn a_command_takes_the_links_that_follow_as_arguments() {
    let blocks = json!([
        {"type": "text", "text": "/review "},
        {"type": "resource_link", "name": "a", "uri": "file:///w/a"},
    ]);
    let typed = PromptInput::Typed("/review @/w/a".to_owned());
    assert_eq!(read_json(blocks).await.unwrap(), typed);
}
