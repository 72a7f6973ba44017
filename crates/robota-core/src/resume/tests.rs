use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::event::{
    AssistantMessage, Author, CompactionFinished, ContentLeftOut, Cursor, Delivery, InputAccepted,
    InputCancelled, InputSource, LabelSet, MessageInjected, MissedRuns, ModelRequested, PromptSet,
    Purpose, Renamed, Rewound, RoomDelivered, RoomHeard, RoomJoined, RoomLeft, RoomSaid,
    ScheduleAdded, SchedulePaused, ScheduleRemoved, ScheduleResumed, ScheduleSkipped,
    SessionCreated, TextChunk, ToolCalled, ToolResultAdded, ToolsSet, Trigger, TurnRulesAdded,
    TurnStarted, UserMessage, ViewRestored,
};
use crate::ids::{CallId, CountingIds, InputId, MessageId, ScheduleId, TurnId};
use crate::journal::MemoryStore;
use crate::message::{Block, Cause, Message, MessageState, ToolInput, ToolResult, ToolUse};
use crate::provider::LeftOut;
use crate::usage::Usage;

/// A session that is written event by event, and read back after each.
struct Written {
    store: MemoryStore,
    session: SessionId,
    ids: CountingIds,
    state: State,
}

impl Written {
    async fn begin() -> Self {
        let session = SessionId::from("s");
        let (store, ids) = (MemoryStore::new(), CountingIds::default());
        let state = State::default();
        let mut written = Self { store, session: session.clone(), ids, state };
        drop(written.store.create(&session).await.unwrap());
        let created = SessionCreated {
            session,
            format: 0,
            cwd: Some("/w".into()),
            parent: None,
            spawned_by: None,
        };
        written.append(created).await;
        written
    }

    async fn append(&mut self, event: impl Into<Event>) {
        let seq = self.state.cursor.map_or(1, |cursor| cursor.seq + 1);
        let ts = Timestamp::from_second(i64::try_from(seq).unwrap()).unwrap();
        let turn = Some(TurnId::from("t"));
        let envelope = Envelope { seq, epoch: 1, ts, turn, event: event.into(), min_reader: None };
        self.state.apply(&envelope).unwrap();
        let mut journal = match self.store.open(&self.session).await {
            Ok(journal) => journal,
            Err(_) => self.store.create(&self.session).await.unwrap(),
        };
        journal.append(&[Arc::new(envelope)], crate::event::Durability::Synced).await.unwrap();
    }

    /// Returns how many snapshots the newest one builds on.
    async fn links(&self) -> usize {
        let mut links = 0;
        let mut next = self.store.head(&self.session).await.unwrap().snapshot;
        while let Some(seq) = next {
            let (_, snapshot) =
                snapshot_at(&self.store, &self.session, seq).await.unwrap().unwrap();
            next = snapshot.view.base;
            links += usize::from(next.is_some());
        }
        links
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Say(text) => {
                let message = Message::user(&self.ids, text.as_str());
                let author = crate::event::Author::User;
                self.append(UserMessage { message: message.into(), input: None, author }).await;
            }
            Step::Answer(text, tokens) => {
                let usage = Usage { input_tokens: u64::from(*tokens), ..Usage::default() };
                let message = Message::assistant(&self.ids, text.as_str(), MessageState::Complete)
                    .with_usage(Some(usage));
                self.append(AssistantMessage { round: 1, message: message.into() }).await;
            }
            Step::Tools(results) => self.tools(*results).await,
            Step::Stream(text) => {
                self.append(TurnStarted {
                    input: None,
                    provider: "p".into(),
                    model: "m".into(),
                    max_rounds: 0,
                })
                .await;
                self.append(ModelRequested {
                    round: 3,
                    attempt: 1,
                    purpose: Purpose::Answer,
                    messages: 1,
                    prompt: None,
                    tools: None,
                    instruction: None,
                    continues: false,
                })
                .await;
                if !text.is_empty() {
                    let attachments = u64::try_from(text.len()).unwrap();
                    let parts = LeftOut { attachments, ..LeftOut::default() };
                    let (provider, model) = ("p".to_owned(), "m".to_owned());
                    self.append(ContentLeftOut { round: 3, provider, model, parts }).await;
                    self.append(TextChunk { round: 3, text: text.clone() }).await;
                }
            }
            Step::Compact(keep) => {
                let keep_from = self
                    .state
                    .view
                    .messages
                    .iter()
                    .rev()
                    .nth(usize::from(*keep))
                    .map(|message| message.id.clone());
                let summary = Message::user(&self.ids, "[Context Summary] so far");
                self.append(CompactionFinished { summary: summary.into(), keep_from }).await;
            }
            Step::Restore => self.append(ViewRestored { messages: 0 }).await,
            Step::Rewind(keep) => {
                let cause = crate::event::RewindCause::Checkpoint;
                self.append(Rewound { keep: u64::from(*keep), cause, undoable: false }).await;
            }
            Step::Snapshot => {
                if let Some(snapshot) = self.state.snapshot() {
                    self.append(snapshot).await;
                }
            }
            Step::Accept => {
                self.accept(None).await;
            }
            Step::Cancel => {
                if let Some(input) = self.state.inputs.keys().next().cloned() {
                    self.append(InputCancelled { input, cause: Cause::User }).await;
                }
            }
            Step::Facts(n) => {
                let name = format!("name {n}");
                self.append(Renamed { name: name.clone() }).await;
                let at = self.state.cursor.unwrap();
                self.append(LabelSet { label: name.clone(), at }).await;
                self.append(PromptSet { sha256: name.clone(), text: name.clone() }).await;
                self.append(ToolsSet { sha256: name, tools: Vec::new() }).await;
                let message = Message::system(&self.ids, "injected");
                self.append(MessageInjected { message: message.into() }).await;
            }
            Step::Restrict(n) => self.restrict(*n).await,
            Step::Schedule(n) => self.schedule(*n).await,
            Step::Room(n) => self.room(*n).await,
        }
    }

    /// Adds rules to the running turn or to an input, and takes an input into a turn.
    async fn restrict(&mut self, n: u8) {
        let deny = vec![format!("Bash(make {})", n % 4)];
        let input = self.state.inputs.keys().next().cloned();
        match n / 4 % 3 {
            0 => self.append(TurnRulesAdded { input: None, deny }).await,
            1 => self.append(TurnRulesAdded { input, deny }).await,
            _ => {
                let (provider, model) = ("p".to_owned(), "m".to_owned());
                let started = TurnStarted { input: input.clone(), provider, model, max_rounds: 0 };
                self.append(started).await;
                let message = Message::user(&self.ids, "taken").into();
                self.append(UserMessage { message, input, author: Author::User }).await;
            }
        }
    }

    /// Adds, fires, pauses, resumes or removes one of three schedules.
    async fn schedule(&mut self, n: u8) {
        let schedule = ScheduleId::from(format!("schedule {}", n % 3));
        let at = jiff::Timestamp::from_second(i64::from(n) * 60).unwrap();
        match n / 3 % 6 {
            0 | 1 => {
                let steps = Trigger::EverySteps { steps: 3 };
                let daily = Trigger::Daily { time: "09:00".to_owned() };
                self.append(ScheduleAdded {
                    schedule,
                    trigger: if n.is_multiple_of(2) { steps } else { daily },
                    zone: None,
                    content: vec![Block::text("go")],
                    missed: MissedRuns::All,
                    jitter_ms: 0,
                    at,
                })
                .await;
            }
            2 => {
                if n.is_multiple_of(2) {
                    self.append(ScheduleSkipped { schedule, due: at, times: 1 }).await;
                } else {
                    let source = InputSource::Schedule { schedule, due: Some(at), missed: 1 };
                    self.accept(Some(source)).await;
                }
            }
            3 => self.append(SchedulePaused { schedule }).await,
            4 => self.append(ScheduleResumed { schedule, at }).await,
            _ => self.append(ScheduleRemoved { schedule }).await,
        }
    }

    /// Lets a member join or leave, say something, or receive a message; or receives one.
    async fn room(&mut self, n: u8) {
        let member = format!("member {}", n % 3);
        let number = self.state.room.as_ref().map_or(0, |room| room.said);
        match n / 3 % 5 {
            0 => {
                let session = format!("session {n}").into();
                self.append(RoomJoined { member, session }).await;
            }
            1 => self.append(RoomLeft { member }).await,
            2 => {
                let to = vec![member, "member 0".to_owned()];
                let (text, from) = ("hi".to_owned(), "ada".to_owned());
                let said = RoomSaid { number: number + 1, from, to, text, hops: 0, reply_to: None };
                self.append(said).await;
            }
            3 => self.append(RoomDelivered { number, member }).await,
            _ if n.is_multiple_of(2) => {
                self.append(RoomHeard { room: member.into(), number }).await;
            }
            _ => {
                let source = InputSource::Room { room: member.into(), number, hops: 2 };
                self.accept(Some(source)).await;
            }
        }
    }

    async fn accept(&mut self, source: Option<InputSource>) {
        let input = InputId::mint(&self.ids);
        let content = vec![Block::text("later")];
        let (delivery, metadata) = (Delivery::NextRound, serde_json::Map::new());
        self.append(InputAccepted { input, delivery, content, metadata, source }).await;
    }

    async fn tools(&mut self, results: u8) {
        let uses: Vec<ToolUse> = (0..=results)
            .map(|n| {
                let input = ToolInput::Json(serde_json::json!({}));
                ToolUse::new(CallId::mint(&self.ids), format!("call_{n}"), "Look", input)
            })
            .collect();
        for (index, tool_use) in (0..).zip(&uses) {
            self.append(ToolCalled { round: 1, index, tool_use: tool_use.clone() }).await;
        }
        let blocks: Vec<_> = uses.iter().cloned().map(Block::ToolUse).collect();
        let message = Message::assistant(&self.ids, blocks, MessageState::Complete);
        self.append(AssistantMessage { round: 1, message: message.into() }).await;
        let message = MessageId::mint(&self.ids);
        for tool_use in &uses {
            let result = ToolResult::text(tool_use, "seen", false);
            self.append(ToolResultAdded {
                round: 1,
                message: message.clone(),
                result: result.into(),
            })
            .await;
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Say(String),
    Answer(String, u8),
    Tools(u8),
    Stream(String),
    Compact(u8),
    Restore,
    Rewind(u8),
    Snapshot,
    Accept,
    Cancel,
    Facts(u8),
    Restrict(u8),
    Schedule(u8),
    Room(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => ".{0,8}".prop_map(Step::Say),
        3 => (".{0,8}", any::<u8>()).prop_map(|(text, tokens)| Step::Answer(text, tokens)),
        2 => (0..4_u8).prop_map(Step::Tools),
        1 => ".{0,3}".prop_map(Step::Stream),
        2 => (0..6_u8).prop_map(Step::Compact),
        1 => Just(Step::Restore),
        1 => (0..12_u8).prop_map(Step::Rewind),
        4 => Just(Step::Snapshot),
        1 => Just(Step::Accept),
        1 => Just(Step::Cancel),
        1 => any::<u8>().prop_map(Step::Facts),
        2 => any::<u8>().prop_map(Step::Restrict),
        3 => any::<u8>().prop_map(Step::Schedule),
        2 => any::<u8>().prop_map(Step::Room),
    ]
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_state_from_a_snapshot_is_the_state_from_the_beginning(
        steps in proptest::collection::vec(step(), 0..40),
    ) {
        runtime().block_on(async {
            let mut written = Written::begin().await;
            let mut states = Vec::new();
            for step in &steps {
                states.push(written.state.clone());
                written.step(step).await;
                let resumed = load(&written.store, &written.session).await.unwrap();
                assert_eq!(resumed, written.state, "after {step:?}");
            }
            let whole = load_whole(&written.store, &written.session).await.unwrap();
            assert_eq!(whole, written.state);
            // The state at any event is the one that there was then, whichever snapshot is used, and
            // whether its messages are shared with the last view or read.
            let (store, session, last) = (&written.store, &written.session, &written.state);
            for state in &states {
                let (at, snapshot) = (state.cursor.unwrap().seq, state.sources.snapshot);
                let shared = load_at(store, session, at, snapshot, &last.view).await.unwrap();
                assert_eq!(shared, *state);
                let read = load_at(store, session, at, None, &ModelView::default()).await.unwrap();
                assert_eq!(read, *state);
                let other = load_at(store, session, last.cursor.unwrap().seq, snapshot, &state.view);
                assert_eq!(other.await.unwrap(), *last);
            }
        });
    }
}

#[test]
fn snapshots_of_a_growing_conversation_list_little_and_build_on_few() {
    runtime().block_on(async {
        let mut written = Written::begin().await;
        let (mut listed, mut deepest) = (0, 0);
        for _ in 0..100 {
            for _ in 0..20 {
                written.step(&Step::Say("word".into())).await;
            }
            let snapshot = written.state.snapshot().unwrap();
            listed += snapshot.view.events.len();
            written.append(snapshot).await;
            deepest = deepest.max(written.links().await);
        }
        // Of 2,000 messages each is listed a few times, not a hundred times.
        assert!(listed < 2_000 * 8, "{listed}");
        assert!(deepest <= 5, "{deepest}");
        let resumed = load(&written.store, &written.session).await.unwrap();
        assert_eq!(resumed, written.state);
        // Snapshots without anything new in between, as of a session that is opened again and again.
        for _ in 0..20 {
            let snapshot = written.state.snapshot().unwrap();
            written.append(snapshot).await;
        }
        assert!(written.links().await <= 6);
        let resumed = load(&written.store, &written.session).await.unwrap();
        assert_eq!(resumed, written.state);
    });
}

#[test]
fn a_snapshot_of_another_fold_is_ignored() {
    runtime().block_on(async {
        let mut written = Written::begin().await;
        written.step(&Step::Say("one".into())).await;
        let mut snapshot = written.state.snapshot().unwrap();
        snapshot.reducer += 1;
        snapshot.view.events.clear();
        written.append(snapshot).await;
        let resumed = load(&written.store, &written.session).await.unwrap();
        assert_eq!(resumed.view.messages.len(), 1);
    });
}

#[test]
fn a_snapshot_that_does_not_fit_its_journal_is_ignored() {
    runtime().block_on(async {
        for spoil in 0..3 {
            let mut written = Written::begin().await;
            written.step(&Step::Say("one".into())).await;
            let mut snapshot = written.state.snapshot().unwrap();
            match spoil {
                0 => snapshot.view.events = vec![999],
                1 => snapshot.view.events = vec![1],
                _ => snapshot.view.base = Some(3),
            }
            written.append(snapshot).await;
            let resumed = load(&written.store, &written.session).await.unwrap();
            assert_eq!(resumed.view.messages.len(), 1, "spoilt {spoil}");
            assert_eq!(resumed.cursor, Some(Cursor { epoch: 1, seq: 3 }));
        }
    });
}

#[test]
fn a_fork_shares_the_messages_of_its_parent() {
    runtime().block_on(async {
        let mut written = Written::begin().await;
        for _ in 0..3 {
            written.step(&Step::Say("word".into())).await;
            written.step(&Step::Tools(1)).await;
        }
        written.step(&Step::Snapshot).await;
        let parent = written.state.view.clone();
        let (at, snapshot) = (written.state.cursor.unwrap().seq, written.state.sources.snapshot);
        let fork = load_at(&written.store, &written.session, at, snapshot, &parent).await.unwrap();
        for (own, other) in fork.view.messages.iter().zip(parent.messages.iter()) {
            assert!(Arc::ptr_eq(own, other));
        }
    });
}

#[test]
fn a_snapshot_refers_to_few_earlier_ones() {
    runtime().block_on(async {
        let mut written = Written::begin().await;
        for _ in 0..500 {
            written.step(&Step::Answer("word".into(), 1)).await;
            written.step(&Step::Snapshot).await;
        }
        let earlier = &written.state.safe_points.earlier;
        assert!((9..=18).contains(&earlier.len()), "{earlier:?}");
        assert!(earlier.is_sorted_by_key(|snapshot| snapshot.seq));
    });
}
