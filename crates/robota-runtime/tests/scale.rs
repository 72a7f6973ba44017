//! Many sessions in one process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::model;
use futures::StreamExt as _;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore as _;
use robota_runtime::{Pool, PoolAgentOptions, PoolLimits, Template};
use robota_session::Session;
use robota_store::{DurabilityLevel, FileStore};

/// Returns how many descriptors of this process lead below a folder.
fn descriptors_below(folder: &std::path::Path) -> Option<usize> {
    let links = std::fs::read_dir("/proc/self/fd").ok()?;
    let targets = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    Some(targets.filter(|target| target.starts_with(folder)).count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_live_sessions_of_which_fifty_are_busy_all_finish() {
    const SESSIONS: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    // The test is about sessions, not about the disk.
    let store = Arc::new(FileStore::new(&root).with_level(DurabilityLevel::Relaxed));
    let limits = PoolLimits { idle_after: Duration::from_secs(3_600), ..PoolLimits::default() };
    let pool = Pool::builder(store.clone())
        .template(Template::new("dev", Session::builder(model(), "m")))
        .limits(limits)
        .start();
    let ids: Vec<SessionId> =
        (0..SESSIONS).map(|n| SessionId::from(format!("agent:dev/session:{n}"))).collect();
    let created = futures::stream::iter(&ids)
        .map(|id| pool.create(id.clone(), "dev", PoolAgentOptions::default()))
        .buffer_unordered(50)
        .filter(|created| std::future::ready(created.is_ok()));
    assert_eq!(created.count().await, SESSIONS);
    assert_eq!(pool.live(), SESSIONS);
    let answers = futures::stream::iter(&ids)
        .map(|id| async { pool.get(id).unwrap().run("work").await })
        .buffer_unordered(50)
        .filter(|answer| std::future::ready(answer.as_deref() == Ok("Done.")));
    assert_eq!(answers.count().await, SESSIONS);
    assert_eq!(pool.live(), SESSIONS);
    if let Some(open) = descriptors_below(&root) {
        assert!(open <= SESSIONS + 70, "{open} descriptors for {SESSIONS} sessions");
    }
    let closed = pool.passivate_idle().await;
    assert_eq!((closed, pool.live()), (SESSIONS, 0));
    if let Some(open) = descriptors_below(&root) {
        assert_eq!(open, 0, "a passive session has no descriptor");
    }
    // Any of them answers again.
    assert_eq!(pool.get(&ids[500]).unwrap().run("more").await.unwrap(), "Done.");
    assert_eq!(store.head(&ids[500]).await.unwrap().turns, 2);
    let report = pool.shutdown(Duration::from_secs(10)).await;
    assert_eq!((report.completed.len(), report.failed.len()), (1, 0));
}
