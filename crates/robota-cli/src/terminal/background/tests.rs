use robota_core::ids::TaskId;
use robota_core::task::{
    AgentLimits, TaskChange, TaskFinished, TaskKind, TaskMode, TaskPlace, TaskSpawned, TaskStatus,
};
use robota_sdk::InteractiveEvent;

use crate::terminal::testing::Harness;

fn spawned(mode: TaskMode) -> TaskChange {
    TaskChange::Spawned(TaskSpawned {
        kind: TaskKind::Agent,
        mode,
        label: "review".to_owned(),
        depth: 1,
        call: None,
        group: None,
        agent: Some("reviewer".to_owned()),
        input: "review".to_owned(),
        limits: AgentLimits::default(),
    })
}

fn change(program: &mut Harness, task: &str, change: TaskChange) {
    let (task, change) = (TaskId::from(task), Box::new(change));
    program.session(InteractiveEvent::BackgroundTaskEvent { task, change });
}

#[test]
fn the_status_line_counts_the_tasks_in_the_background() {
    let mut program = Harness::open(100, 24);
    assert!(!program.shown().contains("background"), "{}", program.shown());
    change(&mut program, "t1", spawned(TaskMode::Background));
    change(&mut program, "t2", spawned(TaskMode::Background));
    change(&mut program, "t3", spawned(TaskMode::Foreground));
    assert!(program.shown().contains("2 in background"), "{}", program.shown());
    change(&mut program, "t1", TaskChange::Started);
    change(&mut program, "t1", TaskChange::Finished(TaskFinished::new(TaskStatus::Completed)));
    assert!(program.shown().contains("1 in background"), "{}", program.shown());
    // A call waits for it until the user moves it.
    change(&mut program, "t3", TaskChange::Started);
    let mode = Some(TaskMode::Background);
    let moved = TaskChange::Placed(TaskPlace { mode, ..TaskPlace::default() });
    change(&mut program, "t3", moved);
    assert!(program.shown().contains("2 in background"), "{}", program.shown());
    change(&mut program, "t3", TaskChange::Finished(TaskFinished::new(TaskStatus::Completed)));
    assert!(program.shown().contains("1 in background"), "{}", program.shown());
    change(&mut program, "t2", TaskChange::Finished(TaskFinished::new(TaskStatus::Cancelled)));
    assert!(!program.shown().contains("background"), "{}", program.shown());
}
