//! Measures the spans of a round when no subscriber enables them: the same work with and without
//! them. The work is the least that a round does, encoding and folding its events, so the real
//! share is smaller.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod sessions;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use robota_core::event::{Durability, Envelope};
use robota_core::ids::{SessionId, TurnId};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Class;
use robota_core::provider::StopReason;
use robota_core::state::State;
use robota_core::telemetry;
use robota_core::tool::ToolOutcome;
use robota_core::usage::Usage;

/// Encodes and folds the events of one round, each in an append of its own.
fn work(events: &[Envelope], bytes: &mut Vec<u8>, mut append: impl FnMut()) {
    bytes.clear();
    let mut state = State::default();
    for event in events {
        append();
        event.encode(bytes).unwrap();
        state.apply(event).unwrap();
    }
    black_box(state);
}

fn spans(criterion: &mut Criterion) {
    let events = sessions::rounds(1);
    let (session, turn) = (SessionId::from("session"), TurnId::from("turn"));
    let tool_use = ToolUse::new("call".into(), "toolu_1", "look", ToolInput::Json(().into()));
    let outcome = ToolOutcome::ok("contents");
    let mut bytes = Vec::with_capacity(64 * 1024);
    let round = |append: &mut dyn FnMut(&tracing::Span)| {
        let turn = telemetry::turn_span(Some(&session), &turn, "model", "bench");
        let round = telemetry::round_span(&turn, 1);
        let call = telemetry::model_call_span(&round, Some(&session), "model", "bench", 1);
        append(&turn);
        telemetry::record_usage(&call, Usage::new(1000, 50));
        telemetry::record_finish(&call, &StopReason::ToolUse);
        let tool = telemetry::tool_span(&round, &tool_use, Class::Inspect);
        telemetry::record_outcome(&tool, &outcome);
        black_box((&turn, &round, &call, &tool));
    };
    let append = |turn: &tracing::Span| {
        black_box(telemetry::append_span(turn, 1, Durability::Synced));
    };

    let mut group = criterion.benchmark_group("spans");
    group.sample_size(50).warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(5));
    group.bench_function("a round without", |bencher| {
        bencher.iter(|| work(&events, &mut bytes, || {}));
    });
    group.bench_function("a round with, no subscriber", |bencher| {
        bencher.iter(|| round(&mut |turn| work(&events, &mut bytes, || append(turn))));
    });
    group.bench_function("alone, no subscriber", |bencher| {
        bencher.iter(|| round(&mut |turn| events.iter().for_each(|_| append(turn))));
    });
    group.finish();
}

criterion_group!(benches, spans);
criterion_main!(benches);
