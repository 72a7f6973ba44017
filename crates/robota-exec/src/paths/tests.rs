use super::*;

struct Tree {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // The temporary directory itself may lie behind a link.
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
fn dots_go_and_missing_tails_stay() {
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
    // `..` after a link leaves the link's target, as the system does it.
    assert_eq!(tree.canonical("abs/../file"), Some(tree.path("real/file")));
    assert_eq!(tree.canonical("rel/out/x"), tree.root.parent().map(|up| up.join("x")));
    // What exists agrees with the system's own answer.
    for path in ["rel/file", "chain/..", "abs/../../real/out"] {
        assert_eq!(tree.canonical(path), tree.path(path).canonicalize().ok(), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_leads_to_where_a_write_would_go() {
    let tree = Tree::new();
    tree.dir("outside");
    tree.link("innocent", "outside/not-yet");
    assert_eq!(tree.canonical("innocent"), Some(tree.path("outside/not-yet")));
    assert_eq!(tree.canonical("missing/../innocent"), Some(tree.path("outside/not-yet")));
}

#[cfg(unix)]
#[test]
fn loops_are_unknown() {
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
fn kinds_do_not_follow_the_last_link() {
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
fn entries_are_names_and_empty_where_nothing_can_be_read() {
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

/// Whatever the disk below the tests does, the answer must be what the disk does.
#[test]
fn case_is_asked_of_the_disk() {
    let tree = Tree::new();
    tree.file("Name");
    let sensitive = !tree.path("nAME").exists();
    assert_eq!(OsPaths.case_sensitive(&tree.root), sensitive);
    assert_eq!(OsPaths.case_sensitive(&tree.path("Name")), sensitive);
    assert_eq!(OsPaths.case_sensitive(&tree.path("not/there/yet")), sensitive);
    tree.dir("empty/123");
    assert_eq!(OsPaths.case_sensitive(&tree.path("empty/123")), sensitive);
}

/// Two names of one file are no sign that case does not matter.
#[cfg(target_os = "linux")]
#[test]
fn hard_links_do_not_deceive() {
    let tree = Tree::new();
    tree.file("name");
    std::fs::hard_link(tree.path("name"), tree.path("NAME")).unwrap();
    assert!(OsPaths.case_sensitive(&tree.root));
}
