//! The spans of a session and their parents, as its tasks create them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use robota_core::permission::Class;
use robota_testkit::{Script, fn_tool};
use tracing::Instrument as _;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// Records the name of every span, and of its parent.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(&'static str, &'static str)>>>);

impl Spans {
    /// Returns the names of the parents of all spans with that name.
    fn parents(&self, name: &str) -> Vec<&'static str> {
        let spans = self.0.lock().unwrap();
        spans.iter().filter(|span| span.0 == name).map(|span| span.1).collect()
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, _attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span.parent().map_or("none", |parent| parent.name());
        self.0.lock().unwrap().push((span.name(), parent));
    }
}

#[tokio::test]
async fn the_spans_of_a_turn_belong_to_the_span_of_its_caller() {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let _subscriber = tracing::subscriber::set_default(subscriber);
    let (builder, _) = builder(yaml("- tools: [look]\n- text: Done."));
    let look = fn_tool("look", Class::Inspect, |_| async {
        tracing::info_span!("in the tool").in_scope(|| ());
        "seen"
    });
    let session = builder.tools(tool(look)).gate(allow()).create(memory(), None).await.unwrap();
    session.run("Go").instrument(tracing::info_span!("request")).await.unwrap();
    session.shutdown("end").await.unwrap();
    assert_eq!(spans.parents("turn"), ["request"]);
    assert_eq!(spans.parents("round"), ["turn", "turn"]);
    assert_eq!(spans.parents("model_call"), ["round", "round"]);
    assert_eq!(spans.parents("tool"), ["round"]);
    assert_eq!(spans.parents("in the tool"), ["tool"]);
}

#[tokio::test]
async fn model_calls_outside_turns_have_spans() {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let _subscriber = tracing::subscriber::set_default(subscriber);
    let (builder, _) = builder(Script::new().text("One.").text("Two.").text("A summary."));
    let session = builder.create(memory(), None).await.unwrap();
    session.ask_llm("Well?", None).instrument(tracing::info_span!("question")).await.unwrap();
    assert_eq!(spans.parents("model_call"), ["question"]);
    session.run("Go").await.unwrap();
    session.context().compact(None).await.unwrap();
    assert_eq!(spans.parents("model_call").len(), 3, "the summary is a model call too");
    session.shutdown("end").await.unwrap();
}
