use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::read::Read;

struct Fixture {
    dir: tempfile::TempDir,
    read: Read,
    edit: Edit,
}

impl Fixture {
    fn new(content: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = ToolWorkspace::new(dir.path(), Supervisor::new(), Environment::new());
        let (read, edit) = (Read::new(&workspace), Edit::new(&workspace));
        let fixture = Self { dir, read, edit };
        fixture.write(content);
        fixture
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
    let fixture = Fixture::new("one\ntwo\n");
    fixture.read().await;
    let outcome = fixture.edit("two", "2").await;
    assert!(outcome.ok, "{}", outcome.text());
    assert_eq!(fixture.content(), "one\n2\n");
    assert_eq!(outcome.metadata["start_line"], 2);
    assert_eq!(
        outcome.text(),
        "Edited f.txt (line 2)\n--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
}

#[tokio::test]
async fn a_file_that_was_not_read_is_not_edited() {
    let fixture = Fixture::new("one\n");
    let outcome = fixture.edit("one", "two").await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_read"));
    assert!(outcome.text().contains("Read it"), "{}", outcome.text());
    assert_eq!(fixture.content(), "one\n");
}

#[tokio::test]
async fn a_changed_file_must_be_read_again_except_after_own_edits() {
    let fixture = Fixture::new("one\n");
    fixture.read().await;
    assert!(fixture.edit("one", "two").await.ok);
    assert!(fixture.edit("two", "three").await.ok, "a file that the tool edited counts as read");
    fixture.write("four\n");
    let outcome = fixture.edit("four", "five").await;
    assert_eq!(outcome.error_code.as_deref(), Some("changed_since_read"));
    assert_eq!(fixture.content(), "four\n");
    fixture.read().await;
    assert!(fixture.edit("four", "five").await.ok);
    assert_eq!(fixture.content(), "five\n");
}

#[tokio::test]
async fn replace_all_and_a_missing_file() {
    let fixture = Fixture::new("a a a\n");
    fixture.read().await;
    let input = json!({
        "file_path": "f.txt", "old_string": "a", "new_string": "b", "replace_all": true,
    });
    let outcome = fixture.edit.run(input, ToolContext::detached()).await;
    assert_eq!(fixture.content(), "b b b\n");
    assert!(outcome.text().starts_with("Edited f.txt (line 1, 3 locations)\n"));

    let input = json!({"file_path": "none", "old_string": "a", "new_string": "b"});
    let outcome = fixture.edit.run(input, ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
}

#[tokio::test]
async fn concurrent_edits_lose_nothing() {
    let lines: Vec<_> = (0..20).map(|n| format!("<{n}>\n")).collect();
    let fixture = Fixture::new(&lines.concat());
    fixture.read().await;
    let edits = (0..20).map(|n| (format!("<{n}>"), format!("[{n}]"))).collect::<Vec<_>>();
    let all = edits.iter().map(|(old, new)| fixture.edit(old, new));
    let mut running = Vec::new();
    // They are polled together; each edit runs on its own thread.
    for edit in all {
        running.push(Box::pin(edit));
    }
    for outcome in join_all(running).await {
        assert!(outcome.ok, "{}", outcome.text());
    }
    assert_eq!(fixture.content(), lines.concat().replace('<', "[").replace('>', "]"));
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
