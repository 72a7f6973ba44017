//! Measures writing, reading and folding an event. The claim: it costs the same in a journal of ten
//! events as in one of a hundred thousand.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod sessions;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robota_core::event::Envelope;
use robota_core::state::State;

const SIZES: [usize; 3] = [10, 1_000, 100_000];

fn lines(envelopes: &[Envelope]) -> Vec<Vec<u8>> {
    let line = |envelope: &Envelope| {
        let mut line = Vec::new();
        envelope.encode(&mut line).unwrap();
        line
    };
    envelopes.iter().map(line).collect()
}

fn journal(criterion: &mut Criterion) {
    let all = sessions::rounds(SIZES[2] / sessions::EVENTS_A_ROUND + 1);
    let all_lines = lines(&all);
    let mut group = criterion.benchmark_group("journal");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(4));
    for size in SIZES {
        let (events, lines) = (&all[..size], &all_lines[..size]);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new("encode", size), |bencher| {
            let mut line = Vec::new();
            bencher.iter(|| {
                for event in events {
                    line.clear();
                    event.encode(&mut line).unwrap();
                    black_box(&line);
                }
            });
        });
        group.bench_function(BenchmarkId::new("decode", size), |bencher| {
            bencher.iter(|| {
                for line in lines {
                    black_box(Envelope::decode(line).unwrap());
                }
            });
        });
        group.bench_function(BenchmarkId::new("fold", size), |bencher| {
            // Dropping the state is not part of folding.
            bencher.iter_batched(
                || (),
                |()| State::fold(black_box(events)).unwrap(),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, journal);
criterion_main!(benches);
