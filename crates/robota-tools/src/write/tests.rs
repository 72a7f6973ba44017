use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use robota_core::checkpoint::{Before, Changing, Checkpoints};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::ids::CallId;
use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::{Edit, Read};

fn workspace_in(dir: &tempfile::TempDir) -> ToolWorkspace {
    let root = dir.path().canonicalize().unwrap();
    ToolWorkspace::new(root, Supervisor::new(), Environment::new())
}

async fn write(workspace: &ToolWorkspace, path: &str, content: &str) -> ToolOutcome {
    let input = json!({"file_path": path, "content": content});
    let tool = Write::new(workspace);
    tool.check(&input).unwrap();
    tool.run(input, ToolContext::detached()).await
}

async fn read(workspace: &ToolWorkspace, path: &str) {
    let input = json!({"file_path": path});
    assert!(Read::new(workspace).run(input, ToolContext::detached()).await.ok);
}

#[tokio::test]
async fn tool_02_a_new_file_is_created_with_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = workspace_in(&dir);
    let outcome = write(&workspace, "a/b/new.txt", "hi\n").await;
    assert_eq!(outcome.text(), "Created a/b/new.txt (3 bytes)\n");
    assert_eq!(std::fs::read(dir.path().join("a/b/new.txt")).unwrap(), b"hi\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The mode is that of a file that any program creates with this umask.
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let mode = |name: &str| dir.path().join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode("a/b/new.txt"), mode("plain"));
    }
    // A file that the session wrote counts as read.
    let input = json!({"file_path": "a/b/new.txt", "old_string": "hi", "new_string": "ho"});
    assert!(Edit::new(&workspace).run(input, ToolContext::detached()).await.ok);
}

#[tokio::test]
async fn a_file_is_replaced_only_if_it_was_read_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = workspace_in(&dir);
    std::fs::write(dir.path().join("f"), "one\n").unwrap();
    assert_eq!(write(&workspace, "f", "x").await.error_code.as_deref(), Some("not_read"));
    read(&workspace, "f").await;
    std::fs::write(dir.path().join("f"), "two\n").unwrap();
    let outcome = write(&workspace, "f", "x").await;
    assert_eq!(outcome.error_code.as_deref(), Some("changed_since_read"));
    read(&workspace, "f").await;
    let outcome = write(&workspace, "f", "three\n").await;
    assert!(outcome.text().contains("-two\n+three\n"), "{}", outcome.text());
    assert!(write(&workspace, "f", "four\n").await.ok, "a file that the tool wrote counts as read");
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"four\n");
    std::fs::create_dir(dir.path().join("d")).unwrap();
    assert_eq!(write(&workspace, "d", "x").await.error_code.as_deref(), Some("not_a_file"));
}

#[tokio::test]
async fn line_endings_byte_order_mark_and_encoding_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = workspace_in(&dir);
    for (before, text, after) in [
        (&b"a\r\nb\r\n"[..], "x\ny\n", &b"x\r\ny\r\n"[..]),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"gr\xf6\xdfe\n", "\u{fc}ber\n", b"\xfcber\n"),
        (b"\xff\xfea\0\n\0", "\u{65e5}\n", b"\xff\xfe\xe5\x65\n\0"),
        (b"plain\n", "x\r\ny\n", b"x\r\ny\n"),
    ] {
        std::fs::write(dir.path().join("f"), before).unwrap();
        read(&workspace, "f").await;
        let outcome = write(&workspace, "f", text).await;
        assert!(outcome.ok, "{}", outcome.text());
        assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), after);
    }
    std::fs::write(dir.path().join("f"), b"gr\xf6\xdfe\n").unwrap();
    read(&workspace, "f").await;
    let outcome = write(&workspace, "f", "\u{65e5}").await;
    assert_eq!(outcome.error_code.as_deref(), Some("unencodable"));
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"gr\xf6\xdfe\n");
}

#[cfg(unix)]
#[tokio::test]
async fn mode_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let dir = tempfile::tempdir().unwrap();
    let workspace = workspace_in(&dir);
    std::fs::write(dir.path().join("f"), "#!/bin/sh\n").unwrap();
    let mode = std::fs::Permissions::from_mode(0o751);
    std::fs::set_permissions(dir.path().join("f"), mode).unwrap();
    symlink("f", dir.path().join("link")).unwrap();
    read(&workspace, "link").await;
    assert!(write(&workspace, "link", "new\n").await.ok);
    assert!(dir.path().join("link").is_symlink());
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"new\n");
    assert_eq!(dir.path().join("f").metadata().unwrap().permissions().mode() & 0o7777, 0o751);
    // Writing through a dangling link creates its target.
    symlink("later", dir.path().join("dangling")).unwrap();
    assert!(write(&workspace, "dangling", "x").await.ok);
    assert_eq!(std::fs::read(dir.path().join("later")).unwrap(), b"x");
    // No temporary file is left.
    let names: Vec<_> = dir.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

/// The path, the old content and the old mode.
type Saved = (PathBuf, Option<Vec<u8>>, Option<u32>);

#[derive(Default)]
struct TestCheckpoints {
    saved: Mutex<Vec<Saved>>,
    /// Whether saving fails.
    full: bool,
}

#[async_trait::async_trait]
impl Checkpoints for TestCheckpoints {
    async fn before_change(&self, call: &CallId, files: &[Changing<'_>]) -> Result<(), ErrorData> {
        assert_eq!(call.to_string(), "direct");
        if self.full {
            return Err(ErrorData::new(ErrorKind::Storage, "the disk is full"));
        }
        for file in files {
            let path = file.path;
            let saved = match file.before {
                Before::Missing => (path.to_owned(), None, None),
                Before::File { content, mode } => {
                    // The file was not changed yet.
                    assert_eq!(std::fs::read(path).unwrap(), content);
                    (path.to_owned(), Some(content.to_vec()), mode)
                }
            };
            assert_ne!(saved.1.as_deref(), Some(file.after));
            self.saved.lock().unwrap().push(saved);
        }
        Ok(())
    }
}

#[tokio::test]
async fn sdk_17_files_are_saved_before_they_change() {
    let dir = tempfile::tempdir().unwrap();
    let checkpoints = Arc::new(TestCheckpoints::default());
    let workspace = workspace_in(&dir);
    let context = || ToolContext { checkpoints: checkpoints.clone(), ..ToolContext::detached() };
    let root = dir.path().canonicalize().unwrap();
    for content in ["one\n", "two\n"] {
        let input = json!({"file_path": "f", "content": content});
        assert!(Write::new(&workspace).run(input, context()).await.ok);
    }
    let input = json!({"file_path": "f", "old_string": "two", "new_string": "three"});
    assert!(Edit::new(&workspace).run(input, context()).await.ok);
    let input = json!({"file_path": "f", "old_string": "absent", "new_string": "x"});
    assert!(!Edit::new(&workspace).run(input, context()).await.ok);
    let saved: Vec<_> =
        checkpoints.saved.lock().unwrap().iter().map(|(p, c, _)| (p.clone(), c.clone())).collect();
    let file = root.join("f");
    assert_eq!(
        saved,
        [
            (file.clone(), None),
            (file.clone(), Some(b"one\n".to_vec())),
            (file, Some(b"two\n".to_vec())),
        ]
    );
    assert!(cfg!(not(unix)) || checkpoints.saved.lock().unwrap()[1].2.is_some());
}

/// Tools that run in this process obey the sandbox of commands and report denials in the same way.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn kode_13_tools_obey_the_sandbox() {
    use robota_core::sandbox::{Fence, SandboxLevel};
    use robota_exec::sandbox::{Confinement, probe};

    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (inside, outside) = (root.join("work"), root.join("outside"));
    for folder in [inside.join("kept"), inside.join("hidden"), outside.clone()] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(inside.join("hidden/key"), "s3cret\n").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    let env = Environment::new().with("PATH", "/usr/bin:/bin");
    let support = probe(&env).await;
    let confined = |level| {
        let fence = Fence {
            level,
            writable: vec![inside.clone()],
            protected: vec![inside.join("kept")],
            hidden: vec![inside.join("hidden")],
            shown: Vec::new(),
            network: false,
        };
        let confinement = Confinement::new(fence, &support).ok()?;
        let workspace = ToolWorkspace::new(&inside, Supervisor::new(), env.clone());
        Some(workspace.confine(Arc::new(confinement)))
    };
    let Some(read_only) = confined(SandboxLevel::ReadOnly) else {
        println!("SKIPPED: this system has no sandbox ({support:?})");
        return;
    };
    let workspace = confined(SandboxLevel::WorkspaceWrite).unwrap();
    let out = outside.join("f").display().to_string();
    for (workspace, path) in [
        (&read_only, "f"),
        (&workspace, &*out),
        (&workspace, "../outside/f"),
        (&workspace, "link/f"),
        (&workspace, "link/new/folder/f"),
        (&workspace, "kept/f"),
        (&workspace, "hidden/f"),
    ] {
        let outcome = write(workspace, path, "x\n").await;
        assert_eq!(outcome.error_code.as_deref(), Some("sandbox_denied"), "{path}");
        assert!(outcome.text().contains("[denied by the sandbox: write ("), "{}", outcome.text());
        assert!(outcome.metadata.contains_key("sandbox_denied"));
    }
    assert_eq!(outside.read_dir().unwrap().count(), 0);
    assert!(write(&workspace, "new/f", "x\n").await.ok);
    let read = crate::Read::new(&workspace);
    let hidden = read.run(json!({"file_path": "hidden/key"}), ToolContext::detached()).await;
    assert!(!hidden.ok && !hidden.text().contains("s3cret"), "{}", hidden.text());
    for (tool, input) in [
        (
            &crate::Grep::new(&workspace) as &dyn Tool,
            json!({"pattern": "s3cret", "output_mode": "content"}),
        ),
        (&crate::Glob::new(&workspace), json!({"pattern": "**/key"})),
    ] {
        let found = tool.run(input, ToolContext::detached()).await.text();
        assert!(!found.contains("hidden"), "{found}");
    }
}

#[tokio::test]
async fn sdk_17_without_a_checkpoint_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let full = TestCheckpoints { full: true, ..TestCheckpoints::default() };
    let context = ToolContext { checkpoints: Arc::new(full), ..ToolContext::detached() };
    let input = json!({"file_path": "f", "content": "one\n"});
    let outcome = Write::new(&workspace_in(&dir)).run(input, context).await;
    assert_eq!(outcome.error_code.as_deref(), Some("no_checkpoint"));
    assert!(outcome.text().contains("the disk is full"), "{}", outcome.text());
    assert!(!dir.path().join("f").exists());
}
