//! The named events of a run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use robota_core::agent::Agent;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolOutcome};
use robota_telemetry::named::{EventHistory, NamedProjection};
use robota_testkit::{Answer, CountingIds, FakeClock, Script, ScriptedProvider, fn_tool};
use serde_json::json;

#[tokio::test]
async fn core_26_events_have_names_and_owners() {
    let look = fn_tool("look", Class::Inspect, |_| async { ToolOutcome::ok("seen") });
    let asks = Answer::new().text("I look.").tool("look", json!({}));
    let model = ScriptedProvider::new(Script::new().answer(asks).text("All is well."));
    let mut agent = Agent::builder(model, "test-model")
        .tools([Arc::new(look) as Arc<dyn Tool>])
        .ids(CountingIds::default())
        .clock(FakeClock::fixed())
        .build()
        .unwrap();
    let history = Arc::new(EventHistory::new(100));
    agent.observe(NamedProjection::new("a1").observer(history.clone()));
    agent.run("hi").await;
    let names: Vec<_> = history.snapshot().iter().map(|event| event.name.to_string()).collect();
    for expected in [
        "agent.created",
        "user.input",
        "execution.start",
        "tool.execute_start",
        "tool.execute_success",
        "agent.completion",
        "execution.complete",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
    let started =
        history.snapshot().into_iter().find(|event| event.name.local() == "execute_start");
    let path = started.unwrap().owner_path;
    assert_eq!(path.len(), 3, "agent, execution, tool: {path:?}");
    assert_eq!(path[0].owner_id, "a1");
}
