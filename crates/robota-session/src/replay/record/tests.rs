use robota_core::event::{Renamed, TaskChanged, TaskGroupChanged};
use robota_core::ids::{CountingIds, GroupId, TaskId};
use robota_core::journal::{JournalError, MemoryStore, SessionFilter};
use robota_core::message::Role;
use robota_core::task::{
    AgentLimits, GroupChange, TaskChange, TaskKind, TaskMode, TaskSpawned, WaitPolicy,
};

use super::*;
use crate::replay::Destination;
use crate::replay::tests::{stored, two_turns, view};

#[tokio::test(start_paused = true)]
async fn sess_10_the_record_has_the_shape_of_the_contract() {
    let events = two_turns().await;
    let (store, session) = stored(&events).await;
    let record = Record::of(&store, &session).await.unwrap();
    insta::assert_json_snapshot!(record);
}

#[tokio::test(start_paused = true)]
async fn sess_10_a_record_has_the_name_and_the_tasks_of_the_session() {
    let mut events = two_turns().await;
    let (task, group) = (TaskId::from("t1"), GroupId::from("g1"));
    let spawned = TaskSpawned {
        kind: TaskKind::Process,
        mode: TaskMode::Background,
        label: "tests".to_owned(),
        depth: 1,
        call: None,
        group: Some(group.clone()),
        agent: None,
        input: "make test".to_owned(),
        limits: AgentLimits::default(),
    };
    let created = GroupChange::Created {
        label: "checks".to_owned(),
        policy: WaitPolicy::WaitAll,
        tasks: vec![task.clone()],
    };
    let changes = [
        Renamed { name: "nightly".to_owned() }.into(),
        TaskChanged { task: task.clone(), change: TaskChange::Spawned(spawned) }.into(),
        TaskGroupChanged { group, change: created }.into(),
        TaskChanged { task, change: TaskChange::Started }.into(),
    ];
    for event in changes {
        let last = events.last().unwrap().clone();
        events.push(Envelope { seq: last.seq + 1, turn: None, event, ..last });
    }
    let (store, session) = stored(&events).await;
    let record = Record::of(&store, &session).await.unwrap();
    assert_eq!(record.name.as_deref(), Some("nightly"));
    let [task] = record.background_tasks.as_slice() else { panic!("{record:?}") };
    assert_eq!((&task["id"], &task["status"]), (&json!("t1"), &json!("running")));
    let [group] = record.background_job_groups.as_slice() else { panic!("{record:?}") };
    assert_eq!((&group["id"], &group["label"]), (&json!("g1"), &json!("checks")));
    let kinds = |events: &[Value]| -> Vec<Value> {
        assert!(events.iter().all(|event| event["timestamp"].is_string()), "{events:?}");
        events.iter().map(|event| event["change"]["type"].clone()).collect()
    };
    assert_eq!(kinds(&record.background_task_events), ["spawned", "started"]);
    assert_eq!(kinds(&record.background_job_group_events), ["created"]);

    // An imported copy keeps them.
    let ids = CountingIds::default();
    let copies = MemoryStore::new();
    let imported = import(&Destination::new(&copies), &record, &ids).await.unwrap();
    let copy = Record::of(&copies, &imported.session).await.unwrap();
    assert_eq!(copy.name, record.name);
    assert_eq!(copy.background_tasks, record.background_tasks);
    assert_eq!(copy.background_task_events, record.background_task_events);
    assert_eq!(copy.background_job_groups, record.background_job_groups);
    assert_eq!(copy.background_job_group_events, record.background_job_group_events);
}

/// A record of an earlier program: no history, no ids, a prompt among the messages.
const OLD: &str = r#"{
  "id": "session_1700000000000_abc", "cwd": "/home/ada/app",
  "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T04:00:00Z",
  "messages": [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look around."},
    {"role": "assistant", "content": "I look.", "toolCalls": [
      {"id": "call_0", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
      {"id": "call_1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}]},
    {"role": "tool", "toolCallId": "call_0", "content": "a file"}
  ],
  "backgroundTasks": [{"id": "t1", "status": "running"}],
  "memoryEvents": [{"type": "saved"}],
  "sandboxSnapshotId": "snap-1",
  "goal": {"text": "ship it"}
}"#;

#[tokio::test]
async fn sess_10_an_old_record_is_migrated_and_doing_so_twice_changes_nothing() {
    let mut value: Value = serde_json::from_str(OLD).unwrap();
    migrate(&mut value);
    assert_eq!(value["history"].as_array().unwrap().len(), 3);
    let once = value.clone();
    migrate(&mut value);
    assert_eq!(value, once);

    let (store, ids) = (MemoryStore::new(), CountingIds::default());
    let to = Destination::new(&store);
    let record = Record::parse(OLD).unwrap();
    let imported = import(&to, &record, &ids).await.unwrap();
    let migrated = Record::parse(&once.to_string()).unwrap();
    assert!(import(&to, &migrated, &ids).await.unwrap().already);
    assert_eq!(store.list(&SessionFilter::default()).await.unwrap().sessions.len(), 1);

    // The call without a result got one that says so.
    assert_eq!(imported.sealed, ["Bash (call_1)"]);
    let seen = view(&store, &imported.session).await;
    let roles: Vec<_> = seen.iter().map(Message::role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    let results: Vec<_> = seen[2].tool_results().collect();
    assert_eq!(results[0].as_text(), "a file");
    assert!(results[1].is_error && results[1].as_text().contains("may have had effects"));

    let head = store.head(&imported.session).await.unwrap();
    assert_eq!(head.title.as_deref(), Some("Look around."));
    assert_eq!((head.turns, head.created, head.updated), (1, record.created_at, record.updated_at));
    let copy = Record::of(&store, &imported.session).await.unwrap();
    assert_eq!(copy.system_prompt.as_deref(), Some("Be brief."));
    assert_eq!(copy.background_tasks, record.background_tasks);
    assert_eq!(copy.memory_events, record.memory_events);
    assert_eq!(copy.sandbox_snapshot_id, record.sandbox_snapshot_id);
    assert_eq!(copy.extra, record.extra);
    let report = crate::replay::validate::session(&store, &imported.session).await.unwrap();
    assert_eq!(report.findings, []);
}

#[tokio::test]
async fn sess_10_another_session_with_that_id_is_not_changed() {
    let (store, ids) = (MemoryStore::new(), CountingIds::default());
    let to = Destination::new(&store);
    let record = Record::parse(OLD).unwrap();
    import(&to, &record, &ids).await.unwrap();
    let mut other = record.clone();
    other.name = Some("other".to_owned());
    let error = import(&to, &other, &ids).await.unwrap_err();
    assert!(matches!(error, ReplayError::Taken(_)), "{error}");
    let id = SessionId::from("second");
    assert!(!import(&to.with_id(Some(&id)), &other, &ids).await.unwrap().already);

    let nameless = Record { id: String::new(), ..record.clone() };
    assert!(matches!(import(&to, &nameless, &ids).await, Err(ReplayError::Shape { .. })));
    let hostile = Record { id: "../../etc/passwd".to_owned(), ..record };
    let error = import(&to, &hostile, &ids).await.unwrap_err();
    assert!(matches!(error, ReplayError::Journal(JournalError::BadId { .. })), "{error}");
}

#[tokio::test]
async fn sess_10_a_summary_without_a_history_entry_is_found() {
    let record = Record::parse(
        r#"{"id": "s", "cwd": "/w", "createdAt": "2026-01-02T03:04:05Z",
        "updatedAt": "2026-01-02T03:04:05Z",
        "history": [
          {"id": "1", "category": "chat", "type": "user", "data": {"id": "1", "role": "user", "content": "one"}},
          {"id": "2", "category": "chat", "type": "assistant", "data": {"id": "2", "role": "assistant", "content": "two"}},
          {"id": "e", "category": "event", "type": "tool-summary", "data": {"summary": "nothing"}},
          {"id": "3", "category": "chat", "type": "user", "data": {"id": "3", "role": "user", "content": "three"}}],
        "messages": [
          {"id": "s", "role": "assistant", "content": "[Context Summary] one, two"},
          {"id": "3", "role": "user", "content": "three"}]}"#,
    )
    .unwrap();
    let (store, ids) = (MemoryStore::new(), CountingIds::default());
    let imported = import(&Destination::new(&store), &record, &ids).await.unwrap();
    let seen = view(&store, &imported.session).await;
    let texts: Vec<_> = seen.iter().map(Message::text).collect();
    assert_eq!(texts, ["[Context Summary] one, two", "three"]);
    let copy = Record::of(&store, &imported.session).await.unwrap();
    let kinds: Vec<_> = copy.history.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "assistant", "tool-summary", "context-compact", "user"]);
}
