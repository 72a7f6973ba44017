use std::sync::Arc;

use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};

use super::*;

fn blobs() -> Arc<dyn Blobs> {
    MemoryStore::new().blobs(&SessionId::from("s"))
}

#[tokio::test]
async fn files_and_clipboard_images_become_blocks() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.jpg"), b"jpeg").unwrap();
    let images = vec![
        (1, composer::Image::File("~/a.jpg".into())),
        (2, composer::Image::Png(b"png".as_slice().into())),
    ];
    let draft = Draft { text: "[Image #1] and [Image #2]".to_owned(), images };
    let content = content(draft, &*blobs(), Some(home.path())).await.unwrap();
    let types: Vec<_> = content
        .0
        .iter()
        .filter_map(|block| match block {
            Block::Image(image) => Some(image.media_type.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(types, ["image/jpeg", "image/png"]);
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let draft = Draft {
        text: "[Image #1]".to_owned(),
        images: vec![(1, composer::Image::File("/nowhere/a.png".into()))],
    };
    let why = content(draft, &*blobs(), None).await.err().unwrap();
    assert!(why.starts_with("/nowhere/a.png: "), "{why}");
}

#[test]
fn a_model_without_images_is_known_by_the_catalogue() {
    let blind = Catalogue::builtin().models().find(|model| {
        !model.capabilities.is_empty() && !model.capabilities.contains(&Capability::Images)
    });
    let blind = blind.unwrap();
    assert!(refused_by(&blind.id).unwrap().contains("does not read images"));
    assert_eq!(refused_by("claude-sonnet-4-5"), None);
    assert_eq!(refused_by("model-that-nobody-knows"), None);
}
