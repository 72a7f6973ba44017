use super::super::{Range, read_window};
use super::*;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn with(name: &str, content: impl AsRef<[u8]>) -> (Self, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join(name);
        std::fs::write(&path, content).unwrap();
        (Self { dir }, path)
    }

    /// What lies in the directory: nothing of ours may stay behind.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .dir
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn once<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
    Replacement { old, new, all: false }
}

#[test]
fn an_edit_reports_what_it_did() {
    let (place, path) = Place::with("f.txt", "one\ntwo\nthree\n");
    let edited = edit_file(&path, "f", once("two", "2"), None).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one\n2\nthree\n");
    assert_eq!((edited.start_line, edited.count, &edited.path), (2, 1, &path));
    assert!(edited.diff.contains("-two\n+2\n"), "{}", edited.diff);
    assert_eq!(place.names(), ["f.txt"]);
    let read = read_window(&path, Range::default()).unwrap();
    assert_eq!(read.stamp, edited.stamp);
}

#[test]
fn a_refused_edit_changes_nothing() {
    let (place, path) = Place::with("f.txt", "aaa\n");
    let before = path.metadata().unwrap().modified().unwrap();
    for (replacement, code) in [
        (once("x", "y"), "no_match"),
        (once("aa", "b"), "ambiguous"),
        (once("aaa", "aaa"), "no_change"),
        (once("", "b"), "empty_old_string"),
    ] {
        assert_eq!(edit_file(&path, "f", replacement, None).unwrap_err().code(), code);
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"aaa\n");
    assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
    assert_eq!(place.names(), ["f.txt"]);
}

#[test]
fn errors_are_texts_a_model_can_act_on() {
    let (_place, path) = Place::with("f.rs", "fn one() {}\nfn one() {}\n\tlet x = 1;\n");
    let shown = path.display();
    let error = edit_file(&path, "f", once("fn one() {}", "y"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "old_string is 2 times in {shown} (lines 1, 2); nothing was changed. Give more of the \
             lines around the one you mean, or set replace_all"
        )
    );
    let error = edit_file(&path, "f", once("    let x = 1;", "y"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "old_string is not in {shown}; nothing was changed. The closest lines differ in white \
             space only:\n     3\t\tlet x = 1;"
        )
    );
}

#[test]
fn a_file_changed_since_it_was_seen_is_refused() {
    let (_place, path) = Place::with("f.txt", "one\n");
    let seen = read_window(&path, Range::default()).unwrap().stamp;
    std::fs::write(&path, "one!\n").unwrap();
    let error = edit_file(&path, "f", once("one", "two"), Some(&seen)).unwrap_err();
    assert_eq!(error.code(), "changed_since_read");
    assert_eq!(std::fs::read(&path).unwrap(), b"one!\n");

    // Written again as it was: nobody's work is lost.
    std::fs::write(&path, "one\n").unwrap();
    let edited = edit_file(&path, "f", once("one", "two"), Some(&seen)).unwrap();
    // The own edit is known afterwards.
    edit_file(&path, "f", once("two", "three"), Some(&edited.stamp)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"three\n");
}

#[test]
fn line_endings_and_mark_stay() {
    let (_place, path) = Place::with("f.txt", b"\xef\xbb\xbfone\r\ntwo\r\n\xe9");
    edit_file(&path, "f", once("one\ntwo", "1\n2\n3"), None).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"\xef\xbb\xbf1\r\n2\r\n3\r\n\xe9");
}

#[cfg(unix)]
#[test]
fn mode_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (place, path) = Place::with("real.sh", "echo one\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o751)).unwrap();
    let link = place.dir.path().join("link");
    symlink("real.sh", &link).unwrap();
    let edited = edit_file(&link, "f", once("one", "two"), None).unwrap();
    assert_eq!(edited.path, path);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(&path).unwrap(), b"echo two\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o751);
}

#[test]
fn what_is_no_text_file_is_refused() {
    let (place, path) = Place::with("f.bin", b"a\0b");
    assert_eq!(edit_file(&path, "f", once("a", "b"), None).unwrap_err().code(), "binary_file");
    let none = place.dir.path().join("none");
    assert_eq!(edit_file(&none, "f", once("a", "b"), None).unwrap_err().code(), "not_found");
    let dir = place.dir.path();
    assert_eq!(edit_file(dir, "f", once("a", "b"), None).unwrap_err().code(), "not_a_file");
    let large = place.dir.path().join("large");
    std::fs::File::create(&large).unwrap().set_len(MOST_EDITED + 1).unwrap();
    assert_eq!(edit_file(&large, "f", once("a", "b"), None).unwrap_err().code(), "too_large");
}
