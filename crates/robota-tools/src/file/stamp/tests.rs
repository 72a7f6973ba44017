use super::*;

#[test]
fn hashes_are_compared_if_known_and_times_otherwise() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let metadata = file.as_file().metadata().unwrap();
    let a = FileStamp::of(b"a", &metadata);
    let touched = FileStamp { modified: Some(SystemTime::UNIX_EPOCH), ..a };
    let other = FileStamp { digest: FileStamp::of(b"b", &metadata).digest, ..a };
    assert!(a.same_content(&touched));
    assert!(!a.same_content(&other));

    let unread = FileStamp { digest: None, ..a };
    let unread_touched = FileStamp { digest: None, ..touched };
    assert!(a.same_content(&unread));
    assert!(!a.same_content(&unread_touched));
    assert!(!unread.same_content(&FileStamp { len: 2, ..unread }));
}
