use proptest::prelude::*;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{
    AssistantMessage, CompactionFailed, CompactionFinished, CompactionStarted, CompactionTrigger,
    DecidedBy, FORMAT, Interrupted, ModelFailed, ModelRequested, ModelResponded, ModelRetry,
    PermissionAsked, PermissionDecided, Purpose, SessionCreated, TextChunk, ToolCalled,
    ToolStarted, TurnEnd, TurnStarted,
};
use robota_core::ids::CountingIds;
use robota_core::message::{Block, Cause, Message, MessageState, ToolInput, ToolUse};
use robota_core::permission::{Class, Verdict};
use robota_core::provider::StopReason;
use robota_core::state::State;
use robota_core::tool::ToolOutcome;

use super::*;

/// A journal for tests: each event is `after` seconds later than the previous one.
#[derive(Default)]
struct Journal {
    events: Vec<Envelope>,
    epoch: u32,
    seconds: i64,
    ids: CountingIds,
}

impl Journal {
    fn push(&mut self, after: i64, event: impl Into<Event>) {
        self.seconds += after;
        self.events.push(Envelope {
            seq: self.events.len() as u64 + 1,
            epoch: self.epoch,
            ts: Timestamp::from_second(self.seconds).unwrap(),
            turn: Some("t".into()),
            event: event.into(),
            min_reader: None,
        });
    }

    fn turn_started(&mut self, after: i64) {
        let (provider, model) = ("bedrock".to_owned(), "model-1".to_owned());
        self.push(after, TurnStarted { input: None, provider, model, max_rounds: 0 });
    }

    fn requested(&mut self, after: i64, attempt: u32) {
        let purpose = Purpose::Answer;
        let (prompt, tools, instruction) = (None, None, None);
        self.push(
            after,
            ModelRequested {
                round: 1,
                attempt,
                purpose,
                messages: 1,
                prompt,
                tools,
                instruction,
                continues: false,
            },
        );
    }

    fn responded(&mut self, after: i64, usage: Option<Usage>) {
        let stop = StopReason::EndTurn;
        self.push(after, ModelResponded { round: 1, stop, usage, tool_calls: 0 });
        self.answer(usage);
    }

    fn answer(&mut self, usage: Option<Usage>) {
        let blocks = vec![Block::text("words")];
        let message = Message::assistant(&self.ids, blocks, MessageState::Complete);
        self.push(0, AssistantMessage { round: 1, message: message.with_usage(usage).into() });
    }

    fn called(&mut self, call: &str, name: &str) {
        let tool_use = ToolUse::new(call.into(), "id", name, ToolInput::Json(().into()));
        self.push(0, ToolCalled { round: 1, index: 0, tool_use });
    }

    fn tool_finished(&mut self, after: i64, call: &str, outcome: ToolOutcome) {
        let (call, class) = (call.into(), Some(Class::Execute));
        self.push(after, ToolFinished { call, class, outcome: outcome.into(), duration_ms: 0 });
    }

    fn turn_finished(&mut self, after: i64, end: TurnEnd) {
        let failed = matches!(end, TurnEnd::ProviderFailed | TurnEnd::StoreFailed);
        let error = failed.then(network);
        let usage = Usage::default();
        self.push(
            after,
            TurnFinished { end, rounds: 1, tools_executed: 0, usage, error, stop: None },
        );
    }

    fn metrics(&self) -> Metrics {
        Metrics::fold(&self.events)
    }
}

fn network() -> ErrorData {
    ErrorData::new(ErrorKind::Network, "unreachable")
}

/// Formats the series of an instrument as `key=value,.. total`, or `key=value,.. count/sum` for a
/// histogram.
fn series(metrics: &Metrics, instrument: Instrument) -> Vec<String> {
    metrics
        .measurements()
        .filter(|measurement| measurement.instrument == instrument)
        .map(|Measurement { attributes, value, .. }| {
            let attributes: Vec<_> = attributes
                .iter()
                .filter(|(key, _)| *key != "gen_ai.operation.name")
                .map(|(key, value)| format!("{}={value}", key.rsplit('.').next().unwrap()))
                .collect();
            let value = match value {
                Value::Sum(sum) => sum.to_string(),
                Value::Histogram(histogram) => format!("{}/{}", histogram.count(), histogram.sum),
            };
            format!("{} {value}", attributes.join(","))
        })
        .collect()
}

#[test]
fn a_retried_call_counts_twice_and_its_round_once() {
    let mut journal = Journal::default();
    journal.turn_started(0);
    journal.requested(0, 1);
    journal.push(3, ModelRetry { round: 1, attempt: 1, error: network(), delay_ms: 500 });
    journal.requested(1, 2);
    journal.push(2, TextChunk { round: 1, text: "words".to_owned() });
    journal.responded(5, Some(Usage { cache_read_tokens: 64, ..Usage::new(100, 20) }));
    journal.turn_finished(0, TurnEnd::Complete);
    let metrics = journal.metrics();

    let model = "name=aws.bedrock,model=model-1";
    assert_eq!(series(&metrics, Instrument::Rounds), [" 1"]);
    assert_eq!(
        series(&metrics, Instrument::ModelCalls),
        [format!("{model} 1"), format!("{model},type=NETWORK_ERROR 1")]
    );
    assert_eq!(
        series(&metrics, Instrument::ModelCallDuration),
        [format!("{model} 1/7"), format!("{model},type=NETWORK_ERROR 1/3")]
    );
    assert_eq!(
        series(&metrics, Instrument::ModelRetries),
        [format!("{model},type=NETWORK_ERROR 1")]
    );
    assert_eq!(
        series(&metrics, Instrument::Tokens),
        [format!("{model},type=input 1/100"), format!("{model},type=output 1/20")]
    );
    assert_eq!(series(&metrics, Instrument::TokenDetails), [format!("{model},kind=cache_read 64")]);
    assert_eq!(series(&metrics, Instrument::Turns), ["end=complete 1"]);
    assert_eq!(series(&metrics, Instrument::TurnDuration), [" 1/11"]);
}

#[test]
fn tool_calls_are_counted_by_name_outcome_and_class() {
    let mut journal = Journal::default();
    journal.turn_started(0);
    for (call, name) in [("1", "read"), ("2", "bash"), ("3", "bash"), ("4", "made_up")] {
        journal.called(call, name);
    }
    journal.push(0, ToolStarted { call: "1".into(), class: Class::Inspect, input: None });
    journal.tool_finished(2, "1", ToolOutcome::ok("contents"));
    journal.push(0, ToolStarted { call: "2".into(), class: Class::Execute, input: None });
    journal.tool_finished(4, "2", ToolOutcome::failed("it broke in /home", "no"));
    journal.tool_finished(0, "3", ToolOutcome::not_run("denied", "no"));
    journal.tool_finished(0, "4", ToolOutcome::not_run("unknown_tool", "no"));
    let metrics = journal.metrics();
    assert_eq!(
        series(&metrics, Instrument::ToolCalls),
        [
            "name=_OTHER,outcome=not_run,class=execute,type=unknown_tool 1",
            "name=bash,outcome=failed,class=execute,type=_OTHER 1",
            "name=bash,outcome=not_run,class=execute,type=denied 1",
            "name=read,outcome=ok,class=execute 1",
        ]
    );
    assert_eq!(
        series(&metrics, Instrument::ToolDuration),
        ["name=bash,type=function,type=_OTHER 1/4", "name=read,type=function 1/2"],
        "a call that did not run has no duration"
    );
}

#[test]
fn permissions_compactions_and_sessions_are_counted() {
    let mut journal = Journal::default();
    let (session, cwd, parent) = ("s".into(), None, None);
    journal.push(0, SessionCreated { session, format: FORMAT, cwd, parent, spawned_by: None });
    let (call, rules) = (CallId::from("1"), Vec::new());
    let asked = PermissionAsked {
        call: call.clone(),
        reason: "why".to_owned(),
        rules,
        metadata: serde_json::Map::new(),
    };
    journal.push(0, asked);
    for by in [DecidedBy::User, DecidedBy::Gate, DecidedBy::Gate] {
        let (verdict, class, scope) = (Verdict::Deny, None, None);
        let (call, reason, rules) = (call.clone(), "why".to_owned(), Vec::new());
        journal.push(0, PermissionDecided { call, verdict, by, class, reason, scope, rules });
    }
    let before = State::default().context(1000);
    journal.push(0, CompactionStarted { trigger: CompactionTrigger::Manual, before });
    let summary = Message::user(&journal.ids, "so far").with_usage(Some(Usage::new(9, 1)));
    journal.push(0, CompactionFinished { summary: summary.into(), keep_from: None });
    journal.push(0, CompactionStarted { trigger: CompactionTrigger::Auto, before });
    journal.push(0, CompactionFailed { error: network() });
    let metrics = journal.metrics();
    assert_eq!(series(&metrics, Instrument::Sessions), [" 1"]);
    assert_eq!(series(&metrics, Instrument::PermissionsAsked), [" 1"]);
    assert_eq!(
        series(&metrics, Instrument::PermissionsDecided),
        ["verdict=deny,decided_by=gate 2", "verdict=deny,decided_by=user 1"]
    );
    assert_eq!(
        series(&metrics, Instrument::Compactions),
        ["trigger=auto,type=NETWORK_ERROR 1", "trigger=manual 1"]
    );
    assert_eq!(
        series(&metrics, Instrument::Tokens),
        ["name=_OTHER,model=_OTHER,type=input 1/9", "name=_OTHER,model=_OTHER,type=output 1/1"]
    );
}

#[test]
fn operations_interrupted_by_a_crash_have_no_duration() {
    let mut journal = Journal::default();
    journal.turn_started(0);
    journal.called("1", "bash");
    journal.push(0, ToolStarted { call: "1".into(), class: Class::Execute, input: None });
    journal.requested(1, 1);
    journal.epoch = 2;
    journal.tool_finished(
        90_000,
        "1",
        ToolOutcome { ran: DidRun::Maybe, ..ToolOutcome::failed("crash", "?") },
    );
    journal.push(0, Interrupted { cause: Cause::Crash, note: None });
    journal.turn_finished(0, TurnEnd::Interrupted);
    let metrics = journal.metrics();
    assert_eq!(
        series(&metrics, Instrument::ModelCalls),
        ["name=aws.bedrock,model=model-1,type=lost 1"]
    );
    assert_eq!(
        series(&metrics, Instrument::ToolCalls),
        ["name=bash,outcome=unknown,class=execute,type=crash 1"]
    );
    assert_eq!(series(&metrics, Instrument::Turns), ["end=interrupted 1"]);
    for duration in
        [Instrument::ModelCallDuration, Instrument::ToolDuration, Instrument::TurnDuration]
    {
        assert_eq!(metrics.count(duration), 0);
    }
}

#[test]
fn a_clock_that_was_set_back_gives_no_negative_duration() {
    let mut journal = Journal::default();
    journal.turn_started(100);
    journal.requested(0, 1);
    journal.responded(-50, None);
    let metrics = journal.metrics();
    assert_eq!(
        series(&metrics, Instrument::ModelCallDuration),
        ["name=aws.bedrock,model=model-1 1/0"]
    );
}

#[test]
fn buckets_include_their_upper_bound() {
    let mut value = Instrument::Tokens.zero();
    for tokens in [0.0, 1.0, 2.0, 4.0, 1e12] {
        value.record(tokens);
    }
    let Value::Histogram(histogram) = value else { panic!("tokens are a histogram") };
    assert_eq!(histogram.buckets[..3], [2, 2, 0]);
    assert_eq!(histogram.buckets[14], 1);
    assert_eq!((histogram.count(), histogram.min, histogram.max), (5, 0.0, 1e12));
}

#[test]
fn every_instrument_has_a_unique_name_and_sorted_bounds() {
    let names: std::collections::BTreeSet<_> =
        Instrument::ALL.iter().map(|instrument| instrument.name()).collect();
    assert_eq!(names.len(), Instrument::ALL.len());
    for instrument in Instrument::ALL {
        assert!(instrument.bounds().is_sorted(), "{instrument:?}");
        assert!(!instrument.unit().is_empty() && instrument.description().ends_with('.'));
    }
}

/// Appends one event, chosen by a number.
fn any_event(journal: &mut Journal, choice: u8, number: u8) {
    let after = i64::from(number % 7);
    let call = (number % 3).to_string();
    let usage = Usage { reasoning_tokens: 1, ..Usage::new(u64::from(number), 5) };
    match choice {
        0 => journal.turn_started(after),
        1 => journal.requested(after, 1 + u32::from(number % 2)),
        2 => journal.responded(after, Some(usage)),
        3 => {
            journal.push(after, ModelRetry { round: 1, attempt: 1, error: network(), delay_ms: 1 });
        }
        4 => journal.push(after, ModelFailed { round: 1, error: network() }),
        5 => journal.push(after, Interrupted { cause: Cause::User, note: None }),
        6 => journal.answer(Some(usage)),
        7 => journal.called(&call, "bash"),
        8 => {
            let (call, class) = (call.as_str().into(), Class::Execute);
            journal.push(after, ToolStarted { call, class, input: None });
        }
        9 => journal.tool_finished(after, &call, ToolOutcome::ok("done")),
        10 => journal.turn_finished(after, TurnEnd::ProviderFailed),
        _ => journal.epoch += 1,
    }
}

proptest! {
    /// In any order of events: nothing is counted twice or lost, the tokens are those of the state, and
    /// taking and merging at any point gives the same totals.
    #[test]
    fn totals_agree_with_the_events(
        choices in proptest::collection::vec((0_u8..12, any::<u8>(), any::<bool>()), 0..200),
    ) {
        let mut journal = Journal { epoch: 1, ..Journal::default() };
        let (mut live, mut total, mut folded) = (Metrics::default(), Metrics::default(), 0);
        for (choice, number, take) in choices {
            any_event(&mut journal, choice, number);
            for event in &journal.events[folded..] {
                live.apply(event);
            }
            folded = journal.events.len();
            if take {
                total.merge(live.take());
            }
        }
        total.merge(live.take());
        let metrics = journal.metrics();
        prop_assert!(metrics.measurements().eq(total.measurements()));

        let count = |wanted: fn(&Event) -> bool| {
            journal.events.iter().filter(|envelope| wanted(&envelope.event)).count() as u64
        };
        let requested = count(|event| matches!(event, Event::ModelRequested(_)));
        let open = u64::from(metrics.open.call.is_some());
        prop_assert_eq!(metrics.count(Instrument::ModelCalls) + open, requested);
        prop_assert!(metrics.count(Instrument::ModelCallDuration) <= requested);
        let finished = count(|event| matches!(event, Event::ToolFinished(_)));
        prop_assert_eq!(metrics.count(Instrument::ToolCalls), finished);
        prop_assert!(metrics.count(Instrument::ToolDuration) <= finished);
        let turns = count(|event| matches!(event, Event::TurnFinished(_)));
        prop_assert_eq!(metrics.count(Instrument::Turns), turns);

        let usage = State::fold(&journal.events).unwrap().usage;
        let tokens = |kind: &str| -> f64 {
            metrics.measurements().filter_map(|measurement| match measurement.value {
                Value::Histogram(histogram)
                    if measurement.attributes.iter().any(|(_, value)| value == kind) =>
                {
                    Some(histogram.sum)
                }
                _ => None,
            }).sum()
        };
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let expected = (usage.input_tokens as f64, usage.output_tokens as f64);
        prop_assert_eq!((tokens("input"), tokens("output")), expected);
        prop_assert_eq!(metrics.count(Instrument::TokenDetails), usage.reasoning_tokens);
    }
}
