//! Sessions for the tests of all formats, and the properties that all formats share.

use std::sync::Arc;

use proptest::prelude::*;
use robota_core::clock::Clock as _;
use robota_core::event::*;
use robota_core::history::HistoryEntry;
use robota_core::ids::{CallId, CountingIds, InputId, MessageId, RandomIds, SessionId};
use robota_core::journal::{JournalStore, MemoryStore, read_all};
use robota_core::message::{Block, Message, MessageState, ToolInput, ToolResult, ToolUse};
use robota_core::permission::{Class, Mode};
use robota_core::redact::Redactor;
use robota_core::resume::load_whole;
use robota_core::state::{SafePoints, State};
use robota_core::tool::ToolOutcome;
use robota_core::usage::Usage;
use robota_testkit::{FakeClock, Run, fn_tool};
use serde_json::json;

use super::*;
use crate::fork::fork_stored;
use crate::id::Selector;

/// Returns a session with two turns: calls that run, that are denied and of unknown tools.
pub(super) async fn two_turns() -> Vec<Envelope> {
    let ran = Run::script(
        "
- thinking: They want the notes.
  text: I look first.
  tools: [{tool: read, input: {path: notes.txt}}, {tool: edit, input: {path: a}}, {tool: fly}]
  usage: {input: 120, output: 30}
- {text: The notes say hello., usage: {input: 200, output: 10}}
- You are welcome.
",
    )
    .system("Be brief.")
    .tool(fn_tool("read", Class::Inspect, |_| async { ToolOutcome::ok("hello") }))
    .tool(fn_tool("edit", Class::Modify, |_| async { ToolOutcome::ok("done") }))
    .prompt("What do the notes say?")
    .await
    .then("Thank you!")
    .await;
    assert!(ran.report.error.is_none(), "{ran:?}");
    ran.events.iter().map(|event| (**event).clone()).collect()
}

/// Returns a store with a session of these events.
pub(super) async fn stored(events: &[Envelope]) -> (MemoryStore, SessionId) {
    let store = MemoryStore::new();
    let session = State::fold(events).unwrap().session.unwrap();
    let events: Vec<_> = events.iter().cloned().map(Arc::new).collect();
    let mut journal = store.create(&session).await.unwrap();
    journal.append(&events, Durability::Synced).await.unwrap();
    (store, session)
}

/// Returns the messages that the model sees in a session.
pub(super) async fn view(store: &MemoryStore, session: &SessionId) -> Vec<Message> {
    let state = load_whole(store, session).await.unwrap();
    state.view.messages.iter().map(|message| (**message).clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn sess_12_markdown_is_a_transcript_to_read() {
    let events = two_turns().await;
    let result = transcript(&SessionId::from("session-1"), &events);
    insta::assert_snapshot!(markdown(&result, &Redactor::default()));
}

#[tokio::test(start_paused = true)]
async fn kode_04_a_stored_session_is_forked_without_changing_it() {
    let events = two_turns().await;
    let (store, session) = stored(&events).await;
    let clock = Arc::new(FakeClock::fixed());
    let points = events.iter().filter(|event| SafePoints::is_safe_point(&event.event));
    let points: Vec<_> = points.map(Envelope::cursor).collect();
    assert_eq!(points.len(), 3);
    for (place, at, messages) in [
        (Selector::SafePoint(1), points[0], 3),
        (Selector::SafePoint(2), points[1], 4),
        (Selector::At(Cursor { epoch: 1, seq: points[1].seq + 1 }), points[1], 4),
        (Selector::Latest, events.last().unwrap().cursor(), 6),
    ] {
        let child = SessionId::mint(&RandomIds);
        assert_eq!(fork_stored(&store, &session, &place, &child, clock.clone()).await.unwrap(), at);
        let state = load_whole(&store, &child).await.unwrap();
        assert_eq!(state.view.messages.len(), messages);
        assert!(state.turn.is_none() && state.inputs.is_empty());
        assert_eq!(state.parent.unwrap().session, session);
        let report = validate::session(&store, &child).await.unwrap();
        assert_eq!(report.findings, []);
        let result = transcript(&child, &read_all(&store, &child, 0).await.unwrap());
        assert_eq!(result.created, Some(clock.now()));
    }
    assert_eq!(read_all(&store, &session, 0).await.unwrap(), events);
    let wrong = fork_stored(&store, &session, &Selector::SafePoint(9), &"x".into(), clock).await;
    assert!(wrong.unwrap_err().to_string().contains("it has 3 safe points"));
}

#[tokio::test(start_paused = true)]
async fn sess_14_journal_lines_round_trip_unchanged() {
    let events = two_turns().await;
    let (store, session) = stored(&events).await;
    let exported = journal::export(&store, &session, &Redactor::default()).await.unwrap();
    assert_eq!((exported.events, exported.redacted), (events.len() as u64, 0));
    let mut lines = Vec::new();
    events.iter().for_each(|event| event.encode(&mut lines).unwrap());
    assert!(exported.bytes == lines, "the bytes are those of the journal");

    let other = MemoryStore::new();
    let to = Destination::new(&other);
    let read = || journal::parse(&exported.bytes).unwrap();
    assert!(!journal::import(&to, read()).await.unwrap().already);
    assert!(journal::import(&to, read()).await.unwrap().already);
    assert_eq!(read_all(&other, &session, 0).await.unwrap(), events);

    // A copy under another id is another session.
    let copy = SessionId::from("copy");
    let named = to.with_id(Some(&copy));
    assert!(!journal::import(&named, read()).await.unwrap().already);
    assert!(journal::import(&named, read()).await.unwrap().already);
    assert_eq!(load_whole(&other, &copy).await.unwrap().session, Some(copy.clone()));

    // Another session with that id is not overwritten.
    let mut changed = read();
    changed.pop();
    changed.pop();
    let last = changed.pop().unwrap();
    changed.push(Envelope { event: Closed::from("x").into(), ..last });
    let taken = journal::import(&to, changed).await.unwrap_err();
    assert!(matches!(taken, ReplayError::Taken(_)), "{taken}");
}

/// What may happen in a session.
#[derive(Debug, Clone)]
enum Op {
    Turn(Vec<(String, bool, u8)>),
    Entry(String),
    Compact(u8),
    Rewind(u8),
    Restore,
    Rename(String),
    Prompt(String),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let text = "[a-z \"\\\\\n{}é]{0,12}";
    let round = (text, any::<bool>(), 0_u8..3);
    let op = prop_oneof![
        6 => prop::collection::vec(round, 1..4).prop_map(Op::Turn),
        1 => text.prop_map(Op::Entry),
        2 => any::<u8>().prop_map(Op::Compact),
        1 => any::<u8>().prop_map(Op::Rewind),
        1 => Just(Op::Restore),
        1 => "[a-z]{1,8}".prop_map(Op::Rename),
        1 => text.prop_map(Op::Prompt),
    ];
    prop::collection::vec(op, 1..12)
}

/// Builds a journal event by event.
struct JournalBuilder {
    events: Vec<Envelope>,
    state: State,
    ids: CountingIds,
}

impl JournalBuilder {
    fn push(&mut self, turn: Option<&str>, event: impl Into<Event>) {
        let seq = self.events.len() as u64 + 1;
        let ts = format!("2026-01-02T03:{:02}:{:02}Z", seq / 60 % 60, seq % 60).parse().unwrap();
        let (turn, event) = (turn.map(Into::into), event.into());
        let envelope = Envelope { seq, epoch: 1, ts, turn, event, min_reader: None };
        self.state.apply(&envelope).unwrap();
        self.events.push(envelope);
    }

    fn turn(&mut self, rounds: &[(String, bool, u8)]) {
        let input = InputId::mint(&self.ids);
        let content = vec![Block::text("go")];
        let delivery = Delivery::AfterTurn;
        let metadata = serde_json::Map::new();
        self.push(
            None,
            InputAccepted { input: input.clone(), delivery, content, metadata, source: None },
        );
        let id = format!("turn-{}", self.events.len());
        let turn = Some(id.as_str());
        let (provider, model) = ("p".to_owned(), "m".to_owned());
        let started = TurnStarted { input: Some(input.clone()), provider, model, max_rounds: 0 };
        self.push(turn, started);
        let message = Message::user(&self.ids, "go");
        self.push(
            turn,
            UserMessage { message: message.into(), input: Some(input), author: Author::User },
        );
        for (index, (text, thinks, calls)) in rounds.iter().enumerate() {
            let round = u32::try_from(index).unwrap() + 1;
            let calls = if index + 1 == rounds.len() { 0 } else { *calls };
            let mut blocks = Vec::new();
            if *thinks {
                blocks.push(Block::thinking("hm", Some("proof".to_owned())));
            }
            blocks.push(Block::text(text.clone()));
            let uses: Vec<_> = (0..calls)
                .map(|call| {
                    let input = ToolInput::Json(json!({"text": text, "n": call}));
                    ToolUse::new(CallId::mint(&self.ids), format!("call_{call}"), "look", input)
                })
                .collect();
            blocks.extend(uses.iter().cloned().map(Block::ToolUse));
            let message = Message::assistant(&self.ids, blocks, MessageState::Complete)
                .with_usage(thinks.then(|| Usage::new(7, 3)));
            self.push(turn, AssistantMessage { round, message: message.into() });
            let message = MessageId::mint(&self.ids);
            for (nth, call) in uses.iter().enumerate() {
                let result = ToolResult::text(call, text.clone(), nth == 1);
                self.push(
                    turn,
                    ToolResultAdded { round, message: message.clone(), result: result.into() },
                );
            }
        }
        let rounds = u32::try_from(rounds.len()).unwrap();
        let (end, usage) = (TurnEnd::Complete, Usage::default());
        self.push(
            turn,
            TurnFinished { end, rounds, tools_executed: 0, usage, error: None, stop: None },
        );
    }

    fn op(&mut self, op: &Op) {
        let messages = self.state.view.messages.clone();
        match op {
            Op::Turn(rounds) => self.turn(rounds),
            Op::Entry(text) => {
                let ts = "2026-01-02T03:04:05Z".parse().unwrap();
                let entry =
                    HistoryEntry::event(&self.ids, ts, "memory-event", json!({"text": text}));
                self.push(None, EntryAdded { entry });
                let entry = HistoryEntry::event(&self.ids, ts, "note", json!([text]));
                self.push(None, EntryAdded { entry });
            }
            Op::Compact(at) => {
                let users: Vec<_> = messages
                    .iter()
                    .filter(|m| m.role() == robota_core::message::Role::User)
                    .collect();
                let keep_from = users.get(usize::from(*at)).map(|message| message.id.clone());
                let text = "[Context Summary] so far";
                let summary = Message::assistant(&self.ids, text, MessageState::Complete);
                self.push(None, CompactionFinished { summary: summary.into(), keep_from });
            }
            Op::Rewind(keep) => {
                let mut keep = usize::from(*keep) % (messages.len() + 1);
                while keep > 0 && messages[keep - 1].tool_uses().next().is_some() {
                    keep -= 1;
                }
                let keep = keep as u64;
                self.push(None, Rewound { keep, cause: RewindCause::Checkpoint, undoable: false });
            }
            Op::Restore => self.push(None, ViewRestored { messages: 0 }),
            Op::Rename(name) => self.push(None, Renamed { name: name.clone() }),
            Op::Prompt(text) => {
                let sha256 = robota_core::message::BlobRef::of(text.as_bytes()).sha256;
                self.push(None, PromptSet { sha256, text: text.clone() });
            }
        }
    }
}

fn journal_of(ops: &[Op]) -> Vec<Envelope> {
    let mut hand =
        JournalBuilder { events: Vec::new(), state: State::default(), ids: CountingIds::default() };
    let cwd = Some("/home/ada/app".to_owned());
    let session = SessionId::from("by-hand");
    hand.push(
        None,
        SessionCreated { session, format: FORMAT, cwd, parent: None, spawned_by: None },
    );
    hand.push(None, Opened { epoch: 1, after_seq: 0, pid: None });
    hand.push(None, ModeChanged { mode: Mode::Default });
    ops.iter().for_each(|op| hand.op(op));
    if let Some(snapshot) = hand.state.snapshot() {
        hand.push(None, snapshot);
    }
    hand.events
}

async fn every_format_round_trips(events: &[Envelope], rewound: bool) {
    let (store, session) = stored(events).await;
    let before = load_whole(&store, &session).await.unwrap();
    let seen = view(&store, &session).await;
    let report = validate::session(&store, &session).await.unwrap();
    assert_eq!(report.findings, []);

    let exported = journal::export(&store, &session, &Redactor::default()).await.unwrap();
    let other = MemoryStore::new();
    journal::import(&Destination::new(&other), journal::parse(&exported.bytes).unwrap())
        .await
        .unwrap();
    assert_eq!(load_whole(&other, &session).await.unwrap(), before);

    let record = Record::of(&store, &session).await.unwrap();
    let record = Record::parse(&serde_json::to_string(&record).unwrap()).unwrap();
    let other = MemoryStore::new();
    let to = Destination::new(&other);
    // Not the ids that the session itself has.
    let ids = RandomIds;
    let imported = record::import(&to, &record, &ids).await.unwrap();
    assert_eq!((imported.sealed.len(), imported.orphans, imported.unreadable.len()), (0, 0, 0));
    assert!(record::import(&to, &record, &ids).await.unwrap().already);
    assert_eq!(view(&other, &session).await, seen);
    assert_eq!(validate::session(&other, &session).await.unwrap().findings, []);
    let again = Record::of(&other, &session).await.unwrap();
    assert_eq!(again.messages, record.messages);
    assert_eq!(again.memory_events, record.memory_events);
    assert_eq!((&again.name, &again.system_prompt), (&record.name, &record.system_prompt));
    if !rewound {
        assert_eq!(again.history, record.history);
    }

    let exported = log::from_events(&session, events, &Redactor::default()).unwrap();
    let payloads: log::Payloads =
        exported.payloads.iter().map(|file| (file.path.clone(), file.bytes.clone())).collect();
    assert!(validate::log(&exported.bytes(), &payloads).ok());
    let other = MemoryStore::new();
    let to = Destination::new(&other);
    let imported = log::import(&to, &exported.bytes(), &payloads, &ids).await.unwrap();
    assert!(!imported.already && imported.sealed.is_empty());
    assert!(log::import(&to, &exported.bytes(), &payloads, &ids).await.unwrap().already);
    assert_eq!(view(&other, &session).await, seen);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn sess_14_every_format_restores_what_the_model_saw(ops in ops()) {
        let events = journal_of(&ops);
        let rewound = ops.iter().any(|op| matches!(op, Op::Rewind(_) | Op::Restore));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(every_format_round_trips(&events, rewound));
    }
}

#[tokio::test(start_paused = true)]
async fn sess_14_a_session_of_the_driver_round_trips_in_every_format() {
    every_format_round_trips(&two_turns().await, false).await;
}
