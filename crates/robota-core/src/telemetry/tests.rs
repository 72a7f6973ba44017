use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::*;
use crate::error::{ErrorData, ErrorKind};
use crate::event::TurnEnd;
use crate::message::ToolInput;

/// A span as a subscriber sees it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    name: String,
    parent: Option<String>,
    fields: BTreeMap<String, String>,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }
}

#[derive(Clone, Default)]
struct Recording(Arc<Mutex<BTreeMap<u64, Seen>>>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recording {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        assert_eq!(span.metadata().target(), TARGET);
        let parent = span.parent().map(|parent| parent.name().to_owned());
        let mut seen = Seen { name: span.name().to_owned(), parent, ..Seen::default() };
        attributes.record(&mut seen);
        self.0.lock().unwrap().insert(id.into_u64(), seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        values.record(self.0.lock().unwrap().get_mut(&id.into_u64()).unwrap());
    }
}

/// Returns the spans that `make` creates, by name.
fn seen(make: impl FnOnce()) -> BTreeMap<String, Seen> {
    let recording = Recording::default();
    let subscriber = tracing_subscriber::registry().with(recording.clone());
    tracing::subscriber::with_default(subscriber, make);
    let seen = recording.0.lock().unwrap().clone();
    seen.into_values().map(|span| (span.name.clone(), span)).collect()
}

const SECRET: &str = "the-users-secret";

fn tool_use() -> ToolUse {
    let input = ToolInput::Json(serde_json::json!({"path": SECRET}));
    ToolUse::new("call-1".into(), "toolu_1", "read", input)
}

fn report(error: Option<ErrorData>) -> TurnReport {
    TurnReport {
        end: TurnEnd::ProviderFailed,
        text: SECRET.to_owned(),
        stop: None,
        cost: None,
        duration: std::time::Duration::ZERO,
        rounds: 2,
        tools_executed: 1,
        failed_calls: Vec::new(),
        usage: Usage { cache_read_tokens: 7, ..Usage::new(100, 20) },
        error,
    }
}

/// Runs one span of each kind, with all fields recorded.
fn run() {
    let session = SessionId::from("s1");
    let turn = turn_span(Some(&session), &"t1".into(), "some-model", "some-vendor");
    let round = round_span(&turn, 1);
    let call = model_call_span(&round, Some(&session), "some-model", "some-vendor", 2);
    record_usage(&call, Usage::new(100, 20));
    record_finish(&call, &StopReason::ToolUse);
    let tool = tool_span(&round, &tool_use(), Class::Modify);
    record_outcome(&tool, &ToolOutcome::failed("timeout", SECRET));
    let append = append_span(&turn, 3, Durability::Synced);
    record_error(&append, ErrorKind::Storage.code());
    record_turn(&turn, &report(Some(ErrorData::new(ErrorKind::Network, SECRET))));
}

#[test]
fn spans_have_the_names_and_fields_of_the_conventions() {
    let seen = seen(run);
    let field = |span: &str, field: &str| seen[span].fields.get(field).map(String::as_str);
    for (span, name, kind, operation) in [
        ("turn", Some("invoke_agent"), "internal", Some("invoke_agent")),
        ("round", None, "internal", None),
        ("model_call", Some("chat some-model"), "client", Some("chat")),
        ("tool", Some("execute_tool read"), "internal", Some("execute_tool")),
        ("append", None, "internal", None),
    ] {
        assert_eq!(field(span, "otel.name"), name);
        assert_eq!(field(span, "otel.kind"), Some(kind));
        assert_eq!(field(span, "gen_ai.operation.name"), operation);
    }
    for span in ["turn", "model_call"] {
        assert_eq!(field(span, "gen_ai.provider.name"), Some("some-vendor"));
        assert_eq!(field(span, "gen_ai.request.model"), Some("some-model"));
        assert_eq!(field(span, "gen_ai.conversation.id"), Some("s1"));
        assert_eq!(field(span, "gen_ai.usage.input_tokens"), Some("100"));
        assert_eq!(field(span, "gen_ai.usage.output_tokens"), Some("20"));
    }
    assert_eq!(field("turn", "gen_ai.usage.cache_read.input_tokens"), Some("7"));
    assert_eq!(field("model_call", "gen_ai.usage.cache_read.input_tokens"), None, "it is zero");
    assert_eq!(field("model_call", "gen_ai.response.finish_reasons"), Some("tool_call"));
    assert_eq!(field("model_call", "error.type"), None);
    assert_eq!(field("model_call", "robota.attempt"), Some("2"));
    assert_eq!(field("tool", "gen_ai.tool.call.id"), Some("toolu_1"));
    assert_eq!(field("tool", "robota.call.id"), Some("call-1"));
    assert_eq!(field("tool", "robota.tool.class"), Some("modify"));
    assert_eq!(field("tool", "error.type"), Some("timeout"));
    assert_eq!(field("tool", "otel.status_code"), Some("ERROR"));
    assert_eq!(field("append", "error.type"), Some("STORAGE_ERROR"));
    assert_eq!(field("turn", "error.type"), Some("NETWORK_ERROR"));
    assert_eq!(field("turn", "robota.turn.end"), Some("provider_failed"));
    assert_eq!(field("turn", "robota.turn.rounds"), Some("2"));
}

#[test]
fn spans_have_the_right_parents() {
    let seen = seen(run);
    let parent = |span: &str| seen[span].parent.as_deref();
    assert_eq!(parent("turn"), None);
    assert_eq!(parent("round"), Some("turn"));
    assert_eq!(parent("model_call"), Some("round"));
    assert_eq!(parent("tool"), Some("round"));
    assert_eq!(parent("append"), Some("turn"));
}

#[test]
fn no_span_carries_content() {
    let seen = format!("{:?}", seen(run));
    assert!(!seen.contains(SECRET), "{seen}");
    assert!(seen.contains("toolu_1"), "the spans are there");
}

#[test]
fn free_text_is_not_a_stable_code() {
    assert_eq!(stable_code("unknown_tool"), "unknown_tool");
    assert_eq!(stable_code("cannot open /home/me/secret"), OTHER);
    assert_eq!(stable_code(""), OTHER);
    assert_eq!(stable_code(&"x".repeat(65)), OTHER);
    assert_eq!(
        finish_reason(&StopReason::Other("model_context_window_exceeded".to_owned())),
        "model_context_window_exceeded"
    );
    assert_eq!(finish_reason(&StopReason::Other("a whole sentence".to_owned())), OTHER);
}

#[test]
fn written_appends_are_below_info() {
    let root = Span::none();
    let subscriber =
        tracing_subscriber::registry().with(tracing_subscriber::filter::LevelFilter::INFO);
    tracing::subscriber::with_default(subscriber, || {
        assert!(append_span(&root, 1, Durability::Written).is_disabled());
        assert!(!append_span(&root, 1, Durability::Synced).is_disabled());
    });
}
