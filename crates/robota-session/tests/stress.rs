//! A thousand sessions on several threads: tools that print fast, approvals decided by other tasks,
//! interrupts, forks, drops, and a store that fails. Afterwards every journal validates, every call
//! has one result, output is in order, and no task is left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::*;
use robota_core::approve::Scope;
use robota_core::event::{Durability, Envelope, Event};
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::{Journal, JournalError, MemoryStore};
use robota_core::permission::{Class, Verdict};
use robota_core::resume::{load, load_whole};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_session::replay::validate;
use robota_session::{
    Approvals, Decision, EventKind, Resume, Selector, Session, SessionBuilder, StartAt,
};
use robota_testkit::{ScriptedGate, ScriptedProvider, fn_tool};
use serde_json::Value;

const SESSIONS: usize = 1_000;
const PROMPTS: usize = 3;

/// Pseudo-random numbers that are the same in every run.
fn spread(a: usize, b: usize) -> usize {
    let mut x = (a as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (b as u64 + 1);
    x ^= x >> 31;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x >> 17) as usize
}

/// A store in memory whose writers sometimes fail: before the append, after it, and for so long
/// that the turn fails.
#[derive(Clone)]
struct Flaky {
    inner: MemoryStore,
    writers: Arc<AtomicUsize>,
    failures: Arc<AtomicUsize>,
}

struct FlakyWriter {
    inner: Box<dyn Journal>,
    store: Flaky,
    number: usize,
    appends: usize,
    outage: usize,
}

impl Flaky {
    fn wrap(&self, inner: Box<dyn Journal>) -> Box<dyn Journal> {
        let number = self.writers.fetch_add(1, Ordering::SeqCst);
        let store = self.clone();
        Box::new(FlakyWriter { inner, store, number, appends: 0, outage: 0 })
    }
}

impl FlakyWriter {
    fn failed(&self) -> JournalError {
        self.store.failures.fetch_add(1, Ordering::SeqCst);
        let place = "the store of the test".to_owned();
        JournalError::Io { action: "append to", place, reason: "a failure on purpose".to_owned() }
    }
}

#[async_trait::async_trait]
impl Journal for FlakyWriter {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        // Let other tasks run in the middle of it.
        tokio::task::yield_now().await;
        self.appends += 1;
        if self.outage > 0 {
            self.outage -= 1;
            return Err(self.failed());
        }
        // The first appends create the session; they do not fail in this test.
        match spread(self.number, self.appends) % 97 {
            0 if self.appends > 3 => Err(self.failed()),
            1 if self.appends > 3 => {
                self.inner.append(events, durability).await?;
                Err(self.failed())
            }
            2 if self.appends > 3 => {
                self.outage = 3;
                Err(self.failed())
            }
            _ => self.inner.append(events, durability).await,
        }
    }
}

store_around!(Flaky, |store: &Flaky| store.inner.clone(), Flaky::wrap);

/// Prints numbered lines as fast as it can.
struct Printer(ToolSpec);

const LINES: usize = 200;

#[async_trait::async_trait]
impl Tool for Printer {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: Value, context: ToolContext) -> ToolOutcome {
        for n in 0..LINES {
            if context.scope.cancel.is_cancelled() {
                return ToolOutcome::failed("cancelled", "stopped");
            }
            context.progress.show(format!("{n}\n"));
            if n % 50 == 0 {
                tokio::task::yield_now().await;
            }
        }
        ToolOutcome::ok("printed")
    }
}

fn spec(name: &str, class: Class) -> ToolSpec {
    fn_tool(name, class, |_| async { ToolOutcome::ok("") }).spec().clone()
}

fn build() -> SessionBuilder {
    let script = "- tools: [print, look, print]\n- text: One.\n- tools: [act, print]\n\
                  - text: Two.\n- tools: [act, act]\n- text: Three.";
    let model = ScriptedProvider::new(yaml(script).looped());
    let gate = ScriptedGate::new(Verdict::Allow).on("act", Verdict::Ask);
    Session::builder(Arc::new(model), "m")
        .tools(tool(Printer(spec("print", Class::Inspect))))
        .tools(tool(echo("look", Class::Inspect)))
        .tools(tool(echo("act", Class::Execute)))
        .gate(Arc::new(gate))
        .approvals(Approvals::Decide)
        .configure(|config| config.append_retries = vec![Duration::from_millis(1); 2])
}

/// Answers every question, as another client would.
async fn answer(session: Session, number: usize) -> tokio::task::JoinHandle<()> {
    let mut asked = session.subscribe(StartAt::Now, [EventKind::PermissionAsk]).await.unwrap();
    tokio::spawn(async move {
        let mut count = 0;
        while let Some(Ok(event)) = asked.next_event().await {
            let Event::PermissionAsked(data) = event.event() else { continue };
            count += 1;
            let decision = match spread(number, count) % 3 {
                0 => Decision::Deny,
                _ => Decision::Allow(Scope::Once),
            };
            let _ = session.permissions().decide(&data.call, decision, None).await;
        }
    })
}

/// Runs one session: prompts, interrupts, forks, chats that are dropped, and one of three ends.
async fn run_session(number: usize, store: Flaky) -> Vec<SessionId> {
    let session = build().create(Arc::new(store), None).await.unwrap();
    let client = answer(session.clone(), number).await;
    let mut ids = vec![session.id().clone()];
    for prompt in 0..PROMPTS {
        match spread(number, 100 + prompt) % 6 {
            0 => {
                let _ = session.send("Go").await;
                let _ = session.interrupt(None).await;
            }
            1 => {
                let (_, fork) =
                    tokio::join!(session.run("Go"), session.fork(&Selector::Latest, None));
                if let Ok(fork) = fork {
                    ids.push(fork.id().clone());
                    let client = answer(fork.clone(), number).await;
                    let _ = fork.run("On").await;
                    let _ = fork.shutdown("done").await;
                    client.await.unwrap();
                }
            }
            2 => tokio::select! {
                _ = session.run("Go") => {}
                () = async { for _ in 0..20 { tokio::task::yield_now().await } } => {}
            },
            _ => {
                let _ = session.run("Go").await;
            }
        }
    }
    match number % 3 {
        0 => {
            let _ = session.shutdown("done").await;
        }
        1 => {}
        _ => {
            let _ = session.send("Never mind").await;
        }
    }
    client.abort();
    let _ = client.await;
    ids
}

/// Checks the invariants of a session's journal.
async fn inspect(id: &SessionId, store: &MemoryStore) {
    let store = Arc::new(store.clone());
    // The task of a session whose last handle was dropped may still be closing it.
    let session = loop {
        match build()
            .resume(store.clone(), id, Resume { deliver: false, ..Resume::default() })
            .await
        {
            Ok(session) => break session,
            Err(error) => {
                assert!(error.to_string().contains("open in another process"), "{id}: {error}");
                tokio::task::yield_now().await;
            }
        }
    };
    let messages = session.context().messages().await.unwrap();
    session.shutdown("inspected").await.unwrap();
    let events = journal(&*store, id).await;
    check(&events, &messages);
    let report = validate::session(&*store, id).await.unwrap();
    assert!(report.ok(), "{id}: {report:?}");
    assert_eq!(load(&*store, id).await.unwrap(), load_whole(&*store, id).await.unwrap());

    let mut output = HashMap::<CallId, String>::new();
    let mut whole = HashSet::<CallId>::new();
    for event in &events {
        match &event.event {
            Event::ToolOutput(data) => {
                output.entry(data.call.clone()).or_default().push_str(&data.text);
            }
            Event::ToolFinished(data) if data.outcome.ok && data.outcome.text() == "printed" => {
                whole.insert(data.call.clone());
            }
            _ => {}
        }
    }
    let printed: String = (0..LINES).map(|n| format!("{n}\n")).collect();
    for (call, text) in &output {
        assert!(printed.starts_with(text), "{id} {call}: out of order: {text:?}");
    }
    for call in &whole {
        assert_eq!(output.get(call), Some(&printed), "{id} {call}: some of its output is missing");
    }
}

#[test]
fn a_thousand_sessions_under_stress() {
    on_threads(async || {
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.num_alive_tasks();
        let (writers, failures) = (Arc::default(), Arc::default());
        let store = Flaky { inner: MemoryStore::new(), writers, failures };
        let mut sessions = tokio::task::JoinSet::new();
        for number in 0..SESSIONS {
            sessions.spawn(run_session(number, store.clone()));
        }
        let ids: Vec<SessionId> = sessions.join_all().await.into_iter().flatten().collect();
        assert!(ids.len() > SESSIONS, "some were forked");
        assert!(store.failures.load(Ordering::SeqCst) > SESSIONS, "the store failed often");
        for id in &ids {
            inspect(id, &store.inner).await;
        }
        while metrics.num_alive_tasks() > before {
            tokio::task::yield_now().await;
        }
    });
}
