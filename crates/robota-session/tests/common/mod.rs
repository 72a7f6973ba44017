//! A store that can fail, and sessions on it.
#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use robota_core::event::{Durability, Envelope, Event, PermissionDecided};
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::{
    Journal, JournalError, JournalStore, LostReason, MemoryStore, read_all,
};
use robota_core::message::Message;
use robota_core::permission::{Class, Verdict};
use robota_core::tool::{DidRun, Tool};
use robota_policy::{LexicalPaths, Policy, PolicySpec, Workspace};
use robota_session::{PolicyGate, Session, SessionBuilder, SessionState};
use robota_testkit::{CountingIds, FakeClock, Script, ScriptedGate, ScriptedProvider, fn_tool};
use tokio_util::sync::CancellationToken;

/// Returns the builder of a session with a scripted model, counted ids and a fixed clock.
pub(crate) fn builder(script: Script) -> (SessionBuilder, ScriptedProvider) {
    let model = ScriptedProvider::new(script);
    (builder_with(&model), model)
}

pub(crate) fn builder_with(model: &ScriptedProvider) -> SessionBuilder {
    Session::builder(Arc::new(model.clone()), "test-model")
        .ids(Arc::new(CountingIds::default()))
        .clock(Arc::new(FakeClock::fixed()))
        // If a test makes an append fail, it is not retried.
        .configure(|config| config.append_retries.clear())
}

pub(crate) fn yaml(text: &str) -> Script {
    Script::from_yaml(text).unwrap()
}

pub(crate) fn tool(tool: impl Tool + 'static) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(tool)]
}

/// Returns a tool that returns its arguments.
pub(crate) fn echo(name: &str, class: Class) -> robota_testkit::FnTool {
    fn_tool(name, class, |input| async move { input.to_string() })
}

pub(crate) fn allow() -> Arc<ScriptedGate> {
    Arc::new(ScriptedGate::new(Verdict::Allow))
}

pub(crate) fn ask() -> Arc<ScriptedGate> {
    Arc::new(ScriptedGate::new(Verdict::Ask))
}

pub(crate) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new())
}

/// A gate that asks about every command, with rules that a test adds.
pub(crate) fn policy() -> Arc<PolicyGate> {
    let spec = PolicySpec::new(Workspace::new("/home/ada/app", "/home/ada"));
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty());
    Arc::new(PolicyGate::new(policy, Arc::new(LexicalPaths)))
}

pub(crate) fn bash() -> robota_testkit::FnTool {
    fn_tool("Bash", Class::Execute, |input| async move { input["command"].to_string() })
}

/// Returns the decisions about calls, in order.
pub(crate) fn decided(events: &[Envelope]) -> Vec<PermissionDecided> {
    let decided = events.iter().filter_map(|event| match &event.event {
        Event::PermissionDecided(data) => Some(data.clone()),
        _ => None,
    });
    decided.collect()
}

pub(crate) async fn journal(store: &dyn JournalStore, id: &SessionId) -> Vec<Envelope> {
    read_all(store, id, 0).await.unwrap()
}

/// Waits until nothing runs and no input waits.
pub(crate) async fn wait_until_idle(session: &Session) {
    let mut watch = session.watch();
    while watch.next().await.unwrap().state != SessionState::Ready {}
}

pub(crate) fn kinds(events: &[Envelope]) -> Vec<&str> {
    events.iter().map(|event| event.event.kind()).collect()
}

pub(crate) fn count(events: &[Envelope], kind: &str) -> usize {
    events.iter().filter(|event| event.event.kind() == kind).count()
}

/// Checks what must hold for every journal and its messages.
pub(crate) fn check(events: &[Envelope], messages: &[Arc<Message>]) {
    for pair in events.windows(2) {
        assert_eq!(pair[1].seq, pair[0].seq + 1, "sequence numbers increase by one");
        assert!(pair[1].epoch >= pair[0].epoch, "epochs never decrease");
    }
    let mut open: Vec<&CallId> = Vec::new();
    for message in messages {
        let results: Vec<_> = message.tool_results().map(|result| &result.call).collect();
        assert_eq!(results, open, "one result for each call, in order, right after it");
        open = message.tool_uses().map(|tool_use| &tool_use.call).collect();
    }
    assert!(open.is_empty(), "no result for {open:?}");
    let mut started: Vec<&CallId> = Vec::new();
    let mut finished: Vec<&CallId> = Vec::new();
    for event in events {
        match &event.event {
            Event::ToolStarted(data) => {
                assert!(!started.contains(&&data.call), "a call starts once");
                assert!(!finished.contains(&&data.call), "what is finished is not run again");
                started.push(&data.call);
            }
            Event::ToolFinished(data) => {
                assert!(!finished.contains(&&data.call), "a call ends once");
                finished.push(&data.call);
                if started.contains(&&data.call) {
                    let ran = data.outcome.ran;
                    // Its start could not be made durable, so it did not start.
                    let undone = data.outcome.text().contains("storage error");
                    assert!(ran != DidRun::No || undone, "started, so it may have run");
                }
            }
            _ => {}
        }
    }
}

/// A store whose n-th append fails, and whose session another process can take over.
#[derive(Clone)]
pub(crate) struct Failing {
    pub(crate) inner: MemoryStore,
    appends: Arc<AtomicUsize>,
    fail: Arc<Mutex<(usize, usize)>>,
    /// The kind of event whose next append fails.
    fail_kind: Arc<Mutex<Option<&'static str>>>,
    pub(crate) lost: CancellationToken,
    /// Another process took the session over: every append reports it.
    pub(crate) taken: Arc<AtomicBool>,
    /// The lease could not be renewed: every append reports it.
    pub(crate) silent: Arc<AtomicBool>,
    /// The append whose answer is lost after it was stored.
    lost_answer: Arc<AtomicUsize>,
    diverged: Arc<AtomicBool>,
    /// Appends do not return.
    hangs: Arc<AtomicBool>,
    /// This many reads fail.
    failing_reads: Arc<AtomicUsize>,
}

impl Failing {
    pub(crate) fn new() -> Self {
        Self {
            inner: MemoryStore::new(),
            appends: Arc::default(),
            fail: Arc::new(Mutex::new((0, 0))),
            fail_kind: Arc::default(),
            lost: CancellationToken::new(),
            taken: Arc::default(),
            silent: Arc::default(),
            lost_answer: Arc::default(),
            diverged: Arc::default(),
            hangs: Arc::default(),
            failing_reads: Arc::default(),
        }
    }

    /// Makes appends number `from` to `to` fail; the first one is 1.
    pub(crate) fn fail(&self, from: usize, to: usize) {
        *self.fail.lock().unwrap() = (from, to);
    }

    /// Makes the next append with an event of this kind fail.
    pub(crate) fn fail_kind(&self, kind: &'static str) {
        *self.fail_kind.lock().unwrap() = Some(kind);
    }

    /// Stores append number `nth`, but loses the answer.
    pub(crate) fn lose_answer(&self, nth: usize) {
        self.lost_answer.store(nth, Ordering::SeqCst);
    }

    /// Makes the journal differ from what its writer expects.
    pub(crate) fn diverge(&self) {
        self.diverged.store(true, Ordering::SeqCst);
    }

    /// Makes every further append wait forever.
    pub(crate) fn hang(&self) {
        self.hangs.store(true, Ordering::SeqCst);
    }

    pub(crate) fn appends(&self) -> usize {
        self.appends.load(Ordering::SeqCst)
    }

    /// Makes the next reads fail.
    pub(crate) fn fail_reads(&self, count: usize) {
        self.failing_reads.store(count, Ordering::SeqCst);
    }

    /// Returns how many of these reads have not happened yet.
    pub(crate) fn failing_reads(&self) -> usize {
        self.failing_reads.load(Ordering::SeqCst)
    }

    fn on_read(&self) -> Result<(), JournalError> {
        let less = |left: usize| left.checked_sub(1);
        match self.failing_reads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => Err(JournalError::io("read", "the journal of the test", "no answer")),
            Err(_) => Ok(()),
        }
    }

    fn wrap(&self, inner: Box<dyn Journal>) -> Box<dyn Journal> {
        Box::new(FailingWriter { inner, store: self.clone() })
    }
}

struct FailingWriter {
    inner: Box<dyn Journal>,
    store: Failing,
}

#[async_trait::async_trait]
impl Journal for FailingWriter {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let nth = self.store.appends.fetch_add(1, Ordering::SeqCst) + 1;
        let (from, to) = *self.store.fail.lock().unwrap();
        if self.store.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.store.taken.load(Ordering::SeqCst) {
            let session = "taken".into();
            let reason = LostReason::TakenOver { owner: None };
            return Err(JournalError::Lost { session, reason });
        }
        if self.store.silent.load(Ordering::SeqCst) {
            let reason = LostReason::NotRenewed { elapsed: std::time::Duration::from_secs(30) };
            return Err(JournalError::Lost { session: "silent".into(), reason });
        }
        let has_kind = |kind: &mut &str| events.iter().any(|event| event.event.kind() == *kind);
        let fails = self.store.fail_kind.lock().unwrap().take_if(has_kind).is_some();
        if fails || (from..=to).contains(&nth) {
            let place = "the journal of the test".to_owned();
            return Err(JournalError::Io { action: "append to", place, reason: nth.to_string() });
        }
        if self.store.diverged.load(Ordering::SeqCst) {
            let (found, last) = (events[0].cursor(), events[0].cursor());
            return Err(JournalError::OutOfOrder { session: "diverged".into(), found, last });
        }
        let appended = self.inner.append(events, durability).await;
        if self.store.lost_answer.load(Ordering::SeqCst) == nth {
            appended?;
            let (place, reason) = ("the journal of the test".to_owned(), "no answer".to_owned());
            return Err(JournalError::Io { action: "append to", place, reason });
        }
        appended
    }

    fn lost(&self) -> CancellationToken {
        self.store.lost.clone()
    }
}

/// Defines a store that wraps one in memory: `inner` returns that, `wrap` wraps its writers, and
/// `on_read` receives the events that a call reads, and can make it fail.
macro_rules! store_around {
    ($store:ty, $inner:expr, $wrap:expr) => {
        store_around!($store, $inner, $wrap, |_: &$store, _: &[Envelope]| Ok(()));
    };
    ($store:ty, $inner:expr, $wrap:expr, $on_read:expr) => {
        #[async_trait::async_trait]
        impl robota_core::journal::JournalStore for $store {
            async fn create(
                &self,
                session: &robota_core::ids::SessionId,
            ) -> Result<Box<dyn Journal>, JournalError> {
                Ok(($wrap)(self, ($inner)(self).create(session).await?))
            }

            async fn open(
                &self,
                session: &robota_core::ids::SessionId,
            ) -> Result<Box<dyn Journal>, JournalError> {
                Ok(($wrap)(self, ($inner)(self).open(session).await?))
            }

            async fn read(
                &self,
                session: &robota_core::ids::SessionId,
                after_seq: u64,
                limit: usize,
            ) -> Result<Vec<Envelope>, JournalError> {
                let events = ($inner)(self).read(session, after_seq, limit).await?;
                let read: Result<(), JournalError> = ($on_read)(self, &events[..]);
                read?;
                Ok(events)
            }

            async fn read_without_chunks(
                &self,
                session: &robota_core::ids::SessionId,
                after_seq: u64,
                limit: usize,
            ) -> Result<Vec<Envelope>, JournalError> {
                let inner = ($inner)(self);
                let events = inner.read_without_chunks(session, after_seq, limit).await?;
                let read: Result<(), JournalError> = ($on_read)(self, &events[..]);
                read?;
                Ok(events)
            }

            async fn read_events(
                &self,
                session: &robota_core::ids::SessionId,
                seqs: &[u64],
            ) -> Result<Vec<Envelope>, JournalError> {
                let events = ($inner)(self).read_events(session, seqs).await?;
                let read: Result<(), JournalError> = ($on_read)(self, &events[..]);
                read?;
                Ok(events)
            }

            async fn head(
                &self,
                session: &robota_core::ids::SessionId,
            ) -> Result<robota_core::journal::SessionHead, JournalError> {
                ($inner)(self).head(session).await
            }

            async fn list(
                &self,
                filter: &robota_core::journal::SessionFilter,
            ) -> Result<robota_core::journal::SessionPage, JournalError> {
                ($inner)(self).list(filter).await
            }

            async fn fork(
                &self,
                parent: &robota_core::ids::SessionId,
                at: robota_core::event::Cursor,
                child: &robota_core::ids::SessionId,
                first: &[Arc<Envelope>],
            ) -> Result<Box<dyn Journal>, JournalError> {
                Ok(($wrap)(self, ($inner)(self).fork(parent, at, child, first).await?))
            }

            async fn delete(
                &self,
                session: &robota_core::ids::SessionId,
            ) -> Result<bool, JournalError> {
                ($inner)(self).delete(session).await
            }

            fn blobs(
                &self,
                session: &robota_core::ids::SessionId,
            ) -> Arc<dyn robota_core::blob::Blobs> {
                ($inner)(self).blobs(session)
            }
        }
    };
}
#[allow(unused_imports, reason = "each test file uses its own part of it")]
pub(crate) use store_around;

store_around!(
    Failing,
    |store: &Failing| store.inner.clone(),
    Failing::wrap,
    |store: &Failing, _: &[Envelope]| store.on_read()
);

/// Returns a store with a journal as a crash would have left it.
pub(crate) async fn crashed(id: &SessionId, events: &[Envelope]) -> Arc<MemoryStore> {
    let store = memory();
    let mut writer = store.create(id).await.unwrap();
    let events: Vec<_> = events.iter().cloned().map(Arc::new).collect();
    writer.append(&events, Durability::Synced).await.unwrap();
    store
}

/// Runs a test on one thread with paused time, and again on several threads: the result must not
/// depend on which task runs first.
pub(crate) fn both_runtimes(test: impl AsyncFn()) {
    let paused = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    paused.block_on(test());
    drop(paused);
    on_threads(test);
}

/// Runs a test on several threads.
pub(crate) fn on_threads(test: impl AsyncFn()) {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .unwrap();
    threads.block_on(test());
}
