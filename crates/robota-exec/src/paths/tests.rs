use super::*;

struct Tree {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // The temporary directory itself may be behind a link.
        let root = dir.path().canonicalize().unwrap();
        Self { _dir: dir, root }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn dir(&self, path: &str) {
        std::fs::create_dir_all(self.path(path)).unwrap();
    }

    fn file(&self, path: &str) {
        std::fs::write(self.path(path), "").unwrap();
    }

    #[cfg(unix)]
    fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    fn canonical(&self, path: &str) -> Option<PathBuf> {
        OsPaths.canonical(&self.path(path))
    }
}

#[test]
fn dots_are_removed_and_missing_components_are_kept() {
    let tree = Tree::new();
    tree.dir("a/b");
    tree.file("a/file");
    assert_eq!(tree.canonical("a/./b/../file"), Some(tree.path("a/file")));
    assert_eq!(tree.canonical("a/new/deeper/x.txt"), Some(tree.path("a/new/deeper/x.txt")));
    assert_eq!(tree.canonical("a/new/../b/"), Some(tree.path("a/b")));
    assert_eq!(tree.canonical("a/file/below"), Some(tree.path("a/file/below")));
    assert_eq!(OsPaths.canonical(Path::new("/../..")), Some(PathBuf::from("/")));
    assert_eq!(OsPaths.canonical(Path::new("relative")), None);
    assert_eq!(OsPaths.canonical(Path::new("/nul\0byte")), None);
}

#[cfg(unix)]
#[test]
fn every_link_on_the_way_is_followed() {
    let tree = Tree::new();
    tree.dir("real/sub");
    tree.file("real/file");
    tree.link("rel", "real");
    tree.link("abs", tree.path("real/sub"));
    tree.link("chain", "rel/../abs");
    tree.link("real/out", "../..");
    assert_eq!(tree.canonical("rel/file"), Some(tree.path("real/file")));
    assert_eq!(tree.canonical("chain"), Some(tree.path("real/sub")));
    // `..` after a link is the parent of the link's target, as in the kernel.
    assert_eq!(tree.canonical("abs/../file"), Some(tree.path("real/file")));
    assert_eq!(tree.canonical("rel/out/x"), tree.root.parent().map(|up| up.join("x")));
    // For existing paths the result is that of the system.
    for path in ["rel/file", "chain/..", "abs/../../real/out"] {
        assert_eq!(tree.canonical(path), tree.path(path).canonicalize().ok(), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_resolves_to_the_file_a_write_would_create() {
    let tree = Tree::new();
    tree.dir("outside");
    tree.link("innocent", "outside/not-yet");
    assert_eq!(tree.canonical("innocent"), Some(tree.path("outside/not-yet")));
    assert_eq!(tree.canonical("missing/../innocent"), Some(tree.path("outside/not-yet")));
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_has_no_canonical_path() {
    let tree = Tree::new();
    tree.link("a", "b");
    tree.link("b", "a");
    tree.link("self", "self/x");
    assert_eq!(tree.canonical("a"), None);
    assert_eq!(tree.canonical("a/below"), None);
    assert_eq!(tree.canonical("self"), None);
    assert_eq!(OsPaths.kind(&tree.path("a")), PathKind::Link);
}

#[cfg(unix)]
#[test]
fn kind_does_not_follow_the_last_link() {
    let tree = Tree::new();
    tree.dir("dir");
    tree.file("file");
    tree.link("link", "dir");
    let _socket = std::os::unix::net::UnixListener::bind(tree.path("socket")).unwrap();
    let kinds = ["dir", "file", "link", "socket", "nothing", "file/below"]
        .map(|path| OsPaths.kind(&tree.path(path)));
    use PathKind::{Dir, File, Link, Missing, Other};
    assert_eq!(kinds, [Dir, File, Link, Other, Missing, Missing]);
}

#[test]
fn entries_lists_names_and_is_empty_for_what_cannot_be_read() {
    let tree = Tree::new();
    tree.file("b");
    tree.dir("a");
    tree.file(".hidden");
    let mut entries = OsPaths.entries(&tree.root);
    entries.sort();
    assert_eq!(entries, [".hidden", "a", "b"]);
    assert!(OsPaths.entries(&tree.path("b")).is_empty());
    assert!(OsPaths.entries(&tree.path("missing")).is_empty());
}

/// The test runs on disks of both kinds: the expected answer is taken from the disk.
#[test]
fn case_sensitivity_is_tested_on_disk() {
    let tree = Tree::new();
    tree.file("Name");
    let sensitive = !tree.path("nAME").exists();
    assert_eq!(OsPaths.case_sensitive(&tree.root), sensitive);
    assert_eq!(OsPaths.case_sensitive(&tree.path("Name")), sensitive);
    assert_eq!(OsPaths.case_sensitive(&tree.path("not/there/yet")), sensitive);
    tree.dir("empty/123");
    assert_eq!(OsPaths.case_sensitive(&tree.path("empty/123")), sensitive);
}

/// Two names of one file do not mean that names are case-insensitive.
#[cfg(target_os = "linux")]
#[test]
fn hard_links_do_not_make_a_directory_case_insensitive() {
    let tree = Tree::new();
    tree.file("name");
    std::fs::hard_link(tree.path("name"), tree.path("NAME")).unwrap();
    assert!(OsPaths.case_sensitive(&tree.root));
}
