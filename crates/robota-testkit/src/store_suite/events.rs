//! Appending and reading events.

use std::sync::Arc;

use robota_core::error::Diagnose as _;
use robota_core::event::{Durability, Envelope, Event, RawJson, Renamed, TextChunk, ToolOutput};
use robota_core::journal::{JournalError, JournalStore};
use serde_json::Value;

use super::{
    create_session, created, cursor, envelope, event, events, id, input_event, rejected, seqs,
    turn_finished,
};

/// Events are read back unchanged, from any position and with any limit.
pub async fn kode_12_what_is_appended_is_read_back(store: &dyn JournalStore) {
    let session = id("agent:dev/session:main");
    let mut journal = store.create(&session).await.expect("create");
    journal.append(&events(1..=1), Durability::Synced).await.expect("append");
    journal.append(&events(2..=5), Durability::Written).await.expect("append");
    journal.append(&[], Durability::Synced).await.expect("an empty append succeeds");
    drop(journal);
    let mut journal = store.open(&session).await.expect("open");
    let next = envelope(2, 6, Renamed { name: "later".to_owned() });
    journal.append(&[Arc::clone(&next)], Durability::Synced).await.expect("append");
    let all: Vec<Arc<Envelope>> = events(1..=5).into_iter().chain([next]).collect();
    for after in 0..8_usize {
        for limit in [0, 1, 2, usize::MAX] {
            let read = store.read(&session, after as u64, limit).await.expect("read");
            let expected: Vec<_> = all.iter().skip(after).take(limit).collect();
            assert_eq!(
                read.iter().collect::<Vec<_>>(),
                expected.iter().map(|event| &***event).collect::<Vec<_>>(),
                "after {after}, {limit}"
            );
        }
    }
}

/// A batch that does not follow the last event is rejected and leaves nothing behind.
pub async fn kode_12_batches_out_of_order_are_rejected(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = create_session(store, &session, 2).await;
    let old = envelope(0, 3, Renamed { name: "of an older writer".to_owned() });
    for wrong in [
        vec![event(4)],
        vec![event(0)],
        vec![envelope(1, 2, Renamed { name: "another".to_owned() })],
        vec![event(3), event(5)],
        vec![event(3), event(3)],
        vec![event(3), event(2)],
        vec![old],
    ] {
        let error = rejected(journal.append(&wrong, Durability::Synced).await);
        assert!(matches!(error, JournalError::OutOfOrder { .. }), "{error}");
        assert_eq!(seqs(store, &session).await, [1, 2]);
    }
    journal.append(&events(3..=3), Durability::Synced).await.expect("the next event");
    assert_eq!(seqs(store, &session).await, [1, 2, 3]);
}

/// Stored events are skipped when they are appended again, and rejected when they differ.
pub async fn kode_12_an_append_can_be_repeated(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = create_session(store, &session, 3).await;
    let durabilities = [Durability::Written, Durability::Synced];
    for durability in durabilities {
        for again in [1..=3, 2..=3, 3..=3, 1..=1, 2..=2] {
            journal.append(&events(again), durability).await.expect("all are stored");
        }
    }
    assert_eq!(seqs(store, &session).await, [1, 2, 3]);
    // Stored events followed by new ones.
    journal.append(&events(2..=5), Durability::Written).await.expect("two are stored");
    journal.append(&events(5..=6), Durability::Synced).await.expect("one is stored");
    assert_eq!(seqs(store, &session).await, [1, 2, 3, 4, 5, 6]);
    let head = store.head(&session).await.expect("head");
    assert_eq!(head.last, cursor(1, 6));
    // A different event with a stored sequence number, alone or among others.
    let other = |epoch, seq| envelope(epoch, seq, Renamed { name: "another".to_owned() });
    let mut redated = (*event(6)).clone();
    redated.ts = super::at(7);
    for (wrong, found) in [
        (vec![other(1, 6), event(7)], cursor(1, 6)),
        (vec![event(5), other(1, 6), event(7)], cursor(1, 5)),
        (vec![Arc::new(redated)], cursor(1, 6)),
        (vec![envelope(2, 6, event(6).event.clone())], cursor(2, 6)),
        (vec![event(9)], cursor(1, 9)),
    ] {
        let error = rejected(journal.append(&wrong, Durability::Synced).await);
        let last = cursor(1, 6);
        assert_eq!(error, JournalError::OutOfOrder { session: session.clone(), found, last });
        assert_eq!(seqs(store, &session).await, [1, 2, 3, 4, 5, 6]);
    }
    // In a fork, also for events that it shares with its parent.
    drop(journal);
    let child = id("child");
    let mut fork = store.fork(&session, cursor(1, 4), &child, &[other(2, 5)]).await.expect("fork");
    let again = [event(3), event(4), other(2, 5), other(2, 6)];
    fork.append(&again, Durability::Synced).await.expect("three are stored");
    let error = rejected(fork.append(&events(5..=5), Durability::Synced).await);
    let (found, last) = (cursor(1, 5), cursor(2, 6));
    assert_eq!(error, JournalError::OutOfOrder { session: child.clone(), found, last });
    assert_eq!(seqs(store, &child).await, [1, 2, 3, 4, 5, 6]);
    drop(fork);
    let mut journal = store.open(&session).await.expect("open");
    journal.append(&events(4..=7), Durability::Synced).await.expect("a new writer can repeat too");
    assert_eq!(seqs(store, &session).await.len(), 7);
}

/// An event that no store can read back is refused, and a retry cannot help; the journal works as
/// before.
pub async fn kode_12_an_event_that_cannot_be_stored_is_refused(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = create_session(store, &session, 2).await;
    let deep = (0..300).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let Event::InputAccepted(mut input) = input_event("Go") else { panic!("an input") };
    input.metadata.insert("deep".to_owned(), deep);
    let deep = envelope(1, 4, input);
    let error = rejected(journal.append(&[event(3), deep], Durability::Synced).await);
    assert!(matches!(error, JournalError::Unencodable { .. }), "{error}");
    assert!(!error.retryable(), "{error}");
    assert!(error.to_string().contains("`input_accepted`"), "{error}");
    assert_eq!(seqs(store, &session).await, [1, 2]);
    journal.append(&events(3..=4), Durability::Synced).await.expect("the next events");
    assert_eq!(seqs(store, &session).await, [1, 2, 3, 4]);
}

/// The largest sequence number is rejected, because no event could follow it.
pub async fn kode_12_the_largest_sequence_number_is_rejected(store: &dyn JournalStore) {
    let mut journal = store.create(&id("s")).await.expect("create");
    rejected(journal.append(&[event(u64::MAX)], Durability::Synced).await);
    rejected(journal.append(&[event(0)], Durability::Synced).await);
    journal.append(&events(41..=42), Durability::Synced).await.expect("any first sequence number");
    assert_eq!(seqs(store, &id("s")).await, [41, 42]);
}

/// A session exists only once it has an event.
pub async fn kode_12_a_session_exists_from_its_first_event(store: &dyn JournalStore) {
    let session = id("s");
    let missing = JournalError::NotFound(session.clone());
    let listed = async || store.list(&Default::default()).await.expect("list").sessions.len();
    for _ in 0..2 {
        assert_eq!(rejected(store.open(&session).await), missing);
        assert_eq!(rejected(store.read(&session, 0, 9).await), missing);
        assert_eq!(rejected(store.read_events(&session, &[1]).await), missing);
        assert_eq!(rejected(store.head(&session).await), missing);
        assert_eq!(rejected(store.bytes(&session).await), missing);
        assert!(!store.delete(&session).await.expect("deleting an absent session is no error"));
        assert_eq!(listed().await, 0);
        // Created and dropped without an event.
        drop(store.create(&session).await.expect("create"));
    }
    drop(create_session(store, &session, 1).await);
    assert_eq!(rejected(store.create(&session).await), JournalError::Exists(session.clone()));
    assert_eq!(seqs(store, &session).await, [1]);
    assert_eq!(listed().await, 1);
}

/// Events of unknown types are kept unchanged.
pub async fn kode_12_unknown_event_types_are_preserved(store: &dyn JournalStore) {
    let body = r#"{"seq":1,"epoch":1,"ts":"2026-01-01T00:00:00Z","type":"from_the_future","data":{"b":1.50,"a":[null]}"#;
    let line = format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes()));
    let event = Arc::new(Envelope::decode(line.as_bytes()).expect("an event"));
    let session = id("s");
    let mut journal = store.create(&session).await.expect("create");
    journal.append(&[event], Durability::Synced).await.expect("append");
    let read = store.read(&session, 0, 9).await.expect("read");
    assert_eq!(read.first().map(Envelope::to_line), Some(line));
}

/// `read_events` returns the events in the requested order.
pub async fn kode_12_picked_events_keep_the_requested_order(store: &dyn JournalStore) {
    let session = id("s");
    drop(create_session(store, &session, 300).await);
    for picks in [vec![], vec![300, 1, 150, 150, 2], (1..=300).rev().collect::<Vec<u64>>()] {
        let picked = store.read_events(&session, &picks).await.expect("read_events");
        let expected: Vec<_> = picks.iter().map(|seq| (*event(*seq)).clone()).collect();
        assert_eq!(picked, expected);
    }
    for missing in [0, 301, u64::MAX] {
        let error = rejected(store.read_events(&session, &[1, missing]).await);
        assert!(matches!(error, JournalError::NoSuchEvent { .. }), "{error}");
    }
}

/// A journal longer than any buffer can be read page by page and opened again.
pub async fn kode_12_a_long_journal_is_read_in_pages(store: &dyn JournalStore) {
    let session = id("s");
    let long = "x".repeat(3000);
    let mut journal = store.create(&session).await.expect("create");
    let mut next = 1;
    while next <= 3000 {
        let batch: Vec<_> = (next..next + 500)
            .map(|seq| envelope(1, seq, Renamed { name: format!("{seq} {long}") }))
            .collect();
        journal.append(&batch, Durability::Written).await.expect("append");
        next += 500;
    }
    let (mut after, mut count) = (0, 0);
    loop {
        let page = store.read(&session, after, 700).await.expect("read");
        let Some(last) = page.last() else { break };
        assert_eq!(page[0].seq, after + 1);
        after = last.seq;
        count += page.len();
    }
    assert_eq!((after, count), (3000, 3000));
    drop(journal);
    let mut journal = store.open(&session).await.expect("open");
    journal.append(&events(3001..=3001), Durability::Synced).await.expect("append");
    // Long lists may be decoded in parts.
    let many: Vec<u64> = (1..=301).rev().collect();
    let events = store.read_events(&session, &many).await.expect("read_events");
    assert!(events.iter().map(|event| event.seq).eq(many), "the requested order");
    let events = store.read_events(&session, &[1, 1500, 2999, 3001]).await.expect("read_events");
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 1500, 2999, 3001]);
    assert_eq!(store.head(&session).await.expect("head").last, cursor(1, 3001));
}

/// The last of many turns takes as much space as the first.
pub async fn kode_12_journal_size_grows_linearly(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = store.create(&session).await.expect("create");
    let first = envelope(1, 1, created(&session, "/work", None));
    journal.append(&[first], Durability::Synced).await.expect("append");
    let (mut seq, mut sizes) = (1, Vec::new());
    for turn in 0..500 {
        let batch =
            [envelope(1, seq + 1, input_event("hi")), envelope(1, seq + 2, turn_finished())];
        journal.append(&batch, Durability::Written).await.expect("append");
        seq += 2;
        if turn % 100 == 99 {
            sizes.push(store.bytes(&session).await.expect("bytes"));
        }
    }
    let grown: Vec<_> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (least, most) = (grown.iter().min(), grown.iter().max());
    // Sequence numbers get longer, and databases grow by pages.
    assert!(
        least.zip(most).is_some_and(|(least, most)| *most <= least * 3 / 2 + 16 * 1024),
        "bytes per 100 turns: {grown:?}"
    );
}

/// Whatever other events contain, only chunks are left out, in any page, and in a fork too.
pub async fn kode_12_chunks_are_left_out_on_request(store: &dyn JournalStore) {
    let (session, child) = (id("s"), id("child"));
    let chunk_in_text = Renamed { name: r#"{"type":"text_chunk","data":{}}"#.to_owned() };
    let data = RawJson::parse(r#"{"type":"text_chunk","text":"\"type\":\"tool_output\""}"#);
    let chunk_in_data =
        Event::Unknown { kind: "text_chunks".to_owned(), data: data.expect("this is JSON") };
    let text = |seq: u64| TextChunk { round: 1, text: format!("piece {seq}") };
    let output = |seq: u64| ToolOutput { call: "call".into(), text: format!("line {seq}") };
    let all: Vec<Arc<Envelope>> = (1..=120)
        .map(|seq| match seq {
            1 | 40 | 90 => envelope(1, seq, chunk_in_text.clone()),
            41 | 100 => envelope(1, seq, chunk_in_data.clone()),
            61..=80 => envelope(1, seq, output(seq)),
            _ => envelope(1, seq, text(seq)),
        })
        .collect();
    let mut journal = store.create(&session).await.expect("create");
    for part in all.chunks(30) {
        journal.append(part, Durability::Written).await.expect("append");
    }
    let last = [envelope(2, 96, Renamed { name: "of the fork".to_owned() })];
    drop(store.fork(&session, cursor(1, 95), &child, &last).await.expect("fork"));
    for (session, expected) in
        [(&session, &[1, 40, 41, 90, 100][..]), (&child, &[1, 40, 41, 90, 96])]
    {
        for after in [0, 1, 2, 39, 40, 85, 95, 100, 119, 200] {
            for limit in [1, 2, 100] {
                let read = store.read_without_chunks(session, after, limit).await.expect("read");
                let read: Vec<u64> = read.iter().map(|event| event.seq).collect();
                let later = expected.iter().copied().filter(|seq| *seq > after);
                let expected: Vec<u64> = later.take(limit).collect();
                assert_eq!(read, expected, "after {after}, {limit}");
            }
        }
    }
    let error = rejected(store.read_without_chunks(&id("none"), 0, 1).await);
    assert!(matches!(error, JournalError::NotFound(_)), "{error}");
}
