//! Random interleavings of all operations, on a journal that sometimes fails. The invariants must
//! hold for each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;

use common::*;
use proptest::prelude::*;
use robota_core::approve::Scope;
use robota_core::event::{Delivery, Envelope, Event};
use robota_core::ids::{InputId, SessionId};
use robota_core::permission::{Class, Verdict};
use robota_core::resume::{load, load_whole};
use robota_session::{
    Approvals, Decision, EventFilter, Resume, Selector, Session, SessionState, StartAt,
    SubscriptionItem,
};
use robota_testkit::{CountingIds, ScriptedGate, ScriptedProvider};

/// A wait that takes more than this many yields to other tasks never ends.
const MAX_YIELDS: usize = 20_000;

#[derive(Debug, Clone)]
enum Act {
    Send(bool),
    Interrupt,
    Allow,
    Deny,
    Fork,
    Mode,
    Label,
    Compact,
    Clear,
    GoOn,
    /// Other tasks run for a few polls.
    Yield(u8),
    /// The handle is dropped, or the session shut down, and the session resumed.
    Drop,
    Shutdown,
    /// The next append, and some after it, fail.
    Fail(u8, u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => any::<bool>().prop_map(Act::Send),
        2 => Just(Act::Interrupt),
        4 => Just(Act::Allow),
        2 => Just(Act::Deny),
        1 => Just(Act::Fork),
        1 => Just(Act::Mode),
        1 => Just(Act::Label),
        1 => Just(Act::Compact),
        1 => Just(Act::Clear),
        1 => Just(Act::GoOn),
        12 => (1u8..40).prop_map(Act::Yield),
        1 => Just(Act::Drop),
        1 => Just(Act::Shutdown),
        2 => (0u8..6, 0u8..3).prop_map(|(wait, length)| Act::Fail(wait, length)),
    ]
}

fn model() -> ScriptedProvider {
    ScriptedProvider::new(yaml(
        "
loop: true
answers:
- {text: Looking., tools: [look, act, asked]}
- {tools: [look, look, nowhere]}
- {text: Some words that are the answer to what was asked.}
- {tools: [asked, asked]}
- {text: Another answer that is as long as the one before it.}
",
    ))
}

fn builder_of(model: &ScriptedProvider, ids: &Arc<CountingIds>) -> robota_session::SessionBuilder {
    let gate = ScriptedGate::new(Verdict::Allow).on("asked", Verdict::Ask);
    builder_with(model)
        .ids(ids.clone())
        .tools(tool(echo("look", Class::Inspect)))
        .tools(tool(echo("act", Class::Execute)))
        .tools(tool(echo("asked", Class::Execute)))
        .gate(Arc::new(gate))
        .approvals(Approvals::Decide)
}

/// Everything that was acknowledged, and all subscribers.
struct World {
    store: Failing,
    model: ScriptedProvider,
    /// Shared, so that two processes never create the same id.
    ids: Arc<CountingIds>,
    id: SessionId,
    session: Option<Session>,
    accepted: Vec<InputId>,
    watchers: Vec<tokio::task::JoinHandle<Vec<Arc<Envelope>>>>,
    forks: Vec<SessionId>,
}

impl World {
    async fn begin() -> Self {
        let (store, model, ids) = (Failing::new(), model(), Arc::new(CountingIds::default()));
        let session = builder_of(&model, &ids).create(Arc::new(store.clone()), None).await.unwrap();
        let (id, accepted) = (session.id().clone(), Vec::new());
        let (watchers, forks) = (Vec::new(), Vec::new());
        let mut world = Self { store, model, ids, id, session: None, accepted, watchers, forks };
        world.take(session, StartAt::Start).await;
        world
    }

    async fn take(&mut self, session: Session, since: StartAt) {
        let mut events = session.subscribe(since, EventFilter::Everything).await.unwrap();
        self.watchers.push(tokio::spawn(async move {
            use futures::StreamExt as _;
            let mut seen = Vec::new();
            while let Some(Ok(SubscriptionItem::Event(event))) = events.next().await {
                seen.push(event.envelope);
            }
            seen
        }));
        self.session = Some(session);
    }

    /// Resumes the session once its last task has released it.
    async fn resume(&mut self) {
        self.session = None;
        self.store.fail(0, 0);
        if let Some(watcher) = self.watchers.last_mut() {
            for turn in 0.. {
                if watcher.is_finished() {
                    break;
                }
                assert!(turn < MAX_YIELDS, "the session does not release the lock");
                tokio::task::yield_now().await;
            }
        }
        let store = Arc::new(self.store.clone());
        let mut turns = 0;
        let session = loop {
            turns += 1;
            match builder_of(&self.model, &self.ids)
                .resume(store.clone(), &self.id, Resume::default())
                .await
            {
                Ok(session) => break session,
                // The task that had it is about to release it.
                Err(error) => assert!(turns < MAX_YIELDS, "{error}"),
            }
            tokio::task::yield_now().await;
        };
        self.take(session, StartAt::Start).await;
    }

    async fn act(&mut self, act: Act) {
        let Some(session) = self.session.clone() else { return };
        let bounded = |n: u8| usize::from(n);
        match act {
            Act::Send(next) => {
                let delivery = if next { Delivery::NextRound } else { Delivery::AfterTurn };
                if let Ok(input) = session.send_with("Do it", delivery).await {
                    self.accepted.push(input);
                }
            }
            Act::Interrupt => {
                let _ = session.interrupt(None).await;
            }
            Act::Allow | Act::Deny => {
                let decision = match act {
                    Act::Allow => Decision::Allow(Scope::Session),
                    _ => Decision::Deny,
                };
                let permissions = session.permissions();
                if let Some(question) = permissions.pending().first() {
                    let _ = permissions.decide(&question.call.call, decision, None).await;
                }
            }
            Act::Fork => {
                if let Ok(fork) = session.fork(&Selector::Latest, None).await {
                    self.forks.push(fork.id().clone());
                }
            }
            Act::Mode => {
                let _ = session.permissions().set_mode(Default::default()).await;
            }
            Act::Label => {
                let _ = session.snapshot(Some("here")).await;
            }
            Act::Compact => {
                let context = session.context();
                drop(tokio::spawn(async move { context.compact(None).await }));
            }
            Act::Clear => {
                let _ = session.context().clear().await;
            }
            Act::GoOn => {
                let _ = session.recovery().continue_turn().await;
            }
            Act::Yield(times) => {
                for _ in 0..times {
                    tokio::task::yield_now().await;
                }
            }
            Act::Drop => {
                drop(session);
                self.resume().await;
            }
            Act::Shutdown => {
                let _ = session.shutdown("end").await;
                drop(session);
                self.resume().await;
            }
            Act::Fail(wait, length) => {
                let from = self.store.appends() + 1 + bounded(wait);
                self.store.fail(from, from + bounded(length));
            }
        }
    }

    /// Repairs the disk and waits until all pending work is done.
    async fn finish_all(&mut self) {
        self.store.fail(0, 0);
        let session = self.session.clone().unwrap();
        if let Ok(input) = session.send("The last one").await {
            self.accepted.push(input);
        }
        for _ in 0..MAX_YIELDS {
            let status = session.status().await.unwrap();
            match status.state {
                SessionState::Ready => return,
                SessionState::Paused => self.act(Act::Deny).await,
                SessionState::Busy => tokio::task::yield_now().await,
            }
        }
        panic!("it never becomes idle: {:?}", session.status().await);
    }

    async fn check(mut self) {
        self.finish_all().await;
        let session = self.session.take().unwrap();
        let messages = session.context().messages().await.unwrap();
        session.shutdown("end").await.unwrap();
        drop(session);
        let events = journal(&self.store, &self.id).await;
        check(&events, &messages);

        let state = load(&self.store, &self.id).await.unwrap();
        assert_eq!(state, load_whole(&self.store, &self.id).await.unwrap());
        assert_eq!(state.view.messages, messages, "live and resumed are equal");
        assert!(state.turn.is_none() && state.inputs.is_empty());
        for input in &self.accepted {
            let fate = events.iter().filter(|event| match &event.event {
                Event::UserMessage(data) => data.input.as_ref() == Some(input),
                Event::InputCancelled(data) => data.input == *input,
                Event::InputBlocked(data) => data.input.as_ref() == Some(input),
                _ => false,
            });
            assert_eq!(fate.count(), 1, "{input} was delivered or cancelled, once");
        }
        for watcher in self.watchers {
            let seen = watcher.await.unwrap();
            let seen: Vec<_> = seen.iter().map(|event| (**event).clone()).collect();
            assert_eq!(seen, events[..seen.len()], "a watcher sees exactly the journal");
        }
        for fork in self.forks {
            let events = journal(&self.store, &fork).await;
            let state = load(&self.store, &fork).await.unwrap();
            check(&events, &state.view.messages);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn kode_05_no_interleaving_loses_an_input_or_leaves_a_call_without_a_result(
        acts in proptest::collection::vec(act(), 1..60)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut world = World::begin().await;
            for act in acts {
                world.act(act).await;
            }
            world.check().await;
        });
    }
}
