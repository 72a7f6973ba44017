use super::*;

#[test]
fn network_file_systems_are_recognised_by_magic_number() {
    assert_eq!(network_name(0x6969), Some("NFS"));
    assert_eq!(network_name(0xff53_4d42), Some("CIFS"));
    for local in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x6573_5546] {
        assert_eq!(network_name(local), None, "{local:x}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(RealDisk.network_file_system(folder.path()).unwrap(), None);
}

#[test]
fn a_lock_on_a_deleted_file_is_not_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let first = RealDisk.try_lock(&path, "one").unwrap().ok().unwrap();
    assert_eq!(RealDisk.try_lock(&path, "two").unwrap().err().unwrap(), "one");
    let stale = lock_file(&path).unwrap();
    RealDisk.remove(&path).unwrap();
    drop(first);
    // A process that opened the file before it was deleted gets a lock, and detects that it is on a
    // deleted file.
    stale.try_lock().unwrap();
    assert!(!is_same_file(&path, &stale).unwrap());
    let second = RealDisk.try_lock(&path, "two").unwrap().ok().unwrap();
    assert!(!is_same_file(&path, &stale).unwrap());
    drop(second);
}

#[test]
fn a_shared_lock_is_shared_and_excludes_an_exclusive_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let one = RealDisk.lock(&path, LockMode::Shared).unwrap();
    let two = RealDisk.lock(&path, LockMode::Shared).unwrap();
    assert!(RealDisk.try_lock(&path, "").unwrap().is_err());
    drop((one, two));
    RealDisk.lock(&path, LockMode::Exclusive).unwrap();
}

#[test]
fn a_dropped_lock_is_free_although_a_child_process_inherited_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let file = lock_file(&path).unwrap();
    file.try_lock().unwrap();
    // A fork has the same open file, as this copy has.
    let inherited = file.try_clone().unwrap();
    drop(HeldLock(file));
    let second = RealDisk.try_lock(&path, "two").unwrap().ok().unwrap();
    drop(inherited);
    assert!(RealDisk.try_lock(&path, "three").unwrap().is_err(), "the second one has it");
    drop(second);
}
