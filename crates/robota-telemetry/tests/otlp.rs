//! The export, as a collector receives it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod collector;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use collector::{Answer, Collector};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{Durability, TurnEnd};
use robota_core::ids::SessionId;
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Class;
use robota_core::provider::StopReason;
use robota_core::telemetry;
use robota_core::tool::ToolOutcome;
use robota_core::turn::TurnReport;
use robota_core::usage::Usage;
use robota_telemetry::{OtelError, OtelGuard, OtelOptions, install};
use robota_testkit::{FakeClock, Run, fn_tool};
use tracing_subscriber::layer::SubscriberExt as _;

/// Longer than any successful operation takes.
const LONG: Duration = Duration::from_secs(30);
const SECRET: &str = "the-users-secret";

/// Exports only on a flush, so no test depends on time.
fn options(collector: &Collector) -> OtelOptions {
    let mut options = OtelOptions::new(collector.url().parse().unwrap());
    options.interval = Duration::from_secs(3600);
    options
}

/// Runs a function with the exporter's layer as the subscriber.
fn traced<T>(otel: &OtelGuard, run: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(tracing_subscriber::registry().with(otel.layer()), run)
}

/// Creates a turn with one span of each kind.
fn turn() {
    let session = SessionId::from("s1");
    let turn = telemetry::turn_span(Some(&session), &"t1".into(), "some-model", "some-vendor");
    let round = telemetry::round_span(&turn, 1);
    {
        let call = telemetry::model_call_span(&round, Some(&session), "some-model", "gemini", 1);
        let _entered = call.enter();
        tracing::error!(text = SECRET, "what other code says is not exported");
        telemetry::record_usage(&call, Usage::new(100, 20));
        telemetry::record_finish(&call, &StopReason::ToolUse);
    }
    {
        let input = ToolInput::Json(SECRET.into());
        let tool_use = ToolUse::new("call-1".into(), "toolu_1", "read", input);
        let tool = telemetry::tool_span(&round, &tool_use, Class::Modify);
        let _entered = tool.enter();
        let _other = tracing::info_span!("of other code", text = SECRET).entered();
        telemetry::record_outcome(&tool, &ToolOutcome::failed("timeout", SECRET));
    }
    drop(telemetry::append_span(&turn, 3, Durability::Synced));
    drop(telemetry::append_span(&turn, 1, Durability::Written));
    drop(round);
    let report = TurnReport {
        end: TurnEnd::ProviderFailed,
        text: SECRET.to_owned(),
        stop: None,
        cost: None,
        duration: std::time::Duration::ZERO,
        rounds: 1,
        tools_executed: 1,
        failed_calls: Vec::new(),
        usage: Usage::new(100, 20),
        error: Some(ErrorData::new(ErrorKind::Network, SECRET)),
    };
    telemetry::record_turn(&turn, &report);
}

fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.clone().unwrap().value.unwrap() {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(yes) => yes.to_string(),
        Value::ArrayValue(list) => format!("{:?}", list.values[0].value),
        other => panic!("{other:?}"),
    };
    attributes.iter().map(|attribute| (attribute.key.clone(), text(attribute))).collect()
}

fn by_name(spans: Vec<Span>) -> BTreeMap<String, Span> {
    spans.into_iter().map(|span| (span.name.clone(), span)).collect()
}

#[test]
fn a_collector_gets_the_spans_with_names_parents_and_attributes() {
    let collector = Collector::start(Answer::Ok);
    let mut options = options(&collector);
    options.endpoint.set_path("/otlp/");
    options.headers = vec![("x-key".to_owned(), "k1".to_owned())];
    options.service_name = "tests".to_owned();
    options.resource = vec![("deployment.environment.name".to_owned(), "ci".to_owned())];
    let otel = install(&options).unwrap();
    traced(&otel, turn);
    otel.shutdown(LONG).unwrap();

    let request = collector.next();
    assert_eq!(request.path, "/otlp/v1/traces");
    assert_eq!(request.header("x-key"), Some("k1"));
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    let text = String::from_utf8_lossy(&request.body).into_owned();
    assert!(!text.contains(SECRET), "no content is exported");
    let (resource, spans) = request.spans();
    let resource = attributes(&resource);
    assert_eq!(resource["service.name"], "tests");
    assert_eq!(resource["deployment.environment.name"], "ci");

    let spans = by_name(spans);
    let names: Vec<_> = spans.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["append", "chat some-model", "execute_tool read", "invoke_agent", "round"],
        "nothing else, and of the appends only the synced one"
    );
    let (turn, round, call) = (&spans["invoke_agent"], &spans["round"], &spans["chat some-model"]);
    let (tool, append) = (&spans["execute_tool read"], &spans["append"]);
    assert!(turn.parent_span_id.is_empty());
    for (child, parent) in [(round, turn), (call, round), (tool, round), (append, turn)] {
        assert_eq!(child.parent_span_id, parent.span_id, "{}", child.name);
        assert_eq!(child.trace_id, turn.trace_id);
        assert!(child.end_time_unix_nano >= child.start_time_unix_nano);
    }
    for span in spans.values() {
        let client = span.name.starts_with("chat");
        let kind = if client { SpanKind::Client } else { SpanKind::Internal };
        assert_eq!(span.kind(), kind, "{}", span.name);
        assert!(span.events.is_empty(), "{}", span.name);
    }

    let fields = attributes(&call.attributes);
    assert_eq!(fields["gen_ai.operation.name"], "chat");
    assert_eq!(fields["gen_ai.provider.name"], "gcp.gemini", "the name of the conventions");
    assert_eq!(fields["gen_ai.request.model"], "some-model");
    assert_eq!(fields["gen_ai.conversation.id"], "s1");
    assert_eq!(fields["gen_ai.usage.input_tokens"], "100");
    assert_eq!(fields["gen_ai.usage.output_tokens"], "20");
    assert_eq!(fields["gen_ai.response.finish_reasons"], "Some(StringValue(\"tool_call\"))");
    assert_eq!(call.status.clone().unwrap().code(), StatusCode::Unset);
    let fields = attributes(&tool.attributes);
    assert_eq!(fields["gen_ai.tool.name"], "read");
    assert_eq!(fields["gen_ai.tool.call.id"], "toolu_1");
    assert_eq!(fields["error.type"], "timeout");
    assert_eq!(tool.status.clone().unwrap().code(), StatusCode::Error);
    let fields = attributes(&turn.attributes);
    assert_eq!(fields["gen_ai.operation.name"], "invoke_agent");
    assert_eq!(fields["gen_ai.provider.name"], "some-vendor");
    assert_eq!(fields["robota.turn.end"], "provider_failed");
    assert_eq!(fields["error.type"], "NETWORK_ERROR");
    assert!(fields.keys().all(|key| !key.starts_with("otel.")), "{fields:?}");
    let known = ["gen_ai.", "robota.", "error.type"];
    for key in fields.keys() {
        assert!(known.iter().any(|prefix| key.starts_with(prefix)), "{key}");
    }
}

fn total(metric: &Metric) -> u64 {
    match metric.data.as_ref().unwrap() {
        metric::Data::Sum(sum) => {
            assert!(sum.is_monotonic);
            let value = |point: &number_data_point::Value| match point {
                number_data_point::Value::AsInt(value) => u64::try_from(*value).unwrap(),
                number_data_point::Value::AsDouble(_) => panic!("a count is whole"),
            };
            sum.data_points.iter().map(|point| value(point.value.as_ref().unwrap())).sum()
        }
        metric::Data::Histogram(histogram) => {
            for point in &histogram.data_points {
                assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                assert!(point.time_unix_nano >= point.start_time_unix_nano);
            }
            histogram.data_points.iter().map(|point| point.count).sum()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_collector_gets_the_metrics_of_every_session() {
    let collector = Collector::start(Answer::Ok);
    let otel = install(&options(&collector)).unwrap();
    for _ in 0..2 {
        let ran = Run::script(
            "
- {tools: [look], usage: {input: 10, output: 2}}
- {text: Done., usage: {input: 20, output: 3}}
",
        )
        .tool(fn_tool("look", Class::Inspect, |_| async { "contents" }))
        .clock(FakeClock::stepping(Duration::from_millis(100)))
        .prompt("Look.")
        .await;
        assert_eq!(ran.text, "Done.");
        let observer = otel.observer();
        ran.events.iter().for_each(|event| observer(event));
    }
    otel.flush(LONG).unwrap();
    otel.flush(LONG).unwrap();

    let request = collector.next();
    assert_eq!(request.path, "/v1/metrics");
    assert!(
        collector.is_quiet(),
        "there were no spans, and totals that have not changed are not sent again"
    );
    let metrics = request.metrics();
    let metrics: BTreeMap<_, _> =
        metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect();
    let total = |name: &str| total(metrics[name]);
    assert_eq!(total("robota.turns"), 2);
    assert_eq!(total("robota.rounds"), 4);
    assert_eq!(total("robota.model.calls"), 4);
    assert_eq!(total("gen_ai.client.operation.duration"), 4);
    assert_eq!(total("gen_ai.execute_tool.duration"), 2);
    assert_eq!(total("gen_ai.invoke_agent.duration"), 2);
    assert_eq!(total("robota.tool.calls"), 2);
    let tokens = metrics["gen_ai.client.token.usage"];
    assert_eq!(tokens.unit, "{token}");
    let Some(metric::Data::Histogram(histogram)) = &tokens.data else { panic!("{tokens:?}") };
    let sums: BTreeMap<_, _> = histogram
        .data_points
        .iter()
        .map(|point| (attributes(&point.attributes)["gen_ai.token.type"].clone(), point.sum))
        .collect();
    assert_eq!(sums, BTreeMap::from([("input".into(), Some(60.0)), ("output".into(), Some(10.0))]));
}

/// The agent never waits for the export: thousands of spans with a collector that does not answer,
/// and a shutdown that returns within its timeout.
#[test]
fn a_collector_that_never_answers_delays_nothing() {
    let collector = Collector::start(Answer::Never);
    let mut options = options(&collector);
    (options.queue, options.timeout) = (64, LONG);
    let otel = install(&options).unwrap();
    let started = Instant::now();
    traced(&otel, || {
        turn();
        // From here on the exporter waits for the answer to its first request.
        assert_eq!(otel.flush(Duration::ZERO), Err(OtelError::Timeout(Duration::ZERO)));
        collector.next();
        for _ in 0..1000 {
            turn();
        }
    });
    assert!(otel.dropped() > 4000, "{}", otel.dropped());
    let limit = Duration::from_millis(50);
    assert_eq!(otel.shutdown(limit), Err(OtelError::Timeout(limit)));
    assert!(started.elapsed() < LONG / 2, "{:?}", started.elapsed());
}

#[test]
fn an_unreachable_collector_is_an_error_only_at_shutdown() {
    let otel = install(&options(&Collector::unreachable())).unwrap();
    traced(&otel, turn);
    let error = otel.shutdown(LONG).unwrap_err();
    assert!(matches!(error, OtelError::Collector(_)), "{error:?}");
}

#[test]
fn spans_are_kept_while_the_collector_is_busy_and_dropped_when_it_rejects_them() {
    let collector = Collector::start(Answer::Status(503));
    let otel = install(&options(&collector)).unwrap();
    traced(&otel, turn);
    otel.flush(LONG).unwrap_err();
    assert_eq!(collector.next().spans().1.len(), 5);
    collector.answer(Answer::Ok);
    otel.flush(LONG).unwrap();
    assert_eq!(collector.next().spans().1.len(), 5, "the same spans are sent again");
    otel.flush(LONG).unwrap();
    assert!(collector.is_quiet(), "the spans were accepted");

    collector.answer(Answer::Status(400));
    traced(&otel, turn);
    otel.flush(LONG).unwrap_err();
    assert_eq!(collector.next().spans().1.len(), 5);
    assert_eq!(otel.dropped(), 5);
    otel.flush(LONG).unwrap();
    assert!(collector.is_quiet());
}

#[test]
fn a_ratio_of_zero_exports_no_spans() {
    let collector = Collector::start(Answer::Ok);
    let mut options = options(&collector);
    options.sample_ratio = 0.0;
    let otel = install(&options).unwrap();
    traced(&otel, turn);
    otel.shutdown(LONG).unwrap();
    assert!(collector.is_quiet());
}

#[test]
fn an_endpoint_that_is_not_http_is_an_error() {
    let result = install(&OtelOptions::new("file:///tmp/spans".parse().unwrap()));
    assert!(matches!(result.err(), Some(OtelError::Option { .. })));
}
