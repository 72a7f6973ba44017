//! Stores that fail: a commit whose answer is lost, and a database that loses what it had not
//! synced. The session repairs this, or ends with an error that says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use robota_core::error::{Diagnose as _, ErrorKind};
use robota_core::event::{Durability, Envelope, Event};
use robota_core::journal::{Journal, JournalError, JournalStore as _, LostReason, MemoryStore};
use robota_core::message::Message;
use robota_core::permission::Class;
use robota_core::resume::load_whole;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_session::{
    EventFilter, EventKind, SendOptions, Session, SessionBuilder, SessionError, SessionState,
    StartAt, WeakSession,
};
use robota_testkit::{CountingIds, Script, ScriptedAnswer};
use serde_json::{Map, json};
use tokio::sync::Notify;

fn busy() -> (SessionBuilder, Vec<&'static str>) {
    let script = "- tools: [look, act]\n- text: One.\n- tools: [act]\n- text: Two.\n- text: Three.";
    let (builder, _) = builder(yaml(script));
    let builder = builder
        .tools(tool(echo("look", Class::Inspect)))
        .tools(tool(echo("act", Class::Execute)))
        .gate(allow());
    (builder, vec!["One.", "Two.", "Three."])
}

async fn watch(session: &Session) -> tokio::task::JoinHandle<Vec<Arc<Envelope>>> {
    let mut events = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
    tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(event) = events.next_event().await {
            seen.push(event.unwrap().envelope);
        }
        seen
    })
}

/// If the answer of any append is lost, its events are still written once, and clients see no
/// failure.
#[test]
fn sess_08_a_lost_commit_answer_is_repaired_whichever_append_it_was() {
    both_runtimes(async || {
        let mut tried = 0;
        for nth in 1.. {
            let (builder, answers) = busy();
            let store = Failing::new();
            store.lose_answer(nth);
            let retries = vec![std::time::Duration::from_millis(1)];
            let builder = builder.configure(|config| config.append_retries = retries.clone());
            let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
            let watcher = watch(&session).await;
            for answer in answers {
                assert_eq!(session.run("Go").await.unwrap(), answer, "append {nth}");
            }
            let messages = session.context().messages().await.unwrap();
            session.shutdown("end").await.unwrap();
            let events = journal(&store, session.id()).await;
            check(&events, &messages);
            let seen: Vec<_> =
                watcher.await.unwrap().iter().map(|event| (**event).clone()).collect();
            assert_eq!(seen, events, "append {nth}: watchers saw each event once");
            tried = nth;
            if store.appends() < nth {
                break;
            }
        }
        assert!(tried > 20, "{tried} appends");
    });
}

/// Without a retry the turn fails and reports it; the next send writes what is missing, once.
#[test]
fn sess_08_a_lost_commit_answer_never_blocks_a_session() {
    both_runtimes(async || {
        for nth in 1.. {
            let (builder, _) = busy();
            let store = Failing::new();
            let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
            let nth = store.appends() + nth;
            store.lose_answer(nth);
            let mut failed = 0;
            for _ in 0..3 {
                failed += usize::from(session.run("Go").await.is_err());
            }
            assert!(failed <= 1, "append {nth}: one failure, and the session is not blocked");
            let messages = session.context().messages().await.unwrap();
            // The lost answer may be the one of the very last append.
            let closed = session.shutdown("end").await;
            assert!(closed.is_ok() || (failed == 0 && store.appends() == nth), "append {nth}");
            check(&journal(&store, session.id()).await, &messages);
            if store.appends() < nth {
                break;
            }
        }
    });
}

/// An append between two turns fails, and nobody sends anything after it: the input that waits behind
/// it is delivered all the same, once the journal can be written.
#[tokio::test(start_paused = true)]
async fn sess_08_an_input_behind_a_failed_append_is_not_forgotten() {
    let script =
        Script::new().answer(ScriptedAnswer::new().gate("first").text("One.")).text("Two.");
    let (builder, model) = builder(script);
    let store = Failing::new();
    let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
    let mut answers = session.subscribe(StartAt::Start, [EventKind::Text]).await.unwrap();
    session.send("First").await.unwrap();
    model.reached("first").await;
    session.send("Second").await.unwrap();
    // It waits for the end of the turn, and then fails.
    let context = session.context();
    let note = Message::user(&CountingIds::default(), "A note.");
    let mut inject = std::pin::pin!(context.inject(note));
    assert!(futures::poll!(&mut inject).is_pending());
    store.fail_kind("message_injected");
    model.release("first");
    inject.await.unwrap_err();

    let both = async {
        answers.next_event().await.unwrap().unwrap();
        answers.next_event().await.unwrap().unwrap();
    };
    let minute = std::time::Duration::from_secs(60);
    tokio::time::timeout(minute, both).await.expect("the second input is delivered");
    let messages = session.context().messages().await.unwrap();
    session.shutdown("end").await.unwrap();
    check(&journal(&store, session.id()).await, &messages);
}

#[tokio::test(start_paused = true)]
async fn sess_08_a_turn_that_starts_again_has_the_options_of_its_input() {
    let (builder, model) = builder(Script::new().text("One.").text("Two."));
    let store = Failing::new();
    let session = builder.system("Be brief.").create(Arc::new(store.clone()), None).await.unwrap();
    let mut answers = session.subscribe(StartAt::Start, [EventKind::Text]).await.unwrap();
    // What the first turn announces before it starts.
    store.fail_kind("prompt_set");
    let options = SendOptions { model: Some("small".to_owned()), ..SendOptions::default() };
    session.send_with("First", options).await.unwrap();
    let minute = std::time::Duration::from_secs(60);
    tokio::time::timeout(minute, answers.next_event()).await.unwrap().unwrap().unwrap();
    session.run("Second").await.unwrap();
    let models: Vec<_> = model.requests().into_iter().map(|request| request.model).collect();
    assert_eq!(models, ["small", "test-model"]);
}

/// When a session has ended because its journal failed or was lost, it can be opened again at once:
/// the journal is released before anyone learns of the end.
#[test]
fn sess_08_the_journal_is_released_before_the_end_is_published() {
    on_threads(async || {
        for _ in 0..200 {
            let (builder, _) = busy();
            let store = Failing::new();
            let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
            store.lost.cancel();
            WeakSession::from(&session).ended().await;
            let opened = store.inner.open(session.id()).await;
            assert!(opened.is_ok(), "{:?}", opened.err());
        }
    });
}

/// The lease is lost while an append does not return: the session ends, its running call is cancelled,
/// and every caller gets the reason, also one that shuts the session down.
#[test]
fn sess_08_a_lost_lease_ends_a_session_whose_append_hangs() {
    both_runtimes(async || {
        for shutdown in [false, true] {
            let (builder, _) = builder(yaml("- tools: [wait]\n- text: Never."));
            let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let wait = Waiting {
                spec: echo("wait", Class::Execute).spec().clone(),
                started: Arc::clone(&started),
                ended: Arc::clone(&ended),
            };
            let store = Failing::new();
            let session = builder
                .tools(tool(wait))
                .gate(allow())
                .create(Arc::new(store.clone()), None)
                .await
                .unwrap();
            let running = session.clone();
            let run = tokio::spawn(async move { running.run("Go").await });
            started.notified().await;
            store.hang();
            let mut hanging = Box::pin(async {
                if shutdown {
                    session.shutdown("end").await
                } else {
                    session.send("More").await.map(|_| ())
                }
            });
            // The task handles the request, and is then in the append.
            let appends = store.appends();
            while store.appends() == appends {
                assert!(futures::poll!(&mut hanging).is_pending());
                tokio::task::yield_now().await;
            }
            store.lost.cancel();
            let lost = |error: SessionError| {
                let lost = SessionError::Journal(JournalError::Lost {
                    session: session.id().clone(),
                    reason: LostReason::TakenOver { owner: None },
                });
                assert_eq!(error.to_string(), lost.to_string());
            };
            lost(hanging.await.unwrap_err());
            lost(run.await.unwrap().unwrap_err());
            lost(session.status().await.unwrap_err());
            ended.notified().await;
        }
    });
}

/// The store answers again: whoever subscribes to the lost session reads all that was stored.
#[tokio::test]
async fn sess_08_a_session_whose_lease_was_not_renewed_can_be_read_by_its_subscribers() {
    let (builder, _) = builder(Script::new().text("One."));
    let store = Failing::new();
    let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
    session.run("First").await.unwrap();
    let stored = journal(&store, session.id()).await.len();
    store.silent.store(true, std::sync::atomic::Ordering::SeqCst);
    session.send("Second").await.unwrap_err();
    let mut all = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
    let mut seen = 0;
    while let Some(event) = all.next_event().await {
        seen = event.unwrap().cursor().seq;
    }
    assert_eq!(usize::try_from(seen).unwrap(), stored);
}

/// Runs until it is stopped.
struct Waiting {
    spec: ToolSpec,
    started: Arc<Notify>,
    ended: Arc<Notify>,
}

/// Notifies when a call ends, in whatever way.
struct NotifyEnd(Arc<Notify>);

impl Drop for NotifyEnd {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait::async_trait]
impl Tool for Waiting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _input: serde_json::Value, context: ToolContext) -> ToolOutcome {
        let _end = NotifyEnd(Arc::clone(&self.ended));
        self.started.notify_one();
        context.scope.cancel.cancelled().await;
        ToolOutcome::ok("stopped")
    }
}

/// A background retry of the journal is one attempt: a request that comes meanwhile does not wait for
/// the delays of an append that belongs to a turn.
#[tokio::test(start_paused = true)]
async fn sess_08_a_background_retry_does_not_delay_requests() {
    let (builder, _) = busy();
    let store = Failing::new();
    let retries = vec![std::time::Duration::from_secs(600); 3];
    let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
    session.shutdown("end").await.unwrap();
    let builder = busy().0.configure(|config| config.append_retries = retries.clone());
    let resumed = builder.resume(Arc::new(store.clone()), session.id(), Default::default());
    let session = resumed.await.unwrap();
    store.fail(store.appends() + 1, usize::MAX);
    // An hour later, after its retries, the append has failed.
    session.rename("First").await.unwrap_err();
    let failed = store.appends();
    while store.appends() < failed + 3 {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    let asked = tokio::time::Instant::now();
    session.status().await.unwrap();
    assert!(asked.elapsed() < std::time::Duration::from_secs(1), "{:?}", asked.elapsed());
}

/// A database that keeps only synced events when it crashes.
#[derive(Clone)]
struct Forgetful {
    inner: MemoryStore,
    unsynced: Arc<Mutex<Vec<Arc<Envelope>>>>,
}

struct ForgetfulWriter {
    inner: Box<dyn Journal>,
    store: Forgetful,
    /// The last event that the database has.
    last: u64,
}

impl Forgetful {
    fn wrap(&self, inner: Box<dyn Journal>) -> Box<dyn Journal> {
        Box::new(ForgetfulWriter { inner, store: self.clone(), last: 0 })
    }

    fn crash(&self) -> usize {
        self.unsynced.lock().unwrap().drain(..).count()
    }
}

#[async_trait::async_trait]
impl Journal for ForgetfulWriter {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let unsynced: Vec<_> = self.store.unsynced.lock().unwrap().clone();
        let next = unsynced.last().map_or(self.last + 1, |last| last.seq + 1);
        if events[0].seq > next {
            // The store's own check finds the gap and reports it.
            return self.inner.append(events, durability).await;
        }
        let all: Vec<_> = unsynced.into_iter().chain(events.iter().cloned()).collect();
        match durability {
            Durability::Written => *self.store.unsynced.lock().unwrap() = all,
            Durability::Synced => {
                self.inner.append(&all, durability).await?;
                self.last = all.last().map_or(self.last, |last| last.seq);
                self.store.unsynced.lock().unwrap().clear();
            }
        }
        Ok(())
    }
}

store_around!(Forgetful, |store: &Forgetful| store.inner.clone(), Forgetful::wrap);

/// The database restarts during an answer and has lost what was only written. The session still has
/// these events, and writes them again.
#[test]
fn sess_08_events_that_a_database_lost_are_written_again() {
    both_runtimes(async || {
        let script = Script::new()
            .answer(ScriptedAnswer::new().text("Half").gate("restart").text(" whole."))
            .text("After.");
        let (builder, model) = builder(script);
        let store = Forgetful { inner: MemoryStore::new(), unsynced: Arc::default() };
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        let running = session.clone();
        let run = tokio::spawn(async move { running.run("Go").await });
        model.reached("restart").await;
        while store.unsynced.lock().unwrap().len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(store.crash() > 0, "some events were lost");
        model.release("restart");
        assert_eq!(run.await.unwrap().unwrap(), "Half whole.");
        assert_eq!(session.run("And then?").await.unwrap(), "After.");
        let messages = session.context().messages().await.unwrap();
        session.shutdown("end").await.unwrap();
        let events = journal(&store, session.id()).await;
        check(&events, &messages);
        let state = load_whole(&store, session.id()).await.unwrap();
        assert_eq!(state.view.messages, messages, "nothing is missing");
        let chunk = |event: &&Envelope| matches!(event.event, Event::TextChunk(_));
        assert!(events.iter().find(chunk).is_some(), "what streamed before the crash too");
    });
}

/// A journal that another process continued cannot be repaired: the session ends with the reason.
#[test]
fn sess_08_a_journal_that_diverged_ends_the_session() {
    both_runtimes(async || {
        let (builder, _) = busy();
        let store = Failing::new();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        session.run("Go").await.unwrap();
        store.diverge();
        let error = session.run("Go").await.unwrap_err();
        assert!(error.to_string().contains("cannot follow"), "{error}");
        let error = session.run("Go").await.unwrap_err();
        assert!(error.to_string().contains("cannot follow"), "every later call says it: {error}");
        assert!(!matches!(
            session.status().await.map(|status| status.state),
            Ok(SessionState::Ready)
        ));
    });
}

/// Data that no store can read back is refused where it comes from, and the session works as before.
#[test]
fn sess_08_data_that_cannot_be_stored_is_refused() {
    both_runtimes(async || {
        let deep = || (0..300).fold(json!(1), |inner, _| json!([inner]));
        let metadata = || Map::from_iter([("deep".to_owned(), deep())]);
        let (builder, _) = builder(yaml("- tools: [act]\n- text: Done."));
        let spec = echo("act", Class::Execute).spec().clone();
        let act = Deep(spec, ToolOutcome { metadata: metadata(), ..ToolOutcome::ok("It acted.") });
        let store = memory();
        let session =
            builder.tools(tool(act)).gate(allow()).create(store.clone(), None).await.unwrap();
        let options = SendOptions { metadata: metadata(), ..SendOptions::default() };
        let error = session.send_with("Go", options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Validation, "{error}");
        assert!(error.to_string().contains("nested deeper"), "{error}");
        assert_eq!(session.run("Go").await.unwrap(), "Done.");
        let messages = session.context().messages().await.unwrap();
        session.shutdown("end").await.unwrap();
        let events = journal(&*store, session.id()).await;
        check(&events, &messages);
        assert_eq!(count(&events, "input_accepted"), 1);
        let finished = events.iter().find_map(|event| match &event.event {
            Event::ToolFinished(data) => Some(&data.outcome),
            _ => None,
        });
        let outcome = finished.unwrap();
        assert_eq!(outcome.error_code.as_deref(), Some("invalid_metadata"));
        assert!(outcome.text().contains("It acted."), "{outcome:?}");
        let mut line = Vec::new();
        assert!(events.iter().all(|event| event.encode(&mut line).is_ok()));
    });
}

/// Returns the same outcome for every call.
struct Deep(ToolSpec, ToolOutcome);

#[async_trait::async_trait]
impl Tool for Deep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: serde_json::Value, _context: ToolContext) -> ToolOutcome {
        self.1.clone()
    }
}

/// A compaction whose start cannot be written has ended: a session that still counts as compacting
/// takes no snapshots, and cannot be changed when it is closed.
#[tokio::test]
async fn sess_08_a_compaction_that_could_not_start_has_ended() {
    let (builder, _) = builder(Script::new().text("One."));
    let store = Failing::new();
    let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
    session.run("Go").await.unwrap();
    store.fail_kind("compaction_started");
    session.context().compact(None).await.unwrap_err();
    session.shutdown("end").await.unwrap();
    let state = load_whole(&store, session.id()).await.unwrap();
    assert!(!state.compacting);
    let clock = Arc::new(robota_core::clock::SystemClock);
    robota_session::rename_stored(&store, session.id(), "Named", clock).await.unwrap();
}
