//! The simulated disk loses what a real disk may lose, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sim;

use std::path::Path;

use robota_store::disk::{CreateMode, Disk as _};

use sim::{Crash, SimDisk};

fn left(crash: &Crash) -> Vec<(String, Vec<u8>)> {
    let name = |path: &Path| path.display().to_string();
    crash.disk.contents().iter().map(|(path, bytes)| (name(path), bytes.clone())).collect()
}

#[test]
fn synced_data_survives_and_unsynced_data_may() {
    let disk = SimDisk::new();
    disk.make_folder(Path::new("/d")).unwrap();
    disk.sync_folder(Path::new("/")).unwrap();
    disk.record();
    let mut file = disk.open_append(Path::new("/d/1.jsonl"), CreateMode::Always).unwrap();
    file.write(b"ab").unwrap();
    let written = disk.now();
    file.sync().unwrap();
    let synced = disk.now();
    disk.sync_folder(Path::new("/d")).unwrap();
    let named = disk.now();

    let fates = |moment| {
        let mut fates: Vec<_> = disk.crashes(moment).iter().map(left).collect();
        fates.sort();
        fates
    };
    let file = |bytes: &[u8]| vec![("/d/1.jsonl".to_owned(), bytes.to_vec())];
    assert_eq!(fates(written), [vec![], file(b""), file(b"\0\0"), file(b"a"), file(b"ab")]);
    assert_eq!(fates(synced), [vec![], file(b"ab")]);
    assert_eq!(fates(named), [file(b"ab")]);
}

#[test]
fn renames_that_are_not_synced_may_come_in_any_order() {
    let disk = SimDisk::new();
    for name in ["/a", "/b"] {
        disk.open_append(Path::new(name), CreateMode::Always).unwrap();
    }
    disk.sync_folder(Path::new("/")).unwrap();
    disk.record();
    disk.rename(Path::new("/a"), Path::new("/c")).unwrap();
    disk.rename(Path::new("/b"), Path::new("/d")).unwrap();
    let mut fates: Vec<String> = disk
        .crashes(disk.now())
        .iter()
        .map(|crash| left(crash).into_iter().map(|(name, _)| name).collect())
        .collect();
    fates.sort();
    assert_eq!(fates, ["/a/b", "/a/d", "/b/c", "/c/d"]);
}

#[test]
fn a_disk_that_folds_case_has_one_file_for_two_names() {
    let disk = SimDisk::folding_case();
    disk.open_append(Path::new("/Name"), CreateMode::Always).unwrap();
    assert!(disk.open_append(Path::new("/nAME"), CreateMode::Always).is_err());
    assert_eq!(disk.names(Path::new("/")).unwrap_or_default(), ["Name"]);
}
