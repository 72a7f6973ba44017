use std::sync::Arc;

use serde_json::json;

use super::*;

fn event(name: &str) -> NamedEvent {
    NamedEvent::new(name.parse().unwrap(), Timestamp::UNIX_EPOCH)
}

fn names(events: &[NamedEvent]) -> Vec<String> {
    events.iter().map(|event| event.name.to_string()).collect()
}

#[test]
fn core_26_names_are_owner_and_local() {
    for (text, owner, local) in [
        ("execution.start", OwnerKind::Execution, "start"),
        ("tool.execute_success", OwnerKind::Tool, "execute_success"),
        ("agent.created", OwnerKind::Agent, "created"),
        ("task.completed", OwnerKind::Task, "completed"),
        ("user.input", OwnerKind::User, "input"),
    ] {
        let name: EventName = text.parse().unwrap();
        assert_eq!((name.owner(), name.local()), (owner, local));
        assert_eq!(name.to_string(), text);
        assert_eq!(serde_json::to_value(&name).unwrap(), json!(text));
        assert_eq!(serde_json::from_value::<EventName>(json!(text)).unwrap(), name);
    }
}

#[test]
fn core_26_invalid_names_are_rejected_with_a_list_of_owners() {
    for text in
        ["", "start", "tool", "tool.", ".start", "plugin.start", "Tool.start", "tool.a.b", "tool.A"]
    {
        let error = text.parse::<EventName>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Validation);
        assert!(error.hint().unwrap().contains("execution, tool, agent, task, user"), "{text}");
        assert!(serde_json::from_value::<EventName>(json!(text)).is_err(), "{text}");
    }
}

#[test]
fn core_26_events_carry_their_owner_path() {
    let history = Arc::new(EventHistory::new(10));
    let agent = OwnerSegment::new(OwnerKind::Agent, "a1");
    let run = OwnerSegment::new(OwnerKind::Execution, "e1");
    let call = OwnerSegment::new(OwnerKind::Tool, "call_0");

    let of_agent = BoundSink::new(history.clone(), vec![agent.clone()]);
    let of_run = of_agent.bind(run.clone());
    of_agent.emit(event("agent.created"));
    of_run.emit(event("execution.start"));
    // An event that already has a path keeps it at the end.
    of_run.emit(NamedEvent { owner_path: vec![call.clone()], ..event("tool.execute_start") });

    let paths: Vec<_> = history.snapshot().into_iter().map(|event| event.owner_path).collect();
    assert_eq!(
        paths,
        [
            vec![agent.clone()],
            vec![agent.clone(), run.clone()],
            vec![agent.clone(), run, call.clone()]
        ]
    );
    assert_eq!(names(&history.of_owner(&call)), ["tool.execute_start"]);
    assert_eq!(history.of_owner(&agent).len(), 3);
    assert_eq!(of_agent.path(), [agent]);
}

#[test]
fn core_26_the_default_sink_discards_events() {
    BoundSink::default().emit(event("user.input"));
    NoSink.emit(event("user.input"));
    assert!(BoundSink::default().path().is_empty());
}

#[test]
fn core_26_history_is_bounded_and_counts_dropped_events() {
    let history = EventHistory::new(2);
    for name in ["task.one", "task.two", "task.three"] {
        history.emit(event(name));
    }
    assert_eq!(names(&history.snapshot()), ["task.two", "task.three"]);
    assert_eq!(history.dropped(), 1);
    history.clear();
    assert!(history.snapshot().is_empty());
    assert_eq!(history.dropped(), 0);

    let nothing = EventHistory::new(0);
    nothing.emit(event("task.one"));
    assert!(nothing.snapshot().is_empty());
    assert_eq!(nothing.dropped(), 1);
}

#[test]
fn core_26_history_records_from_many_threads() {
    let history = Arc::new(EventHistory::new(1_000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| history.emit(event("task.started"))));
        }
    });
    assert_eq!(history.snapshot().len(), 400);
}

#[test]
fn core_26_events_have_a_stable_json_form() {
    let mut event = event("tool.execute_start").with("tool", "Read");
    event.owner_path.push(OwnerSegment::new(OwnerKind::Tool, "call_0"));
    let value = json!({
        "name": "tool.execute_start",
        "owner_path": [{"owner_type": "tool", "owner_id": "call_0"}],
        "timestamp": "1970-01-01T00:00:00Z",
        "data": {"tool": "Read"}
    });
    assert_eq!(serde_json::to_value(&event).unwrap(), value);
    assert_eq!(serde_json::from_value::<NamedEvent>(value).unwrap(), event);
}
