use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    (dir, real)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn concurrent_writes_all_succeed() {
    let (_dir, place) = place();
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let place = &place;
            scope.spawn(move || {
                for round in 0..20 {
                    let name = if round % 2 == 0 { "same".to_owned() } else { writer.to_string() };
                    let entry = OpenDirEntry::open(&place.join(name), false).unwrap();
                    entry.write(&[writer; 4096]).unwrap();
                }
            });
        }
    });
    let same = std::fs::read(place.join("same")).unwrap();
    assert_eq!(same, [same[0]; 4096], "the content is of one writer");
    assert_eq!(names(&place), ["0", "1", "2", "3", "4", "5", "6", "7", "same"]);
}

/// A process that was killed leaves its temporary file, and its id may be given to another process.
#[test]
fn the_temporary_file_of_a_dead_process_is_no_obstacle() {
    let (_dir, place) = place();
    std::fs::write(place.join(format!(".{}.robota-new", std::process::id())), "left").unwrap();
    for number in 0..64 {
        std::fs::write(place.join(temporary_name(number)), "left").unwrap();
    }
    OpenDirEntry::open(&place.join("file"), false).unwrap().write(b"new").unwrap();
    assert_eq!(std::fs::read(place.join("file")).unwrap(), b"new");
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let (_dir, place) = place();
    let path = place.join("script");
    for mode in [0o755, 0o600, 0o444] {
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        OpenDirEntry::open(&path, false).unwrap().write(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        std::fs::remove_file(&path).unwrap();
    }
}
