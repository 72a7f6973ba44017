//! Measures idle sessions: memory and file descriptors of a live session with the whole tool set
//! and of a passive one, and the time to wake one from files; for 100, 1,000 and 10,000 sessions.
//!
//! The claims: a live session takes at most 60 KB and one descriptor, a passive one 2 KB and none,
//! waking takes at most 5 ms, and neither grows with the number of sessions. Memory is what the
//! program has allocated, counted by its allocator.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use robota::Provider;
use robota::core::call::CallContext;
use robota::core::ids::SessionId;
use robota::core::provider::{DeltaStream, ModelRequest, ProviderError};
use robota::core::scripted::{Script, ScriptedProvider};
use robota::core::tool::{Tool, ToolScope};
use robota::exec::Supervisor;
use robota::runtime::{Pool, PoolAgentOptions, PoolLimits, Template};
use robota::session::Session;
use robota::tools::{ToolWorkspace, tools};
use robota_store::{DurabilityLevel, FileStore};
use robota_testkit::CountingAllocator;

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let profile = if cfg!(debug_assertions) { "with debug assertions" } else { "optimised" };
    println!("idle sessions in files, whole tool set, after one turn ({profile})");
    println!("sessions | live: KB, descriptors | passive: KB, descriptors | wake: median, p99");
    let runtime = runtime.unwrap();
    for count in [100, 1_000, 10_000] {
        runtime.block_on(measure(count));
    }
}

/// Measures this many sessions. At most 1,000 of them are live at a time, as in a process with the
/// usual limit of descriptors; the others are passive already.
async fn measure(sessions: usize) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let store = Arc::new(FileStore::new(&root).with_level(DurabilityLevel::Relaxed));
    // As large as that of a usual shell.
    let variables = (0..60).map(|n| (format!("VARIABLE_{n}"), "value ".repeat(10)));
    let place = ToolWorkspace::new(root.clone(), Supervisor::new(), variables.collect());
    let make = move |scope: &ToolScope| -> Vec<Arc<dyn Tool>> {
        tools(&place.for_session(scope.blobs.clone()))
    };
    let builder = Session::builder(Answering, "some-model")
        .system("You are a helpful assistant.")
        .tool_factory(Arc::new(make) as Arc<dyn robota::core::tool::ToolFactory>);
    let live = sessions.min(900);
    let idle_after = Duration::from_secs(86_400);
    let pool = Pool::builder(store)
        .template(Template::new("dev", builder))
        .limits(PoolLimits { max_live: live, idle_after, ..PoolLimits::default() })
        .start();
    let ids: Vec<SessionId> =
        (0..sessions).map(|n| SessionId::from(format!("agent:dev/session:{n:06}"))).collect();
    let before = CountingAllocator::allocated();
    let open_before = descriptors(&root);
    let mut runs = futures::stream::iter(&ids)
        .map(|id| async {
            let agent = pool.create(id.clone(), "dev", PoolAgentOptions::default()).await.unwrap();
            agent.run("Hello.").await.unwrap();
        })
        .buffer_unordered(8);
    while runs.next().await.is_some() {}
    drop(runs);
    settle().await;
    let all = CountingAllocator::allocated() - before;
    let live_open = descriptors(&root) - open_before;
    let live_now = pool.live();
    pool.passivate_idle().await;
    settle().await;
    let passive = CountingAllocator::allocated() - before;
    let passive_open = descriptors(&root) - open_before;
    let mut waking = Vec::new();
    for id in ids.iter().step_by((sessions / 100).max(1)) {
        let start = Instant::now();
        let open = pool.get(id).unwrap().session().await.unwrap();
        waking.push(start.elapsed());
        drop(open);
        pool.passivate_idle().await;
    }
    waking.sort();
    let kb = |bytes: i64, count: usize| bytes as f64 / 1_000.0 / count as f64;
    println!(
        "{sessions:>8} | {:>6.1}, {:.3} | {:>5.2}, {} | {:?}, {:?}",
        kb(all - passive, live_now),
        live_open as f64 / live_now as f64,
        kb(passive, sessions),
        passive_open,
        waking[waking.len() / 2],
        waking[waking.len() * 99 / 100],
    );
    pool.shutdown(Duration::from_secs(5)).await;
}

/// Waits until the tasks of ended sessions have ended.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

/// Counts the descriptors of this process that lead below the folder.
fn descriptors(folder: &Path) -> usize {
    let Ok(links) = std::fs::read_dir("/proc/self/fd") else { return 0 };
    let targets = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(folder)).count()
}

/// Answers every call the same, and keeps nothing: the scripted provider keeps all requests.
struct Answering;

#[robota::async_trait]
impl Provider for Answering {
    fn name(&self) -> &str {
        "answering"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let script = Script::new().text("Done.");
        ScriptedProvider::new(script).stream(request, context).await
    }
}
