//! Tests of the list of tasks.

use jiff::SignedDuration;
use robota_core::task::{AgentLimits, TaskChange, TaskFinished, TaskMode, TaskSpawned};

use super::*;

#[test]
fn a_task_that_runs_shows_the_time_until_now_and_one_that_ended_the_time_it_took() {
    let spawned = TaskSpawned {
        kind: TaskKind::Process,
        mode: TaskMode::Background,
        label: "dev server".to_owned(),
        depth: 1,
        call: None,
        group: None,
        agent: None,
        input: "serve".to_owned(),
        limits: AgentLimits::default(),
    };
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let after = |seconds| start + SignedDuration::from_secs(seconds);
    let mut task = TaskState::new(TaskId::from("bash_1"), &spawned, start);
    task.apply(&TaskChange::Started, after(1)).unwrap();
    let shown = list(std::slice::from_ref(&task), after(91)).message;
    assert_eq!(shown, "bash_1  running  90 s  dev server");
    let end = TaskChange::Finished(TaskFinished::new(TaskStatus::Completed));
    task.apply(&end, after(11)).unwrap();
    let shown = list(&[task], after(91)).message;
    assert_eq!(shown, "bash_1  completed  10 s  dev server");
}
