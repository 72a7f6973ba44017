//! Sessions that another user wrote.

use robota_core::event::Durability;
use robota_core::journal::{JournalError, SessionFilter};

use super::*;

fn sealed(disk: &SimDisk, key: &[u8]) -> Arc<Files> {
    FileStore::new("/home/sessions").with_disk(Arc::new(disk.clone())).with_owner_key(key).files
}

fn begin(files: &Arc<Files>, name: &str) {
    let mut writer = files.create(&id(name)).unwrap();
    writer.append(&[event(1), event(2)], Durability::Synced).unwrap();
}

fn foreign(files: &Files) -> Vec<(String, bool)> {
    let mut sessions: Vec<_> = files
        .list(&SessionFilter::default())
        .unwrap()
        .sessions
        .iter()
        .map(|head| (head.session.to_string(), head.foreign))
        .collect();
    sessions.sort();
    sessions
}

#[test]
fn a_session_without_the_users_seal_is_read_and_listed_but_not_opened() {
    let disk = SimDisk::new();
    let (ours, theirs, nobodys) = (sealed(&disk, b"ours"), sealed(&disk, b"theirs"), files(&disk));
    begin(&ours, "ours");
    begin(&theirs, "theirs");
    begin(&nobodys, "nobodys");
    let all = |ours, theirs, nobodys| {
        vec![
            ("nobodys".to_owned(), nobodys),
            ("ours".to_owned(), ours),
            ("theirs".to_owned(), theirs),
        ]
    };
    assert_eq!(foreign(&ours), all(false, true, true));
    assert_eq!(foreign(&theirs), all(true, false, true));
    assert_eq!(foreign(&nobodys), all(false, false, false));
    drop(ours.open(&id("ours")).unwrap());
    for name in ["theirs", "nobodys"] {
        let error = ours.open(&id(name)).err().unwrap();
        assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
        assert_eq!(read(&ours, &id(name)).len(), 2);
        assert!(ours.head(&id(name)).unwrap().foreign);
    }
    // A seal belongs to one session: copied to another one it is not valid.
    let identity = |name: &str| ours.folder(&id(name)).join("session.json");
    let stolen = String::from_utf8(disk.contents()[&identity("ours")].clone()).unwrap();
    let forged = stolen.replace("\"ours\"", "\"theirs\"");
    crate::file::replace::replace(
        &disk,
        &identity("theirs"),
        forged.as_bytes(),
        crate::file::replace::SyncMode::No,
    )
    .unwrap();
    let error = ours.open(&id("theirs")).err().unwrap();
    assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
}

#[test]
fn a_session_of_another_user_is_foreign_without_a_key_too() {
    let disk = SimDisk::new();
    disk.faults(|faults| faults.user = 1001);
    begin(&files(&disk), "theirs");
    disk.faults(|faults| faults.user = 1002);
    let files = files(&disk);
    assert_eq!(foreign(&files), [("theirs".to_owned(), true)]);
    let error = files.open(&id("theirs")).err().unwrap();
    assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
}

#[test]
fn an_import_is_a_copy_that_belongs_to_the_user() {
    let disk = SimDisk::new();
    let (ours, theirs) = (sealed(&disk, b"ours"), sealed(&disk, b"theirs"));
    begin(&theirs, "theirs");
    drop(ours.import(&id("theirs"), &id("mine")).unwrap());
    assert_eq!(foreign(&ours), [("mine".to_owned(), false), ("theirs".to_owned(), true)]);
    assert_eq!(disk.shared_files(), 0, "files that another user can change are not shared");
    let mut writer = ours.open(&id("mine")).unwrap();
    writer.append(&[envelope(2, 3, Renamed { name: "x".to_owned() })], Durability::Synced).unwrap();
    drop(writer);
    assert_eq!(read(&ours, &id("mine")).len(), 3);
    assert_eq!(read(&ours, &id("theirs")).len(), 2);
    // A fork of it belongs to this user too.
    drop(ours.fork(&id("theirs"), event(2).cursor(), &id("fork"), &[event(3)]).unwrap());
    drop(ours.open(&id("fork")).unwrap());
    assert_eq!(disk.shared_files(), 0);
    assert_eq!(
        ours.import(&id("theirs"), &id("mine")).err(),
        Some(JournalError::Exists(id("mine")))
    );
}

#[test]
fn a_network_file_system_is_refused_and_can_be_read() {
    let disk = SimDisk::new();
    let files = files(&disk);
    begin(&files, "s");
    disk.faults(|faults| faults.network = Some("NFS"));
    for refused in [files.open(&id("s")).err(), files.create(&id("t")).err()] {
        let error = refused.unwrap();
        assert!(matches!(error, JournalError::Unsuitable { .. }), "{error}");
        assert!(error.to_string().contains("network file system (NFS)"), "{error}");
    }
    assert_eq!(read(&files, &id("s")).len(), 2);
}
