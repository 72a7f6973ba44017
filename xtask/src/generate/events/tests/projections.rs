//! The two projections that are code say what the map says.

use std::collections::BTreeSet;
use std::sync::Arc;

use robota_core::agent::Agent;
use robota_core::project::ReplayProjection;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_telemetry::named::NamedProjection;

use super::*;

struct Look(ToolSpec);

#[async_trait::async_trait]
impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("seen")
    }
}

/// A run with everything in it that needs no failure: payloads, text, a call, an answer.
async fn journal() -> Vec<Arc<Envelope>> {
    let spec = ToolSpec {
        name: "Look".to_owned(),
        description: "Looks.".to_owned(),
        input_schema: json!({"type": "object", "properties": {}}),
        class: Class::Inspect,
    };
    let script = Script::new().text("Hello.").tool("Look", json!({})).text("Done.");
    let mut agent = Agent::builder(ScriptedProvider::new(script), "any-model")
        .tools([Arc::new(Look(spec)) as Arc<dyn Tool>])
        .record_payloads(true)
        .build()
        .unwrap();
    agent.run("Hi").await;
    assert_eq!(agent.run("Look.").await.tools_executed, 1);
    agent.events()
}

fn words(event: &str, column: usize) -> &'static [&'static str] {
    ROWS.iter().find(|row| row.event == event).unwrap().words[column]
}

#[tokio::test]
async fn core_20_replay_events_are_made_of_the_events_the_map_names() {
    let mut projection = ReplayProjection::default();
    let mut seen = BTreeSet::new();
    for envelope in journal().await {
        let kind = envelope.event.kind();
        for event in projection.push(&envelope).unwrap() {
            assert!(words(kind, 0).contains(&event.name), "{kind} became {}", event.name);
            seen.insert(event.name);
        }
    }
    let all: BTreeSet<_> = VOCABULARIES[0].names.iter().copied().collect();
    assert_eq!(seen, all, "a run with a tool and payloads has every replay event");
}

#[tokio::test]
async fn core_26_named_events_are_made_of_the_events_the_map_names() {
    let projection = NamedProjection::new("agent-1");
    let mut seen = BTreeSet::new();
    for envelope in journal().await {
        let kind = envelope.event.kind();
        let name = projection.project(&envelope).map(|event| event.name.to_string());
        match name {
            Some(name) => {
                assert!(words(kind, 1).contains(&name.as_str()), "{kind} became {name}");
                seen.insert(name);
            }
            None => assert_eq!(words(kind, 1), [""; 0], "the map has a word for {kind}"),
        }
    }
    assert!(seen.len() > 8, "{seen:?}");
}
