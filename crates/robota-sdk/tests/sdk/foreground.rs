//! Calls that wait for a command or an agent are moved to the background.

use std::sync::Arc;

use robota_core::event::Event;
use robota_core::ids::{CallId, TaskId};
use robota_core::permission::Mode;
use robota_core::task::{NotMoved, TaskChange, TaskMode, TaskStatus};
use robota_sdk::{AgentOptions, InteractiveEvent, InteractiveSession};
use robota_session::StartAt;

use crate::common::Scene;

/// Waits until a call of the session runs in the foreground, and returns it.
async fn waiting_call(session: &InteractiveSession) -> CallId {
    let tasks = session.tasks().unwrap();
    loop {
        if let Some(call) = tasks.foreground().list().into_iter().next() {
            return call;
        }
        tokio::task::yield_now().await;
    }
}

async fn open(scene: &Scene) -> InteractiveSession {
    let agents = AgentOptions { tool: true, ..AgentOptions::default() };
    scene.builder().agents(agents).mode(Mode::BypassPermissions).open().await.unwrap()
}

async fn task_changes(session: &InteractiveSession) -> Vec<TaskChange> {
    let events = session.session().journal().read(None, usize::MAX).await.unwrap();
    let changes = events.iter().filter_map(|event| match &event.envelope.event {
        Event::TaskChanged(changed) => Some(changed.change.clone()),
        _ => None,
    });
    changes.collect()
}

#[tokio::test]
async fn a_command_that_is_moved_runs_on_and_the_model_knows_its_task() {
    // It waits until the file exists, so that the test decides when it ends.
    let command = "cd .; echo first; until [ -e go ]; do sleep 0.01; done; echo second";
    let scene = Scene::new(&format!(
        "- {{tools: [{{tool: Bash, input: {{command: {command:?}, timeout: 600000}}}}]}}\n\
         - Moved.\n- {{tools: [{{tool: BashOutput, input: {{bash_id: bash_1}}}}]}}\n- Read.\n"
    ));
    let session = open(&scene).await;
    let mut events = session.events(StartAt::Now).await.unwrap();
    let turn = session.submit("Go.").await.unwrap();
    // The output of the call is shown before it is moved.
    loop {
        let event = events.next().await.unwrap().unwrap();
        if matches!(event, InteractiveEvent::ToolOutput { .. }) {
            break;
        }
    }
    let call = waiting_call(&session).await;
    let tasks = session.tasks().unwrap();
    let moved = tasks.foreground().move_to_background(&call).await.unwrap();
    assert_eq!(moved, [TaskId::from("bash_1")]);
    let done = turn.result().await.unwrap();
    assert_eq!(done.response, "Moved.");
    let output = done.tools[0].output.clone().unwrap();
    assert!(output.starts_with("first\n"), "{output}");
    assert!(output.contains("continues as bash_1"), "{output}");
    assert_eq!(done.tools[0].background_tasks, ["bash_1"]);
    let task = tasks.get(&moved[0]).unwrap();
    assert_eq!((task.mode, task.status), (TaskMode::Background, TaskStatus::Running));
    assert_eq!(task.call, Some(call.clone()));
    assert!(task.pid.is_some());

    std::fs::write(scene.path().join("project/go"), "").unwrap();
    let ended = tasks.wait(&moved[0]).await.unwrap();
    assert_eq!((ended.status, ended.exit_code), (TaskStatus::Completed, Some(0)));
    let log = tasks.read_log(&moved[0], 0, 1_000).await.unwrap();
    // What the shell prints to say where it ended is no output.
    assert_eq!(log.text, "first\nsecond\n");
    let done = session.submit("And?").await.unwrap().result().await.unwrap();
    let output = done.tools[0].output.clone().unwrap();
    assert!(output.starts_with("second\n[ended with exit code 0]"), "{output}");
    let not_waiting = tasks.foreground().move_to_background(&call).await;
    assert_eq!(not_waiting, Err(NotMoved::NotWaiting(call)));
}

#[tokio::test]
async fn a_moved_command_has_no_time_limit_and_survives_the_end_of_the_turn() {
    let scene = Scene::new(
        "- {tools: [{tool: Bash, input: {command: sleep 3; exit 3, timeout: 2000}}]}\n- Moved.\n",
    );
    let session = open(&scene).await;
    let turn = session.submit("Go.").await.unwrap();
    let call = waiting_call(&session).await;
    let tasks = session.tasks().unwrap();
    let moved = tasks.foreground().move_to_background(&call).await.unwrap();
    turn.result().await.unwrap();
    let ended = tasks.wait(&moved[0]).await.unwrap();
    assert_eq!((ended.status, ended.exit_code), (TaskStatus::Failed, Some(3)));
    // Its end is reported with the next prompt.
    assert_eq!(tasks.unreported().len(), 1);
}

#[tokio::test]
async fn an_agent_that_is_moved_works_on_and_its_end_is_reported() {
    let scene = Scene::new(
        "- {tools: [{tool: Agent, input: {prompt: Look., subagent_type: Explore}}]}\n\
         - {steps: [{stall: {gate: agent}}, {text: Found.}]}\n- Moved.\n- Thanks.\n",
    );
    let session = open(&scene).await;
    let turn = session.submit("Go.").await.unwrap();
    scene.provider.reached("agent").await;
    let call = waiting_call(&session).await;
    let tasks = session.tasks().unwrap();
    let moved = tasks.foreground().move_to_background(&call).await.unwrap();
    let done = turn.result().await.unwrap();
    let output = done.tools[0].output.clone().unwrap();
    assert!(output.contains(&format!("Agent {} works in the background.", moved[0])), "{output}");
    assert_eq!(done.tools[0].background_tasks, [moved[0].to_string()]);
    scene.provider.release("agent");
    let ended = tasks.wait(&moved[0]).await.unwrap();
    assert_eq!((ended.mode, ended.status), (TaskMode::Background, TaskStatus::Completed));
    assert!(!ended.reported);
    let recorded = task_changes(&session).await;
    let is_move = |change: &TaskChange| matches!(change, TaskChange::Placed(place) if place.mode == Some(TaskMode::Background));
    assert!(recorded.iter().any(is_move), "{recorded:?}");
    session.submit("And?").await.unwrap().result().await.unwrap();
    let request = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&request.messages).unwrap();
    assert!(text.contains("<task-notification>"), "{text}");
}

#[tokio::test]
async fn the_command_moves_everything_that_the_turn_waits_for() {
    let command = "until [ -e go ]; do sleep 0.01; done";
    let scene = Scene::new(&format!(
        "- {{tools: [{{tool: Bash, input: {{command: {command:?}}}}}]}}\n- Moved.\n"
    ));
    let session = Arc::new(open(&scene).await);
    let nothing = session.execute_command("background", "move").await.unwrap();
    assert_eq!(nothing.message, "Nothing runs that can be moved to the background.");
    let turn = session.submit("Go.").await.unwrap();
    waiting_call(&session).await;
    let moved = session.execute_command("background", "move").await.unwrap();
    assert_eq!(moved.message, "In the background: bash_1.");
    assert_eq!(turn.result().await.unwrap().response, "Moved.");
    session.shutdown("end").await.unwrap();
    let ended = session.tasks().unwrap().get(&"bash_1".into()).unwrap();
    assert_eq!(ended.status, TaskStatus::Cancelled, "a shutdown ends it");
}
