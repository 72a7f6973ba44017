//! What an idle session of a pool costs: the bytes that the program has allocated, and descriptors. The
//! benchmark `idle` measures more sessions, and times.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use robota::Provider;
use robota::core::call::CallContext;
use robota::core::ids::SessionId;
use robota::core::provider::{DeltaStream, ModelRequest, ProviderError};
use robota::core::scripted::{Script, ScriptedProvider};
use robota::core::tool::{Tool, ToolFactory, ToolScope};
use robota::exec::Supervisor;
use robota::runtime::{Pool, PoolAgentOptions, PoolLimits, Template};
use robota::session::Session;
use robota::tools::{ToolWorkspace, tools};
use robota_store::{DurabilityLevel, FileStore};
use robota_testkit::CountingAllocator;

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

const SESSIONS: usize = 200;

/// The most bytes of a session with the whole tool set after one turn, and of a passive one.
const LIVE: i64 = 60_000;
const PASSIVE: i64 = 2_000;

/// Counts the descriptors of this process that lead below the folder; none on other systems.
fn descriptors(folder: &Path) -> Option<usize> {
    let links = std::fs::read_dir("/proc/self/fd").ok()?;
    let targets = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    Some(targets.filter(|target| target.starts_with(folder)).count())
}

/// Waits until a session takes at most `most` bytes: the tasks of a turn that ended may not have freed
/// theirs yet.
async fn each_takes_at_most(most: i64, before: i64) -> i64 {
    let count = i64::try_from(SESSIONS).unwrap();
    let each = || (CountingAllocator::allocated() - before) / count;
    let ended = async {
        while each() > most {
            tokio::task::yield_now().await;
        }
    };
    let small = tokio::time::timeout(Duration::from_secs(10), ended).await.is_ok();
    assert!(small, "each session takes {} bytes; at most {most} are expected", each());
    each()
}

#[tokio::test]
async fn an_idle_session_with_all_tools_is_small_and_a_passive_one_nearly_nothing() {
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
        .tool_factory(Arc::new(make) as Arc<dyn ToolFactory>);
    let idle_after = Duration::from_secs(86_400);
    let pool = Pool::builder(store)
        .template(Template::new("dev", builder))
        .limits(PoolLimits { idle_after, ..PoolLimits::default() })
        .start();
    let run = async |name: String| {
        let id = SessionId::from(format!("agent:dev/session:{name}"));
        let agent = pool.create(id, "dev", PoolAgentOptions::default()).await.unwrap();
        agent.run("Hello.").await.unwrap();
    };
    // The first one makes what all share.
    run("first".to_owned()).await;
    pool.passivate_idle().await;
    let before = CountingAllocator::allocated();
    for n in 0..SESSIONS {
        run(format!("{n:03}")).await;
    }
    assert_eq!(pool.live(), SESSIONS);
    let live = each_takes_at_most(LIVE, before).await;
    assert!(live > 1_000, "{live} bytes: the sessions are not counted");
    if let Some(open) = descriptors(&root) {
        // One lock each, and the files with events that are not synced yet.
        assert!(open <= SESSIONS + 70, "{open} descriptors of {SESSIONS} live sessions");
    }
    assert_eq!(pool.passivate_idle().await, SESSIONS);
    each_takes_at_most(PASSIVE, before).await;
    assert!(descriptors(&root).is_none_or(|open| open == 0));
    pool.shutdown(Duration::from_secs(5)).await;
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
