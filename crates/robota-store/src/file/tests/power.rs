//! Power failures at every step, with every possible result.

use robota_core::event::{Durability, TurnEnd, TurnFinished};
use robota_core::journal::{JournalError, SessionFilter};
use robota_core::usage::Usage;

use super::*;
use crate::DurabilityLevel;
use crate::sim::{Crash, Moment};

fn turn_finished(epoch: u32, seq: u64) -> Arc<Envelope> {
    let usage = Usage::default();
    let event = TurnFinished {
        end: TurnEnd::Complete,
        rounds: 1,
        tools_executed: 0,
        usage,
        error: None,
        stop: None,
    };
    envelope(epoch, seq, event)
}

/// How many events were acknowledged as durable, and when.
#[derive(Default)]
struct Acknowledged(Vec<(Moment, usize)>);

impl Acknowledged {
    /// Returns how many events were durable at that moment.
    fn safe_at(&self, moment: Moment) -> usize {
        self.0.iter().rev().find(|(at, _)| *at <= moment).map_or(0, |(_, count)| *count)
    }
}

/// Opens what a power failure left and checks that it is a prefix of `all` that contains all
/// durable events, that lists agree, and that it can be continued. Returns its length.
fn check(crash: &Crash, session: &SessionId, all: &[Arc<Envelope>], safe: usize) -> usize {
    let what = || format!("{:?}, {}", crash.moment, crash.fate);
    let files = files(&crash.disk);
    let mut writer = match files.open(session) {
        Ok(writer) => writer,
        Err(JournalError::NotFound(_)) if safe == 0 => {
            // Then it can be created again.
            let mut writer = files.create(session).unwrap_or_else(|e| panic!("{}: {e}", what()));
            writer.append(&all[..1], Durability::Synced).unwrap();
            assert_eq!(read(&files, session).len(), 1, "{}", what());
            return 0;
        }
        Err(error) => panic!("{}: {error}", what()),
    };
    let events = read(&files, session);
    let expected: Vec<_> = all.iter().take(events.len()).map(|event| (**event).clone()).collect();
    assert_eq!(events, expected, "{}", what());
    assert!(events.len() >= safe, "{}: {} of {safe}", what(), events.len());
    let head = files.head(session).unwrap();
    assert_eq!(Some(head.last), events.last().map(Envelope::cursor), "{}", what());
    let mut fold = None;
    events
        .iter()
        .for_each(|event| robota_core::journal::SessionHead::fold(&mut fold, session, event));
    assert_eq!(Some(&head), fold.as_ref(), "{}", what());
    assert_eq!(files.list(&SessionFilter::default()).unwrap().sessions.len(), 1, "{}", what());
    let (epoch, seq) = (head.last.epoch + 1, head.last.seq + 1);
    writer.append(&[turn_finished(epoch, seq)], Durability::Synced).unwrap();
    let seqs: Vec<_> = read(&files, session).iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seq).collect::<Vec<_>>(), "{}", what());
    assert_eq!(files.read_events(session, &seqs).unwrap().len(), seqs.len(), "{}", what());
    events.len()
}

#[test]
fn synced_events_survive_every_possible_power_failure() {
    let disk = SimDisk::new();
    disk.record();
    let session = id("s");
    let store = files(&disk);
    let (mut all, mut acknowledged) = (Vec::new(), Acknowledged::default());
    let mut epoch = 0;
    // Two writers, one after the other; small segments, so that new ones are started.
    for batches in [[1, 2, 1, 3, 1], [2, 1, 1, 1, 4]] {
        epoch += 1;
        let mut writer = if epoch == 1 {
            store.create(&session).unwrap()
        } else {
            store.open(&session).unwrap()
        };
        for (number, count) in batches.into_iter().enumerate() {
            let next = all.len() as u64 + 1;
            let batch: Vec<_> = (next..next + count).map(|seq| turn_finished(epoch, seq)).collect();
            all.extend(batch.clone());
            let durability = if number % 2 == 0 { Durability::Synced } else { Durability::Written };
            writer.append(&batch, durability).unwrap();
            if durability == Durability::Synced {
                acknowledged.0.push((disk.now(), all.len()));
            }
        }
    }
    assert!(crate::file::segment::list(&disk, &store.folder(&session)).unwrap().len() > 3);
    let (mut crashes, mut least, mut most) = (0, usize::MAX, 0);
    for moment in (0..disk.moments()).map(Moment) {
        for crash in disk.crashes(moment) {
            let length = check(&crash, &session, &all, acknowledged.safe_at(moment));
            crashes += 1;
            (least, most) = (least.min(length), most.max(length));
        }
    }
    // The test covers something: there were many states, and they differ.
    assert!(crashes > 2000, "{crashes}");
    assert_eq!((least, most), (0, all.len()));
}

/// Creating a session does not wait for the disk. The first synced event makes the session safe, also
/// if another writer appends it.
#[test]
fn the_first_sync_makes_a_new_session_safe() {
    for crashes_before in [false, true] {
        let disk = SimDisk::new();
        disk.record();
        let session = id("s");
        let store = files(&disk);
        let mut writer = store.create(&session).unwrap();
        let root_synced = disk.syncs();
        writer.append(&[event(1), event(2)], Durability::Written).unwrap();
        assert_eq!(disk.syncs(), root_synced, "a written event waited for the disk");
        assert_eq!(store.list(&SessionFilter::default()).unwrap().sessions.len(), 1);
        if crashes_before {
            drop(writer);
            writer = store.open(&session).unwrap();
        }
        writer.append(&[event(3)], Durability::Synced).unwrap();
        let acknowledged = Acknowledged(vec![(disk.now(), 3)]);
        let all: Vec<_> = (1..=3).map(event).collect();
        let mut lengths = std::collections::BTreeSet::new();
        for moment in (0..disk.moments()).map(Moment) {
            for crash in disk.crashes(moment) {
                let safe = acknowledged.safe_at(moment);
                lengths.insert(check(&crash, &session, &all, safe));
            }
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}

#[test]
fn a_fork_exists_completely_or_not_at_all() {
    let disk = SimDisk::new();
    let (parent, child) = (id("parent"), id("child"));
    let store = files(&disk);
    let all: Vec<_> = (1..=9).map(|seq| turn_finished(1, seq)).collect();
    let mut writer = store.create(&parent).unwrap();
    for event in &all {
        writer.append(&[Arc::clone(event)], Durability::Synced).unwrap();
    }
    disk.record();
    let first = [turn_finished(2, 8), turn_finished(2, 9)];
    drop(store.fork(&parent, all[6].cursor(), &child, &first).unwrap());
    let done = disk.now();
    let forked: Vec<_> = all[..7].iter().cloned().chain(first).collect();
    let mut missing = 0;
    for moment in (0..disk.moments()).map(Moment) {
        for crash in disk.crashes(moment) {
            let files = files(&crash.disk);
            let what = format!("{moment:?}, {}", crash.fate);
            assert_eq!(read(&files, &parent).len(), 9, "{what}");
            match files.read(&child, 0, usize::MAX, true) {
                Ok(events) => {
                    let expected: Vec<_> = forked.iter().map(|event| (**event).clone()).collect();
                    assert_eq!(events, expected, "{what}");
                    files.open(&child).unwrap();
                }
                Err(JournalError::NotFound(_)) => {
                    assert!(moment < done, "{what}");
                    missing += 1;
                    // Created again, over what is left of it.
                    let first = [turn_finished(3, 8)];
                    drop(files.fork(&parent, all[6].cursor(), &child, &first).unwrap());
                    assert_eq!(read(&files, &child).len(), 8, "{what}");
                }
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
    assert!(missing > 10, "{missing}");
}

/// The fork of a long segment: it shares what is synced, and copies what is only written.
#[test]
fn a_fork_of_an_open_segment_survives_every_power_failure() {
    let disk = SimDisk::new();
    let (parent, child) = (id("parent"), id("child"));
    let store =
        |disk: &SimDisk| FileStore::new("/home/sessions").with_disk(Arc::new(disk.clone())).files;
    let files = store(&disk);
    let all: Vec<_> = (1..=8).map(|seq| turn_finished(1, seq)).collect();
    let mut writer = files.create(&parent).unwrap();
    writer.append(&all[..5], Durability::Synced).unwrap();
    disk.record();
    writer.append(&all[5..7], Durability::Written).unwrap();
    let first = [turn_finished(2, 8), turn_finished(2, 9)];
    let mut fork = files.fork(&parent, all[6].cursor(), &child, &first).unwrap();
    let done = disk.now();
    // The parent continues in the file that the fork shares, and so does the fork in its own.
    writer.append(&all[7..], Durability::Written).unwrap();
    fork.append(&[turn_finished(2, 10)], Durability::Written).unwrap();
    let forked = [&all[..7], &first, &[turn_finished(2, 10)]].concat();
    let prefix = |events: &[Envelope], of: &[Arc<Envelope>], least: usize, what: &str| {
        let expected: Vec<_> = of.iter().take(events.len()).map(|it| (**it).clone()).collect();
        assert_eq!(events, expected, "{what}");
        assert!(events.len() >= least, "{what}: {}", events.len());
    };
    let mut missing = 0;
    for moment in (0..disk.moments()).map(Moment) {
        for crash in disk.crashes(moment) {
            let files = store(&crash.disk);
            let what = format!("{moment:?}, {}", crash.fate);
            match files.open(&child) {
                Ok(_) => prefix(&read(&files, &child), &forked, 9, &what),
                Err(JournalError::NotFound(_)) => {
                    assert!(moment < done, "{what}");
                    missing += 1;
                }
                Err(error) => panic!("{what}: {error}"),
            }
            let mut writer = files.open(&parent).unwrap_or_else(|e| panic!("{what}: {e}"));
            let left = read(&files, &parent);
            prefix(&left, &all, 5, &what);
            // The file that the two share may be cut off and continued; the fork does not change.
            let before = files.read(&child, 0, usize::MAX, true);
            let seq = left.len() as u64 + 1;
            writer.append(&[turn_finished(3, seq)], Durability::Synced).unwrap();
            assert_eq!(files.read(&child, 0, usize::MAX, true), before, "{what}");
        }
    }
    assert!(missing > 10, "{missing}");
}

#[test]
fn a_deletion_is_whole_or_can_be_repeated() {
    let disk = SimDisk::new();
    let (session, other) = (id("s"), id("other"));
    let store = files(&disk);
    for session in [&session, &other] {
        let mut writer = store.create(session).unwrap();
        (1..=6).for_each(|seq| {
            writer.append(&[turn_finished(1, seq)], Durability::Synced).unwrap();
        });
    }
    disk.record();
    assert!(store.delete(&session).unwrap());
    for moment in (0..disk.moments()).map(Moment) {
        for crash in disk.crashes(moment) {
            let files = files(&crash.disk);
            let what = format!("{moment:?}, {}", crash.fate);
            let there = files.read(&session, 0, usize::MAX, true);
            let listed = files.list(&SessionFilter::default()).unwrap().sessions.len();
            match there {
                Ok(events) => assert_eq!((events.len(), listed), (6, 2), "{what}"),
                Err(JournalError::NotFound(_)) => assert_eq!(listed, 1, "{what}"),
                Err(error) => panic!("{what}: {error}"),
            }
            files.delete(&session).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(read(&files, &other).len(), 6, "{what}");
            let mut writer = files.create(&session).unwrap_or_else(|e| panic!("{what}: {e}"));
            writer.append(&[event(1)], Durability::Synced).unwrap();
            assert_eq!(read(&files, &session).len(), 1, "{what}");
        }
    }
}

#[test]
fn a_strict_store_loses_nothing_and_a_relaxed_one_stays_readable() {
    for level in [DurabilityLevel::Strict, DurabilityLevel::Relaxed] {
        let disk = SimDisk::new();
        let store = FileStore::new("/home/sessions").with_level(level);
        let store = store.with_disk(Arc::new(disk.clone())).files;
        let session = id("s");
        let mut writer = store.create(&session).unwrap();
        let all: Vec<_> = (1..=6).map(event).collect();
        writer.append(&all[..1], Durability::Synced).unwrap();
        disk.record();
        let mut acknowledged = Acknowledged(vec![(disk.now(), 1)]);
        for (number, event) in all.iter().enumerate().skip(1) {
            writer.append(std::slice::from_ref(event), Durability::Written).unwrap();
            acknowledged.0.push((disk.now(), number + 1));
        }
        for moment in (0..disk.moments()).map(Moment) {
            for crash in disk.crashes(moment) {
                let files = files(&crash.disk);
                match files.read(&session, 0, usize::MAX, true) {
                    Ok(events) => {
                        let expected: Vec<_> =
                            all.iter().take(events.len()).map(|e| (**e).clone()).collect();
                        assert_eq!(events, expected);
                        if level == DurabilityLevel::Strict {
                            assert!(events.len() >= acknowledged.safe_at(moment), "{}", crash.fate);
                        }
                    }
                    Err(JournalError::NotFound(_)) => assert_eq!(level, DurabilityLevel::Relaxed),
                    Err(error) => panic!("{level:?} {moment:?} {}: {error}", crash.fate),
                }
            }
        }
    }
}
