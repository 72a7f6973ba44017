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

/// Projects a run with everything in it that needs no failure: payloads, text, a call, an answer. Checks
/// that the table names what each event becomes, and returns all names.
async fn names(
    column: usize,
    mut project: impl FnMut(&Envelope) -> Vec<String>,
) -> BTreeSet<String> {
    let look = fn_tool("Look", Class::Inspect, |_| async { ToolOutcome::ok("seen") });
    let script = Script::new().text("Hello.").tool("Look", json!({})).text("Done.");
    let mut agent = Agent::builder(ScriptedProvider::new(script), "any-model")
        .tools([Arc::new(look) as Arc<dyn Tool>])
        .configure(|config| config.record_payloads = true)
        .build()
        .unwrap();
    agent.run("Hi").await;
    assert_eq!(agent.run("Look.").await.tools_executed, 1);
    let mut seen = BTreeSet::new();
    for envelope in agent.events() {
        let kind = envelope.event.kind();
        let expected = &rows().find(|row| row.0 == kind).unwrap().1[column];
        let made = project(&envelope);
        assert!(made.iter().all(|name| expected.contains(&name.as_str())), "{kind}: {made:?}");
        assert!(column == 0 || made.is_empty() == expected.is_empty(), "{kind}: {made:?}");
        seen.extend(made);
    }
    seen
}

#[tokio::test]
async fn core_20_replay_events_are_made_of_the_events_the_map_names() {
    let mut projection = ReplayProjection::default();
    let project = |envelope: &Envelope| {
        let events = projection.push(envelope).unwrap().into_iter();
        events.map(|event| event.name.to_owned()).collect()
    };
    let all = vocabularies().next().unwrap().2.split_whitespace().map(str::to_owned).collect();
    assert_eq!(names(0, project).await, all, "a run with a tool has every replay event");
}

#[tokio::test]
async fn core_26_named_events_are_made_of_the_events_the_map_names() {
    let projection = NamedProjection::new("agent-1");
    let project = |envelope: &Envelope| {
        projection.project(envelope).map(|event| event.name.to_string()).into_iter().collect()
    };
    let seen = names(1, project).await;
    assert!(seen.len() > 8, "{seen:?}");
}
