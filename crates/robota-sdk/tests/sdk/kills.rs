//! The process is killed at any event: after a resume every task, group and schedule is accounted for.

use std::collections::BTreeSet;
use std::sync::Arc;

use robota_core::event::{Durability, Envelope, Event};
use robota_core::ids::{SessionId, TaskId};
use robota_core::journal::{JournalStore, MemoryStore, SessionFilter, read_all};
use robota_core::permission::Mode;
use robota_core::task::{GroupChange, GroupStatus, TaskChange};
use robota_runtime::SessionSchedules as _;
use robota_sdk::{AgentOptions, SessionChoice};

use crate::common::Scene;

/// Returns the store that a process leaves if it is killed after this many events of a session.
async fn killed_after(
    store: &dyn JournalStore,
    session: &SessionId,
    count: usize,
) -> (Arc<MemoryStore>, Vec<Envelope>) {
    let after = MemoryStore::new();
    let mut kept = read_all(store, session, 0).await.unwrap();
    kept.truncate(count);
    for head in store.list(&SessionFilter::default()).await.unwrap().sessions {
        let mut events = read_all(store, &head.session, 0).await.unwrap();
        if head.session == *session {
            events.clone_from(&kept);
        } else {
            // The parent names the session of an agent before it is created, and records the end of its
            // task after it was closed.
            let Some(task) = kept.iter().find_map(|event| task_of(event, &head.session)) else {
                continue;
            };
            let is_ended = |event: &Envelope| {
                matches!(&event.event, Event::TaskChanged(data)
                if data.task == task && matches!(data.change, TaskChange::Finished(_)))
            };
            if !kept.iter().any(is_ended) {
                // The agent was in the middle of its turn.
                events.retain(|event| !matches!(event.event, Event::Closed(_)));
            }
        }
        let events: Vec<_> = events.into_iter().map(Arc::new).collect();
        let mut journal = after.create(&head.session).await.unwrap();
        journal.append(&events, Durability::Synced).await.unwrap();
    }
    (Arc::new(after), kept)
}

/// Returns the task that an event says has this session.
fn task_of(event: &Envelope, session: &SessionId) -> Option<TaskId> {
    let Event::TaskChanged(data) = &event.event else { return None };
    let TaskChange::Placed(place) = &data.change else { return None };
    (place.session.as_ref() == Some(session)).then(|| data.task.clone())
}

#[tokio::test]
async fn run_01_killed_at_any_event_every_task_group_and_schedule_is_accounted_for() {
    let jobs = "{tools: [{tool: Agent, input: {jobs: [\
        {prompt: one, subagent_type: Explore}, {prompt: two, subagent_type: Plan}]}}]}";
    let command = "{tools: [{tool: Bash, input: {command: sleep 1000, run_in_background: true}}]}";
    let scene = Scene::new(&format!("- {jobs}\n- one\n- two\n- {command}\n- Started.\n"));
    let offered = || AgentOptions { tool: true, ..AgentOptions::default() };
    let builder = scene.builder().agents(offered()).mode(Mode::BypassPermissions);
    let session = builder.open().await.unwrap();
    session.session().schedule().daily("09:00", "Report.").await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let id = session.id().clone();
    let all = read_all(&*scene.store, &id, 0).await.unwrap();
    assert!(all.len() > 40, "{} events", all.len());
    for count in 1..=all.len() {
        let (store, kept) = killed_after(&*scene.store, &id, count).await;
        let (mut tasks, mut groups, mut schedules) = (BTreeSet::new(), BTreeSet::new(), 0);
        for event in &kept {
            match &event.event {
                Event::TaskChanged(data) if matches!(data.change, TaskChange::Spawned(_)) => {
                    tasks.insert(data.task.clone());
                }
                Event::TaskGroupChanged(data)
                    if matches!(data.change, GroupChange::Created { .. }) =>
                {
                    groups.insert(data.group.clone());
                }
                Event::ScheduleAdded(_) => schedules += 1,
                _ => {}
            }
        }
        let last = kept.last().map(|event| event.event.kind()).unwrap_or_default();
        let case = format!("killed after event {count} ({last})");
        let earlier = robota_sdk::Earlier::Named(id.to_string());
        let builder = scene.builder().store(store.clone() as Arc<dyn JournalStore>);
        let builder = builder.agents(offered()).choose(SessionChoice::Earlier(earlier));
        let resumed = builder.open().await.unwrap();
        let manager = resumed.tasks().unwrap();
        let listed: BTreeSet<_> = manager.list().into_iter().map(|task| task.task).collect();
        assert_eq!(listed, tasks, "{case}");
        for task in manager.list() {
            assert!(task.status.is_terminal(), "{case}: {task:?}");
        }
        let found: BTreeSet<_> = manager.groups().list().into_iter().map(|it| it.group).collect();
        assert_eq!(found, groups, "{case}");
        for group in manager.groups().list() {
            assert_eq!(group.status, GroupStatus::Done, "{case}: {group:?}");
            for task in manager.list().iter().filter(|it| it.group.as_ref() == Some(&group.group)) {
                assert!(group.tasks.contains(&task.task), "{case}: {group:?}");
            }
        }
        let found = resumed.session().schedule().list().await.unwrap().len();
        assert_eq!(found, schedules, "{case}");
        resumed.shutdown("test").await.unwrap();
        // The journal itself says so, also those of the agents.
        for head in store.list(&SessionFilter::default()).await.unwrap().sessions {
            let state = robota_core::resume::load(&*store, &head.session).await.unwrap();
            let open = state.tasks.tasks.values().filter(|task| !task.status.is_terminal());
            assert_eq!(open.count(), 0, "{case}");
            let events = read_all(&*store, &head.session, 0).await.unwrap();
            let last = events.last().unwrap().event.kind();
            assert_eq!(last, "closed", "{case}: {}", head.session);
        }
    }
    session.shutdown("test").await.unwrap();
}

#[tokio::test]
async fn run_01_killed_at_any_event_the_model_is_told_of_every_end_once() {
    let start = |label: &str| {
        format!(
            "{{tools: [{{tool: Bash, input: {{command: echo {label}, run_in_background: true}}}}]}}"
        )
    };
    let (one, two) = (start("one"), start("two"));
    let look = "{tools: [{tool: Glob, input: {pattern: '*.md'}}]}";
    let script = format!("- {one}\n- Started.\n- {two}\n- {look}\n- All done.\n- Seen.\n");
    let scene = Scene::new(&(script + &"- I see.\n".repeat(400)));
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    let tasks = session.tasks().unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    tasks.wait(&"bash_1".into()).await.unwrap();
    // The end of the first is told with the prompt; that of the second with a call or a prompt.
    session.submit("And now?").await.unwrap().result().await.unwrap();
    tasks.wait(&"bash_2".into()).await.unwrap();
    session.submit("What else?").await.unwrap().result().await.unwrap();
    let id = session.id().clone();
    let all = read_all(&*scene.store, &id, 0).await.unwrap();
    let told = |event: &&Envelope| matches!(&event.event, Event::TaskChanged(data) if data.change == TaskChange::Reported);
    assert_eq!(all.iter().filter(told).count(), 2);
    for count in 1..=all.len() {
        let (store, kept) = killed_after(&*scene.store, &id, count).await;
        let started = |event: &&Envelope| {
            matches!(&event.event, Event::TaskChanged(data)
                if matches!(data.change, TaskChange::Spawned(_)))
        };
        let started = kept.iter().filter(started).count();
        let last = kept.last().map(|event| event.event.kind()).unwrap_or_default();
        let case = format!("killed after event {count} ({last})");
        let earlier = robota_sdk::Earlier::Named(id.to_string());
        let builder = scene.builder().store(store.clone() as Arc<dyn JournalStore>);
        let builder = builder.mode(Mode::BypassPermissions);
        let resumed = builder.choose(SessionChoice::Earlier(earlier)).open().await.unwrap();
        resumed.submit("What now?").await.unwrap().result().await.unwrap();
        let request = scene.provider.requests().pop().unwrap();
        let text = serde_json::to_string(&request.messages).unwrap();
        let told: Vec<usize> = ["bash_1 (", "bash_2 ("]
            .iter()
            .map(|task| text.matches(&format!("Background task {task}")).count())
            .collect();
        let expected: Vec<usize> = (0..2).map(|task| usize::from(task < started)).collect();
        assert_eq!(told, expected, "{case}: {text}");
        resumed.shutdown("test").await.unwrap();
    }
    session.shutdown("test").await.unwrap();
}
