use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use robota_core::checkpoint::{Before, Changing, Checkpoints};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::ids::CallId;
use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;
use crate::{Edit, Read};

fn workplace(dir: &tempfile::TempDir) -> Workplace {
    let root = dir.path().canonicalize().unwrap();
    Workplace::new(root, Supervisor::new(), Environment::new())
}

async fn write(place: &Workplace, path: &str, content: &str) -> ToolOutcome {
    let input = json!({"file_path": path, "content": content});
    let tool = Write::new(place);
    tool.check(&input).unwrap();
    tool.run(input, ToolContext::detached()).await
}

async fn read(place: &Workplace, path: &str) {
    let input = json!({"file_path": path});
    assert!(Read::new(place).run(input, ToolContext::detached()).await.ok);
}

#[tokio::test]
async fn tool_02_a_new_file_is_made_with_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    let place = workplace(&dir);
    let outcome = write(&place, "a/b/new.txt", "hi\n").await;
    assert_eq!(outcome.text(), "Created a/b/new.txt (3 bytes)\n");
    assert_eq!(std::fs::read(dir.path().join("a/b/new.txt")).unwrap(), b"hi\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // As any program would make it: readable for others unless the mask says no.
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let mode = |name: &str| dir.path().join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode("a/b/new.txt"), mode("plain"));
    }
    // Who wrote it has read it.
    let input = json!({"file_path": "a/b/new.txt", "old_string": "hi", "new_string": "ho"});
    assert!(Edit::new(&place).run(input, ToolContext::detached()).await.ok);
}

#[tokio::test]
async fn a_file_is_replaced_only_as_it_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let place = workplace(&dir);
    std::fs::write(dir.path().join("f"), "one\n").unwrap();
    assert_eq!(write(&place, "f", "x").await.error_code.as_deref(), Some("not_read"));
    read(&place, "f").await;
    std::fs::write(dir.path().join("f"), "two\n").unwrap();
    let outcome = write(&place, "f", "x").await;
    assert_eq!(outcome.error_code.as_deref(), Some("changed_since_read"));
    read(&place, "f").await;
    let outcome = write(&place, "f", "three\n").await;
    assert!(outcome.text().contains("-two\n+three\n"), "{}", outcome.text());
    assert!(write(&place, "f", "four\n").await.ok, "the own writing counts as read");
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"four\n");
    std::fs::create_dir(dir.path().join("d")).unwrap();
    assert_eq!(write(&place, "d", "x").await.error_code.as_deref(), Some("not_a_file"));
}

#[tokio::test]
async fn endings_mark_and_encoding_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let place = workplace(&dir);
    for (before, text, after) in [
        (&b"a\r\nb\r\n"[..], "x\ny\n", &b"x\r\ny\r\n"[..]),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"gr\xf6\xdfe\n", "\u{fc}ber\n", b"\xfcber\n"),
        (b"\xff\xfea\0\n\0", "\u{65e5}\n", b"\xff\xfe\xe5\x65\n\0"),
        (b"plain\n", "x\r\ny\n", b"x\r\ny\n"),
    ] {
        std::fs::write(dir.path().join("f"), before).unwrap();
        read(&place, "f").await;
        let outcome = write(&place, "f", text).await;
        assert!(outcome.ok, "{}", outcome.text());
        assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), after);
    }
    std::fs::write(dir.path().join("f"), b"gr\xf6\xdfe\n").unwrap();
    read(&place, "f").await;
    let outcome = write(&place, "f", "\u{65e5}").await;
    assert_eq!(outcome.error_code.as_deref(), Some("unencodable"));
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"gr\xf6\xdfe\n");
}

#[cfg(unix)]
#[tokio::test]
async fn mode_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let dir = tempfile::tempdir().unwrap();
    let place = workplace(&dir);
    std::fs::write(dir.path().join("f"), "#!/bin/sh\n").unwrap();
    let mode = std::fs::Permissions::from_mode(0o751);
    std::fs::set_permissions(dir.path().join("f"), mode).unwrap();
    symlink("f", dir.path().join("link")).unwrap();
    read(&place, "link").await;
    assert!(write(&place, "link", "new\n").await.ok);
    assert!(dir.path().join("link").is_symlink());
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"new\n");
    assert_eq!(dir.path().join("f").metadata().unwrap().permissions().mode() & 0o7777, 0o751);
    // A link that leads nowhere makes the file it leads to.
    symlink("later", dir.path().join("dangling")).unwrap();
    assert!(write(&place, "dangling", "x").await.ok);
    assert_eq!(std::fs::read(dir.path().join("later")).unwrap(), b"x");
    // Nothing of ours stays behind.
    let names: Vec<_> = dir.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

/// The file, its content and its mode.
type Was = (PathBuf, Option<Vec<u8>>, Option<u32>);

#[derive(Default)]
struct Kept {
    kept: Mutex<Vec<Was>>,
    full: bool,
}

#[async_trait::async_trait]
impl Checkpoints for Kept {
    async fn before_change(&self, call: &CallId, files: &[Changing<'_>]) -> Result<(), ErrorData> {
        assert_eq!(call.to_string(), "direct");
        if self.full {
            return Err(ErrorData::new(ErrorKind::Storage, "the disk is full"));
        }
        for file in files {
            let path = file.path;
            let kept = match file.before {
                Before::Missing => (path.to_owned(), None, None),
                Before::File { content, mode } => {
                    // It is still there: nothing was changed yet.
                    assert_eq!(std::fs::read(path).unwrap(), content);
                    (path.to_owned(), Some(content.to_vec()), mode)
                }
            };
            assert_ne!(kept.1.as_deref(), Some(file.after));
            self.kept.lock().unwrap().push(kept);
        }
        Ok(())
    }
}

#[tokio::test]
async fn sdk_17_what_was_there_is_handed_over_before_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let kept = Arc::new(Kept::default());
    let place = workplace(&dir);
    let context = || ToolContext { checkpoints: kept.clone(), ..ToolContext::detached() };
    let root = dir.path().canonicalize().unwrap();
    for content in ["one\n", "two\n"] {
        let input = json!({"file_path": "f", "content": content});
        assert!(Write::new(&place).run(input, context()).await.ok);
    }
    let input = json!({"file_path": "f", "old_string": "two", "new_string": "three"});
    assert!(Edit::new(&place).run(input, context()).await.ok);
    let input = json!({"file_path": "f", "old_string": "absent", "new_string": "x"});
    assert!(!Edit::new(&place).run(input, context()).await.ok);
    let seen: Vec<_> =
        kept.kept.lock().unwrap().iter().map(|(p, c, _)| (p.clone(), c.clone())).collect();
    let file = root.join("f");
    assert_eq!(
        seen,
        [
            (file.clone(), None),
            (file.clone(), Some(b"one\n".to_vec())),
            (file, Some(b"two\n".to_vec())),
        ]
    );
    assert!(cfg!(not(unix)) || kept.kept.lock().unwrap()[1].2.is_some());
}

/// Tools that run in our own process keep to the fence of commands, and say so in the same words.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn kode_13_tools_keep_to_the_fence() {
    use robota_core::sandbox::{Fence, Level};
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
    let place = |level| {
        let fence = Fence {
            level,
            writable: vec![inside.clone()],
            protected: vec![inside.join("kept")],
            hidden: vec![inside.join("hidden")],
            shown: Vec::new(),
            network: false,
        };
        let confinement = Confinement::new(fence, &support).ok()?;
        let place = Workplace::new(&inside, Supervisor::new(), env.clone());
        Some(place.confine(Arc::new(confinement)))
    };
    let part = robota_testkit::Part::Sandbox;
    let Some(read_only) = robota_testkit::requires(part, place(Level::ReadOnly)) else { return };
    let place = place(Level::WorkspaceWrite).unwrap();
    let out = outside.join("f").display().to_string();
    for (place, path) in [
        (&read_only, "f"),
        (&place, &*out),
        (&place, "../outside/f"),
        (&place, "link/f"),
        (&place, "link/new/folder/f"),
        (&place, "kept/f"),
        (&place, "hidden/f"),
    ] {
        let refused = write(place, path, "x\n").await;
        assert_eq!(refused.error_code.as_deref(), Some("sandbox_denied"), "{path}");
        assert!(refused.text().contains("[the sandbox refused: write ("), "{}", refused.text());
        assert!(refused.metadata.contains_key("sandbox_denied"));
    }
    assert_eq!(outside.read_dir().unwrap().count(), 0);
    assert!(write(&place, "new/f", "x\n").await.ok);
    let read = crate::Read::new(&place);
    let hidden = read.run(json!({"file_path": "hidden/key"}), ToolContext::detached()).await;
    assert!(!hidden.ok && !hidden.text().contains("s3cret"), "{}", hidden.text());
    for (tool, input) in [
        (
            &crate::Grep::new(&place) as &dyn Tool,
            json!({"pattern": "s3cret", "output_mode": "content"}),
        ),
        (&crate::Glob::new(&place), json!({"pattern": "**/key"})),
    ] {
        let found = tool.run(input, ToolContext::detached()).await.text();
        assert!(!found.contains("hidden"), "{found}");
    }
}

#[tokio::test]
async fn sdk_17_without_a_checkpoint_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let full = Kept { full: true, ..Kept::default() };
    let context = ToolContext { checkpoints: Arc::new(full), ..ToolContext::detached() };
    let input = json!({"file_path": "f", "content": "one\n"});
    let outcome = Write::new(&workplace(&dir)).run(input, context).await;
    assert_eq!(outcome.error_code.as_deref(), Some("no_checkpoint"));
    assert!(outcome.text().contains("the disk is full"), "{}", outcome.text());
    assert!(!dir.path().join("f").exists());
}
