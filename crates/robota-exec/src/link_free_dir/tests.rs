use std::io::Read as _;
use std::os::unix::fs::symlink;

use super::*;

/// `dir/real/file`, `dir/link -> real`, `dir/real/name -> file`.
fn tree() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("real")).unwrap();
    std::fs::write(root.join("real/file"), "content").unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink("file", root.join("real/name")).unwrap();
    (dir, root)
}

fn read(path: &Path) -> io::Result<String> {
    let (dir, name) = LinkFreeDir::of_file(path, false)?;
    let mut text = String::new();
    dir.open_file(Path::new(name))?.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_link_anywhere_in_the_path_is_not_followed() {
    let (_keep, root) = tree();
    assert_eq!(read(&root.join("real/file")).unwrap(), "content");
    read(&root.join("link/file")).unwrap_err();
    read(&root.join("real/name")).unwrap_err();
    read(&root.join("real/../real/file")).unwrap_err();
    let dir = LinkFreeDir::open(&root, false).unwrap();
    assert!(dir.open_file(Path::new("real/file")).is_ok());
    for path in ["link/file", "real/name", "../x", "/etc/passwd", "real", ""] {
        dir.open_file(Path::new(path)).unwrap_err();
        assert!(
            walk_below(dir.as_fd(), Path::new(path), OFlags::RDONLY).is_err() || path == "real"
        );
    }
    assert!(walk_below(dir.as_fd(), Path::new("real/file"), OFlags::RDONLY).is_ok());
    let contains = |path: &str| dir.contains(Path::new(path));
    assert!(contains("real/file") && contains("real/name") && contains("link"));
    assert!(!contains("link/file") && !contains("none") && !contains("../x"));
}

#[test]
fn missing_folders_are_created_only_below_real_ones() {
    let (_keep, root) = tree();
    LinkFreeDir::open(&root.join("a/b"), false).unwrap_err();
    LinkFreeDir::open(&root.join("a/b"), true).unwrap();
    assert!(root.join("a/b").is_dir());
    LinkFreeDir::open(&root.join("link/new"), true).unwrap_err();
    assert!(!root.join("real/new").exists());
}

#[test]
fn pipes_and_devices_are_not_opened() {
    let (_keep, root) = tree();
    let pipe = root.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    read(&pipe).unwrap_err();
    read(Path::new("/dev/zero")).unwrap_err();
}
