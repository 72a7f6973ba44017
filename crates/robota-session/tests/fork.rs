//! Safe points, labels, forks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::*;
use robota_core::event::{Envelope, Event};
use robota_core::journal::{Journal, JournalError, JournalStore as _, MemoryStore};
use robota_core::permission::Class;
use robota_session::{
    EarlyLoad, EventFilter, EventKind, Resume, Selector, SessionError, SessionState, StartAt,
};
use robota_testkit::{Script, ScriptedAnswer, blocking_tool};

fn place(text: &str) -> Selector {
    text.parse().unwrap()
}

fn texts(messages: &[Arc<robota_core::message::Message>]) -> Vec<String> {
    messages.iter().map(|message| message.text()).collect()
}

#[test]
fn kode_04_a_fork_continues_from_a_safe_point_and_does_not_change_its_parent() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two.").text("Other."));
        let store = memory();
        let id = "agent:dev/session:main".into();
        let session = builder.create(store.clone(), Some(id)).await.unwrap();
        session.run("First").await.unwrap();
        session.run("Second").await.unwrap();
        assert_eq!(
            session.snapshot(None).await.unwrap().to_string(),
            "agent:dev/session:main@sfp:2"
        );
        let before = journal(&*store, session.id()).await;
        let child = session.fork(&place("sfp:1"), None).await.unwrap();
        assert!(child.id().as_str().starts_with("agent:dev/session:main/fork:"), "{}", child.id());
        assert_eq!(child.run("Instead").await.unwrap(), "Other.");
        let messages = child.context().messages().await.unwrap();
        assert_eq!(texts(&messages), ["First", "One.", "Instead", "Other."]);
        check(&journal(&*store, child.id()).await, &messages);

        let after = journal(&*store, session.id()).await;
        assert_eq!(after[..before.len()], before[..], "the parent is untouched");
        let [forked] = &after[before.len()..] else { panic!("one note, and nothing else") };
        let Event::Forked(note) = &forked.event else { panic!("{forked:?}") };
        assert_eq!(&note.child, child.id());
        let messages = session.context().messages().await.unwrap();
        assert_eq!(texts(&messages), ["First", "One.", "Second", "Two."]);

        let grandchild = child.fork(&Selector::Latest, None).await.unwrap();
        let lineage = grandchild.info().await.unwrap().lineage;
        let line: Vec<_> = lineage.iter().map(|origin| &origin.session).collect();
        assert_eq!(line, [child.id(), session.id()]);
        assert_eq!(lineage[1].at, note.at);
    });
}

#[test]
fn kode_04_a_label_can_be_forked_later() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two.").text("Three."));
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        session.run("First").await.unwrap();
        let snapshot = session.snapshot(Some("before-it")).await.unwrap();
        assert_eq!(snapshot.to_string(), format!("{}@label:before-it", session.id()));
        session.run("Second").await.unwrap();
        let child = session.fork(&snapshot.place, None).await.unwrap();
        assert_eq!(texts(&child.context().messages().await.unwrap()), ["First", "One."]);
        assert_eq!(child.status().await.unwrap().state, SessionState::Ready);
        for bad in ["../up", "a/b", "", ".hidden"] {
            assert!(matches!(session.snapshot(Some(bad)).await, Err(SessionError::Id(_))), "{bad}");
        }
        let unknown = session.fork(&place("label:nowhere"), None).await.err().unwrap();
        assert!(matches!(unknown, SessionError::NoSafePoint { .. }), "{unknown}");
        let unknown = session.fork(&place("sfp:99"), None).await.err().unwrap();
        assert!(unknown.to_string().contains("sfp:99"), "{unknown}");
    });
}

#[test]
fn kode_04_a_fork_of_a_busy_session_takes_the_last_safe_point() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml(
            "- text: One.\n- tools: [look]\n- tools: [slow]\n- text: Parent.\n- text: Third.\n- text: Child.",
        ));
        let slow = blocking_tool("slow", Class::Execute);
        let store = memory();
        let session = builder
            .tools(tool(slow.clone()))
            .tools(tool(echo("look", Class::Inspect)))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        session.run("First").await.unwrap();
        let waiting = session.send("Second").await.unwrap();
        slow.started(1).await;
        session.send("Third").await.unwrap();
        let child = session.fork(&Selector::Latest, None).await.unwrap();
        assert_eq!(child.status().await.unwrap().state, SessionState::Ready);
        let messages = child.context().messages().await.unwrap();
        assert_eq!(messages.len(), 5, "up to the results of `look`");
        check(&journal(&*store, child.id()).await, &messages);
        assert_eq!(child.status().await.unwrap().queued, 0, "what waits, waits for the parent");
        slow.release("ok");
        let mut events = session.subscribe(StartAt::Start, [EventKind::Text]).await.unwrap();
        loop {
            let event = events.next_event().await.unwrap().unwrap();
            let Event::AssistantMessage(data) = event.event() else { panic!() };
            if data.message.text() == "Parent." {
                break;
            }
        }
        assert!(child.run("Over to you").await.is_ok());
        let _ = (waiting, model);
    });
}

#[test]
fn kode_04_a_busy_session_without_a_safe_point_cannot_be_forked_yet() {
    both_runtimes(async || {
        let (builder, model) = builder(Script::new().answer(ScriptedAnswer::new().gate("never")));
        let session = builder.create(memory(), None).await.unwrap();
        session.send("Hi").await.unwrap();
        model.reached("never").await;
        let error = session.fork(&Selector::Latest, None).await.err().unwrap();
        assert!(matches!(error, SessionError::NoSafePoint { .. }), "{error}");
        assert!(session.snapshot(None).await.is_err());
    });
}

#[test]
fn kode_04_a_cursor_means_the_last_safe_point_before_it() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two."));
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        session.run("First").await.unwrap();
        let cursor = session.status().await.unwrap().cursor.unwrap();
        session.run("Second").await.unwrap();
        let child = session.fork(&Selector::At(cursor), None).await.unwrap();
        assert_eq!(texts(&child.context().messages().await.unwrap()), ["First", "One."]);
        let wrong = robota_core::event::Cursor { epoch: 7, ..cursor };
        assert!(session.fork(&Selector::At(wrong), None).await.is_err());
    });
}

#[test]
fn kode_04_the_child_is_durable_before_the_parent_records_it() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One."));
        let store = Failing::new();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        session.run("First").await.unwrap();
        let child = "agent:dev/session:child";
        // The fork itself is one operation of the store; the entry in the parent is the next
        // append.
        let next = store.appends() + 1;
        store.fail(next, next);
        let failed = session.fork(&Selector::Latest, Some(child.into())).await;
        assert!(failed.is_err());
        assert!(store.inner.head(&child.into()).await.is_ok(), "the child is there");
        assert_eq!(count(&journal(&store, session.id()).await, "forked"), 0);
        let again = session.fork(&Selector::Latest, Some(child.into())).await;
        assert!(again.is_err(), "its id is taken");
        assert!(session.fork(&Selector::Latest, Some("../x".into())).await.is_err());
    });
}

/// A store that cannot be read any more.
#[derive(Clone, Default)]
struct Unreadable {
    inner: MemoryStore,
    panics: Arc<AtomicBool>,
}

store_around!(
    Unreadable,
    |store: &Unreadable| store.inner.clone(),
    |_: &Unreadable, writer: Box<dyn Journal>| writer,
    |store: &Unreadable, _: &[Envelope]| {
        assert!(!store.panics.load(Ordering::SeqCst), "a panic on purpose");
        Ok(())
    }
);

/// A fork is returned once it is stored. If its conversation cannot be read, even because of a panic,
/// its first call returns the error: callers do not wait for a task that has ended.
#[test]
fn kode_04_a_fork_whose_conversation_cannot_be_read_is_stored_and_says_so() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two."));
        let store = Unreadable::default();
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        session.run("First").await.unwrap();
        session.run("Second").await.unwrap();
        store.panics.store(true, Ordering::SeqCst);
        // The conversation at its end is that of the parent, so only an earlier one is read.
        let last = session.fork(&Selector::Latest, None).await.unwrap();
        assert_eq!(last.context().messages().await.unwrap().len(), 4);
        let child = session.fork(&place("sfp:1"), None).await.unwrap();
        assert!(store.inner.head(child.id()).await.is_ok(), "it is stored");
        let error = child.status().await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        assert!(session.status().await.is_ok(), "its parent is open");
    });
}

#[test]
fn kode_04_subscribers_receive_forks_and_safe_points() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One."));
        let session = builder.create(memory(), None).await.unwrap();
        let kinds = EventFilter::from([EventKind::Forked, EventKind::Commit]);
        let mut events = session.subscribe(StartAt::Now, kinds).await.unwrap();
        session.run("First").await.unwrap();
        let child = session.fork(&Selector::Latest, None).await.unwrap();
        let commit = events.next_event().await.unwrap().unwrap();
        assert_eq!(commit.kinds, [EventKind::Commit]);
        let forked = events.next_event().await.unwrap().unwrap();
        let Event::Forked(data) = forked.event() else { panic!() };
        assert_eq!(&data.child, child.id());
    });
}

/// A store that counts the events that are read from it.
#[derive(Clone)]
struct Counting {
    inner: MemoryStore,
    read: Arc<AtomicUsize>,
    /// The most events that one call returned.
    page: Arc<AtomicUsize>,
}

impl Counting {
    fn new(inner: MemoryStore) -> Self {
        Self { inner, read: Arc::default(), page: Arc::default() }
    }
}

store_around!(
    Counting,
    |store: &Counting| store.inner.clone(),
    |_: &Counting, writer: Box<dyn Journal>| writer,
    |store: &Counting, events: &[Envelope]| {
        store.read.fetch_add(events.len(), Ordering::SeqCst);
        store.page.fetch_max(events.len(), Ordering::SeqCst);
        Ok(())
    }
);

/// The point is found through snapshots, the messages are shared with the parent, and only the
/// events between a snapshot and the point are read.
#[test]
fn kode_04_a_fork_of_a_long_session_reads_only_what_its_point_needs() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("Done.").looped());
        let store = Counting::new(MemoryStore::new());
        let session = builder.create(Arc::new(store.clone()), None).await.unwrap();
        for _ in 0..300 {
            session.run("Go on.").await.unwrap();
        }
        let events = journal(&store, session.id()).await;
        assert!(events.len() > 2_000, "a long session: {}", events.len());
        let middle = Selector::At(events[events.len() / 2].cursor());
        for (place, messages) in
            [(place("sfp:1"), Some(2)), (place("sfp:150"), Some(300)), (middle, None)]
        {
            store.read.store(0, Ordering::SeqCst);
            let child = session.fork(&place, None).await.unwrap();
            let loaded = child.context().messages().await.unwrap().len();
            assert!(messages.is_none_or(|messages| messages == loaded), "{place:?}: {loaded}");
            let read = store.read.load(Ordering::SeqCst);
            assert!(read < 400, "{place:?}: {read} of {} events were read", events.len());
        }
    });
}

/// Neither a resume nor the history nor the list of checkpoints holds the whole journal: an answer
/// can have streamed thousands of chunks.
#[test]
fn sess_01_a_long_session_is_read_in_pages() {
    both_runtimes(async || {
        let (first, _) = builder(Script::new().text("Done."));
        let stored = memory();
        let session = first.create(stored.clone(), None).await.unwrap();
        session.run("Go.").await.unwrap();
        let mut long: Vec<Envelope> = Vec::new();
        for event in journal(&*stored, session.id()).await {
            let chunk = matches!(event.event, Event::TextChunk(_));
            for _ in 0..if chunk { 10_000 } else { 1 } {
                let seq = long.len() as u64 + 1;
                long.push(Envelope { seq, ..event.clone() });
            }
        }
        assert!(long.len() > 10_000, "the answer was streamed");
        let store = Counting::new((*crashed(session.id(), &long).await).clone());
        let (second, _) = builder(Script::new());
        let resumed =
            second.resume(Arc::new(store.clone()), session.id(), Resume::default()).await.unwrap();
        store.read.store(0, Ordering::SeqCst);
        assert_eq!(resumed.context().full_history().await.unwrap().len(), 2);
        resumed.checkpoints().list().await.unwrap();
        let read = store.read.load(Ordering::SeqCst);
        assert!(read < 100, "{read} events were read, although most are chunks");
        let page = store.page.load(Ordering::SeqCst);
        assert!(page <= 4_096, "one call returned {page} events");
    });
}

#[test]
fn sess_01_a_state_that_was_read_early_is_used_unless_the_session_has_changed() {
    both_runtimes(async || {
        let (first, model) = builder(Script::new().text("One.").text("Two.").text("Three."));
        let store = Counting::new(MemoryStore::new());
        let session = first.create(Arc::new(store.clone()), None).await.unwrap();
        session.run("First").await.unwrap();
        session.shutdown("end").await.unwrap();
        let id = session.id();
        let resume = async |early: EarlyLoad| {
            store.read.store(0, Ordering::SeqCst);
            let stored = Arc::new(store.clone());
            let builder = builder_with(&model);
            let resumed = builder.resume_loaded(stored, id, Resume::default(), Some(early));
            (resumed.await.unwrap(), store.read.load(Ordering::SeqCst))
        };
        let early = async || {
            store.read.store(0, Ordering::SeqCst);
            robota_core::resume::load(&store, id).await.unwrap();
            let whole = 2 * store.read.load(Ordering::SeqCst);
            let early = EarlyLoad::start(Arc::new(store.clone()), id.clone());
            // Everything is read before anyone changes the session.
            while store.read.load(Ordering::SeqCst) < whole {
                tokio::task::yield_now().await;
            }
            early
        };
        let (session, read) = resume(early().await).await;
        assert_eq!(read, 0, "nothing is read again");
        session.shutdown("end").await.unwrap();
        let old = early().await;
        let (session, _) = resume(early().await).await;
        session.run("Second").await.unwrap();
        session.shutdown("end").await.unwrap();
        let (session, read) = resume(old).await;
        assert!(read > 0, "another process changed the session");
        session.run("Third").await.unwrap();
        let messages = session.context().messages().await.unwrap();
        check(&journal(&store, id).await, &messages);
        assert_eq!(messages.len(), 6);
    });
}

#[tokio::test]
async fn sess_01_the_early_state_of_another_session_is_not_used() {
    let (first, model) = builder(Script::new().text("One.").text("Two."));
    let store = memory();
    let session = first.create(store.clone(), None).await.unwrap();
    session.run("First").await.unwrap();
    session.shutdown("end").await.unwrap();
    let other = builder_with(&model).create(store.clone(), Some("other".into())).await.unwrap();
    other.run("Other").await.unwrap();
    other.shutdown("end").await.unwrap();
    let last = async |id| store.head(id).await.unwrap().last;
    assert_eq!(last(session.id()).await, last(other.id()).await, "the cursors are equal");
    let early = EarlyLoad::start(store.clone(), other.id().clone());
    let resumed = builder_with(&model)
        .resume_loaded(store, session.id(), Resume::default(), Some(early))
        .await
        .unwrap();
    let messages = resumed.context().messages().await.unwrap();
    assert!(messages[0].text().contains("First"), "{messages:?}");
}

/// A fork has no name until it gets one, in its own state as in the list of sessions.
#[tokio::test]
async fn a_fork_does_not_have_the_name_of_its_parent() {
    let (builder, _) = builder(Script::new().text("One.").text("Two."));
    let store = memory();
    let session = builder.name("Parent").create(store.clone(), None).await.unwrap();
    session.run("First").await.unwrap();
    let child = session.fork(&Selector::Latest, None).await.unwrap();
    child.run("Second").await.unwrap();
    let id = child.id().clone();
    let names = async || {
        let state = robota_core::resume::load_whole(&*store, &id).await.unwrap();
        (state.name, store.head(&id).await.unwrap().name)
    };
    assert_eq!(names().await, (None, None));
    child.shutdown("end").await.unwrap();
    let clock = Arc::new(robota_core::clock::SystemClock);
    robota_session::rename_stored(&*store, &id, "Child", clock).await.unwrap();
    let child = Some("Child".to_owned());
    assert_eq!(names().await, (child.clone(), child));
}
