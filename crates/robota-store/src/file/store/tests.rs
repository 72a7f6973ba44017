use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use robota_core::event::{Durability, Envelope, Renamed};
use robota_core::journal::{JournalError, JournalStore as _};
use tempfile::TempDir;

use super::super::segment;
use super::*;

fn event(seq: u64) -> Envelope {
    Envelope {
        seq,
        epoch: 1,
        ts: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        event: Renamed { name: format!("name {seq}\n\u{1F680}") }.into(),
        min_reader: None,
    }
}

fn events(range: std::ops::RangeInclusive<u64>) -> Vec<Arc<Envelope>> {
    range.map(|seq| Arc::new(event(seq))).collect()
}

fn store() -> (TempDir, FileStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::new(dir.path().join("sessions"));
    (dir, store)
}

fn id(text: &str) -> SessionId {
    SessionId::from(text)
}

async fn written(store: &FileStore, session: &SessionId, last: u64) -> PathBuf {
    let mut journal = store.create(session).await.unwrap();
    journal.append(&events(1..=last), Durability::Written).await.unwrap();
    store.folder(session).join("1.jsonl")
}

fn error<T>(result: Result<T, JournalError>) -> JournalError {
    match result {
        Ok(_) => panic!("this must fail"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn appended_events_are_read_back_and_can_be_continued() {
    let (_dir, store) = store();
    let session = id("agent:dev/session:main");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=1), Durability::Synced).await.unwrap();
    journal.append(&events(2..=5), Durability::Written).await.unwrap();
    drop(journal);
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(6..=6), Durability::Synced).await.unwrap();

    for after in 0..8 {
        let read = store.read(&session, after, usize::MAX).await.unwrap();
        let expected: Vec<_> = (after + 1..=6).map(event).collect();
        assert_eq!(read, expected, "after {after}");
    }
}

#[tokio::test]
async fn a_session_exists_from_its_first_event() {
    let (_dir, store) = store();
    let session = id("s");
    assert_eq!(error(store.open(&session).await), JournalError::NotFound(session.clone()));
    assert_eq!(
        error(store.read(&session, 0, usize::MAX).await),
        JournalError::NotFound(session.clone())
    );
    drop(store.create(&session).await.unwrap());
    assert_eq!(error(store.open(&session).await), JournalError::NotFound(session.clone()));
    written(&store, &session, 1).await;
    assert_eq!(error(store.create(&session).await), JournalError::Exists(session.clone()));
    assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap(), [event(1)]);
}

#[tokio::test]
async fn create_takes_over_a_session_that_crashed_before_its_first_event() {
    let (_dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 1).await;
    let line = std::fs::read(&path).unwrap();
    for torn in [&b""[..], &line[..line.len() - 1], &line[..7]] {
        std::fs::write(&path, torn).unwrap();
        assert_eq!(error(store.open(&session).await), JournalError::NotFound(session.clone()));
        assert_eq!(
            error(store.read(&session, 0, usize::MAX).await),
            JournalError::NotFound(session.clone())
        );
        written(&store, &session, 2).await;
        assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_second_writer_learns_who_the_first_one_is() {
    struct Long;
    impl Clock for Long {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::UNIX_EPOCH
        }
    }
    let (_dir, store) = store();
    let store = store.with_clock(Arc::new(Long));
    let session = id("s");
    let mut first = store.create(&session).await.unwrap();
    first.append(&events(1..=1), Durability::Written).await.unwrap();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let owner = format!("pid {} on {host} since 1970-01-01 00:00:00Z", std::process::id());
    let owner = robota_core::journal::LeaseOwner::parse(&owner);
    let locked = JournalError::Locked { session: session.clone(), owner };
    assert_eq!(error(store.open(&session).await), locked);
    assert_eq!(error(store.create(&session).await), locked);
    assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap().len(), 1, "readers need no lock");
    drop(first);
    store.open(&session).await.unwrap();
}

#[tokio::test]
async fn a_torn_tail_is_cut_off_wherever_it_tore() {
    let (_dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 3).await;
    let whole = std::fs::read(&path).unwrap();
    let second_ends = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(1).unwrap().0 + 1;
    for cut in second_ends..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap().len(), 2, "torn at {cut}");
        let mut journal = store.open(&session).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole[..second_ends], "torn at {cut}");
        journal.append(&events(3..=3), Durability::Written).await.unwrap();
        drop(journal);
        assert_eq!(std::fs::read(&path).unwrap(), whole, "torn at {cut}");
    }
}

#[tokio::test]
async fn a_last_line_with_any_byte_changed_is_never_accepted() {
    let (_dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 2).await;
    let whole = std::fs::read(&path).unwrap();
    let first_ends = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    for at in first_ends..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x01;
        std::fs::write(&path, &bytes).unwrap();
        let read = store.read(&session, 0, usize::MAX).await.unwrap();
        assert_eq!(read, [event(1)], "byte {at}");
        drop(store.open(&session).await.unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), whole[..first_ends], "byte {at}");
    }
}

#[tokio::test]
async fn damage_in_the_middle_names_file_and_line_and_repairs_nothing() {
    let (_dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 4).await;
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = whole.lines().collect();
    let damaged = [
        whole.replacen("name 2", "name X", 1),
        whole.replacen(lines[1], "", 1),
        whole.replacen(lines[1], &lines[1][..20], 1),
        whole.replacen(&format!("{}\n", lines[1]), "", 1),
        whole.replacen(lines[1], lines[0], 1),
    ];
    for bytes in damaged {
        std::fs::write(&path, &bytes).unwrap();
        for failure in
            [error(store.open(&session).await), error(store.read(&session, 0, usize::MAX).await)]
        {
            let JournalError::Damaged { place, .. } = failure else { panic!("{failure}") };
            assert_eq!(place, format!("{}, line 2", path.display()));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bytes, "nothing was changed");
    }
}

#[tokio::test]
async fn a_hole_in_unsynced_data_ends_the_journal() {
    let (_dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 5).await;
    let whole = std::fs::read(&path).unwrap();
    let ends: Vec<_> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    // Pages that never reached the disk: inside one line, and across the end of one.
    for hole in [ends[2] + 9..ends[2] + 40, ends[2] + 30..ends[3] + 20] {
        let mut bytes = whole.clone();
        bytes[hole.clone()].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap().len(), 3, "{hole:?}");
        let mut journal = store.open(&session).await.unwrap();
        journal.append(&events(4..=5), Durability::Written).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole, "{hole:?}");
    }
    // After the hole is an event that is always synced: it may have been acknowledged.
    let closed = robota_core::event::Closed::from("done");
    let closed = Envelope { event: closed.into(), ..event(6) };
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&[Arc::new(closed)], Durability::Written).await.unwrap();
    drop(journal);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[ends[2] + 9..ends[2] + 40].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let failure = error(store.open(&session).await);
    assert!(matches!(failure, JournalError::Damaged { .. }), "{failure}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing was changed");
}

#[tokio::test]
async fn a_journal_of_a_newer_version_is_not_repaired() {
    let (_dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 1).await;
    let newer = Envelope { min_reader: Some(u32::MAX), ..event(2) };
    let mut bytes = std::fs::read(&path).unwrap();
    newer.encode(&mut bytes).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let message = error(store.open(&session).await).to_string();
    assert!(message.contains("newer version") && message.contains("line 2"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let (dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 1).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_file_name("session.json")), 0o600);
    assert_eq!(mode(&path.with_file_name("lock")), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&dir.path().join("sessions")), 0o700);
}

#[tokio::test]
async fn two_session_ids_never_share_a_folder() {
    let (_dir, store) = store();
    let (lower, upper) = (id("agent:a/session:x"), id("agent:A/session:x"));
    let mut one = store.create(&lower).await.unwrap();
    let mut two = store.create(&upper).await.unwrap();
    one.append(&events(1..=2), Durability::Synced).await.unwrap();
    two.append(&events(1..=3), Durability::Synced).await.unwrap();
    assert_eq!(store.read(&lower, 0, usize::MAX).await.unwrap().len(), 2);
    assert_eq!(store.read(&upper, 0, usize::MAX).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_folder_that_holds_another_session_is_refused() {
    let (_dir, store) = store();
    let (one, two) = (id("one"), id("two"));
    written(&store, &one, 1).await;
    std::fs::rename(store.folder(&one), store.folder(&two)).unwrap();
    let message = error(store.open(&two).await).to_string();
    assert!(message.contains("belongs to session `one`"), "{message}");
    error(store.read(&two, 0, usize::MAX).await);
}

#[tokio::test]
async fn a_big_batch_is_one_batch() {
    let (_dir, store) = store();
    let session = id("s");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(1..=20_000), Durability::Synced).await.unwrap();
    let read = store.read(&session, 19_990, usize::MAX).await.unwrap();
    assert_eq!(read.first().map(|event| event.seq), Some(19_991));
    assert_eq!(read.len(), 10);
}

#[tokio::test]
async fn segments_are_closed_and_read_across() {
    let (_dir, store) = store();
    let store = store.with_segment_bytes(300);
    let session = id("s");
    let mut journal = store.create(&session).await.unwrap();
    for seq in 1..=20 {
        journal.append(&events(seq..=seq), Durability::Written).await.unwrap();
    }
    drop(journal);
    let folder = store.folder(&session);
    let segments = segment::list(&RealDisk, &folder).unwrap();
    assert!(segments.len() > 3, "{segments:?}");
    for after in [0, 1, 7, 19, 20, 99] {
        let seqs: Vec<_> = store
            .read(&session, after, usize::MAX)
            .await
            .unwrap()
            .iter()
            .map(|event| event.seq)
            .collect();
        assert_eq!(seqs, (after + 1..=20).collect::<Vec<_>>());
    }

    // A writer that crashed just after it started a segment.
    std::fs::write(folder.join("21.jsonl"), b"{\"seq\":21,").unwrap();
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(21..=21), Durability::Synced).await.unwrap();
    drop(journal);
    assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap().len(), 21);

    // A closed segment cannot have a torn end: this is damage.
    let closed = &segments[0].path;
    let bytes = std::fs::read(closed).unwrap();
    std::fs::write(closed, &bytes[..bytes.len() - 3]).unwrap();
    assert!(matches!(
        error(store.read(&session, 0, usize::MAX).await),
        JournalError::Damaged { .. }
    ));
    std::fs::write(closed, &bytes).unwrap();

    // A missing segment is noticed.
    std::fs::remove_file(&segments[1].path).unwrap();
    let message = error(store.read(&session, 0, usize::MAX).await).to_string();
    assert!(message.contains("a segment is missing"), "{message}");
}

#[tokio::test]
async fn a_projects_sessions_are_hidden_from_git() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("deep/project/.robota/sessions");
    written(&FileStore::new(&root), &id("s"), 1).await;
    assert_eq!(std::fs::read_to_string(root.join(".gitignore")).unwrap(), "*\n");

    // A change by the user is kept.
    std::fs::write(root.join(".gitignore"), "!keep\n").unwrap();
    written(&FileStore::new(&root), &id("t"), 1).await;
    assert_eq!(std::fs::read_to_string(root.join(".gitignore")).unwrap(), "!keep\n");

    let elsewhere = dir.path().join("sessions");
    written(&FileStore::new(&elsewhere), &id("s"), 1).await;
    assert!(!elsewhere.join(".gitignore").exists());
}

#[tokio::test]
async fn a_root_that_cannot_be_made_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for root in [file.clone(), file.join("sessions")] {
        let store = FileStore::new(&root);
        let failure = error(store.create(&id("s")).await);
        assert!(matches!(failure, JournalError::Io { .. }), "{failure}");
        assert!(failure.to_string().contains("file"), "{failure}");
        error(store.open(&id("s")).await);
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

#[tokio::test]
async fn links_and_pipes_in_a_checkout_are_refused() {
    let (dir, store) = store();
    let session = id("s");
    let path = written(&store, &session, 1).await;
    let target = dir.path().join("precious");
    // This would be cut off if the link were followed.
    let precious = [std::fs::read(&path).unwrap(), b"no newline at the end".to_vec()].concat();
    std::fs::write(&target, &precious).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    error(store.open(&session).await);
    error(store.read(&session, 0, usize::MAX).await);
    assert_eq!(std::fs::read(&target).unwrap(), precious);

    std::fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    error(store.open(&session).await);
    error(store.read(&session, 0, usize::MAX).await);
}

#[tokio::test]
async fn an_append_whose_future_is_dropped_still_finishes() {
    let (_dir, store) = store();
    let session = id("s");
    let mut journal = store.create(&session).await.unwrap();
    let batch = events(1..=1);
    let mut append = journal.append(&batch, Durability::Synced);
    // Polled once, so that it has started, and then dropped.
    assert!(
        std::future::Future::poll(
            append.as_mut(),
            &mut std::task::Context::from_waker(std::task::Waker::noop())
        )
        .is_pending()
    );
    drop(append);
    journal.append(&[], Durability::Synced).await.unwrap();
    journal.append(&events(2..=2), Durability::Written).await.unwrap();
    assert_eq!(store.read(&session, 0, usize::MAX).await.unwrap().len(), 2);
}

#[tokio::test]
async fn sequence_numbers_continue_from_the_first_event() {
    let (_dir, store) = store();
    let session = id("fork");
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events(41..=42), Durability::Synced).await.unwrap();
    error(journal.append(&events(1..=1), Durability::Synced).await);
    drop(journal);
    let mut journal = store.open(&session).await.unwrap();
    journal.append(&events(43..=43), Durability::Synced).await.unwrap();
    let seqs: Vec<_> =
        store.read(&session, 0, usize::MAX).await.unwrap().iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [41, 42, 43]);
}
