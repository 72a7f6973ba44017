//! The costs of a store: appending, resuming a long session, listing many, forking; and how often a
//! round of a turn waits for the disk. The targets: resuming a session of 100,000 events costs at
//! most three times as much as one of 100; a list of 10,000 takes well below 300 ms; a round with
//! one tool call that has effects syncs twice.
//!
//! Each target is printed as one line. Runs of the two cases alternate and the median counts, so a
//! slow moment of the disk affects both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/sim/mod.rs"]
mod sim;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robota_core::event::{Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, SessionFilter};
use robota_core::permission::Class;
use robota_store::{FileStore, SqliteStore};
use robota_testkit::store_suite::{envelope, events};
use robota_testkit::{FailingJournal, Run, fn_tool};

use sim::SimDisk;

const LENGTHS: [u64; 2] = [100, 100_000];
const SESSIONS: [usize; 2] = [100, 10_000];

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn session() -> SessionId {
    SessionId::from("agent:bench/session:long")
}

/// Creates a session with that many events, renamed and synced at its end.
async fn long(store: &dyn JournalStore, length: u64) {
    let mut journal = store.create(&session()).await.unwrap();
    let mut next = 1;
    while next < length {
        let last = (next + 499).min(length - 1);
        journal.append(&events(next..=last), Durability::Written).await.unwrap();
        next = last + 1;
    }
    journal.append(&events(length..=length), Durability::Synced).await.unwrap();
}

/// Reads what a resume needs from the store: head, tail, and the events of the view.
async fn read_for_resume(store: &dyn JournalStore, length: u64) {
    let journal = store.open(&session()).await.unwrap();
    let head = store.head(&session()).await.unwrap();
    assert_eq!(head.last.seq, length);
    let tail = store.read(&session(), length - 50, usize::MAX).await.unwrap();
    assert_eq!(tail.len(), 50);
    let view: Vec<u64> = (0..40).map(|part| part * length / 40 + 1).collect();
    assert_eq!(store.read_events(&session(), &view).await.unwrap().len(), 40);
    drop(journal);
}

fn resume<S: JournalStore>(
    criterion: &mut Criterion,
    name: &str,
    make: &impl AsyncFn(&std::path::Path) -> S,
) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("resume");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for length in LENGTHS {
        let folder = tempfile::tempdir().unwrap();
        let store = runtime.block_on(make(folder.path()));
        runtime.block_on(long(&store, length));
        group.bench_function(BenchmarkId::new(name, length), |bencher| {
            bencher.to_async(&runtime).iter(|| read_for_resume(&store, length));
        });
    }
    group.finish();
}

/// Measures how long something takes.
async fn timed(work: impl Future<Output = ()>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

/// Returns the median in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

async fn store(kind: &str, folder: &std::path::Path) -> Box<dyn JournalStore> {
    match kind {
        "files" => Box::new(FileStore::new(folder.join("s"))),
        _ => Box::new(SqliteStore::open(folder.join("db")).await.unwrap()),
    }
}

/// Compares resuming a long session to resuming a short one.
fn resume_ratio(_criterion: &mut Criterion) {
    const TURNS: usize = 200;
    let [short, length] = LENGTHS;
    runtime().block_on(async {
        for kind in ["files", "sqlite"] {
            let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
            let few = store(kind, folders[0].path()).await;
            let many = store(kind, folders[1].path()).await;
            long(&*few, short).await;
            long(&*many, length).await;
            let mut times = (Vec::new(), Vec::new());
            for _ in 0..TURNS {
                times.0.push(timed(read_for_resume(&*few, short)).await);
                times.1.push(timed(read_for_resume(&*many, length)).await);
            }
            let (few, many) = (median(times.0), median(times.1));
            println!(
                "resume of {length} events, {kind}: {many:.2} ms, {:.2} times that of {short} \
                 (target at most 3)",
                many / few
            );
        }
    });
}

fn list(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("list");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for count in SESSIONS {
        let folder = tempfile::tempdir().unwrap();
        // Created without waiting for the disk; listed like any other.
        let store = FileStore::new(folder.path().join("s"))
            .with_level(robota_store::DurabilityLevel::Relaxed);
        runtime.block_on(async {
            for number in 0..count {
                let session = SessionId::from(format!("agent:bench/session:{number}"));
                let mut journal = store.create(&session).await.unwrap();
                journal.append(&events(1..=2), Durability::Synced).await.unwrap();
            }
        });
        let filter = SessionFilter { limit: Some(20), ..SessionFilter::default() };
        let mut times = Vec::new();
        for _ in 0..20 {
            let listed = async {
                assert_eq!(store.list(&filter).await.unwrap().sessions.len(), 20);
            };
            times.push(runtime.block_on(timed(listed)));
        }
        println!("list of {count} sessions, files: {:.1} ms", median(times));
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("files", count), |bencher| {
            bencher.to_async(&runtime).iter(async || {
                assert_eq!(store.list(&filter).await.unwrap().sessions.len(), 20);
            });
        });
    }
    group.finish();
}

fn fork(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("fork");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for length in LENGTHS {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::new(folder.path().join("s"));
        runtime.block_on(long(&store, length));
        let (mut number, at) = (0, envelope(1, length - 10, renamed()).cursor());
        group.bench_function(BenchmarkId::new("files", length), |bencher| {
            bencher.iter(|| {
                number += 1;
                let child = SessionId::from(format!("fork-{number}"));
                let first = [envelope(2, at.seq + 1, renamed())];
                runtime.block_on(async {
                    drop(store.fork(&session(), at, &child, &first).await.unwrap());
                });
            });
        });
    }
    group.finish();
}

fn renamed() -> robota_core::event::Renamed {
    robota_core::event::Renamed { name: "x".to_owned() }
}

fn append(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("append");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for (name, durability) in [("written", Durability::Written), ("synced", Durability::Synced)] {
        for kind in ["files", "sqlite"] {
            let folder = tempfile::tempdir().unwrap();
            let store = runtime.block_on(store(kind, folder.path()));
            let mut journal = runtime.block_on(store.create(&session())).unwrap();
            let mut seq = 0;
            group.bench_function(BenchmarkId::new(kind, name), |bencher| {
                bencher.iter(|| {
                    seq += 1;
                    runtime.block_on(journal.append(&events(seq..=seq), durability)).unwrap();
                });
            });
            drop(journal);
        }
    }
    group.finish();
}

/// Returns the appends of a turn with that many rounds, each with one call that has effects.
async fn turn(rounds: usize) -> Vec<(Vec<Arc<Envelope>>, Durability)> {
    let round = "- {text: On it., tools: [{tool: act, input: {}}]}\n";
    let journal = FailingJournal::new();
    Run::script(&format!("{}- {{text: Done.}}\n", round.repeat(rounds)))
        .tool(fn_tool("act", Class::Execute, |_| async { "done".to_owned() }))
        .gate(robota_core::gate::AllowEverything)
        .max_rounds(0)
        .journal(journal.clone())
        .prompt("Go.")
        .await;
    journal.appends().into_iter().map(|append| (append.events, append.durability)).collect()
}

/// Counts how often a turn with that many rounds waits for the disk.
async fn syncs(rounds: usize) -> u64 {
    let disk = SimDisk::new();
    let store = FileStore::new("/s").with_disk(Arc::new(disk.clone()));
    let mut journal = store.create(&session()).await.unwrap();
    for (events, durability) in turn(rounds).await {
        journal.append(&events, durability).await.unwrap();
    }
    disk.syncs()
}

fn fsyncs(_criterion: &mut Criterion) {
    let (few, many): (u64, u64) = runtime().block_on(both(syncs(10), syncs(60)));
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let per_round = (many - few) as f64 / 50.0;
    println!("fsyncs per round with one effect: {per_round:.2} (target 2)");
}

async fn both<A, B>(one: impl Future<Output = A>, two: impl Future<Output = B>) -> (A, B) {
    (one.await, two.await)
}

fn stores(criterion: &mut Criterion) {
    resume(criterion, "files", &async |folder| FileStore::new(folder.join("s")));
    resume(criterion, "sqlite", &async |folder| {
        SqliteStore::open(folder.join("db")).await.unwrap()
    });
}

criterion_group!(benches, fsyncs, resume_ratio, append, stores, list, fork);
criterion_main!(benches);
