//! Measures forking an open session. The claim: a fork at a safe point of a session of 100,000
//! events takes at most twice as long as one of 100 events.
//!
//! `fork` returns when the fork is stored. A fork of an earlier point then loads the messages that the
//! model sees, unless its open parent still has them, and its first call waits for that. So the bench
//! prints three times, each from the beginning: until the fork is stored, until its conversation can
//! be read, and until the end of its first turn.
//!
//! The conversation is at most as long as the context window, however long the journal is. The answers
//! here have the length of usual ones, and the sessions are compacted as usual: a session of 100 events
//! has a short conversation, a long session a long one.
//!
//! The two take turns, so that a slow moment of the disk falls on both, and the medians count.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_session::{Selector, Session};
use robota_store::{FileStore, SqliteStore};

const FORKS: usize = 20;
const SHORT: u64 = 100;
const LONG: u64 = 100_000;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        for kind in ["files", "sqlite"] {
            compare(kind).await;
        }
    });
}

async fn compare(kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    let store = store(kind, folder.path()).await;
    let short = session(&store, "short", SHORT).await;
    let long = session(&store, "long", LONG).await;
    let middle = [half_way(&short).await, half_way(&long).await];
    for (name, places) in
        [("at its end", [Selector::Latest, Selector::Latest]), ("at its middle", middle)]
    {
        let mut times: [Vec<[f64; 3]>; 2] = [Vec::new(), Vec::new()];
        for number in 0..FORKS {
            for (at, session) in [&short, &long].into_iter().enumerate() {
                let id = SessionId::from(format!("{name}-{at}-{number}").replace(' ', "-"));
                let begun = Instant::now();
                let since = || begun.elapsed().as_secs_f64() * 1e3;
                let child = session.fork(&places[at], Some(id)).await.unwrap();
                let stored = since();
                child.context().messages().await.unwrap();
                let read = since();
                child.run("Go on.").await.unwrap();
                times[at].push([stored, read, since()]);
                child.shutdown("measured").await.unwrap();
            }
        }
        for (step, until) in ["stored", "conversation read", "first turn"].iter().enumerate() {
            let [few, many] = [0, 1].map(|at| median(times[at].iter().map(|times| times[step])));
            println!(
                "fork of {LONG} events {name}, {kind}, {until}: {many:.2} ms, {:.2} times that of \
                 {SHORT} ({few:.2} ms)",
                many / few
            );
        }
    }
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

async fn store(kind: &str, folder: &Path) -> Arc<dyn JournalStore> {
    match kind {
        "files" => Arc::new(FileStore::new(folder.join("s"))),
        _ => Arc::new(SqliteStore::open(folder.join("db")).await.unwrap()),
    }
}

/// Creates a session of about this many events.
async fn session(store: &Arc<dyn JournalStore>, name: &str, events: u64) -> Session {
    let model = ScriptedProvider::new(Script::new().text("It is done. ".repeat(150)).looped());
    let id = SessionId::from(format!("agent:bench/session:{name}"));
    let builder = Session::builder(Arc::new(model), "model");
    let session = builder.create(store.clone(), Some(id.clone())).await.unwrap();
    while store.head(&id).await.unwrap().last.seq < events {
        for _ in 0..10 {
            session.run("Go on.").await.unwrap();
        }
    }
    session
}

/// Returns the safe point in the middle.
async fn half_way(session: &Session) -> Selector {
    match session.snapshot(None).await.unwrap().place {
        Selector::SafePoint(last) => Selector::SafePoint(last / 2),
        other => other,
    }
}
