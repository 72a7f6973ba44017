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
    // The same length, and at once, so the metadata may be equal.
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
