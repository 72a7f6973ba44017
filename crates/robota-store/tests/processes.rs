//! Processes that share a store, and a process that crashes at every failpoint.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "a test that starts itself again as a child")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use robota_core::event::Durability;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_store::{FileStore, SqliteStore, failpoint};
use robota_testkit::store_suite::{envelope, event, events};

/// The task of a child: `hold FILES`, `append KIND FOLDER` or `die FAILPOINT KIND FOLDER`.
const TASK: &str = "ROBOTA_STORE_TEST_CHILD";

fn child(task: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process_entry", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing unless one of the other tests starts it.
#[test]
fn child_process_entry() {
    let Ok(task) = std::env::var(TASK) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let parts: Vec<_> = task.split(' ').collect();
    match parts[..] {
        ["hold", folder] => runtime.block_on(async {
            let store = FileStore::new(folder);
            let mut journal = store.create(&SessionId::from("s")).await.unwrap();
            journal.append(&events(1..=2), Durability::Written).await.unwrap();
            println!("\nholding");
            // Waits until the parent kills this process.
            let _ = std::io::stdin().read(&mut [0]);
        }),
        ["append", kind, folder] => runtime.block_on(async {
            let store = make(kind, Path::new(folder)).await;
            let mut journal = store.create(&session()).await.unwrap();
            for seq in 1.. {
                journal.append(&[event(seq)], Durability::Written).await.unwrap();
                println!("\nsafe {seq}");
                // The next one when the parent asks for it.
                if !matches!(std::io::stdin().read(&mut [0]), Ok(1)) {
                    return;
                }
            }
        }),
        ["die", point, kind, folder] => runtime.block_on(async {
            failpoint::arm(point).unwrap();
            script(&*make(kind, Path::new(folder)).await).await;
        }),
        _ => panic!("{task}"),
    }
}

async fn make(kind: &str, folder: &Path) -> Arc<dyn JournalStore> {
    match kind {
        "files" => Arc::new(FileStore::new(folder.join("sessions")).with_segment_bytes(300)),
        "sqlite" => Arc::new(SqliteStore::open(folder.join("sessions.db")).await.unwrap()),
        _ => panic!("{kind}"),
    }
}

fn session() -> SessionId {
    SessionId::from("s")
}

fn fork() -> SessionId {
    SessionId::from("fork")
}

/// Uses every operation of a store, and prints what was acknowledged as durable.
async fn script(store: &dyn JournalStore) {
    let mut journal = store.create(&session()).await.unwrap();
    for seq in 1..=6 {
        journal.append(&[event(seq)], Durability::Synced).await.unwrap();
        println!("\nsafe {seq}");
    }
    store.blobs(&session()).put(b"a blob").await.unwrap();
    println!("\nblob");
    let first = envelope(2, 5, robota_core::event::Renamed { name: "fork".to_owned() });
    drop(store.fork(&session(), event(4).cursor(), &fork(), &[first]).await.unwrap());
    println!("\nforked");
    drop(journal);
    let mut journal = store.open(&session()).await.unwrap();
    journal.append(&[event(7)], Durability::Synced).await.unwrap();
    println!("\nsafe 7");
    println!("\ndeleting");
    assert!(store.delete(&fork()).await.unwrap());
    println!("\ndeleted");
}

/// Checks what a child left that printed these lines before it crashed.
async fn check(store: &dyn JournalStore, output_lines: &[String], what: &str) {
    let printed = |word: &str| output_lines.iter().any(|line| line == word);
    let safe = (0..=7).rev().find(|seq| printed(&format!("safe {seq}"))).unwrap_or(0);
    let seqs = async |session: SessionId| -> Result<Vec<u64>, JournalError> {
        Ok(store.read(&session, 0, 99).await?.iter().map(|event| event.seq).collect())
    };
    let last = match seqs(session()).await {
        Ok(there) => {
            let last = there.len() as u64;
            assert_eq!(there, (1..=last).collect::<Vec<_>>(), "{what}");
            assert!(last >= safe, "{what}: {last} of {safe}");
            let mut journal =
                store.open(&session()).await.unwrap_or_else(|e| panic!("{what}: {e}"));
            journal.append(&[event(last + 1)], Durability::Synced).await.unwrap();
            last + 1
        }
        Err(JournalError::NotFound(_)) if safe == 0 => {
            let mut journal =
                store.create(&session()).await.unwrap_or_else(|e| panic!("{what}: {e}"));
            journal.append(&[event(1)], Durability::Synced).await.unwrap();
            1
        }
        Err(error) => panic!("{what}: {error}"),
    };
    assert_eq!(seqs(session()).await.unwrap().len() as u64, last, "{what}");
    if printed("blob") {
        let blob = robota_core::message::BlobRef::of(b"a blob");
        let found = store.blobs(&session()).get(&blob).await.unwrap();
        assert!(found.is_some(), "{what}");
    }
    match seqs(fork()).await {
        Ok(there) => assert_eq!(there, [1, 2, 3, 4, 5], "{what}"),
        Err(JournalError::NotFound(_)) => {
            assert!(!printed("forked") || printed("deleting"), "{what}: the fork is gone");
        }
        Err(error) => panic!("{what}: {error}"),
    }
    // The remains of the session can be deleted, and it can be created again.
    store.delete(&fork()).await.unwrap_or_else(|e| panic!("{what}: {e}"));
    if last > 4 {
        let first = envelope(9, 4, robota_core::event::Renamed { name: "again".to_owned() });
        drop(store.fork(&session(), event(3).cursor(), &fork(), &[first]).await.unwrap());
        assert_eq!(seqs(fork()).await.unwrap(), [1, 2, 3, 4], "{what}");
    }
}

/// Runs the script until it crashes at a failpoint. Returns its output, and whether it crashed.
fn die(point: &str, kind: &str, folder: &Path) -> (Vec<String>, bool) {
    let child = child(&format!("die {point} {kind} {}", folder.display()));
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().map(str::to_owned).collect(), output.status.signal() == Some(9))
}

async fn every_death(kind: &str, of: impl Fn(&str) -> bool) {
    for point in failpoint::POINTS.iter().filter(|point| of(point)) {
        let mut deaths = 0;
        // Once for each time that the process reaches the failpoint.
        for nth in 1..=20 {
            let folder = tempfile::tempdir().unwrap();
            let (output_lines, died) = die(&format!("{point}:{nth}"), kind, folder.path());
            if !died {
                assert!(
                    output_lines.iter().any(|line| line == "deleted"),
                    "{point}:{nth}: {output_lines:?}"
                );
                break;
            }
            deaths += 1;
            let store = make(kind, folder.path()).await;
            check(&*store, &output_lines, &format!("{kind}, {point}:{nth}")).await;
        }
        println!("{kind:8} {point:32} {deaths} deaths");
        assert!(deaths > 0, "{kind} never gets to {point}");
    }
}

#[tokio::test]
async fn kode_12_files_survive_a_crash_of_their_writer_at_every_failpoint() {
    every_death("files", |point| !point.starts_with("store.sql.")).await;
}

#[tokio::test]
async fn kode_12_sqlite_survives_a_crash_of_its_writer_at_every_failpoint() {
    every_death("sqlite", |point| point.starts_with("store.sql.")).await;
}

#[tokio::test]
async fn kode_12_a_second_process_learns_who_holds_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("sessions");
    let mut holder = child(&format!("hold {}", root.display()));
    let mut output_lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(output_lines.any(|line| line.unwrap() == "holding"));
    let store = FileStore::new(&root);
    for refused in [
        store.open(&session()).await.err(),
        store.create(&session()).await.err(),
        store.delete(&session()).await.err(),
    ] {
        let Some(JournalError::Locked { owner, .. }) = &refused else { panic!("{refused:?}") };
        assert_eq!(owner.pid, Some(holder.id()), "{owner}");
        assert!(owner.host.is_some() && owner.since.is_some(), "{owner}");
    }
    assert_eq!(store.read(&session(), 0, 9).await.unwrap().len(), 2, "readers need no lock");
    // The lock ends with the process, however it ends.
    holder.kill().unwrap();
    holder.wait().unwrap();
    let mut journal = store.open(&session()).await.unwrap();
    journal.append(&events(3..=3), Durability::Synced).await.unwrap();
}

#[tokio::test]
async fn kode_12_a_session_of_another_process_can_be_followed() {
    for kind in ["files", "sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = child(&format!("append {kind} {}", folder.path().display()));
        let mut output_lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        assert!(output_lines.any(|line| line.unwrap() == "safe 1"), "{kind}");
        let mut ask = writer.stdin.take().unwrap();
        let store = make(kind, folder.path()).await;
        for seen in 0..5 {
            store.wait_past(&session(), seen).await.unwrap();
            let events = store.read(&session(), seen, 9).await.unwrap();
            assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [seen + 1]);
            // The child appends the next one only after this.
            ask.write_all(b"x").unwrap();
        }
        drop(ask);
        writer.wait().unwrap();
    }
}
