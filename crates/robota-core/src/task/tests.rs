use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::ids::TaskId;

const AT: Timestamp = Timestamp::UNIX_EPOCH;

fn spawned(mode: TaskMode) -> TaskSpawned {
    TaskSpawned {
        kind: TaskKind::Agent,
        mode,
        label: "look".to_owned(),
        depth: 1,
        call: None,
        group: None,
        agent: None,
        input: String::new(),
        limits: AgentLimits::default(),
    }
}

fn question(call: &str) -> TaskChange {
    TaskChange::PermissionAsked(TaskQuestion {
        call: call.into(),
        tool: "Bash".to_owned(),
        input: json!({}),
        reason: String::new(),
    })
}

fn every_change() -> Vec<TaskChange> {
    let end = |status| TaskChange::Finished(TaskFinished::new(status));
    vec![
        TaskChange::Spawned(spawned(TaskMode::Background)),
        TaskChange::Started,
        TaskChange::Placed(TaskPlace::default()),
        TaskChange::ToolStarted { action: "Read".to_owned() },
        TaskChange::ToolEnded { error: None },
        question("c"),
        TaskChange::PermissionDecided { call: "c".into() },
        end(TaskStatus::Completed),
        end(TaskStatus::Failed),
        end(TaskStatus::Cancelled),
        end(TaskStatus::Running),
        TaskChange::Reported,
        TaskChange::Closed,
    ]
}

/// RUN-01: the whole table.
#[test]
fn run_01_the_table_of_transitions() {
    use TaskStatus::*;
    let table = |status| -> Vec<Option<TaskStatus>> {
        every_change().iter().map(|change| transition(status, change)).collect()
    };
    let (q, r, w) = (Some(Queued), Some(Running), Some(WaitingPermission));
    let (c, f, x) = (Some(Completed), Some(Failed), Some(Cancelled));
    let n = None;
    assert_eq!(table(Queued), [n, r, q, n, n, n, n, n, f, x, n, n, n]);
    assert_eq!(table(Running), [n, n, r, r, r, w, n, c, f, x, n, n, n]);
    assert_eq!(table(WaitingPermission), [n, n, w, w, w, w, r, c, f, x, n, n, n]);
    for status in [Completed, Failed, Cancelled] {
        let mut expected = vec![None; 11];
        expected.extend([Some(status); 2]);
        assert_eq!(table(status), expected, "{status:?}");
    }
}

#[test]
fn a_change_that_does_not_fit_changes_nothing() {
    let mut state = TaskState::new("t".into(), &spawned(TaskMode::Background), AT);
    let before = state.clone();
    let error = state.apply(&TaskChange::Closed, AT).unwrap_err();
    assert_eq!(error.to_string(), "the task is queued, which `closed` does not fit");
    assert_eq!(state, before);
}

#[test]
fn a_task_waits_until_all_its_questions_are_answered() {
    let mut state = TaskState::new("t".into(), &spawned(TaskMode::Background), AT);
    for change in [TaskChange::Started, question("a"), question("b")] {
        state.apply(&change, AT).unwrap();
    }
    state.apply(&TaskChange::PermissionDecided { call: "b".into() }, AT).unwrap();
    assert_eq!(state.status, TaskStatus::WaitingPermission);
    assert_eq!(state.questions[0].call.as_str(), "a");
    state.apply(&TaskChange::PermissionDecided { call: "a".into() }, AT).unwrap();
    assert_eq!(state.status, TaskStatus::Running);
}

#[test]
fn the_model_knows_the_end_of_a_foreground_task() {
    for (mode, reported) in [(TaskMode::Foreground, true), (TaskMode::Background, false)] {
        let mut tasks = Tasks::default();
        let id = TaskId::from("t");
        let end = TaskChange::Finished(TaskFinished::new(TaskStatus::Cancelled));
        for change in [TaskChange::Spawned(spawned(mode)), end] {
            tasks.apply(&id, &change, AT).unwrap();
        }
        assert_eq!(tasks.tasks[&id].reported, reported);
        tasks.apply(&id, &TaskChange::Reported, AT).unwrap();
        assert!(tasks.tasks[&id].reported);
    }
}

#[test]
fn old_ended_tasks_are_dropped_and_running_ones_are_not() {
    let mut tasks = Tasks::default();
    let running = TaskId::from("runs");
    tasks.apply(&running, &TaskChange::Spawned(spawned(TaskMode::Background)), AT).unwrap();
    for number in 0..MAX_ENDED + 10 {
        let id = TaskId::from(format!("t{number}"));
        tasks.apply(&id, &TaskChange::Spawned(spawned(TaskMode::Background)), AT).unwrap();
        let end = TaskChange::Finished(TaskFinished::new(TaskStatus::Cancelled));
        tasks.apply(&id, &end, AT).unwrap();
    }
    assert!(tasks.tasks.contains_key(&running));
    assert!(tasks.tasks.len() <= MAX_ENDED + 2, "{}", tasks.tasks.len());
}

#[test]
fn old_groups_that_are_done_are_dropped_and_running_ones_are_not() {
    let mut tasks = Tasks::default();
    let created =
        GroupChange::Created { label: String::new(), policy: WaitPolicy::WaitAll, tasks: vec![] };
    tasks.apply_group(&"runs".into(), &created, AT);
    for number in 0..MAX_ENDED + 10 {
        let id = format!("g{number}").into();
        tasks.apply_group(&id, &created, AT);
        tasks.apply_group(&id, &GroupChange::Done, AT);
    }
    assert!(tasks.groups.contains_key(&crate::ids::GroupId::from("runs")));
    assert!(tasks.groups.len() <= MAX_ENDED + 2, "{}", tasks.groups.len());
    let has = |id: &str| tasks.groups.contains_key(&crate::ids::GroupId::from(id));
    assert!(!has("g0") && has("g20"));
}

#[test]
fn run_06_the_policies_of_groups() {
    use TaskStatus::*;
    let fulfilled = |policy, tasks: &[Option<TaskStatus>]| {
        let mut all = Tasks::default();
        let created = GroupChange::Created { label: String::new(), policy, tasks: Vec::new() };
        all.apply_group(&"g".into(), &created, AT);
        all.groups[0].is_fulfilled(tasks)
    };
    let half = [Some(Completed), Some(Running)];
    let failed = [Some(Failed), Some(Running)];
    let ended = [Some(Failed), None];
    assert!(!fulfilled(WaitPolicy::WaitAll, &half) && fulfilled(WaitPolicy::WaitAll, &ended));
    assert!(fulfilled(WaitPolicy::WaitAny, &half) && !fulfilled(WaitPolicy::WaitAny, &failed));
    assert!(fulfilled(WaitPolicy::WaitAny, &ended));
    assert!(!fulfilled(WaitPolicy::Manual, &ended));
    assert!(fulfilled(WaitPolicy::Detached, &ended));
}

#[test]
fn the_end_of_a_task_that_was_moved_to_the_background_is_reported() {
    let mut state = TaskState::new(TaskId::from("t1"), &spawned(TaskMode::Foreground), AT);
    let moved = TaskPlace { mode: Some(TaskMode::Background), ..TaskPlace::default() };
    let end = TaskFinished::new(TaskStatus::Completed);
    for change in [TaskChange::Started, TaskChange::Placed(moved), TaskChange::Finished(end)] {
        state.apply(&change, AT).unwrap();
    }
    assert_eq!((state.mode, state.reported), (TaskMode::Background, false));
}
