//! Measures one more round of model and tool, through the real driver. The claim: it costs the same
//! after twenty thousand rounds as after ten.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod sessions;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robota_core::state::State;
use sessions::{Loop, Session};

/// Rounds of one measured turn: many, so that the fixed cost of a turn does not dominate.
const ROUNDS: u32 = 20;

fn rounds(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut group = criterion.benchmark_group("rounds");
    group.sample_size(20).warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(u64::from(ROUNDS)));
    for history in [10, 1_000, 20_000] {
        let state = State::fold(&sessions::rounds(history)).unwrap();
        group.bench_function(BenchmarkId::new("one more", history), |bencher| {
            bencher.iter_custom(|times| {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    // Each turn gets its own copy: with a shared list, the first append would copy
                    // it.
                    let mut own = state.clone();
                    let mut messages = state.view.messages.to_vec();
                    // A copied list has no spare capacity, and the first append would reallocate
                    // it.
                    messages.reserve(messages.len());
                    own.view.messages = messages.into();
                    let mut session = Session::new(Loop::calling(), own);
                    let start = Instant::now();
                    let report = runtime.block_on(session.go_on(ROUNDS));
                    total += start.elapsed();
                    assert_eq!(report.tools_executed, ROUNDS);
                }
                total
            });
        });
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
