use super::*;

#[test]
fn files_that_will_not_be_saved_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let mut files = Vec::new();
    for number in 0..100 {
        let name = format!("f{number:02}");
        std::fs::write(root.join(&name), [b'x'; 10]).unwrap();
        let metadata = root.join(&name).symlink_metadata().unwrap();
        files.push((name, FoundEntry::new(&metadata, false)));
    }
    let limits = CaptureLimits::default();
    let dir = LinkFreeDir::open(root, false).ok();
    let reader = Reader { root, dir, limits: &limits, started: Instant::now() };
    let read = |room: u64| reader.prefetch(&files, room).0.len();
    assert_eq!(read(1_000), 100);
    assert_eq!(read(505), 50);
    // The session has saved as much as it may.
    assert_eq!(read(0), 0);
}
