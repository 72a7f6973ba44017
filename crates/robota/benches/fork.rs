//! Measures forking an open session. The claim: a fork at a safe point of a session of 100,000
//! events takes at most twice as long as one of 100 events.
//!
//! `fork` returns when the fork is stored. A fork of an earlier point then loads the messages that the
//! model sees, unless its open parent still has them, and its first call waits for that. So the bench
//! prints three times, each from the beginning: until the fork is stored, until its conversation can
//! be read, and until the end of its first turn.
//!
//! How long the conversation is depends on the context window, not on the length of the journal. So
//! that only the lengths of the journals differ, both sessions are compacted after every third turn:
//! at each place their conversations are equally long, and so are those that the last compactions
//! replaced. The bench prints how long they are.
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
/// The turns between two compactions, each with one safe point.
const TURNS: u64 = 3;
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
        let mut messages = [0, 0];
        for number in 0..FORKS {
            for (at, session) in [&short, &long].into_iter().enumerate() {
                let id = SessionId::from(format!("{name}-{at}-{number}").replace(' ', "-"));
                let begun = Instant::now();
                let since = || begun.elapsed().as_secs_f64() * 1e3;
                let child = session.fork(&places[at], Some(id)).await.unwrap();
                let stored = since();
                messages[at] = child.context().messages().await.unwrap().len();
                let read = since();
                child.run("Go on.").await.unwrap();
                times[at].push([stored, read, since()]);
                child.shutdown("measured").await.unwrap();
            }
        }
        let [few, many] = messages;
        println!("fork {name}, {kind}: conversations of {many} and {few} messages");
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
    loop {
        for _ in 0..TURNS {
            session.run("Go on.").await.unwrap();
        }
        if store.head(&id).await.unwrap().last.seq >= events {
            return session;
        }
        session.context().compact(None).await.unwrap();
    }
}

/// Returns the safe point in the middle that is the last one before a compaction.
async fn half_way(session: &Session) -> Selector {
    match session.snapshot(None).await.unwrap().place {
        Selector::SafePoint(last) => Selector::SafePoint(last / 2 / TURNS * TURNS),
        other => other,
    }
}
