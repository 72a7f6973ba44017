//! The named events of a run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use robota_core::agent::Agent;
use robota_core::event::{Envelope, TaskChanged};
use robota_core::ids::TaskId;
use robota_core::permission::Class;
use robota_core::task::{TaskChange, TaskFinished, TaskStatus};
use robota_core::tool::{Tool, ToolOutcome};
use robota_telemetry::named::{EventHistory, NamedProjection, OwnerKind, OwnerSegment};
use robota_testkit::{CountingIds, FakeClock, Script, ScriptedAnswer, ScriptedProvider, fn_tool};
use serde_json::json;

#[tokio::test]
async fn core_26_events_have_names_and_owners() {
    let look = fn_tool("look", Class::Inspect, |_| async { ToolOutcome::ok("seen") });
    let asks = ScriptedAnswer::new().text("I look.").tool("look", json!({}));
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

#[test]
fn core_26_background_tasks_start_and_complete() {
    let task = TaskId::from("bash_1");
    let end = TaskFinished::new(TaskStatus::Failed);
    let changes = [TaskChange::Started, TaskChange::Finished(end), TaskChange::Closed];
    let projection = NamedProjection::new("a1");
    let named = changes.map(|change| {
        let event = TaskChanged { task: task.clone(), change }.into();
        let envelope = Envelope {
            seq: 1,
            epoch: 1,
            ts: FakeClock::START,
            turn: None,
            event,
            min_reader: None,
        };
        projection.project(&envelope)
    });
    let [Some(started), Some(completed), None] = named else { panic!("{named:?}") };
    assert_eq!(started.name.to_string(), "task.started");
    assert_eq!(started.owner_path[1], OwnerSegment::new(OwnerKind::Task, "bash_1"));
    assert_eq!(completed.name.to_string(), "task.completed");
    assert_eq!(completed.data["status"], "failed");
}
