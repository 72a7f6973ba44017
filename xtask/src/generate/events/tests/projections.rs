//! The two projections that are code use the names of the table.

use std::sync::Arc;

use robota_core::agent::Agent;
use robota_core::permission::Class;
use robota_core::project::ReplayProjection;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::{Tool, ToolOutcome};
use robota_telemetry::named::NamedProjection;
use robota_testkit::fn_tool;

use super::*;

/// Returns a run with everything in it that needs no failure: payloads, text, a call, an answer.
async fn journal() -> Vec<Arc<Envelope>> {
    let look = fn_tool("Look", Class::Inspect, |_| async { ToolOutcome::ok("seen") });
    let script = Script::new().text("Hello.").tool("Look", json!({})).text("Done.");
    let mut agent = Agent::builder(ScriptedProvider::new(script), "any-model")
        .tools([Arc::new(look) as Arc<dyn Tool>])
        .configure(|config| config.record_payloads = true)
        .build()
        .unwrap();
    agent.run("Hi").await;
    assert_eq!(agent.run("Look.").await.tools_executed, 1);
    agent.events()
}

fn names(event: &str, column: usize) -> Vec<&'static str> {
    rows().find(|row| row.0 == event).unwrap().1[column].clone()
}

#[tokio::test]
async fn core_20_replay_events_are_made_of_the_events_the_map_names() {
    let mut projection = ReplayProjection::default();
    let mut seen = BTreeSet::new();
    for envelope in journal().await {
        let kind = envelope.event.kind();
        for event in projection.push(&envelope).unwrap() {
            assert!(names(kind, 0).contains(&event.name), "{kind} became {}", event.name);
            seen.insert(event.name);
        }
    }
    let all: BTreeSet<_> = vocabularies().next().unwrap().2.split_whitespace().collect();
    assert_eq!(seen, all, "a run with a tool and payloads has every replay event");
}

#[tokio::test]
async fn core_26_named_events_are_made_of_the_events_the_map_names() {
    let projection = NamedProjection::new("agent-1");
    let mut seen = BTreeSet::new();
    for envelope in journal().await {
        let kind = envelope.event.kind();
        match projection.project(&envelope).map(|event| event.name.to_string()) {
            Some(name) => {
                assert!(names(kind, 1).contains(&name.as_str()), "{kind} became {name}");
                seen.insert(name);
            }
            None => assert_eq!(names(kind, 1), [""; 0], "the table has a name for {kind}"),
        }
    }
    assert!(seen.len() > 8, "{seen:?}");
}
