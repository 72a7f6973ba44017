use robota_core::ids::{GroupId, SessionId};
use robota_core::task::{AgentLimits, TaskChange, TaskKind, TaskMode, TaskPlace, TaskSpawned};

use super::*;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000 + second).unwrap()
}

fn task(id: &str, agent: Option<&str>, label: &str, group: Option<&str>) -> TaskState {
    let spawned = TaskSpawned {
        kind: if agent.is_some() { TaskKind::Agent } else { TaskKind::Process },
        mode: TaskMode::Background,
        label: label.to_owned(),
        depth: 1,
        call: None,
        group: group.map(GroupId::from),
        agent: agent.map(str::to_owned),
        input: label.to_owned(),
        limits: AgentLimits::default(),
    };
    let mut state = TaskState::new(TaskId::from(id), &spawned, at(0));
    state.apply(&TaskChange::Started, at(0)).unwrap();
    state
}

fn shown(tasks: Vec<TaskState>) -> Harness {
    let mut program = Harness::open(100, 24);
    assert!(matches!(program.press("ctrl+b").as_slice(), [Effect::Work(_)]));
    let found = LoadedTasks {
        tasks,
        now: at(75),
        log: None,
        opens: false,
        spent: Spent::default(),
        again: true,
    };
    let effects = program.send(Event::Answered(Box::new(found)));
    assert!(matches!(effects.as_slice(), [Effect::Work(_)]), "it waits for changes: {effects:?}");
    program
}

#[test]
fn tasks_and_agents_are_a_tree_with_state_time_and_action() {
    let mut reviewer = task("t2", Some("reviewer"), "review the diff", Some("g1"));
    reviewer.apply(&TaskChange::ToolStarted { action: "Read src/app.rs".into() }, at(1)).unwrap();
    let tester = task("t3", Some("tester"), "run the tests", Some("g1"));
    let program = shown(vec![task("t1", None, "cargo watch", None), reviewer, tester]);
    let shown = program.shown();
    let expected = [
        "▸ cargo watch",
        "  group g1",
        "  ├ reviewer: review the diff",
        "  └ tester: run the tests",
    ];
    let rows: Vec<_> = shown.lines().skip(2).take(4).collect();
    for (row, start) in rows.iter().zip(expected) {
        assert!(row.starts_with(start), "{start}: {shown}");
    }
    assert!(rows[0].contains("running  1:15"), "{shown}");
    assert!(rows[1].contains("0 of 2 ended"), "{shown}");
    assert!(rows[2].contains("running  1:15  Read src/app.rs"), "{shown}");
}

#[test]
fn a_task_ends_only_when_the_key_is_pressed_twice() {
    let mut program = shown(vec![task("t1", None, "server", None)]);
    assert!(program.press("ctrl+x").is_empty());
    assert!(program.shown().contains("Ctrl+X again ends it"), "{}", program.shown());
    assert!(program.press("up").is_empty(), "another key forgets it");
    assert!(program.press("ctrl+x").is_empty());
    assert!(matches!(program.press("ctrl+x").as_slice(), [Effect::Work(_)]));
}

#[test]
fn enter_before_the_tasks_are_read_shows_the_log_of_the_first() {
    let mut program = Harness::open(100, 24);
    program.press("ctrl+b");
    assert!(program.shown().contains("…") && !program.shown().contains("nothing here"));
    assert!(program.press("enter").is_empty());
    let tasks = vec![task("t1", None, "server", None)];
    let spent = Spent::default();
    let found = LoadedTasks { tasks, now: at(75), log: None, opens: false, spent, again: false };
    let effects = program.send(Event::Answered(Box::new(found)));
    assert!(matches!(effects.as_slice(), [Effect::Work(_)]), "the log is read: {effects:?}");
}

#[test]
fn a_message_is_typed_for_the_selected_task() {
    let mut program = shown(vec![task("t1", Some("reviewer"), "review", None)]);
    program.press("ctrl+s");
    program.type_text("look at main.rs");
    assert!(program.shown().contains("send: look at main.rs"), "{}", program.shown());
    assert!(matches!(program.press("enter").as_slice(), [Effect::Work(_)]));
}

#[test]
fn the_log_of_a_task_is_shown_and_follows_its_end() {
    let mut program = shown(vec![task("t1", None, "server", None)]);
    assert!(matches!(program.press("enter").as_slice(), [Effect::Work(_)]));
    let text: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    for text in [text.clone(), format!("{text}the end\n")] {
        let log = Some((TaskId::from("t1"), text));
        let tasks = vec![task("t1", None, "server", None)];
        let found = LoadedTasks {
            tasks,
            now: at(76),
            log,
            opens: true,
            spent: Spent::default(),
            again: true,
        };
        program.send(Event::Answered(Box::new(found)));
    }
    assert!(program.shown().contains("the end"), "{}", program.shown());
    program.press("esc");
    assert!(program.shown().starts_with("Background tasks"), "{}", program.shown());
    // A reader that began before the log was closed does not open it again.
    let log = Some((TaskId::from("t1"), "later".to_owned()));
    let tasks = vec![task("t1", None, "server", None)];
    let spent = Spent::default();
    let found = LoadedTasks { tasks, now: at(77), log, opens: false, spent, again: true };
    program.send(Event::Answered(Box::new(found)));
    assert!(program.shown().starts_with("Background tasks"), "{}", program.shown());
}

#[tokio::test]
async fn what_a_running_agent_costs_is_read_from_its_journal_once() {
    use robota_core::journal::{JournalStore, MemoryStore};
    use robota_core::scripted::{Script, ScriptedProvider};
    use robota_core::usage::Usage;

    let store: std::sync::Arc<dyn JournalStore> = std::sync::Arc::new(MemoryStore::new());
    let (id, model) = (SessionId::from("child"), "claude-sonnet-4-5");
    let provider = std::sync::Arc::new(ScriptedProvider::new(Script::new()));
    let builder = robota_session::Session::builder(provider, model);
    let session = builder.create(store.clone(), Some(id.clone())).await.unwrap();
    let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
    session.journal().record_model_call(model.to_owned(), Some(usage)).await.unwrap();
    let mut agent = task("t1", Some("reviewer"), "review", None);
    let place = TaskPlace { session: Some(id), ..TaskPlace::default() };
    agent.apply(&TaskChange::Placed(place), at(1)).unwrap();
    let tasks = [agent.clone()];
    let mut spent = Spent::default();
    spent.update(&tasks, &*store).await;
    let first = spent.of(&agent).unwrap();
    assert!(first > 0.0);
    spent.update(&tasks, &*store).await;
    assert_eq!(spent.of(&agent), Some(first), "an event is counted once");
}

#[test]
fn what_answers_a_key_starts_no_second_reader() {
    let mut program = shown(vec![task("t1", None, "cargo watch", None)]);
    assert!(matches!(program.press("enter").as_slice(), [Effect::Work(_)]));
    let log = Some((TaskId::from("t1"), "compiled".to_owned()));
    let tasks = vec![task("t1", None, "cargo watch", None)];
    let found =
        LoadedTasks { tasks, now: at(76), log, opens: true, spent: Spent::default(), again: false };
    assert!(program.send(Event::Answered(Box::new(found))).is_empty());
    assert!(program.shown().contains("compiled"), "{}", program.shown());
}
