//! Measures decoding a thousand streamed deltas on each wire, from bytes to deltas.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use robota_providers::Wire;
use robota_providers::fuzzing::count_deltas;

fn event(wire: Wire) -> &'static str {
    match wire {
        Wire::AnthropicMessages => {
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n"
        }
        Wire::ChatCompletions => {
            "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}],\"usage\":null}\n\n"
        }
        Wire::Responses => {
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":9,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"delta\":\"word \",\"logprobs\":[]}\n\n"
        }
        Wire::GeminiGenerateContent => {
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"word \"}]},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":1,\"totalTokenCount\":10},\"modelVersion\":\"m\",\"responseId\":\"r1\"}\r\n\r\n"
        }
    }
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(20).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(1_000));
    for wire in Wire::ALL {
        let stream = event(wire).repeat(1_000);
        group.bench_function(BenchmarkId::new("thousand deltas", wire.name()), |bencher| {
            bencher.iter(|| assert_eq!(count_deltas(wire, stream.as_bytes(), 1_500), 1_000));
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
