use std::os::unix::fs::PermissionsExt as _;

use robota_core::checkpoint::{NotSaved, PathState};
use robota_core::journal::{JournalStore as _, MemoryStore};

use super::*;

fn blobs() -> Arc<dyn Blobs> {
    MemoryStore::new().blobs(&"s".into())
}

async fn saved(root: &Path, blobs: &dyn Blobs) -> WorkspaceTree {
    save(WorkspaceTree::default(), root, &Arc::default(), blobs).await.unwrap().0
}

fn names(root: &Path, deltas: &[FileDelta]) -> Vec<String> {
    let name = |delta: &FileDelta| {
        Path::new(&delta.path).strip_prefix(root).unwrap().display().to_string()
    };
    deltas.iter().map(name).collect()
}

#[tokio::test]
async fn a_change_within_the_resolution_of_file_times_is_found() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let file = dir.path().join("f");
    std::fs::write(&file, "1").unwrap();
    let mut tree = saved(dir.path(), &*blobs).await;
    // The same length, and immediately after, so the metadata may be equal.
    for text in ["2", "3", "4", "5"] {
        std::fs::write(&file, text).unwrap();
        let changed = tree.compare(dir.path(), &CaptureLimits::default());
        assert_eq!(names(dir.path(), &changed), ["f"], "{text}");
    }
}

#[tokio::test]
async fn a_touched_file_did_not_change_but_its_mode_can() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let file = dir.path().join("f");
    std::fs::write(&file, "1").unwrap();
    let mut tree = saved(dir.path(), &*blobs).await;
    std::fs::write(&file, "1").unwrap();
    assert_eq!(tree.compare(dir.path(), &CaptureLimits::default()), []);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o711)).unwrap();
    let changed = tree.compare(dir.path(), &CaptureLimits::default());
    assert!(matches!(changed[0].after, PathState::File { mode: Some(0o711), .. }));
}

#[tokio::test]
async fn a_record_is_continued_and_read_back() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let root = dir.path().to_owned();
    let mut tree = WorkspaceTree::default();
    // Enough for records in several blobs, and for merging them.
    for round in 0..12 {
        for number in 0..60 {
            let name = format!("a long name of a file, {round:02}-{number:03}");
            std::fs::write(root.join(name), format!("{round} {number}")).unwrap();
        }
        let gone = root.join(format!("a long name of a file, {round:02}-000"));
        tree = save(tree, &root, &Arc::default(), &*blobs).await.unwrap().0;
        std::fs::remove_file(gone).unwrap();
        tree = save(tree, &root, &Arc::default(), &*blobs).await.unwrap().0;
        let (trees, changes) = tree.unrecorded(&*blobs).await.unwrap().unwrap();
        tree.recorded();
        assert!(tree.unrecorded(&*blobs).await.unwrap().is_none(), "nothing changed since");
        assert!(trees.len() <= 8, "{}", trees.len());
        let (call, not_covered) = (CallId::from("c"), Vec::new());
        let watched =
            FilesWatched { call, root: root.display().to_string(), trees, changes, not_covered };
        assert_eq!(changed_since(&watched, &*blobs).await, []);
        std::fs::write(root.join("other"), round.to_string()).unwrap();
        assert_eq!(names(&root, &changed_since(&watched, &*blobs).await), ["other"]);
    }
}

#[tokio::test]
async fn unchanged_files_of_two_sessions_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..600 {
        std::fs::write(dir.path().join(format!("file-{number}")), number.to_string()).unwrap();
    }
    let packs = |tree: &WorkspaceTree| {
        let mut packs: Vec<_> =
            tree.saved_places().map(|place| place.blob.sha256.clone()).collect();
        packs.sort();
        packs.dedup();
        packs
    };
    let first = packs(&saved(dir.path(), &*blobs()).await);
    std::fs::write(dir.path().join("file-300"), "changed").unwrap();
    let second = packs(&saved(dir.path(), &*blobs()).await);
    let same = second.iter().filter(|pack| first.contains(pack)).count();
    assert!(first.len() >= 2 && same + 1 >= second.len(), "{same} of {}", second.len());
}

#[tokio::test]
async fn version_control_and_own_files_are_not_covered_and_links_are_not_followed() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let outside = tempfile::tempdir().unwrap();
    for folder in [".git", ".robota/sessions", "sub/.git"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    let mut tree = saved(dir.path(), &*blobs).await;
    for file in [".git/HEAD", ".robota/sessions/x", "sub/.git/HEAD", "link/x"] {
        std::fs::write(dir.path().join(file), "x").unwrap();
    }
    std::fs::write(dir.path().join(".robota/settings.json"), "{}").unwrap();
    let changed = tree.compare(dir.path(), &CaptureLimits::default());
    assert_eq!(names(dir.path(), &changed), [".robota/settings.json"]);
}

#[tokio::test]
async fn without_time_nothing_is_saved_and_the_next_comparison_tries_again() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    std::fs::write(dir.path().join("f"), "1").unwrap();
    let no_time = Arc::new(CaptureLimits { time: Duration::ZERO, ..CaptureLimits::default() });
    let tree = save(WorkspaceTree::default(), dir.path(), &no_time, &*blobs).await.unwrap().0;
    std::fs::write(dir.path().join("f"), "22").unwrap();
    let mut copy = tree;
    let changed = copy.compare(dir.path(), &CaptureLimits::default());
    assert_eq!(changed[0].before, PathState::Unsaved { reason: NotSaved::OverLimit });
    let (mut tree, _) = save(copy, dir.path(), &Arc::default(), &*blobs).await.unwrap();
    std::fs::write(dir.path().join("f"), "333").unwrap();
    let changed = tree.compare(dir.path(), &CaptureLimits::default());
    assert!(matches!(changed[0].before, PathState::File { .. }));
}

#[test]
fn ignored_entries_follow_the_rules_of_all_folders() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("repo/sub");
    std::fs::create_dir_all(root.join("inner")).unwrap();
    std::fs::create_dir(dir.path().join("repo/.git")).unwrap();
    std::fs::write(dir.path().join("repo/.gitignore"), "*.log\n").unwrap();
    std::fs::write(root.join("inner/.gitignore"), "!keep.log\n").unwrap();
    let rules = ignored::IgnoreRules::around(&root);
    assert!(rules.ignores(&root.join("a.log"), false));
    assert!(rules.ignores(&root.join("node_modules"), true));
    assert!(!rules.ignores(&root.join("a.txt"), false));
    let inner = rules.with(&root.join("inner"), &root.join("inner/.gitignore"));
    assert!(!inner.ignores(&root.join("inner/keep.log"), false));
    assert!(inner.ignores(&root.join("inner/other.log"), false));
}

/// Keeps what commands changed.
#[derive(Default)]
struct Recorded(std::sync::Mutex<Vec<FilesChanged>>);

#[async_trait::async_trait]
impl Checkpoints for Recorded {
    async fn before_change(
        &self,
        _: &CallId,
        _: &[robota_core::checkpoint::Changing<'_>],
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn records_commands(&self) -> bool {
        true
    }

    async fn watched(&self, _: FilesWatched) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn changed(&self, files: FilesChanged) -> Result<(), ErrorData> {
        self.0.lock().unwrap().push(files);
        Ok(())
    }
}

#[tokio::test]
async fn a_command_that_only_reads_in_the_background_makes_no_file_a_new_one() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    for name in ["f", "g"] {
        std::fs::write(dir.path().join(name), "1").unwrap();
    }
    let capture = CommandCapture::new(dir.path(), Some(Arc::default()));
    capture.in_background(&"reader".into(), &robota_core::checkpoint::NoCheckpoints).await;
    let (recorded, writer) = (Recorded::default(), CallId::from("writer"));
    capture.before(&writer, &recorded, &*blobs, true).await.unwrap();
    std::fs::write(dir.path().join("f"), "22").unwrap();
    capture.after(&writer, &recorded, &*blobs).await.unwrap();
    let changed = recorded.0.into_inner().unwrap();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!((&changed[0].call, changed[0].late), (&writer, false));
    assert_eq!(names(dir.path(), &changed[0].files), ["f"]);
}

#[tokio::test]
async fn a_record_that_failed_is_not_compared_with() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    std::fs::write(dir.path().join("f"), "1").unwrap();
    let capture = CommandCapture::new(dir.path(), Some(Arc::default()));
    let (recorded, call) = (Recorded::default(), CallId::from("c"));
    let no_blobs = robota_core::blob::NoBlobs;
    assert!(capture.before(&call, &recorded, &no_blobs, false).await.is_err());
    capture.after(&call, &recorded, &*blobs).await.unwrap();
    capture.in_background(&call, &recorded).await;
    capture.before(&call, &recorded, &*blobs, true).await.unwrap();
    assert!(recorded.0.into_inner().unwrap().is_empty());
}

#[tokio::test]
async fn contents_that_cannot_be_stored_are_an_error_however_many_packs_they_fill() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..5 {
        let content = vec![number; 7 * 1024 * 1024];
        std::fs::write(dir.path().join(format!("f{number}")), content).unwrap();
    }
    let limits = Arc::new(CaptureLimits::default());
    let blobs = robota_core::blob::NoBlobs;
    assert!(save(WorkspaceTree::default(), dir.path(), &limits, &blobs).await.is_err());
}

#[tokio::test]
async fn files_below_a_folder_that_became_a_link_are_gone() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let root = dir.path();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/f"), "1").unwrap();
    let mut tree = saved(root, &*blobs).await;
    std::fs::rename(root.join("src"), root.join("lib")).unwrap();
    std::os::unix::fs::symlink("lib", root.join("src")).unwrap();
    let changed = tree.compare(root, &CaptureLimits::default());
    let of = |name: &str| {
        let path = root.join(name).display().to_string();
        changed.iter().find(|delta| delta.path == path).map(|delta| &delta.after)
    };
    assert_eq!(of("src/f"), Some(&PathState::Missing), "{changed:?}");
    assert!(matches!(of("lib/f"), Some(PathState::File { .. })));
    assert!(matches!(of("src"), Some(PathState::Link { .. })));
}
