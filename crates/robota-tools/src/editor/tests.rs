use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use robota_core::tool::ToolContext;
use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::ToolWorkspace;

/// An editor with buffers; what it writes is saved with `suffix`.
#[derive(Default)]
struct Editor {
    buffers: Mutex<HashMap<PathBuf, String>>,
    written: Mutex<Vec<PathBuf>>,
    suffix: &'static str,
    saves: bool,
}

#[async_trait::async_trait]
impl EditorFiles for Editor {
    async fn read(&self, path: &Path) -> Option<String> {
        self.buffers.lock().unwrap().get(path).cloned()
    }

    async fn write(&self, path: &Path, text: &str) -> bool {
        self.written.lock().unwrap().push(path.to_owned());
        if self.saves {
            std::fs::write(path, format!("{text}{}", self.suffix)).unwrap();
        }
        true
    }
}

struct Setup {
    folder: tempfile::TempDir,
    editor: Arc<Editor>,
    tools: Vec<Arc<dyn robota_core::tool::Tool>>,
}

fn setup(editor: Editor) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let editor = Arc::new(editor);
    let workspace = ToolWorkspace::new(folder.path(), Supervisor::new(), Environment::new())
        .editor(editor.clone());
    Setup { folder, editor, tools: crate::tools(&workspace) }
}

impl Setup {
    async fn run(&self, tool: &str, input: serde_json::Value) -> robota_core::tool::ToolOutcome {
        let tool = self.tools.iter().find(|it| it.spec().name == tool).unwrap();
        tool.run(input, ToolContext::detached()).await
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("a.txt")
    }

    fn open(&self, text: &str) {
        self.editor.buffers.lock().unwrap().insert(self.path(), text.to_owned());
    }
}

#[tokio::test]
async fn unsaved_text_is_read_and_never_overwritten() {
    let setup = setup(Editor { saves: true, ..Editor::default() });
    std::fs::write(setup.path(), "saved\r\n").unwrap();
    setup.open("saved\nand more\n");
    let read = setup.run("Read", json!({"file_path": "a.txt"})).await;
    assert!(read.text().contains("and more"), "{}", read.text());
    let edit = json!({"file_path": "a.txt", "old_string": "saved", "new_string": "x"});
    let refused = setup.run("Edit", edit.clone()).await;
    assert_eq!(refused.error_code.as_deref(), Some("unsaved_in_editor"), "{}", refused.text());
    // Line ends alone are no change.
    setup.open("saved\n");
    let done = setup.run("Edit", edit).await;
    assert!(done.ok, "{}", done.text());
    assert_eq!(std::fs::read_to_string(setup.path()).unwrap(), "x\r\n");
    assert_eq!(*setup.editor.written.lock().unwrap(), [setup.path()]);
}

#[tokio::test]
async fn what_the_editor_does_not_save_is_written_anyway() {
    let setup = setup(Editor::default());
    std::fs::write(setup.path(), "one\n").unwrap();
    setup.run("Read", json!({"file_path": "a.txt"})).await;
    let write = json!({"file_path": "a.txt", "content": "two\n"});
    assert!(setup.run("Write", write).await.ok);
    assert_eq!(std::fs::read_to_string(setup.path()).unwrap(), "two\n");
    let new = json!({"file_path": "new.txt", "content": "n\n"});
    assert!(setup.run("Write", new).await.ok);
    assert_eq!(setup.editor.written.lock().unwrap().len(), 1, "new files do not need the editor");
}

#[tokio::test]
async fn a_file_that_the_editor_formatted_must_be_read_again() {
    let setup = setup(Editor { saves: true, suffix: "// formatted\n", ..Editor::default() });
    std::fs::write(setup.path(), "one\n").unwrap();
    setup.run("Read", json!({"file_path": "a.txt"})).await;
    let write = |text: &str| json!({"file_path": "a.txt", "content": text});
    assert!(setup.run("Write", write("two\n")).await.ok);
    let again = setup.run("Write", write("three\n")).await;
    assert_eq!(again.error_code.as_deref(), Some("changed_since_read"), "{}", again.text());
}
