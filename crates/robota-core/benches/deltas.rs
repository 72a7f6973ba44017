//! Measures a thousand streamed pieces of text through the real driver into a journal in memory:
//! with all pieces available, and with a wait for each.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod sessions;

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robota_core::state::State;
use sessions::{Loop, Session};

fn deltas(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut group = criterion.benchmark_group("thousand deltas");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(4));
    for (name, slow) in [("arrived", false), ("one by one", true)] {
        for thousands in [1, 20] {
            group.throughput(Throughput::Elements(thousands as u64));
            group.bench_function(BenchmarkId::new(name, thousands * 1_000), |bencher| {
                bencher.iter_batched(
                    || Session::new(Loop::talking(thousands * 1_000, slow), State::default()),
                    |mut session| {
                        let report = runtime.block_on(session.go_on(0));
                        assert_eq!(report.text.len(), thousands * 5_000);
                        session
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, deltas);
criterion_main!(benches);
