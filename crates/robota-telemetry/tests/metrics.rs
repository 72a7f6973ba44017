//! The metrics of stored journals: for every fixture they agree with its events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use robota_core::event::{Envelope, Event};
use robota_core::state::State;
use robota_telemetry::{Instrument, Metrics, Value};

#[test]
fn a_stored_journal_has_the_metrics_of_its_events() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal-v1");
    let mut journals = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let Ok(events) = text
            .lines()
            .map(|line| Envelope::decode(line.as_bytes()))
            .collect::<Result<Vec<_>, _>>()
        else {
            continue; // One fixture ends in an incomplete line.
        };
        journals += 1;
        let metrics = Metrics::fold(&events);
        let count = |wanted: fn(&Event) -> bool| {
            events.iter().filter(|envelope| wanted(&envelope.event)).count() as u64
        };
        let turns = count(|event| matches!(event, Event::TurnFinished(_)));
        assert_eq!(metrics.count(Instrument::Turns), turns, "{path:?}");
        let tools = count(|event| matches!(event, Event::ToolFinished(_)));
        assert_eq!(metrics.count(Instrument::ToolCalls), tools, "{path:?}");
        let calls = count(|event| matches!(event, Event::ModelRequested(_)));
        assert!(metrics.count(Instrument::ModelCalls) <= calls, "{path:?}");
        if let Ok(state) = State::fold(&events) {
            let tokens: f64 = metrics
                .measurements()
                .filter(|measurement| measurement.instrument == Instrument::Tokens)
                .map(|measurement| match measurement.value {
                    Value::Histogram(histogram) => histogram.sum,
                    Value::Sum(_) => panic!("tokens are a histogram"),
                })
                .sum();
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let expected = state.usage.total() as f64;
            assert!((tokens - expected).abs() < 0.5, "{path:?}: {tokens} {expected}");
        }
    }
    assert!(journals > 8, "{journals} journals were read");
}
