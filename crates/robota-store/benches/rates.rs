//! Figures of stores that are printed, not sampled: appends per second on PostgreSQL, and the cost
//! of forking a long session compared to a short one (target: at most twice as much).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use robota_core::event::{Durability, Renamed};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_store::{FileStore, PostgresStore, SqlOptions, SqliteStore};
use robota_testkit::postgres::PostgresServer;
use robota_testkit::store_suite::{envelope, events};

const LENGTHS: [u64; 2] = [100, 100_000];
const SPAN: Duration = Duration::from_secs(4);

/// Measures appends per second of one event of about 600 bytes, with that many writers.
async fn append_rate(store: &PostgresStore, writers: usize, durability: Durability) -> f64 {
    static RUN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let run = RUN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let started = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                let session = SessionId::from(format!("rate-{run}-{writer}"));
                let mut journal = store.create(&session).await.unwrap();
                let (mut seq, started) = (0_u64, Instant::now());
                while started.elapsed() < SPAN {
                    seq += 1;
                    let event = envelope(1, seq, Renamed { name: "x".repeat(480) });
                    journal.append(&[event], durability).await.unwrap();
                }
                seq
            })
        })
        .collect();
    let mut appends = 0;
    for task in tasks {
        appends += task.await.unwrap();
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = appends as f64 / started.elapsed().as_secs_f64();
    rate
}

fn long_id(length: u64) -> SessionId {
    SessionId::from(format!("long-{length}"))
}

async fn long(store: &dyn JournalStore, length: u64) {
    let mut journal = store.create(&long_id(length)).await.unwrap();
    let mut next = 1;
    while next <= length {
        let last = (next + 499).min(length);
        let durability = if last == length { Durability::Synced } else { Durability::Written };
        journal.append(&events(next..=last), durability).await.unwrap();
        next = last + 1;
    }
}

/// Prints how long a fork takes near the end and in the middle of sessions of both lengths. Runs
/// alternate and the median counts, so a slow moment of the disk affects both.
async fn fork_ratio(name: &str, store: Arc<dyn JournalStore>) {
    for length in LENGTHS {
        long(&*store, length).await;
    }
    for (place, back) in [("10 before the end", 10), ("in the middle", 0)] {
        let mut times = [Vec::new(), Vec::new()];
        for number in 0..40 {
            for (length, times) in LENGTHS.into_iter().zip(&mut times) {
                let at = if back == 0 { length / 2 + 7 } else { length - back };
                let child = SessionId::from(format!("{}-{length}-{number}", place.len()));
                let first = [envelope(2, at + 1, Renamed { name: "x".to_owned() })];
                let started = Instant::now();
                let at = envelope(1, at, Renamed { name: String::new() }).cursor();
                drop(store.fork(&long_id(length), at, &child, &first).await.unwrap());
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
        let [short, long] = times.map(|mut times| {
            times.sort_unstable_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!(
            "fork of {} events {place}, {name}: {long:.2} ms, {:.2} times that of {} ({short:.2} ms)",
            LENGTHS[1],
            long / short,
            LENGTHS[0]
        );
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = PostgresServer::start_syncing().unwrap() else {
        println!("PostgreSQL is not installed");
        return;
    };
    for connections in [8, 16] {
        let options = SqlOptions { connections, ..SqlOptions::default() };
        let address = server.database().unwrap();
        let store = PostgresStore::connect_at(&address, options).await.unwrap();
        for (name, durability) in [("written", Durability::Written), ("synced", Durability::Synced)]
        {
            for writers in [1, 16] {
                let rate = append_rate(&store, writers, durability).await;
                println!(
                    "appends on PostgreSQL, {connections} connections, {writers} writers, {name}: \
                     {rate:.0} per second"
                );
            }
        }
    }
    fork_ratio("files", Arc::new(FileStore::new(folder.path().join("s")))).await;
    let sqlite = SqliteStore::open(folder.path().join("db")).await.unwrap();
    fork_ratio("sqlite", Arc::new(sqlite)).await;
    let store = PostgresStore::connect(&server.database().unwrap()).await.unwrap();
    fork_ratio("postgres", Arc::new(store)).await;
}
