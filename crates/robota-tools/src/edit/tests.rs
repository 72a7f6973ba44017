use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::read::Read;

struct Place {
    dir: tempfile::TempDir,
    read: Read,
    edit: Edit,
}

impl Place {
    fn new(content: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let work = Workplace::new(dir.path(), Supervisor::new(), Environment::new());
        let (read, edit) = (Read::new(&work), Edit::new(&work));
        let place = Self { dir, read, edit };
        place.write(content);
        place
    }

    fn write(&self, content: &str) {
        std::fs::write(self.dir.path().join("f.txt"), content).unwrap();
    }

    fn content(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("f.txt")).unwrap()
    }

    async fn read(&self) {
        let input = json!({"file_path": "f.txt"});
        assert!(self.read.run(input, ToolContext::detached()).await.ok);
    }

    async fn edit(&self, old: &str, new: &str) -> ToolOutcome {
        let input = json!({"file_path": "f.txt", "old_string": old, "new_string": new});
        self.edit.check(&input).unwrap();
        self.edit.run(input, ToolContext::detached()).await
    }
}

#[tokio::test]
async fn tool_02_an_edit_reports_its_start_line_and_diff() {
    let place = Place::new("one\ntwo\n");
    place.read().await;
    let outcome = place.edit("two", "2").await;
    assert!(outcome.ok, "{}", outcome.text());
    assert_eq!(place.content(), "one\n2\n");
    assert_eq!(outcome.metadata["start_line"], 2);
    assert_eq!(
        outcome.text(),
        "Edited f.txt (line 2)\n--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
}

#[tokio::test]
async fn what_was_not_read_is_not_edited() {
    let place = Place::new("one\n");
    let outcome = place.edit("one", "two").await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_read"));
    assert!(outcome.text().contains("Read it"), "{}", outcome.text());
    assert_eq!(place.content(), "one\n");
}

#[tokio::test]
async fn what_changed_is_read_again_first_and_own_edits_are_known() {
    let place = Place::new("one\n");
    place.read().await;
    assert!(place.edit("one", "two").await.ok);
    assert!(place.edit("two", "three").await.ok, "the own edit counts as read");
    place.write("four\n");
    let outcome = place.edit("four", "five").await;
    assert_eq!(outcome.error_code.as_deref(), Some("changed_since_read"));
    assert_eq!(place.content(), "four\n");
    place.read().await;
    assert!(place.edit("four", "five").await.ok);
    assert_eq!(place.content(), "five\n");
}

#[tokio::test]
async fn replace_all_and_a_missing_file() {
    let place = Place::new("a a a\n");
    place.read().await;
    let input = json!({
        "file_path": "f.txt", "old_string": "a", "new_string": "b", "replace_all": true,
    });
    let outcome = place.edit.run(input, ToolContext::detached()).await;
    assert_eq!(place.content(), "b b b\n");
    assert!(outcome.text().starts_with("Edited f.txt (line 1, 3 places)\n"));

    let input = json!({"file_path": "none", "old_string": "a", "new_string": "b"});
    let outcome = place.edit.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
}

#[tokio::test]
async fn edits_at_once_lose_nothing() {
    let lines: Vec<_> = (0..20).map(|n| format!("<{n}>\n")).collect();
    let place = Place::new(&lines.concat());
    place.read().await;
    let edits = (0..20).map(|n| (format!("<{n}>"), format!("[{n}]"))).collect::<Vec<_>>();
    let all = edits.iter().map(|(old, new)| place.edit(old, new));
    let mut running = Vec::new();
    // Polled together, each runs on a thread of its own.
    for edit in all {
        running.push(Box::pin(edit));
    }
    for outcome in join_all(running).await {
        assert!(outcome.ok, "{}", outcome.text());
    }
    assert_eq!(place.content(), lines.concat().replace('<', "[").replace('>', "]"));
}

async fn join_all<F: Future<Output = ToolOutcome> + Unpin>(mut all: Vec<F>) -> Vec<ToolOutcome> {
    let mut done: Vec<Option<ToolOutcome>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (future, slot) in all.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(outcome) = std::pin::Pin::new(future).poll(context)
            {
                *slot = Some(outcome);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(done.drain(..).flatten().collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}
