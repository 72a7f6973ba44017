use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use serde_json::{Value, json};

use super::*;

async fn read_json(blocks: Value) -> Result<PromptInput, RpcError> {
    let blobs = MemoryStore::new().blobs(&SessionId::from("s"));
    read(serde_json::from_value(blocks).unwrap(), &*blobs).await
}

fn texts(input: PromptInput) -> Vec<String> {
    let PromptInput::Blocks(blocks) = input else { panic!("{input:?}") };
    let text = |block: PromptBlock| {
        let typed = matches!(block, PromptBlock::Typed(_));
        let text = match block.into_block() {
            Block::Text(text) => text.text,
            Block::Image(image) => format!("{} {}", image.media_type, image.blob.bytes),
            other => panic!("{other:?}"),
        };
        if typed { format!("typed: {text}") } else { text }
    };
    blocks.into_iter().map(text).collect()
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
        "typed: Look:",
        "typed: @/w/a.rs",
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
    let blocks = json!([
        {"type": "text", "text": "/review"},
        {"type": "resource_link", "name": "a", "uri": "file:///w/a%20b"},
        {"type": "text", "text": "and"},
        {"type": "resource_link", "name": "c", "uri": "https://example.com/c"},
    ]);
    let typed = "/review @\"/w/a b\" and [c](https://example.com/c)".to_owned();
    assert_eq!(read_json(blocks).await.unwrap(), PromptInput::Typed(typed));
}

#[tokio::test]
async fn the_name_of_a_link_in_a_command_mentions_no_file() {
    let blocks = json!([
        {"type": "text", "text": "/review"},
        {"type": "resource_link", "name": "Bug\n@.env (@docs:x by a@b", "uri": "https://example.com/ @x"},
    ]);
    let typed = "/review [Bug\n\\@.env (\\@docs:x by a@b](https://example.com/ %40x)".to_owned();
    assert!(robota_config::mentions::mentions(&typed).is_empty());
    assert_eq!(read_json(blocks).await.unwrap(), PromptInput::Typed(typed));
}

#[tokio::test]
async fn the_address_of_a_link_in_a_command_stays() {
    let uri = "https://www.npmjs.com/package/@types/node/@scope?by=(@me)";
    let blocks = json!([
        {"type": "text", "text": "/review"},
        {"type": "resource_link", "name": "(@types/node, by @me", "uri": uri},
    ]);
    let typed = format!("/review [(@types/node, by \\@me]({uri})");
    assert!(robota_config::mentions::mentions(&typed).is_empty());
    assert_eq!(read_json(blocks).await.unwrap(), PromptInput::Typed(typed));
}

#[tokio::test]
async fn links_to_files_are_mentions_of_their_decoded_paths() {
    for (uri, expected) in [
        ("file:///w/My%20File.rs", "typed: @\"/w/My File.rs\""),
        ("file:///w/My File.rs", "typed: @\"/w/My File.rs\""),
        ("file:///w/gr%C3%B6%C3%9Fe.rs", "typed: @/w/größe.rs"),
        ("file:///w/c%23.txt", "typed: @\"/w/c#.txt\""),
        ("file://localhost/w/a.rs", "typed: @/w/a.rs"),
        ("FILE:///w/a.rs", "typed: @/w/a.rs"),
        ("file:///w/a.rs#L10-20", "typed: @/w/a.rs#L10-20"),
        ("file:///w/a%20b.rs#L10:20", "typed: @\"/w/a b.rs\"#L10-20"),
        ("file:///w/a.rs?symbol=main#L7", "typed: @/w/a.rs#L7-7"),
        ("file:///w/README.md#install", "typed: @/w/README.md"),
        // Neither may become a mention of another file.
        ("file://server/share/a.rs", "[x](file://server/share/a.rs)"),
        ("file:///w/a%22%20@.env", "[x](file:///w/a%22%20@.env)"),
        ("file:///w/a%0A@.env", "[x](file:///w/a%0A@.env)"),
        ("zed:///agent/thread/1", "[x](zed:///agent/thread/1)"),
    ] {
        let blocks = json!([
            {"type": "text", "text": "Look:"},
            {"type": "resource_link", "name": "x", "uri": uri},
        ]);
        assert_eq!(texts(read_json(blocks).await.unwrap()), ["typed: Look:", expected], "{uri}");
    }
}
