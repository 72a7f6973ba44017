use proptest::prelude::*;

use super::*;

fn at(path: impl Into<std::path::PathBuf>) -> ResolvedPath {
    ResolvedPath::new(path).unwrap()
}

fn once<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
    Replacement { old, new, all: false }
}

#[test]
fn if_the_last_change_fails_the_others_are_undone() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    std::fs::write(&a, "one").unwrap();
    std::fs::write(&b, "two").unwrap();
    let new = plan_write(&at(dir.path().join("c")), "three", None).unwrap();
    let (first, _) = plan_edit(&at(&a), &[once("one", "1")], None).unwrap();
    let (last, _) = plan_edit(&at(&b), &[once("two", "2")], None).unwrap();
    // Another program writes the last file between plan and commit.
    std::fs::write(&b, "theirs").unwrap();
    let error = commit(&[new, first, last]).unwrap_err();
    assert_eq!(error.code(), "changed_since_read");
    assert_eq!(std::fs::read(&a).unwrap(), b"one");
    assert_eq!(std::fs::read(&b).unwrap(), b"theirs");
    assert_eq!(dir.path().read_dir().unwrap().count(), 2, "the new file was deleted again");
}

#[test]
fn a_file_created_by_another_program_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let ours = plan_write(&at(&path), "ours", None).unwrap();
    std::fs::write(&path, "theirs").unwrap();
    assert_eq!(commit(&[ours]).unwrap_err().code(), "changed_since_read");
    assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
}

/// Eight threads edit different lines of one file. No successful edit may be lost.
#[test]
fn concurrent_edits_lose_nothing() {
    const WRITERS: usize = 8;
    const EDITS: usize = 12;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let line =
        |w: usize, e: usize, done: bool| format!("<{w}.{e}{}>\n", if done { "!" } else { "?" });
    let content = |done| -> String {
        (0..WRITERS).flat_map(|w| (0..EDITS).map(move |e| line(w, e, done))).collect()
    };
    std::fs::write(&path, content(false)).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            scope.spawn(move || {
                for edit in 0..EDITS {
                    let (old, new) = (line(writer, edit, false), line(writer, edit, true));
                    loop {
                        let (planned, _) = plan_edit(&at(path), &[once(&old, &new)], None).unwrap();
                        match commit(&[planned]) {
                            Ok(_) => break,
                            Err(FileError::Changed { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(std::fs::read_to_string(&path).unwrap(), content(true));
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just("größe €".as_bytes().to_vec()),
        proptest::collection::vec(1_u8..=255, 0..8),
        "[a-z ]{0,8}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn tool_02_every_byte_outside_an_edit_stays(
        before in piece(), after in piece(), mark: bool, mode in 0_u32..0o200,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let start = if mark { BOM.to_vec() } else { Vec::new() };
        let with = |middle: &[u8]| [&start[..], &before, middle, &after].concat();
        let content = with(b"THE-OLD");
        // Content that starts like UTF-16 has its own test.
        prop_assume!(!content.starts_with(b"\xff\xfe") && !content.starts_with(b"\xfe\xff"));
        std::fs::write(&path, &content).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o600 | mode);
            std::fs::set_permissions(&path, mode).unwrap();
        }
        let mode_before = path.metadata().unwrap().permissions();
        let (planned, _) = plan_edit(&at(&path), &[once("THE-OLD", "new")], None).unwrap();
        commit(&[planned]).unwrap();
        prop_assert_eq!(std::fs::read(&path).unwrap(), with(b"new"));
        prop_assert_eq!(path.metadata().unwrap().permissions(), mode_before);
    }

    #[test]
    fn every_character_outside_an_edit_of_utf_16_stays(
        before in "\\PC{0,20}", after in "\\PC{0,20}", big: bool,
    ) {
        prop_assume!(!before.contains("THE-OLD") && !after.contains("THE-OLD"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let with = |middle: &str| -> Vec<u8> {
            let text = format!("\u{feff}{before}{middle}{after}\r\nend");
            let to_bytes = if big { u16::to_be_bytes } else { u16::to_le_bytes };
            text.encode_utf16().flat_map(to_bytes).collect()
        };
        std::fs::write(&path, with("THE-OLD")).unwrap();
        let (planned, _) = plan_edit(&at(&path), &[once("THE-OLD", "日本")], None).unwrap();
        commit(&[planned]).unwrap();
        prop_assert_eq!(std::fs::read(&path).unwrap(), with("日本"));
    }
}
