//! Generates sessions for the benches: rounds of one tool call each, and a driver that runs more.
#![allow(dead_code, reason = "each bench uses a part of it")]

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt as _;
use jiff::Timestamp;
use robota_core::approve::NoApprover;
use robota_core::call::CallContext;
use robota_core::clock::SystemClock;
use robota_core::driver::{Ports, Recorder, SessionConfig, run_turn};
use robota_core::event::{
    AssistantMessage, Envelope, Event, ModelRequested, ModelResponded, Purpose, TextChunk,
    ToolBatchFinished, ToolCalled, ToolFinished, ToolResultAdded, ToolStarted, TurnStarted,
};
use robota_core::gate::AllowAll;
use robota_core::hook::NoHooks;
use robota_core::ids::{CallId, CountingIds, Ids as _, MessageId, RandomIds};
use robota_core::journal::MemoryJournal;
use robota_core::message::{Block, Message, MessageState, ToolInput, ToolResult, ToolUse};
use robota_core::permission::Class;
use robota_core::provider::{
    Delta, DeltaStream, ModelRequest, Provider, ProviderError, StopReason,
};
use robota_core::state::State;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSet, ToolSpec};
use robota_core::turn::{TurnInput, TurnReport, TurnRules};
use robota_core::usage::Usage;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Events of one round of [`rounds`].
pub(crate) const EVENTS_A_ROUND: usize = 9;

/// Returns the events of a turn with this many rounds that is still running.
pub(crate) fn rounds(count: usize) -> Vec<Envelope> {
    let ids = CountingIds::default();
    let mut journal = Vec::with_capacity(count * EVENTS_A_ROUND + 1);
    let mut push = |event: Event| {
        journal.push(Envelope {
            seq: journal.len() as u64 + 1,
            epoch: 1,
            ts: Timestamp::UNIX_EPOCH,
            turn: Some("turn".into()),
            event,
            min_reader: None,
        });
    };
    let (provider, model) = ("bench".to_owned(), "model".to_owned());
    push(TurnStarted { input: None, provider, model, max_rounds: 0 }.into());
    for round in (1..).take(count) {
        let call = CallId::mint(&ids);
        let tool_use = ToolUse::new(call.clone(), format!("toolu_{}", ids.next()), "look", input());
        let outcome = ToolOutcome::ok(OUTPUT);
        let result: ToolResult = outcome.to_result(&tool_use);
        let (purpose, instruction) = (Purpose::Answer, None);
        let usage = Some(Usage::new(1000, 50));
        let blocks = vec![Block::text(WORDS), Block::ToolUse(tool_use.clone())];
        let message = Message::assistant(&ids, blocks, MessageState::Complete).with_usage(usage);
        let messages = u64::from(round) * 2;
        let (prompt, tools) = (None, Some("0".repeat(64)));
        push(
            ModelRequested {
                round,
                attempt: 1,
                purpose,
                messages,
                prompt,
                tools,
                instruction,
                continues: false,
            }
            .into(),
        );
        push(TextChunk { round, text: WORDS.to_owned() }.into());
        push(ToolCalled { round, index: 0, tool_use }.into());
        push(ModelResponded { round, stop: StopReason::ToolUse, usage, tool_calls: 1 }.into());
        push(AssistantMessage { round, message: message.into() }.into());
        push(ToolStarted { call: call.clone(), class: Class::Inspect, input: None }.into());
        push(
            ToolFinished {
                call,
                class: Some(Class::Inspect),
                outcome: outcome.into(),
                duration_ms: 1,
            }
            .into(),
        );
        push(
            ToolResultAdded { round, message: MessageId::mint(&ids), result: result.into() }.into(),
        );
        push(ToolBatchFinished { round, added: 1, skipped: 0, failed: 0 }.into());
    }
    journal
}

const WORDS: &str = "I look at the next file to see what it says about the thing we are after.";
const OUTPUT: &str = "fn main() {\n    let answer = 42;\n    assert_eq!(answer, 6 * 7);\n}\n";

fn input() -> ToolInput {
    ToolInput::Json(json!({"path": "crates/some-crate/src/some/file.rs", "limit": 200}))
}

/// A model that streams the same answer to every request, one [`Delta`] at a time.
pub(crate) struct Loop {
    /// The answer.
    pub(crate) answer: Vec<Delta>,
    /// Whether each piece makes its reader wait, as a network does.
    pub(crate) slow: bool,
}

impl Loop {
    /// Creates a model that asks for a tool in every answer.
    pub(crate) fn calling() -> Self {
        let tool_use = ToolUse::new("".into(), "toolu_1", "look", input());
        let answer = vec![
            Delta::Text(WORDS.to_owned()),
            Delta::Block(Block::ToolUse(tool_use)),
            Delta::Usage(Usage::new(1000, 50)),
            Delta::End(StopReason::ToolUse),
        ];
        Self { answer, slow: false }
    }

    /// Creates a model that answers with this many words.
    pub(crate) fn talking(words: usize, slow: bool) -> Self {
        let mut answer = vec![Delta::Text("word ".to_owned()); words];
        answer.push(Delta::End(StopReason::EndTurn));
        Self { answer, slow }
    }
}

#[async_trait::async_trait]
impl Provider for Loop {
    fn name(&self) -> &str {
        "bench"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        _context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let (slow, deltas) = (self.slow, VecDeque::from(self.answer.clone()));
        // A real provider keeps the request until its answer ends.
        let stream =
            futures::stream::unfold((deltas, request), move |(mut deltas, request)| async move {
                if slow {
                    tokio::task::yield_now().await;
                }
                let delta = deltas.pop_front()?;
                Some((Ok(delta), (deltas, request)))
            });
        Ok(stream.boxed())
    }
}

struct Look(ToolSpec);

#[async_trait::async_trait]
impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok(OUTPUT)
    }
}

/// A session that continues after some events.
pub(crate) struct Session {
    ports: Ports,
    config: SessionConfig,
    recorder: Recorder,
}

impl Session {
    /// Creates a session of that model, in that state.
    pub(crate) fn new(model: Loop, state: State) -> Self {
        let spec = ToolSpec {
            name: "look".to_owned(),
            description: "Looks at a file.".to_owned(),
            input_schema: json!({"type": "object"}),
            class: Class::Inspect,
        };
        let tools: [Arc<dyn Tool>; 1] = [Arc::new(Look(spec))];
        let ports = Ports {
            provider: Arc::new(model),
            tools: ToolSet::new(tools).unwrap(),
            live_tools: None,
            gate: Arc::new(AllowAll),
            approver: Arc::new(NoApprover),
            hooks: Arc::new(NoHooks),
            compactor: None,
            blobs: None,
            ids: Arc::new(RandomIds),
        };
        let mut turn = TurnRules::new("model");
        // A large window, so that a long history is not compacted.
        turn.context_window = 0;
        let journal = Box::new(MemoryJournal::new());
        let recorder = Recorder::new(journal, Arc::new(SystemClock), state);
        Self { ports, config: SessionConfig::new(turn), recorder }
    }

    /// Runs this many rounds, and then the answer at the round limit.
    pub(crate) async fn go_on(&mut self, rounds: u32) -> TurnReport {
        self.config.turn.max_rounds = rounds;
        let cancel = CancellationToken::new();
        let input = TurnInput::Continue;
        run_turn(self.ports.clone(), self.config.clone(), &mut self.recorder, input, &cancel).await
    }
}
