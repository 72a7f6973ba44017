use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};

use super::*;

struct Scene {
    dir: tempfile::TempDir,
    files: Vec<FileChange>,
    blobs: std::sync::Arc<dyn Blobs>,
}

impl Scene {
    /// Two files to change, and one to create.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let blobs = MemoryStore::new().blobs(&SessionId::from("s"));
        let mut files = Vec::new();
        for (name, before) in [("a", Some("old a")), ("b", Some("old b")), ("c", None)] {
            let path = dir.path().join(name);
            let before = match before {
                Some(before) => {
                    std::fs::write(&path, before).unwrap();
                    Some(blobs.put(before.as_bytes()).await.unwrap())
                }
                None => None,
            };
            let after_sha256 = BlobRef::of(format!("new {name}").as_bytes()).sha256;
            let path = path.display().to_string();
            files.push(FileChange {
                path,
                before,
                mode: Some(0o644),
                after_sha256,
                new_folders: Vec::new(),
            });
        }
        Self { dir, files, blobs }
    }

    fn set(&self, name: &str, content: &str) {
        std::fs::write(self.dir.path().join(name), content).unwrap();
    }

    fn content(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join(name)).ok()
    }

    async fn settle(&self) -> Vec<FoundFile> {
        let found = settle_files(&self.files, &*self.blobs).await;
        let again = settle_files(&self.files, &*self.blobs).await;
        let same = |(one, two): (&FoundFile, &FoundFile)| {
            one == two || (*one, *two) == (FoundFile::PutBack, FoundFile::Old)
        };
        assert!(found.iter().zip(&again).all(same), "{found:?} {again:?}");
        found
    }
}

#[tokio::test]
async fn tool_02_files_that_are_all_old_or_all_new_are_kept() {
    let scene = Scene::new().await;
    assert_eq!(scene.settle().await, [FoundFile::Old; 3]);
    for name in ["a", "b", "c"] {
        scene.set(name, &format!("new {name}"));
    }
    assert_eq!(scene.settle().await, [FoundFile::New; 3]);
    assert_eq!(scene.content("a").unwrap(), "new a");
}

#[tokio::test]
async fn tool_02_a_partial_change_is_undone() {
    use FoundFile::{Old, PutBack};
    let scene = Scene::new().await;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o751);
        std::fs::set_permissions(scene.dir.path().join("a"), mode).unwrap();
    }
    scene.set("a", "new a");
    // A temporary file that the crashed process left.
    scene.set(".abc123.robota-swap", "old a");
    scene.set(".mine.txt", "mine");
    assert_eq!(scene.settle().await, [PutBack, Old, Old]);
    assert_eq!(scene.content("a").unwrap(), "old a");
    assert!(!scene.dir.path().join(".abc123.robota-swap").exists());
    assert_eq!(scene.content(".mine.txt").unwrap(), "mine");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = scene.dir.path().join("a").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o751);
    }

    // A file that was created is deleted again.
    let scene = Scene::new().await;
    scene.set("a", "new a");
    scene.set("c", "new c");
    assert_eq!(scene.settle().await, [PutBack, Old, PutBack]);
    assert_eq!((scene.content("a").unwrap().as_str(), scene.content("c")), ("old a", None));
}

#[tokio::test]
async fn tool_02_files_changed_by_another_program_are_not_touched() {
    use FoundFile::{New, Old, Other};
    let mut scene = Scene::new().await;
    scene.set("a", "theirs");
    assert_eq!(scene.settle().await, [Other, Old, Old]);
    scene.set("b", "new b");
    scene.set("c", "new c");
    assert_eq!(scene.settle().await, [Other, New, New]);
    assert_eq!(scene.content("a").unwrap(), "theirs");
    // A file whose old content is not stored cannot be restored; it is reported as changed.
    scene.set("a", "old a");
    scene.files[1].before = Some(BlobRef::of(b"not in the store"));
    let found = settle_files(&scene.files, &*scene.blobs).await;
    assert_eq!(found, [Old, New, FoundFile::PutBack]);
}
