//! Pools of sessions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{TokioClock, builder, crash, events, model, said};
use futures::StreamExt as _;
use robota_core::event::Durability;
use robota_core::gate::{AllowAll, ModeGate};
use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PreToolDecision};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use robota_core::permission::{Class, Mode};
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota_core::state::State;
use robota_runtime::{
    NewSchedule, Pool, PoolAgentOptions, PoolError, PoolLimits, SessionSchedules as _, Template,
};
use robota_session::{EventFilter, Session, StartAt};
use robota_store::{DurabilityLevel, FileStore};
use robota_testkit::fn_tool;
use serde_json::json;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn id(name: &str) -> SessionId {
    SessionId::from(format!("org:acme/agent:dev/session:{name}"))
}

fn clock() -> TokioClock {
    TokioClock::starting("2026-01-01T00:30:00Z")
}

fn pool(store: &Arc<MemoryStore>, limits: PoolLimits) -> Pool {
    let clock = clock();
    Pool::builder(store.clone())
        .template(Template::new("dev", builder(clock)))
        .limits(limits)
        .clock(clock)
        .start()
}

fn plain() -> PoolAgentOptions {
    PoolAgentOptions::default()
}

#[tokio::test(start_paused = true)]
async fn kode_09_create_get_list_and_limits() {
    let store = Arc::new(MemoryStore::new());
    let limits = PoolLimits { max_sessions: 3, max_per_tenant: 2, ..PoolLimits::default() };
    let pool = pool(&store, limits);
    pool.create(id("a"), "dev", plain()).await.unwrap();
    pool.create(id("b"), "dev", plain()).await.unwrap();
    let twice = pool.create(id("a"), "dev", plain()).await.err().unwrap();
    assert_eq!(twice, PoolError::Exists(id("a")));
    let tenant = pool.create(id("c"), "dev", plain()).await.err().unwrap();
    assert_eq!(tenant, PoolError::TenantFull { tenant: "org:acme".to_owned(), limit: 2 });
    let other = SessionId::from("org:other/agent:dev/session:a");
    let named = PoolAgentOptions { name: Some("Ada".to_owned()), ..plain() };
    let agent = pool.create(other.clone(), "dev", named).await.unwrap();
    let info = agent.session().await.unwrap().info().await.unwrap();
    assert_eq!(info.name.as_deref(), Some("Ada"));
    let full = pool.create("user:u/agent:dev/session:a", "dev", plain()).await.err().unwrap();
    assert_eq!(full, PoolError::Full { limit: 3 });
    let unknown = pool.create("user:u/agent:x/session:a", "x", plain()).await.err().unwrap();
    assert_eq!(unknown, PoolError::NoTemplate("x".to_owned()));
    let listed: Vec<_> = pool.list("org:acme/").into_iter().map(|it| it.session).collect();
    assert_eq!(listed, [id("a"), id("b")]);
    assert_eq!((pool.len(), pool.live()), (3, 3));
    assert_eq!(pool.get(&id("a")).unwrap().run("hi").await.unwrap(), "Done.");
    assert!(pool.get(&id("c")).is_none());
    // A session that is removed makes room; its journal stays.
    assert!(pool.remove(&other).await.unwrap());
    assert!(!pool.remove(&other).await.unwrap());
    store.head(&other).await.unwrap();
    pool.resume(other.clone(), plain()).await.unwrap();
    assert!(pool.delete(&other).await.unwrap());
    assert!(store.head(&other).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn kode_09_an_idle_session_is_made_passive_and_woken_by_a_message() {
    let store = Arc::new(MemoryStore::new());
    let pool = pool(&store, PoolLimits { idle_after: MINUTE, ..PoolLimits::default() });
    let agent = pool.create(id("a"), "dev", plain()).await.unwrap();
    agent.run("one").await.unwrap();
    tokio::time::sleep(30 * Duration::from_secs(1)).await;
    assert_eq!(pool.live(), 1, "not idle for long enough");
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(pool.live(), 0);
    assert!(!pool.list("")[0].live);
    // The journal is closed: another process could open it.
    drop(store.open(&id("a")).await.unwrap());
    agent.send("two").await.unwrap();
    assert_eq!(pool.live(), 1);
    agent.run("three").await.unwrap();
    let said = said(&events(&*store, &id("a")).await, "");
    assert_eq!(said, ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn kode_09_a_session_in_use_stays_live_and_a_subscription_wakes_it() {
    let store = Arc::new(MemoryStore::new());
    let pool = pool(&store, PoolLimits { idle_after: MINUTE, ..PoolLimits::default() });
    let agent = pool.create(id("a"), "dev", plain()).await.unwrap();
    let held = agent.session().await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(pool.live(), 1);
    drop(held);
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(pool.live(), 0);
    let mut subscription = agent.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
    assert_eq!(pool.live(), 1);
    tokio::time::sleep(HOUR).await;
    assert_eq!(pool.live(), 1);
    assert!(subscription.next().await.unwrap().is_ok());
    drop(subscription);
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(pool.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn kode_09_a_schedule_wakes_a_passive_session_also_in_the_next_process() {
    let store = Arc::new(MemoryStore::new());
    let limits = PoolLimits { idle_after: MINUTE, ..PoolLimits::default() };
    let first = pool(&store, limits.clone());
    let agent = first.create(id("a"), "dev", plain()).await.unwrap();
    let session = agent.session().await.unwrap();
    session.schedule().add(NewSchedule::cron("0 * * * *", "hourly").id("h")).await.unwrap();
    drop(session);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(first.live(), 0);
    assert_eq!(first.list("")[0].due.unwrap().to_string(), "2026-01-01T01:00:00Z");
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(first.live(), 0, "it is passive between two runs");
    assert_eq!(said(&events(&*store, &id("a")).await, "hourly").len(), 2);
    let store = crash(&*store, &[&id("a")]).await;
    first.shutdown(Duration::ZERO).await;
    tokio::time::sleep(2 * HOUR).await;
    // The next process adds what is stored; the missed times fire at once.
    let clock = TokioClock::starting("2026-01-01T04:41:00Z");
    let next = Pool::builder(store.clone())
        .template(Template::new("dev", builder(clock)))
        .limits(limits)
        .clock(clock)
        .start();
    assert_eq!(next.resume_all("org:acme/").await.unwrap().added, 1);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(said(&events(&*store, &id("a")).await, "hourly").len(), 3);
    tokio::time::sleep(HOUR).await;
    assert_eq!(said(&events(&*store, &id("a")).await, "hourly").len(), 4);
    assert_eq!(next.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_least_recently_used_idle_session_makes_room() {
    let store = Arc::new(MemoryStore::new());
    let pool = pool(&store, PoolLimits { max_live: 2, ..PoolLimits::default() });
    for name in ["a", "b", "c"] {
        pool.create(id(name), "dev", plain()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let live = |pool: &Pool| -> Vec<SessionId> {
        pool.list("").into_iter().filter(|it| it.live).map(|it| it.session).collect()
    };
    assert_eq!(live(&pool), [id("b"), id("c")]);
    let b = pool.get(&id("b")).unwrap().session().await.unwrap();
    let c = pool.get(&id("c")).unwrap().session().await.unwrap();
    let busy = pool.get(&id("a")).unwrap().send("hi").await.unwrap_err();
    assert_eq!(busy, PoolError::AllBusy { limit: 2 });
    drop(b);
    pool.get(&id("a")).unwrap().send("hi").await.unwrap();
    assert_eq!(live(&pool), [id("a"), id("c")]);
    drop(c);
}

#[tokio::test]
async fn messages_during_passivation_arrive_once_each() {
    let store = Arc::new(MemoryStore::new());
    let pool = pool(&store, PoolLimits::default());
    pool.create(id("a"), "dev", plain()).await.unwrap();
    let passivating = {
        let pool = pool.clone();
        tokio::spawn(async move {
            for _ in 0..200 {
                pool.passivate_idle().await;
                tokio::task::yield_now().await;
            }
        })
    };
    let agent = pool.get(&id("a")).unwrap();
    for n in 0..40 {
        agent.send(format!("message {n}.")).await.unwrap();
        if n % 3 == 0 {
            tokio::task::yield_now().await;
        }
    }
    passivating.await.unwrap();
    agent.run("last").await.unwrap();
    let expected: Vec<String> = (0..40).map(|n| format!("message {n}.")).collect();
    assert_eq!(said(&events(&*store, &id("a")).await, "message"), expected);
}

#[tokio::test(start_paused = true)]
async fn kode_09_shutdown_waits_for_running_turns_and_then_interrupts_them() {
    let store = Arc::new(MemoryStore::new());
    let quick = ScriptedAnswer::new().pause(Duration::from_secs(5)).text("Done.");
    let quick = ScriptedProvider::new(Script::new().answer(quick).looped());
    let slow = ScriptedProvider::new(Script::new().answer(ScriptedAnswer::new().stall()).looped());
    let pool = Pool::builder(store.clone())
        .template(Template::new("quick", Session::builder(quick, "m")))
        .template(Template::new("slow", Session::builder(slow, "m")))
        .start();
    let (quick, slow) = ("agent:quick/session:a", "agent:slow/session:a");
    let idle = "agent:quick/session:idle";
    for (id, template) in [(quick, "quick"), (slow, "slow"), (idle, "quick")] {
        pool.create(id, template, plain()).await.unwrap();
    }
    let get = |id: &str| pool.get(&SessionId::from(id)).unwrap();
    get(quick).send("work").await.unwrap();
    get(slow).send("work").await.unwrap();
    get(slow).send("later").await.unwrap();
    let mut report = pool.shutdown(Duration::from_secs(30)).await;
    report.completed.sort();
    assert_eq!(report.completed, [SessionId::from(quick), SessionId::from(idle)]);
    assert_eq!(report.interrupted, [SessionId::from(slow)]);
    assert_eq!(report.failed, []);
    assert_eq!(get(quick).send("more").await.unwrap_err(), PoolError::Closing);
    let refused = pool.create("agent:quick/session:b", "quick", plain()).await;
    assert_eq!(refused.err().unwrap(), PoolError::Closing);
    // The input that waited is kept for the next process.
    let slow = SessionId::from(slow);
    let state = State::fold(&events(&*store, &slow).await).unwrap();
    assert_eq!(state.inputs.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn kode_14_a_session_delegates_to_a_named_template() {
    let store = Arc::new(MemoryStore::new());
    let input = json!({"subagent_type": "dev", "prompt": "Build it."});
    let wrong = json!({"subagent_type": "ceo", "prompt": "Build it."});
    let script = Script::new().tool("Agent", wrong).tool("Agent", input).text("All built.");
    let lead = ScriptedProvider::new(script);
    let pool = Pool::builder(store.clone())
        .template(
            Template::new("lead", Session::builder(lead.clone(), "m").gate(AllowAll))
                .sub_agents(["dev"]),
        )
        .template(Template::new("dev", Session::builder(model(), "m")).description("Builds."))
        .start();
    let lead_id = SessionId::from("org:acme/agent:lead/session:a");
    let agent = pool.create(lead_id.clone(), "lead", plain()).await.unwrap();
    assert_eq!(agent.run("Ship it.").await.unwrap(), "All built.");
    let request = &lead.requests()[0];
    let tool = request.tools.iter().find(|tool| tool.name == "Agent").unwrap();
    assert!(tool.description.ends_with("Agents:\n- dev: Builds."), "{}", tool.description);
    let heads = store.list(&robota_core::journal::SessionFilter::default()).await.unwrap();
    let child = heads.sessions.iter().find(|head| head.session != lead_id).unwrap();
    assert!(child.session.as_str().starts_with("org:acme/agent:dev/session:"));
    assert_eq!(child.spawned_by.as_ref().unwrap().session, lead_id);
    assert_eq!(said(&events(&*store, &child.session).await, ""), ["Build it."]);
    assert_eq!(pool.len(), 1, "a delegated session leaves the pool when it is done");
    let results = events(&*store, &lead_id).await;
    let text = format!("{results:?}");
    assert!(text.contains("Done."), "the answer is the result of the call");
}

#[tokio::test(start_paused = true)]
async fn kode_14_tasks_of_one_call_run_at_the_same_time_with_their_model() {
    let store = Arc::new(MemoryStore::new());
    let job = |prompt: &str| json!({"subagent_type": "dev", "prompt": prompt, "model": "other"});
    let jobs = json!({"jobs": [job("One."), job("Two.")]});
    let background = json!({"subagent_type": "dev", "prompt": "Three.", "run_in_background": true});
    let script = Script::new().tool("Agent", jobs).tool("Agent", background).text("All built.");
    let lead = ScriptedProvider::new(script);
    // Each answer takes a minute of paused time; both together take one.
    let slow = ScriptedAnswer::new().pause(MINUTE).text("Built.");
    let dev = ScriptedProvider::new(Script::new().answer(slow).looped());
    let pool = Pool::builder(store.clone())
        .template(
            Template::new("lead", Session::builder(lead.clone(), "m").gate(AllowAll))
                .sub_agents(["dev"]),
        )
        .template(Template::new("dev", Session::builder(dev.clone(), "m")))
        .start();
    let started = tokio::time::Instant::now();
    let agent = pool.create("agent:lead/session:a", "lead", plain()).await.unwrap();
    assert_eq!(agent.run("Ship it.").await.unwrap(), "All built.");
    assert_eq!(started.elapsed().as_secs() / 60, 1);
    assert!(dev.requests().iter().all(|request| request.model == "other"));
    assert_eq!(dev.requests().len(), 2, "the third was refused");
    let seen = format!("{:?}", lead.requests().pop().unwrap().messages);
    assert!(seen.contains("Built.") && seen.contains("leave out run_in_background"), "{seen}");
}

#[tokio::test(start_paused = true)]
async fn kode_14_delegation_has_a_depth() {
    let store = Arc::new(MemoryStore::new());
    let mut pool = Pool::builder(store.clone());
    let mut models = Vec::new();
    for at in 0..6 {
        let next = format!("t{}", at + 1);
        let call = json!({"subagent_type": next, "prompt": "Go on."});
        let model = ScriptedProvider::new(Script::new().tool("Agent", call).text("Done."));
        let builder = Session::builder(model.clone(), "m").gate(AllowAll);
        pool = pool.template(Template::new(format!("t{at}"), builder).sub_agents([next]));
        models.push(model);
    }
    let pool = pool.start();
    let agent = pool.create("agent:t0/session:a", "t0", plain()).await.unwrap();
    assert_eq!(agent.run("Go.").await.unwrap(), "Done.");
    let sessions = store.list(&robota_core::journal::SessionFilter::default()).await.unwrap();
    assert_eq!(sessions.sessions.len(), 5, "four below the first");
    let offered = |at: usize| !models[at].requests()[0].tools.is_empty();
    assert!(offered(3) && !offered(4), "the last one is not offered the tool");
    assert!(models[5].requests().is_empty());
}

/// Denies calls whose arguments contain "denied".
struct NoBadNames;

#[async_trait::async_trait]
impl Hooks for NoBadNames {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PreToolUse
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let denied = format!("{input:?}").contains("denied");
        let reason = "the hook of the template".to_owned();
        let decision =
            if denied { PreToolDecision::Deny { reason } } else { PreToolDecision::Continue };
        HookAnswer::PreToolUse(decision).into()
    }
}

#[tokio::test(start_paused = true)]
async fn kode_09_a_template_has_its_permissions_and_hooks() {
    let store = Arc::new(MemoryStore::new());
    let call = |name: &str| json!({"name": name});
    let script = Script::new()
        .tool("Touch", call("denied by the hook"))
        .tool("Touch", call("allowed"))
        .text("Done.")
        .looped();
    let touched: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let template = |id: &str, mode: Mode| {
        let seen = touched.clone();
        let touch = fn_tool("Touch", Class::Modify, move |input| {
            let name = input["name"].as_str().unwrap_or_default().to_owned();
            seen.lock().unwrap().push(name);
            async { "touched".to_owned() }
        });
        let model = ScriptedProvider::new(script.clone());
        let builder = Session::builder(model, "m").gate(ModeGate(mode)).tool(touch);
        Template::new(id, builder.hooks(NoBadNames))
    };
    let pool = Pool::builder(store.clone())
        .template(template("editor", Mode::AcceptEdits))
        .template(template("reader", Mode::Plan))
        .start();
    for name in ["reader", "editor"] {
        let id = format!("agent:{name}/session:a");
        let agent = pool.create(id.as_str(), name, plain()).await.unwrap();
        assert_eq!(agent.run("Go.").await.unwrap(), "Done.");
    }
    // Plan mode denies both calls of the reader; the hook denies the first one of the editor.
    assert_eq!(*touched.lock().unwrap(), ["allowed"]);
    let of = async |name: &str| {
        let id = SessionId::from(format!("agent:{name}/session:a"));
        format!("{:?}", events(&*store, &id).await)
    };
    assert!(of("editor").await.contains("the hook of the template"));
    assert!(!of("reader").await.contains("the hook of the template"));
}

#[tokio::test]
async fn kode_09_a_session_that_is_being_opened_at_a_shutdown_is_not_left_open() {
    let store = Arc::new(MemoryStore::new());
    let pool = pool(&store, PoolLimits { max_live: 1, ..PoolLimits::default() });
    let a = pool.create(id("a"), "dev", plain()).await.unwrap();
    pool.create(id("b"), "dev", plain()).await.unwrap();
    // It waits until the other one is passive.
    let mut waking = Box::pin(a.session());
    assert!(futures::poll!(&mut waking).is_pending());
    let (report, woken) = tokio::join!(pool.shutdown(Duration::from_secs(5)), waking);
    assert_eq!((report.interrupted, report.failed), (vec![], vec![]));
    drop(woken);
    assert_eq!(pool.live(), 0);
    for name in ["a", "b"] {
        drop(store.open(&id(name)).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn kode_09_each_session_is_made_passive_after_its_own_idle_time() {
    let store = Arc::new(MemoryStore::new());
    let pool = pool(&store, PoolLimits { idle_after: MINUTE, ..PoolLimits::default() });
    pool.create(id("a"), "dev", plain()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    pool.create(id("b"), "dev", plain()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(51)).await;
    assert_eq!(pool.live(), 1);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(pool.live(), 0, "71 s after the start");
}

#[tokio::test]
async fn kode_09_a_damaged_and_a_locked_session_do_not_hold_up_the_others() {
    let store = Arc::new(MemoryStore::new());
    let limits = PoolLimits { idle_after: MINUTE, ..PoolLimits::default() };
    let first = pool(&store, limits.clone());
    let names: Vec<String> = (0..20).map(|n| format!("s{n:02}")).collect();
    for name in &names {
        let agent = first.create(id(name), "dev", plain()).await.unwrap();
        let session = agent.session().await.unwrap();
        session.schedule().add(NewSchedule::cron("0 * * * *", "hourly")).await.unwrap();
        agent.run("one").await.unwrap();
    }
    // What a crash leaves: one journal is damaged, and one has an input that waits.
    let folder = tempfile::tempdir().unwrap();
    let after = Arc::new(FileStore::new(folder.path()).with_level(DurabilityLevel::Relaxed));
    for name in &names {
        let mut kept = events(&*store, &id(name)).await;
        if name == "s05" {
            let input = kept.iter().position(|it| it.event.kind() == "input_accepted");
            kept.truncate(input.unwrap() + 1);
        }
        let kept: Vec<_> = kept.into_iter().map(Arc::new).collect();
        let mut journal = after.create(&id(name)).await.unwrap();
        journal.append(&kept, Durability::Synced).await.unwrap();
    }
    let (file, _) = after.journal_files(&id("s03")).unwrap().remove(0);
    let mut lines: Vec<_> =
        std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    lines[2] = "{\"damaged\"".to_owned();
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    first.shutdown(Duration::ZERO).await;
    // Another process has it open.
    let other = after.open(&id("s05")).await.unwrap();
    let clock = clock();
    let next = Pool::builder(after.clone())
        .template(Template::new("dev", builder(clock)))
        .limits(limits)
        .clock(clock)
        .start();
    let resumed = next.resume_all("org:acme/").await.unwrap();
    let mut failed: Vec<_> = resumed.failed.iter().map(|(id, _)| id.clone()).collect();
    failed.sort();
    assert_eq!(failed, [id("s03"), id("s05")], "{:?}", resumed.failed);
    assert_eq!((resumed.added, next.len()), (19, 19));
    assert!(next.get(&id("s03")).is_none());
    // Every session that was added wakes for its schedule.
    assert!(next.list("").iter().all(|it| it.due.is_some()), "{:?}", next.list(""));
    // The waiting input is delivered when the other process has closed the session.
    drop(other);
    next.get(&id("s05")).unwrap().run("two").await.unwrap();
    assert_eq!(said(&events(&*after, &id("s05")).await, ""), ["one", "two"]);
}
