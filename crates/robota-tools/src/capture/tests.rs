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
    capture.before((None, &writer), &recorded, &*blobs, true).await.unwrap();
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
    assert!(capture.before((None, &call), &recorded, &no_blobs, false).await.is_err());
    capture.after(&call, &recorded, &*blobs).await.unwrap();
    capture.in_background(&call, &recorded).await;
    capture.before((None, &call), &recorded, &*blobs, true).await.unwrap();
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

/// Limits with which every workspace is watched.
fn watched() -> Arc<CaptureLimits> {
    Arc::new(CaptureLimits { watched_entries: 0, ..CaptureLimits::default() })
}

async fn watched_tree(root: &Path, blobs: &dyn Blobs) -> WorkspaceTree {
    save(WorkspaceTree::default(), root, &watched(), blobs).await.unwrap().0
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_watched_workspace_inspects_what_was_announced() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let root = dir.path();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    for name in ["a/b/f", "a/g", "h"] {
        std::fs::write(root.join(name), "1").unwrap();
    }
    let mut tree = watched_tree(root, &*blobs).await;
    assert!(tree.is_watched());
    let mut step = |change: &dyn Fn(), expected: &[&str]| {
        change();
        let mut changed = names(root, &tree.compare(root, &watched()));
        changed.sort();
        assert_eq!(changed, expected);
        assert!(tree.is_watched());
        assert_eq!(tree.compare(root, &watched()), [], "nothing changed since {expected:?}");
        // What the announcements gave is what a comparison of everything gives.
        tree.inspect_all();
        assert_eq!(tree.compare(root, &watched()), [], "{expected:?} was not all");
    };
    step(&|| std::fs::write(root.join("a/b/f"), "2").unwrap(), &["a/b/f"]);
    step(
        &|| std::fs::rename(root.join("a"), root.join("c")).unwrap(),
        &["a", "a/b", "a/b/f", "a/g", "c", "c/b", "c/b/f", "c/g"],
    );
    step(&|| std::fs::write(root.join("c/b/f"), "3").unwrap(), &["c/b/f"]);
    step(
        &|| {
            std::fs::create_dir_all(root.join("new/deep")).unwrap();
            std::fs::write(root.join("new/deep/x"), "1").unwrap();
        },
        &["new", "new/deep", "new/deep/x"],
    );
    step(&|| std::fs::write(root.join("new/deep/x"), "2").unwrap(), &["new/deep/x"]);
    // The same name, another folder.
    step(
        &|| {
            std::fs::rename(root.join("new/deep"), root.join("old")).unwrap();
            std::fs::create_dir(root.join("new/deep")).unwrap();
            std::fs::write(root.join("new/deep/y"), "1").unwrap();
        },
        &["new/deep/x", "new/deep/y", "old", "old/x"],
    );
    step(
        &|| {
            std::fs::remove_dir_all(root.join("new")).unwrap();
            std::fs::write(root.join("new"), "now a file").unwrap();
        },
        &["new", "new/deep", "new/deep/y"],
    );
    step(
        &|| {
            std::fs::rename(root.join("old"), root.join("h2")).unwrap();
            std::os::unix::fs::symlink("h2", root.join("old")).unwrap();
        },
        &["h2", "h2/x", "old", "old/x"],
    );
    let mode = std::fs::Permissions::from_mode(0o700);
    step(&|| std::fs::set_permissions(root.join("c"), mode.clone()).unwrap(), &["c"]);
    step(
        &|| {
            std::fs::write(root.join("passing"), "1").unwrap();
            std::fs::remove_file(root.join("passing")).unwrap();
        },
        &[],
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_with_another_name_is_inspected_without_an_announcement() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let outside = tempfile::tempdir_in(dir.path().parent().unwrap()).unwrap();
    let root = dir.path();
    for name in ["f", "g"] {
        std::fs::write(root.join(name), "1").unwrap();
    }
    std::fs::hard_link(root.join("f"), outside.path().join("f")).unwrap();
    let mut tree = watched_tree(root, &*blobs).await;
    std::fs::write(outside.path().join("f"), "2").unwrap();
    assert_eq!(names(root, &tree.compare(root, &watched())), ["f"]);
    // A new name in the workspace: its file has another name there, which is announced as well.
    std::fs::hard_link(root.join("g"), root.join("h")).unwrap();
    assert_eq!(names(root, &tree.compare(root, &watched())), ["h"]);
    std::fs::write(root.join("h"), "3").unwrap();
    assert_eq!(names(root, &tree.compare(root, &watched())), ["g", "h"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn contents_of_announced_files_are_saved_before_the_next_command() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let file = dir.path().join("f");
    std::fs::write(&file, "1").unwrap();
    let mut tree = watched_tree(dir.path(), &*blobs).await;
    for text in ["2", "3", "4"] {
        std::fs::write(&file, text).unwrap();
        assert_eq!(names(dir.path(), &tree.compare(dir.path(), &watched())), ["f"]);
        let (saved, changed) = save(tree, dir.path(), &watched(), &*blobs).await.unwrap();
        assert_eq!(changed, []);
        assert!(saved.is_watched() && saved.saved_places().count() == 1);
        tree = saved;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_rules_ignore_is_determined_anew_when_they_change() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    let root = dir.path();
    let limits = Arc::new(CaptureLimits { ignored_entries: 2, ..(*watched()).clone() });
    std::fs::create_dir_all(root.join("out")).unwrap();
    std::fs::write(root.join(".gitignore"), "out/\n").unwrap();
    std::fs::write(root.join("out/1"), "1").unwrap();
    let tree = WorkspaceTree::default();
    let mut tree = save(tree, root, &limits, &*blobs).await.unwrap().0;
    std::fs::write(root.join("out/2"), "1").unwrap();
    assert_eq!(names(root, &tree.compare(root, &limits)), ["out/2"]);
    // More than the limit: the folder is no longer covered, and that is recorded.
    std::fs::write(root.join("out/3"), "1").unwrap();
    assert_eq!(tree.compare(root, &limits), []);
    assert_eq!(tree.not_covered(root).len(), 1);
    std::fs::write(root.join("out/1"), "22").unwrap();
    assert_eq!(names(root, &tree.compare(root, &limits)), ["out/1"], "still in the record");
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_no_command_follows() {
    let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
    std::fs::write(dir.path().join("f"), "1").unwrap();
    let capture = CommandCapture::new(dir.path(), Some(watched()));
    let (recorded, call) = (Recorded::default(), CallId::from("c"));
    capture.before((None, &call), &recorded, &*blobs, false).await.unwrap();
    capture.after(&call, &recorded, &*blobs).await.unwrap();
    assert!(capture.record.lock().await.tree.is_watched());
    tokio::time::sleep(IDLE * 2).await;
    assert!(!capture.record.lock().await.tree.is_watched());
    std::fs::write(dir.path().join("f"), "22").unwrap();
    capture.before((None, &call), &recorded, &*blobs, false).await.unwrap();
    std::fs::write(dir.path().join("f"), "333").unwrap();
    capture.after(&call, &recorded, &*blobs).await.unwrap();
    let changed = recorded.0.into_inner().unwrap();
    assert_eq!(changed.len(), 1, "{changed:?}");
}

/// A change of a file or folder. The numbers select paths.
#[derive(Debug, Clone)]
enum Edit {
    Write(usize, u8),
    Folder(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    HardLink(usize, usize),
    Mode(usize, u32),
    Rules(u8),
}

const PATHS: [&str; 10] = ["a", "b", "a/b", "a/c", "a/c/d", "b/c", "b/c/e", "out", "out/x", "a-b"];

fn edit(root: &Path, edit: &Edit) {
    let at = |path: &usize| root.join(PATHS[*path]);
    // An edit that is not possible is none.
    let _ = match edit {
        Edit::Write(path, text) => std::fs::write(at(path), [*text]),
        Edit::Folder(path) => std::fs::create_dir_all(at(path)),
        Edit::Remove(path) => std::fs::remove_dir_all(at(path)),
        Edit::Rename(from, to) => std::fs::rename(at(from), at(to)),
        Edit::Link(path, to) => std::os::unix::fs::symlink(PATHS[*to], at(path)),
        Edit::HardLink(from, to) => std::fs::hard_link(at(from), at(to)),
        Edit::Mode(path, mode) => {
            std::fs::set_permissions(at(path), std::fs::Permissions::from_mode(*mode))
        }
        Edit::Rules(rules) => {
            std::fs::write(root.join(".gitignore"), ["", "out\n", "a/c\n"][usize::from(*rules % 3)])
        }
    };
}

fn any_edit() -> impl proptest::strategy::Strategy<Value = Edit> {
    use proptest::prelude::*;
    let path = || 0..PATHS.len();
    prop_oneof![
        6 => (path(), any::<u8>()).prop_map(|(path, text)| Edit::Write(path, text)),
        3 => path().prop_map(Edit::Folder),
        2 => path().prop_map(Edit::Remove),
        4 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (path(), path()).prop_map(|(path, to)| Edit::Link(path, to)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::HardLink(from, to)),
        1 => (path(), prop::sample::select(vec![0o700, 0o755, 0o600]))
            .prop_map(|(path, mode)| Edit::Mode(path, mode)),
        1 => any::<u8>().prop_map(Edit::Rules),
    ]
}

fn identities(tree: &WorkspaceTree) -> Vec<(String, PathState)> {
    tree.entries.iter().map(|(path, entry)| (path.clone(), entry.state.identity())).collect()
}

/// After any edits, a comparison of the announced paths, and one of the metadata of all files, give the
/// record that a walk of everything gives.
#[cfg(target_os = "linux")]
#[test]
fn random_edits_are_found_with_and_without_announcements() {
    use proptest::test_runner::{Config, TestRunner};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let steps = proptest::collection::vec(proptest::collection::vec(any_edit(), 1..5), 1..8);
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&steps, |steps| {
        let (dir, blobs) = (tempfile::tempdir().unwrap(), blobs());
        let root = dir.path();
        let mut watched_tree = runtime.block_on(watched_tree(root, &*blobs));
        let mut compared = runtime.block_on(saved(root, &*blobs));
        for edits in &steps {
            edits.iter().for_each(|it| edit(root, it));
            watched_tree.compare(root, &watched());
            compared.compare(root, &CaptureLimits::default());
            let walked = identities(&runtime.block_on(saved(root, &*blobs)));
            assert_eq!(identities(&watched_tree), walked, "announced: {steps:?}");
            assert_eq!(identities(&compared), walked, "inspected: {steps:?}");
            assert!(watched_tree.is_watched());
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Returns how many names a walk listed, and the folders that it did not cover.
fn walk_with(root: &Path, limits: &CaptureLimits) -> (usize, Vec<String>) {
    let walked = walk::Walked::default();
    let walked = walk::Walk { root, limits, known: 0, watch: None, walked }.all();
    assert!(walked.entries.len() <= limits.entries);
    (walked.names, walked.not_covered.into_keys().collect())
}

#[test]
fn a_workspace_that_is_too_large_is_not_listed_completely() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let limits = CaptureLimits { entries: 50, ..CaptureLimits::default() };
    // One folder with more entries than fit.
    std::fs::create_dir(root.join("large")).unwrap();
    for number in 0..2_000 {
        std::fs::write(root.join(format!("large/{number}")), "").unwrap();
    }
    let (names, not_covered) = walk_with(root, &limits);
    assert!(names < 100, "{names}");
    assert_eq!(not_covered, ["large"]);
    // Many folders, each of which does not fit.
    for folder in 0..40 {
        std::fs::create_dir(root.join(format!("f{folder:02}"))).unwrap();
        for number in 0..60 {
            std::fs::write(root.join(format!("f{folder:02}/{number}")), "").unwrap();
        }
    }
    let (names, not_covered) = walk_with(root, &limits);
    assert!(names < 300, "{names}");
    assert_eq!(not_covered.len(), 41);
}
