//! A driver that performs no effects, for fuzzing the turn machine.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

use super::bytes::Bytes;
use super::turns::{answer, compaction, delta, failure, hook_reply, judged, outcome};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{Delivery, Envelope, Event, InputAccepted};
use robota_core::ids::{CallId, CountingIds, Ids, InputId, MessageId};
use robota_core::message::{Block, Role};
use robota_core::provider::{Delta, StopReason};
use robota_core::state::State;
use robota_core::turn::{Effect, Env, Input, Target, Turn, TurnFacts, TurnInput, TurnRules};

/// More steps than a turn can take to end once it gets only valid inputs.
const MAX_STEPS: usize = 20_000;

pub(super) struct FakeDriver {
    turn: Turn,
    state: State,
    ids: CountingIds,
    elapsed: Duration,
    /// Inputs that the driver itself produced, in order.
    inputs: VecDeque<Input>,
    /// Effects that have started and not ended.
    pending: Vec<Pending>,
    calls: Vec<CallId>,
    fail_next: bool,
    failed: bool,
    reports: u32,
}

/// An effect that has started.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Model,
    Judge(CallId),
    Tool(CallId),
    Question(CallId),
    Hook(Option<CallId>),
    Limits,
    Compaction,
    Wait,
}

impl FakeDriver {
    pub(super) fn new(rules: TurnRules, facts: TurnFacts, input: TurnInput) -> Self {
        let (state, ids) = (State::default(), CountingIds::default());
        let env = Env { state: &state, ids: &ids, elapsed: Duration::ZERO };
        let (turn, effects) = Turn::start(rules, facts, input, &env);
        let mut driver = Self {
            turn,
            state,
            ids,
            elapsed: Duration::ZERO,
            inputs: VecDeque::new(),
            pending: Vec::new(),
            calls: Vec::new(),
            fail_next: false,
            failed: false,
            reports: 0,
        };
        driver.perform(effects);
        driver
    }

    pub(super) fn ids(&self) -> &dyn Ids {
        &self.ids
    }

    pub(super) fn advance_time(&mut self, time: Duration) {
        self.elapsed += time;
    }

    pub(super) fn fail_next_append(&mut self) {
        self.fail_next = true;
    }

    /// Returns a call that was requested, or an unknown one.
    pub(super) fn pick_call(&self, bytes: &mut Bytes<'_>) -> CallId {
        let at = bytes.pick(self.calls.len() + 1);
        // One more than there are calls: a client can name a call that does not exist.
        self.calls.get(at).cloned().unwrap_or_else(|| CallId::from("unknown"))
    }

    /// Picks an input that waits, or one that does not exist.
    pub(super) fn pick_input(&self, bytes: &mut Bytes<'_>) -> InputId {
        let at = bytes.pick(4);
        self.state.inputs.get_index(at).map_or_else(|| "none".into(), |(input, _)| input.clone())
    }

    pub(super) fn pick_user_message(&self, bytes: &mut Bytes<'_>) -> Option<MessageId> {
        let at = bytes.pick(self.state.view.messages.len() + 1);
        let message = self.state.view.messages.get(at)?;
        (message.role() == Role::User).then(|| message.id.clone())
    }

    /// Accepts an input for the next round.
    pub(super) fn accept(&mut self, input: String, content: Vec<Block>) {
        if !self.turn.is_finished() {
            let (delivery, metadata) = (Delivery::NextRound, serde_json::Map::new());
            let input = input.into();
            self.fold([InputAccepted { input, delivery, content, metadata, source: None }.into()]);
        }
    }

    pub(super) fn send(&mut self, input: Input) {
        let env = Env { state: &self.state, ids: &self.ids, elapsed: self.elapsed };
        let was_finished = self.turn.is_finished();
        let effects = self.turn.on(input, &env);
        assert!(!was_finished || effects.is_empty(), "no effects after the end: {effects:?}");
        self.perform(effects);
    }

    /// Serialises and deserialises the machine, which is plain data.
    pub(super) fn round_trip_turn(&mut self) {
        let encoded = serde_json::to_value(&self.turn).expect("a turn can be serialised");
        self.turn = serde_json::from_value(encoded.clone()).expect("a turn can be deserialised");
        let encoded_again = serde_json::to_value(&self.turn).expect("a turn can be serialised");
        assert_eq!(encoded_again, encoded);
    }

    /// Ends or advances a started effect. The driver's own inputs come first, as in the real
    /// driver.
    pub(super) fn answer(&mut self, bytes: &mut Bytes<'_>) {
        let input = match self.inputs.pop_front() {
            Some(input) => input,
            None if self.pending.is_empty() => return,
            None => {
                let at = bytes.pick(self.pending.len());
                self.end(at, bytes)
            }
        };
        self.send(input);
    }

    fn end(&mut self, at: usize, bytes: &mut Bytes<'_>) -> Input {
        // Mostly deltas: a model that fails at once would hide the rest of the machine.
        if self.pending[at] == Pending::Model && bytes.pick(4) != 3 {
            let delta = delta(bytes);
            if matches!(delta, Delta::End(_)) {
                self.pending.remove(at);
            }
            return Input::Delta(delta);
        }
        match self.pending.remove(at) {
            Pending::Model => Input::ModelFailed(failure(bytes)),
            Pending::Judge(call) => Input::Judged { call, judged: judged(bytes) },
            Pending::Tool(call) => {
                let (outcome, duration) = (outcome(bytes), Duration::ZERO);
                Input::ToolFinished { call, outcome, duration }
            }
            Pending::Question(call) => Input::Answered { call, answer: answer(bytes) },
            Pending::Hook(call) => Input::Hooked { call, reply: hook_reply(bytes) },
            Pending::Limits => Input::LimitsFound(None),
            Pending::Compaction => Input::Compacted(compaction(bytes, self)),
            Pending::Wait => Input::WaitOver,
        }
    }

    /// Sends only valid inputs from here on; the model ends its answer, and hooks change nothing.
    pub(super) fn run_to_end(&mut self) {
        for _ in 0..MAX_STEPS {
            if self.turn.is_finished() {
                return;
            }
            let no_bytes = &mut Bytes::new(&[]);
            let input = match self.inputs.pop_front() {
                Some(input) => input,
                None if self.pending.is_empty() => break,
                None if self.pending[0] == Pending::Model => {
                    self.pending.remove(0);
                    Input::Delta(Delta::End(StopReason::EndTurn))
                }
                None => self.end(0, no_bytes),
            };
            self.send(input);
        }
        assert!(
            self.turn.is_finished(),
            "the turn waits without a pending effect: {:?}",
            self.turn
        );
    }

    /// Checks what must hold at the end of every turn.
    pub(super) fn check(&self) {
        assert_eq!(self.reports, 1, "one report");
        assert_eq!(self.state.turn, None, "the journal records the end of the turn");
        let mut unanswered: Vec<&CallId> = Vec::new();
        for message in self.state.view.messages.iter() {
            let results: Vec<_> = message.tool_results().map(|result| &result.call).collect();
            assert_eq!(
                results, unanswered,
                "one result for each call, in order, directly after it"
            );
            unanswered = message.tool_uses().map(|tool_use| &tool_use.call).collect();
        }
        assert!(unanswered.is_empty(), "no result for {unanswered:?}");
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        let mut effects = effects.into_iter();
        while let Some(effect) = effects.next() {
            match effect {
                // Once at most: the machine ends after the first failure.
                Effect::Append(events) if self.fail_next && !self.failed => {
                    (self.fail_next, self.failed) = (false, true);
                    // As in the real driver, whose state includes events that could not be appended.
                    self.fold(events);
                    self.append_failed(effects.collect());
                    return;
                }
                Effect::Append(events) => {
                    self.fold(events);
                    self.inputs.push_back(Input::Appended);
                }
                Effect::Finish(_) => self.reports += 1,
                Effect::Cancel(target) => self.cancel(&target),
                // After a failure the machine may only close the turn; what it starts is not
                // performed.
                _ if self.failed => {}
                Effect::CallModel(_) => self.pending.push(Pending::Model),
                Effect::Judge { tool_use, .. } => {
                    self.calls.push(tool_use.call.clone());
                    self.pending.push(Pending::Judge(tool_use.call));
                }
                Effect::RunTool { tool_use, .. } => self.pending.push(Pending::Tool(tool_use.call)),
                Effect::AskPermission(question) => {
                    self.pending.push(Pending::Question(question.call.call));
                }
                Effect::RunHook(input) => self.pending.push(Pending::Hook(input.call().cloned())),
                Effect::FindLimits => self.pending.push(Pending::Limits),
                Effect::Compact(_) => self.pending.push(Pending::Compaction),
                Effect::Wait(_) => self.pending.push(Pending::Wait),
            }
        }
    }

    fn append_failed(&mut self, dropped: Vec<Effect>) {
        // What was confirmed before the failure is not delivered any more, as in the real driver.
        self.inputs.clear();
        if dropped.iter().any(|effect| matches!(effect, Effect::Finish(_))) {
            self.reports += 1;
            return;
        }
        let error = ErrorData::new(ErrorKind::Storage, "no room");
        self.inputs.push_back(Input::AppendFailed { error, dropped });
    }

    fn cancel(&mut self, target: &Target) {
        self.pending.retain(|pending| match (target, pending) {
            (Target::Model, Pending::Model)
            | (Target::Limits, Pending::Limits)
            | (Target::Compaction, Pending::Compaction)
            | (Target::Wait, Pending::Wait) => false,
            (Target::Question(call), Pending::Question(of)) => call != of,
            (Target::Hook(call), Pending::Hook(of)) => call != of,
            // A cancelled tool still reports its outcome.
            _ => true,
        });
    }

    fn fold(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            let seq = self.state.cursor.map_or(1, |cursor| cursor.seq + 1);
            let envelope = Envelope {
                seq,
                epoch: 1,
                ts: Timestamp::UNIX_EPOCH,
                turn: Some(self.turn.id().clone()),
                event,
                min_reader: None,
            };
            self.state.apply(&envelope).expect("events in order fold");
        }
    }
}
