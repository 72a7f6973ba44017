//! A live session whose store is reached through a proxy that fails, and what must hold of it
//! afterwards.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use robota_core::event::{Envelope, Event};
use robota_core::ids::{CallId, InputId, SessionId};
use robota_core::journal::{JournalError, JournalStore as _, read_all};
use robota_core::permission::{Class, Verdict};
use robota_core::resume::{load, load_whole};
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota_core::tool::{DidRun, Tool};
use robota_session::replay::validate;
use robota_session::{EventFilter, Session, SessionBuilder, SessionError, StartAt};
use robota_store::{PostgresStore, SqlOptions};
use robota_testkit::postgres::{PostgresServer, Proxy};
use robota_testkit::{CountingIds, FakeClock, FnTool, ScriptedGate, fn_tool};
use serde_json::json;
use tokio::task::JoinHandle;

pub(crate) fn server() -> Option<PostgresServer> {
    PostgresServer::start().unwrap()
}

/// Without lease renewals and notifications: the only commits are those of the session.
pub(crate) fn quiet() -> SqlOptions {
    SqlOptions { lease: Duration::from_secs(3_600), notify: false, ..SqlOptions::default() }
}

/// Retries of an append that fails: this many, one after the other.
pub(crate) fn retries(count: usize, every: u64) -> Vec<Duration> {
    vec![Duration::from_millis(every); count]
}

/// Turns of two kinds in turn, with another argument for each tool call: a round with an inspecting
/// and an executing call, a round with an executing call, and a streamed answer; then only an
/// answer.
pub(crate) fn script(turns: u32) -> Script {
    let mut script = Script::new();
    for turn in 0..turns {
        let call = |nth: u32| json!({ "n": turn * 10 + nth });
        script = script
            .answer(
                ScriptedAnswer::new().text("I look.").tool("look", call(1)).tool("act", call(2)),
            )
            .answer(ScriptedAnswer::new().tool("act", call(3)))
            .answer(ScriptedAnswer::new().chunks(["Done", " ", "it."]))
            .answer(ScriptedAnswer::new().text("Yes."));
    }
    script
}

/// A session on a store behind a proxy, a second store beside the proxy, and what the tools did.
pub(crate) struct Scene {
    pub(crate) proxy: Proxy,
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) direct: PostgresStore,
    pub(crate) model: ScriptedProvider,
    tools: [FnTool; 2],
    ids: Arc<CountingIds>,
    retries: Vec<Duration>,
}

impl Scene {
    pub(crate) async fn new(
        address: &str,
        script: Script,
        options: SqlOptions,
        retries: Vec<Duration>,
    ) -> Self {
        let direct = PostgresStore::connect_at(address, quiet()).await.unwrap();
        let (proxy, address) = Proxy::new(address).unwrap();
        let store = Arc::new(PostgresStore::connect_at(&address, options).await.unwrap());
        let model = ScriptedProvider::new(script);
        let tool = |name, class| fn_tool(name, class, |input| async move { input.to_string() });
        let tools = [tool("look", Class::Inspect), tool("act", Class::Execute)];
        Self { proxy, store, direct, model, tools, ids: Arc::default(), retries }
    }

    pub(crate) fn builder(&self) -> SessionBuilder {
        let tools = self.tools.iter().map(|tool| Arc::new(tool.clone()) as Arc<dyn Tool>);
        Session::builder(Arc::new(self.model.clone()), "test-model")
            .ids(self.ids.clone())
            .clock(Arc::new(FakeClock::fixed()))
            .tools(tools)
            .gate(Arc::new(ScriptedGate::new(Verdict::Allow)))
            .configure(|config| config.append_retries.clone_from(&self.retries))
    }

    pub(crate) async fn session(&self, id: &str) -> Live {
        let session = self.builder().create(self.store.clone(), Some(id.into())).await.unwrap();
        Live::new(session).await
    }

    /// Shuts the session down and checks everything that must hold of a session that was never
    /// reopened.
    pub(crate) async fn end(&self, live: Live) -> Vec<Envelope> {
        let Live { session, watcher, acknowledged, what } = live;
        let status = session.status().await.unwrap();
        assert_eq!(status.queued, 0, "{what}: every input was delivered or cancelled");
        let messages = session.context().messages().await.unwrap();
        let state = load_whole(&self.direct, session.id()).await.unwrap();
        assert_eq!(state.view.messages, messages, "{what}: the journal says what the session says");
        assert_eq!(state.cursor, status.cursor, "{what}");
        assert_eq!(state.turns_completed, status.messages, "{what}");
        assert_eq!(state.safe_points.count, status.safe_points, "{what}");
        session.shutdown("end").await.unwrap();
        let events = self.check(session.id(), &acknowledged, &what).await;
        assert!(events.iter().all(|event| event.epoch == 1), "{what}: it was not reopened");
        let seen = watcher.await.unwrap();
        let seqs: Vec<_> = seen.iter().map(|event| event.seq).collect();
        let expected: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, expected, "{what}: a watcher sees each event once and in order");
        assert!(seen.iter().map(|event| &**event).eq(&events), "{what}: and as it is stored");
        events
    }

    /// Checks the journal of a session that has ended, read beside the proxy.
    pub(crate) async fn check(
        &self,
        id: &SessionId,
        acknowledged: &[InputId],
        what: &str,
    ) -> Vec<Envelope> {
        let events = read_all(&self.direct, id, 0).await.unwrap();
        let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
        let count = events.len() as u64;
        assert_eq!(seqs, (1..=count).collect::<Vec<_>>(), "{what}: no gap and nothing twice");
        assert_eq!(self.direct.head(id).await.unwrap().last.seq, count, "{what}");
        let report = validate::session(&self.direct, id).await.unwrap();
        assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
        let (state, whole) = (load(&self.direct, id).await, load_whole(&self.direct, id).await);
        assert_eq!(state.unwrap(), whole.unwrap(), "{what}");
        check_inputs(&events, acknowledged, what);
        self.check_calls(&events, what);
        events
    }

    /// A call ran once or not at all, and the journal says which.
    fn check_calls(&self, events: &[Envelope], what: &str) {
        let ran: Vec<_> = self.tools.iter().flat_map(FnTool::inputs).collect();
        let ran: Vec<_> = ran.iter().map(|input| input["n"].as_u64().unwrap()).collect();
        let did: HashSet<_> = ran.iter().copied().collect();
        assert_eq!(did.len(), ran.len(), "{what}: a call ran twice: {ran:?}");
        let mut called: HashMap<&CallId, u64> = HashMap::new();
        let (mut started, mut finished) = (HashSet::new(), HashSet::new());
        for event in events {
            match &event.event {
                Event::ToolCalled(data) => {
                    let number = data.tool_use.input.json().unwrap()["n"].as_u64().unwrap();
                    called.insert(&data.tool_use.call, number);
                }
                Event::ToolStarted(data) => {
                    assert!(started.insert(&data.call), "{what}: a call starts once");
                    assert!(!finished.contains(&data.call), "{what}: and not after its end");
                }
                Event::ToolFinished(data) => {
                    assert!(finished.insert(&data.call), "{what}: a call ends once");
                    let did = did.contains(&called[&data.call]);
                    match data.outcome.ran {
                        DidRun::Yes => assert!(did, "{what}: said to have run, and did not"),
                        DidRun::No => assert!(!did, "{what}: said not to have run, and did"),
                        DidRun::Maybe => panic!("{what}: the session lived, so it knows"),
                    }
                }
                _ => {}
            }
        }
        let known: HashSet<_> = started.iter().map(|call| called[*call]).collect();
        assert!(did.is_subset(&known), "{what}: {did:?} ran, {known:?} started");
        assert!(called.keys().all(|call| finished.contains(*call)), "{what}: a call was left open");
    }
}

/// Every acknowledged input was delivered or cancelled once; one that was refused was not
/// delivered.
fn check_inputs(events: &[Envelope], acknowledged: &[InputId], what: &str) {
    let mut accepted: HashMap<&InputId, usize> = HashMap::new();
    let mut delivered: HashMap<&InputId, usize> = HashMap::new();
    let mut cancelled: HashMap<&InputId, usize> = HashMap::new();
    for event in events {
        match &event.event {
            Event::InputAccepted(data) => *accepted.entry(&data.input).or_default() += 1,
            Event::UserMessage(data) => {
                if let Some(input) = &data.input {
                    *delivered.entry(input).or_default() += 1;
                }
            }
            Event::InputCancelled(data) => *cancelled.entry(&data.input).or_default() += 1,
            _ => {}
        }
    }
    let times = |of: &HashMap<&InputId, usize>, input| of.get(input).copied().unwrap_or(0);
    for input in acknowledged {
        assert_eq!(times(&accepted, input), 1, "{what}: {input} was acknowledged");
        let ends = times(&delivered, input) + times(&cancelled, input);
        assert_eq!(ends, 1, "{what}: {input} was delivered or cancelled");
    }
    for (input, times_accepted) in &accepted {
        assert_eq!(*times_accepted, 1, "{what}: {input} was accepted twice");
        if !acknowledged.contains(input) {
            let (delivered, cancelled) = (times(&delivered, input), times(&cancelled, input));
            assert_eq!((delivered, cancelled), (0, 1), "{what}: {input} was refused");
        }
    }
}

/// A session, a watcher of it, and the inputs that it acknowledged.
pub(crate) struct Live {
    pub(crate) session: Session,
    watcher: JoinHandle<Vec<Arc<Envelope>>>,
    pub(crate) acknowledged: Vec<InputId>,
    what: String,
}

impl Live {
    async fn new(session: Session) -> Self {
        let watcher = watch(&session).await;
        let what = session.id().to_string();
        Self { session, watcher, acknowledged: Vec::new(), what }
    }

    /// Sends an input and waits for its answer.
    pub(crate) async fn run(&mut self, text: &str) -> Result<String, SessionError> {
        let mut chat = self.session.chat(text, EventFilter::default()).await?;
        self.acknowledged.push(chat.input().clone());
        chat.wait_for_approvals();
        chat.finish().await?.into_text()
    }
}

async fn watch(session: &Session) -> JoinHandle<Vec<Arc<Envelope>>> {
    let mut events = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
    // What there is already is read from the store, so before anything fails.
    let first = events.next_event().await.unwrap().unwrap().envelope;
    tokio::spawn(async move {
        let mut seen = vec![first];
        while let Some(event) = events.next_event().await {
            // Only a session that is lost has a subscription that ends with an error.
            let Ok(event) = event else { break };
            seen.push(event.envelope);
        }
        seen
    })
}

/// The error names the database, is a storage error, and is retryable.
pub(crate) fn assert_clear(error: &SessionError) {
    use robota_core::error::{Diagnose as _, ErrorKind};
    let known = match error {
        SessionError::Journal(JournalError::Io { .. }) => true,
        SessionError::Failed(data) => data.kind == ErrorKind::Storage,
        _ => false,
    };
    assert!(known && error.retryable(), "{error:?}");
    assert!(error.to_string().contains("PostgreSQL"), "{error}");
}
