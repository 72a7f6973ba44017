use std::path::Path;
use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;
use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

fn workspace_in(dir: &Path) -> ToolWorkspace {
    ToolWorkspace::new(dir, Supervisor::new(), Environment::new())
}

fn tool() -> (tempfile::TempDir, Read, Arc<crate::ReadLog>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f.txt"), "one\ntwo\nthree\n").unwrap();
    let workspace = workspace_in(dir.path());
    let read = Read::new(&workspace);
    (dir, read, workspace.log.clone())
}

async fn run(read: &Read, input: Value) -> ToolOutcome {
    read.check(&input).unwrap();
    read.run(input, ToolContext::detached()).await
}

#[tokio::test]
async fn tool_05_read_works_without_a_session() {
    let (dir, read, log) = tool();
    let outcome = run(&read, json!({"file_path": "f.txt", "offset": 2.0, "limit": 1})).await;
    assert!(outcome.ok);
    assert_eq!(outcome.text(), "     2\ttwo\n[lines 2-2 of 3; continue with offset 3]\n");
    assert_eq!(outcome.metadata["lines"], 1);
    assert_eq!(outcome.metadata["total_lines"], 3);
    let absolute = dir.path().join("f.txt");
    assert!(log.last_seen(&absolute).is_some());
    let outcome = run(&read, json!({"file_path": absolute, "offset": null})).await;
    assert_eq!(outcome.text(), "     1\tone\n     2\ttwo\n     3\tthree\n");
}

#[tokio::test]
async fn failures_are_outcomes_with_hints() {
    let (dir, read, log) = tool();
    let outcome = run(&read, json!({"file_path": "none.txt"})).await;
    assert_eq!((outcome.ok, outcome.error_code.as_deref()), (false, Some("not_found")));
    assert!(outcome.text().contains("none.txt does not exist (check the path"));
    let outcome = run(&read, json!({"file_path": "f.txt", "offset": 10})).await;
    assert!(outcome.text().ends_with("has 3 lines; offset 10 is past its end"));
    assert!(log.last_seen(&dir.path().join("f.txt")).is_none(), "no line was returned");
    let outcome = run(&read, json!({"file_path": ""})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
}

#[tokio::test]
async fn a_pdf_file_is_not_shown_as_text() {
    let (dir, read, _log) = tool();
    std::fs::write(dir.path().join("a.pdf"), "%PDF-1.4\n1 0 obj\n").unwrap();
    let error = async |input: Value| {
        let outcome = run(&read, input).await;
        assert_eq!(outcome.error_code.as_deref(), Some("binary_file"));
        outcome.text()
    };
    let text = error(json!({"file_path": "a.pdf"})).await;
    assert!(text.contains("`pdftotext -layout FILE -`"), "{text}");
    for (pages, options) in [("2-5", "-f 2 -l 5"), ("3", "-f 3 -l 3"), ("10-", "-f 10 -layout")] {
        let text = error(json!({"file_path": "a.pdf", "pages": pages})).await;
        assert!(text.contains(options), "{text}");
    }
    // For other files the argument has no effect.
    let outcome = run(&read, json!({"file_path": "f.txt", "pages": "1-2"})).await;
    assert_eq!(outcome.text(), "     1\tone\n     2\ttwo\n     3\tthree\n");
}

#[test]
fn invalid_arguments_are_named() {
    let (_dir, read, _log) = tool();
    let error = read.check(&json!({"filePath": "f.txt"})).unwrap_err().to_string();
    assert!(error.contains("`file_path` is required"), "{error}");
    assert!(error.contains("known: file_path, offset, limit"), "{error}");
}

/// A blob store that keeps nothing.
struct NoBlobs;

#[async_trait::async_trait]
impl Blobs for NoBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        Ok(BlobRef::of(bytes))
    }

    async fn get(&self, _: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(None)
    }
}

#[tokio::test]
async fn images_are_shown_if_there_is_a_blob_store() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = b"\x89PNG\r\n\x1a\n and more";
    std::fs::write(dir.path().join("p.txt"), bytes).unwrap();
    let input = json!({"file_path": "p.txt"});
    let without_store = Read::new(&workspace_in(dir.path()));
    let outcome = run(&without_store, input.clone()).await;
    assert!(outcome.text().contains("[image: image/png, 17 bytes]"), "{}", outcome.text());
    let with_store = Read::new(&workspace_in(dir.path()).blobs(Arc::new(NoBlobs)));
    let outcome = run(&with_store, input).await;
    let Some(ResultBlock::Image(image)) = outcome.content.last() else { panic!("{outcome:?}") };
    assert_eq!((image.media_type.as_str(), &image.blob), ("image/png", &BlobRef::of(bytes)));
    std::fs::write(dir.path().join("b"), b"\x7fELF\0\0").unwrap();
    let outcome = run(&with_store, json!({"file_path": "b"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("binary_file"));
    let large = [&bytes[..], &vec![0; 6 << 20]].concat();
    std::fs::write(dir.path().join("large.png"), large).unwrap();
    let outcome = run(&with_store, json!({"file_path": "large.png"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("too_large"));
}

#[tokio::test]
async fn a_short_pdf_file_is_shown_as_a_document() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = b"%PDF-1.4\n1 0 obj <</Type /Page>> endobj\n%%EOF\n";
    std::fs::write(dir.path().join("a.pdf"), bytes).unwrap();
    let read = Read::new(&workspace_in(dir.path()).blobs(Arc::new(NoBlobs)));
    let outcome = run(&read, json!({"file_path": "a.pdf"})).await;
    assert!(outcome.text().starts_with("[PDF file: 1 pages, "), "{}", outcome.text());
    let Some(ResultBlock::Image(image)) = outcome.content.last() else { panic!("{outcome:?}") };
    assert_eq!((image.media_type.as_str(), &image.blob), ("application/pdf", &BlobRef::of(bytes)));
    let outcome = run(&read, json!({"file_path": "a.pdf", "pages": "1"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("binary_file"));
}

#[tokio::test]
async fn other_encodings_are_decoded_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let read = Read::new(&workspace_in(dir.path()));
    std::fs::write(dir.path().join("f"), b"gr\xf6\xdfe\r\nzwei\r\n").unwrap();
    let text = run(&read, json!({"file_path": "f"})).await.text();
    assert_eq!(
        text,
        "     1\tgröße\n     2\tzwei\n[encoding: Windows-1252 (Latin-1); edits keep it]\n"
    );
    let utf16: Vec<u8> =
        "\u{feff}größe\n日本\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(dir.path().join("f"), utf16).unwrap();
    let text = run(&read, json!({"file_path": "f"})).await.text();
    assert_eq!(text, "     1\tgröße\n     2\t日本\n[encoding: UTF-16LE; edits keep it]\n");
}

struct NotSecret;

impl crate::AccessCheck for NotSecret {
    fn may_read(&self, path: &Path) -> bool {
        !path.ends_with("secret")
    }

    fn may_connect_private(&self, _: &str, _: std::net::IpAddr) -> bool {
        false
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_access_check_applies_to_the_opened_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "s").unwrap();
    std::os::unix::fs::symlink("secret", dir.path().join("harmless")).unwrap();
    let read = Read::new(&workspace_in(dir.path()).access_check(Arc::new(NotSecret)));
    for name in ["secret", "harmless", "./secret"] {
        let outcome = run(&read, json!({"file_path": name})).await;
        assert_eq!(outcome.error_code.as_deref(), Some("denied"), "{name}");
    }
}
