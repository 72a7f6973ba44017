use super::*;

#[test]
fn core_22_every_event_has_a_name_that_reads_back() {
    for event in HookEvent::ALL {
        assert_eq!(event.name().parse(), Ok(event));
        assert_eq!(serde_json::to_value(event).unwrap(), event.name());
    }
    let error = "PreTooluse".parse::<HookEvent>().unwrap_err();
    assert!(error.contains("`PreTooluse`") && error.contains("PreToolUse, "), "{error}");
}

#[test]
fn core_22_gates_and_stop_events_can_block() {
    let gates: Vec<_> = HookEvent::ALL.into_iter().filter(|event| event.is_gate()).collect();
    assert_eq!(
        gates,
        [
            HookEvent::PreToolUse,
            HookEvent::PermissionRequest,
            HookEvent::PostToolUse,
            HookEvent::PostToolBatch,
            HookEvent::PreCompact,
            HookEvent::UserPromptSubmit,
            HookEvent::UserPromptExpansion,
            HookEvent::WorktreeCreate,
            HookEvent::Elicitation,
            HookEvent::ElicitationResult,
            HookEvent::TaskCreated,
            HookEvent::TaskCompleted,
            HookEvent::ConfigChange,
            HookEvent::PreModelSwitch,
        ]
    );
    let others: Vec<_> =
        HookEvent::ALL.into_iter().filter(|event| event.can_block() && !event.is_gate()).collect();
    assert_eq!(others, [HookEvent::Stop, HookEvent::SubagentStop]);
}
