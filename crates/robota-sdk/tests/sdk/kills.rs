//! The process is killed at any event: after a resume every task, group and schedule is accounted for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use robota_core::event::{Durability, Envelope, Event};
use robota_core::hook::HookPoint;
use robota_core::ids::{SessionId, TaskId};
use robota_core::journal::{JournalStore, MemoryStore, SessionFilter, read_all};
use robota_core::permission::{Class, Mode};
use robota_core::task::{GroupChange, GroupStatus, TaskChange};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_runtime::{SessionSchedules as _, TaskManager};
use robota_sdk::{AgentOptions, Budget, InteractiveSession, SessionChoice};
use serde_json::Value;

use crate::common::Scene;

/// Returns the store that a process leaves if it is killed after this many events of a session.
async fn killed_after(
    store: &dyn JournalStore,
    session: &SessionId,
    count: usize,
) -> (Arc<MemoryStore>, Vec<Envelope>) {
    let mut kept = read_all(store, session, 0).await.unwrap();
    kept.truncate(count);
    (killed_with(store, session, &kept).await, kept)
}

/// Returns the store that a process leaves if a session has only these events.
async fn killed_with(
    store: &dyn JournalStore,
    session: &SessionId,
    kept: &[Envelope],
) -> Arc<MemoryStore> {
    let after = MemoryStore::new();
    for head in store.list(&SessionFilter::default()).await.unwrap().sessions {
        let mut events = read_all(store, &head.session, 0).await.unwrap();
        if head.session == *session {
            events = kept.to_vec();
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
    Arc::new(after)
}

/// Counts the model calls in a journal.
fn model_calls(events: &[Envelope]) -> u64 {
    let calls = events.iter().filter(|event| matches!(event.event, Event::ModelResponded(_)));
    calls.count() as u64
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
    let answer = |text: &str| format!("{{text: {text}, usage: {{input: 7, output: 2}}}}");
    let (one, two) = (answer("one"), answer("two"));
    let script = format!("- {jobs}\n- {one}\n- {two}\n- {command}\n- Started.\n");
    let scene = Scene::new(&script);
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
        let mut budget = Budget::default();
        budget.set("tokens=1000000").unwrap();
        let resumed = builder.budget(budget).open().await.unwrap();
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
        // What the agents used is part of what the session used, also if they were interrupted.
        let mut called = model_calls(&kept);
        for head in store.list(&SessionFilter::default()).await.unwrap().sessions {
            if head.session != id {
                called += model_calls(&read_all(&*store, &head.session, 0).await.unwrap());
            }
        }
        let costs = resumed.spending().costs().await.unwrap();
        let counted: u64 = costs.models.values().map(|it| it.calls).sum();
        assert_eq!(counted, called, "{case}");
        assert_eq!(resumed.spending().used().tokens, costs.usage().total(), "{case}");
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
        let text = resumed_request(&scene, store, &id).await;
        let told = ["bash_1", "bash_2"].map(|task| reports_of(&text, task));
        let expected = [0, 1].map(|task| usize::from(task < started));
        assert_eq!(told, expected, "{case}: {text}");
    }
    session.shutdown("test").await.unwrap();
}

/// Resumes a session, sends a prompt and returns what the model receives.
async fn resumed_request(scene: &Scene, store: Arc<MemoryStore>, id: &SessionId) -> String {
    let resumed = resume(scene, store, id).await;
    resumed.submit("What now?").await.unwrap().result().await.unwrap();
    let request = scene.provider.requests().pop().unwrap();
    resumed.shutdown("test").await.unwrap();
    serde_json::to_string(&request.messages).unwrap()
}

async fn resume(scene: &Scene, store: Arc<MemoryStore>, id: &SessionId) -> InteractiveSession {
    let earlier = robota_sdk::Earlier::Named(id.to_string());
    let builder = scene.builder().store(store as Arc<dyn JournalStore>);
    let builder = builder.mode(Mode::BypassPermissions);
    builder.choose(SessionChoice::Earlier(earlier)).open().await.unwrap()
}

/// Returns how often the end of a task is reported in the messages of a request.
fn reports_of(messages: &str, task: &str) -> usize {
    messages.matches(&format!("Background task {task} (")).count()
}

/// A tool that lets a command end, and waits for the end of its task.
struct LetEnd {
    spec: ToolSpec,
    go: PathBuf,
    tasks: Arc<OnceLock<TaskManager>>,
}

#[async_trait]
impl Tool for LetEnd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Value, _: ToolContext) -> ToolOutcome {
        std::fs::write(&self.go, "").unwrap();
        self.tasks.get().unwrap().wait(&"bash_1".into()).await.unwrap();
        ToolOutcome::ok("")
    }
}

/// Returns the context that the hooks of a call added, if the event is their end.
fn added_by_hooks(event: &Envelope) -> Option<Option<&str>> {
    match &event.event {
        Event::HookFinished(data) if data.point == HookPoint::PostToolUse => {
            Some(data.context.as_deref())
        }
        _ => None,
    }
}

#[tokio::test]
async fn run_01_killed_between_the_hooks_of_parallel_calls_the_model_is_told_of_the_end() {
    let command = "until [ -e go ]; do sleep 0.02; done";
    let start = format!(
        "{{tools: [{{tool: Bash, input: {{command: '{command}', run_in_background: true}}}}]}}"
    );
    let both = "{tools: [{tool: Glob, input: {pattern: '*.md'}}, {tool: LetEnd, input: {}}]}";
    let scene = Scene::new(&format!("- {start}\n- {both}\n- Done.\n- I see.\n- I see.\n"));
    let spec = ToolSpec {
        name: "LetEnd".to_owned(),
        description: "Lets the command end.".to_owned(),
        input_schema: serde_json::json!({"type": "object", "properties": {}}),
        class: Class::Inspect,
    };
    let (go, tasks) = (scene.path().join("project/go"), Arc::new(OnceLock::new()));
    let builder = scene.builder().mode(Mode::BypassPermissions);
    let builder = builder.tool(LetEnd { spec, go, tasks: tasks.clone() });
    let session = builder.open().await.unwrap();
    let _ = tasks.set(session.tasks().unwrap());
    session.submit("Go.").await.unwrap().result().await.unwrap();

    // The report is taken by the hook of one call; the hook of the other ends after that, and then
    // the process.
    let id = session.id().clone();
    let all = read_all(&*scene.store, &id, 0).await.unwrap();
    let is_taker = |event: &Envelope| added_by_hooks(event).flatten().is_some();
    let taker = all.iter().position(is_taker).expect("a call reports the end");
    // The hooks of Bash end before this batch.
    let other = all.iter().rposition(|event| added_by_hooks(event) == Some(None)).unwrap();
    let mut kept: Vec<_> = all[..taker.max(other)].to_vec();
    kept.retain(|event| *event != all[taker] && *event != all[other]);
    kept.push(all[other].clone());
    for (event, original) in kept.iter_mut().zip(&all) {
        event.seq = original.seq;
    }
    let store = killed_with(&*scene.store, &id, &kept).await;
    let text = resumed_request(&scene, store.clone(), &id).await;
    assert_eq!(reports_of(&text, "bash_1"), 1, "{text}");

    // The next process ends too, before it had a prompt.
    let store = killed_with(&*scene.store, &id, &kept).await;
    let resumed = resume(&scene, store.clone(), &id).await;
    let recovered = read_all(&*store, &id, 0).await.unwrap();
    assert!(recovered.len() > kept.len(), "the calls have results now");
    let store = killed_with(&*scene.store, &id, &recovered).await;
    let text = resumed_request(&scene, store, &id).await;
    assert_eq!(reports_of(&text, "bash_1"), 1, "{text}");
    resumed.shutdown("test").await.unwrap();
    session.shutdown("test").await.unwrap();
}
