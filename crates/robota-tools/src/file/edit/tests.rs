use super::super::{Range, read_window};
use super::*;

struct TestFile {
    dir: tempfile::TempDir,
}

impl TestFile {
    fn with(name: &str, content: impl AsRef<[u8]>) -> (Self, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join(name);
        std::fs::write(&path, content).unwrap();
        (Self { dir }, path)
    }

    /// Returns the names in the folder, to check that no temporary file is left.
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
    let (file, path) = TestFile::with("f.txt", "one\ntwo\nthree\n");
    let edited = edit_file(&path, "f", once("two", "2"), None).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one\n2\nthree\n");
    assert_eq!((edited.start_line, edited.count, &edited.path), (2, 1, &path));
    assert!(edited.diff.contains("-two\n+2\n"), "{}", edited.diff);
    assert_eq!(file.names(), ["f.txt"]);
    let read = read_window(&path, Range::default()).unwrap();
    assert_eq!(read.stamp, edited.stamp);
}

#[test]
fn a_failed_edit_changes_nothing() {
    let (file, path) = TestFile::with("f.txt", "aaa\n");
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
    assert_eq!(file.names(), ["f.txt"]);
}

#[test]
fn error_messages_tell_a_model_what_to_do() {
    let (_file, path) = TestFile::with("f.rs", "fn one() {}\nfn one() {}\n\tlet x = 1;\n");
    let shown = path.display();
    let error = edit_file(&path, "f", once("fn one() {}", "y"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "old_string occurs 2 times in {shown} (lines 1, 2); nothing was changed. Include more \
             lines around the occurrence you mean, or set replace_all"
        )
    );
    let error = edit_file(&path, "f", once("    let x = 1;", "y"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "old_string was not found in {shown}; nothing was changed. The closest lines differ in \
             white space only:\n     3\t\tlet x = 1;"
        )
    );
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_edited() {
    let (_file, path) = TestFile::with("f.txt", "one\n");
    let seen = read_window(&path, Range::default()).unwrap().stamp;
    std::fs::write(&path, "one!\n").unwrap();
    let error = edit_file(&path, "f", once("one", "two"), Some(&seen)).unwrap_err();
    assert_eq!(error.code(), "changed_since_read");
    assert_eq!(std::fs::read(&path).unwrap(), b"one!\n");

    // The old content was restored, so the edit loses nothing.
    std::fs::write(&path, "one\n").unwrap();
    let edited = edit_file(&path, "f", once("one", "two"), Some(&seen)).unwrap();
    // The stamp of the edit is valid for the next edit.
    edit_file(&path, "f", once("two", "three"), Some(&edited.stamp)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"three\n");
}

#[test]
fn line_endings_and_byte_order_mark_are_kept() {
    let (_file, path) = TestFile::with("f.txt", b"\xef\xbb\xbfone\r\ntwo\r\n\xe9");
    edit_file(&path, "f", once("one\ntwo", "1\n2\n3"), None).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"\xef\xbb\xbf1\r\n2\r\n3\r\n\xe9");
}

#[cfg(unix)]
#[test]
fn mode_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (file, path) = TestFile::with("real.sh", "echo one\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o751)).unwrap();
    let link = file.dir.path().join("link");
    symlink("real.sh", &link).unwrap();
    let edited = edit_file(&link, "f", once("one", "two"), None).unwrap();
    assert_eq!(edited.path, path);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(&path).unwrap(), b"echo two\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o751);
}

#[test]
fn only_text_files_are_edited() {
    let (file, path) = TestFile::with("f.bin", b"a\0b");
    assert_eq!(edit_file(&path, "f", once("a", "b"), None).unwrap_err().code(), "binary_file");
    let none = file.dir.path().join("none");
    assert_eq!(edit_file(&none, "f", once("a", "b"), None).unwrap_err().code(), "not_found");
    let dir = file.dir.path();
    assert_eq!(edit_file(dir, "f", once("a", "b"), None).unwrap_err().code(), "not_a_file");
    let large = file.dir.path().join("large");
    std::fs::File::create(&large).unwrap().set_len(MAX_EDIT_BYTES + 1).unwrap();
    assert_eq!(edit_file(&large, "f", once("a", "b"), None).unwrap_err().code(), "too_large");
}
