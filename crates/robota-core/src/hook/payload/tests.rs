use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::message::ToolInput;
use crate::permission::Verdict;

fn context() -> HookContext {
    HookContext {
        transcript_path: Some("/t.jsonl".to_owned()),
        permission_mode: Some(Mode::AcceptEdits),
        effort: Some(HookEffort { level: "high".to_owned() }),
        ..HookContext::new("s", "/project")
    }
}

/// Returns every event once.
fn samples() -> Vec<(HookData, Value, &'static str)> {
    let text = str::to_owned;
    vec![
        (
            HookData::PreToolUse {
                tool_name: text("Bash"),
                tool_input: json!({"command": "ls"}),
                tool_use_id: text("c"),
            },
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}),
            "Bash",
        ),
        (
            HookData::PermissionRequest {
                tool_name: text("Bash"),
                tool_input: json!({"command": "ls"}),
                tool_use_id: text("c"),
                permission_suggestions: Vec::new(),
            },
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}),
            "Bash",
        ),
        (
            HookData::PostToolUse {
                tool_name: text("Bash"),
                tool_input: json!({}),
                tool_use_id: text("c"),
                tool_response: json!({"success": true}),
                tool_output: text("out"),
                duration_ms: Some(3),
            },
            json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c",
                   "tool_response": {"success": true}, "tool_output": "out", "duration_ms": 3}),
            "Bash",
        ),
        (
            HookData::PreModelSwitch {
                old_model: text("one"),
                new_model: text("two"),
                source: ModelSwitchSource::Command,
            },
            json!({"old_model": "one", "new_model": "two", "source": "command"}),
            "two",
        ),
        (
            HookData::PostModelSwitch {
                old_model: text("one"),
                new_model: text("two"),
                source: ModelSwitchSource::Fallback,
            },
            json!({"old_model": "one", "new_model": "two", "source": "fallback"}),
            "two",
        ),
        (
            HookData::PostToolBatch {
                tool_calls: vec![HookToolCall {
                    tool_name: text("Bash"),
                    tool_input: json!({}),
                    tool_use_id: text("c"),
                    tool_response: json!({"success": true}),
                }],
            },
            json!({"tool_calls": [{"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c",
                   "tool_response": {"success": true}}]}),
            "",
        ),
        (
            HookData::PostToolUseFailure {
                tool_name: text("Bash"),
                tool_input: json!({}),
                tool_use_id: text("c"),
                error: text("no"),
                is_interrupt: false,
                duration_ms: None,
            },
            json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c", "error": "no",
                   "is_interrupt": false}),
            "Bash",
        ),
        (
            HookData::notification(NotificationType::IdlePrompt, text("Robota waits")),
            json!({"message": "Robota waits", "title": "Waiting for your input",
                   "notification_type": "idle_prompt"}),
            "idle_prompt",
        ),
        (
            HookData::Setup { trigger: SetupTrigger::Maintenance },
            json!({"trigger": "maintenance"}),
            "maintenance",
        ),
        (
            HookData::SessionStart {
                source: SessionSource::Fork,
                model: Some(text("m")),
                session_title: Some(text("Title")),
            },
            json!({"source": "fork", "model": "m", "session_title": "Title"}),
            "fork",
        ),
        (HookData::SessionEnd { reason: text("clear") }, json!({"reason": "clear"}), "clear"),
        (
            HookData::Stop { stop_hook_active: true, last_assistant_message: text("Bye") },
            json!({"stop_hook_active": true, "last_assistant_message": "Bye", "response": "Bye"}),
            "",
        ),
        (
            HookData::StopFailure {
                error: text("rate_limit"),
                error_details: None,
                last_assistant_message: None,
            },
            json!({"error": "rate_limit", "reason": "rate_limit"}),
            "rate_limit",
        ),
        (
            HookData::PreCompact {
                trigger: CompactionTrigger::Auto,
                custom_instructions: String::new(),
            },
            json!({"trigger": "auto", "custom_instructions": ""}),
            "auto",
        ),
        (
            HookData::PostCompact {
                trigger: CompactionTrigger::Manual,
                compact_summary: text("short"),
            },
            json!({"trigger": "manual", "compact_summary": "short"}),
            "manual",
        ),
        (
            HookData::UserPromptSubmit { prompt: text("Hi") },
            json!({"prompt": "Hi", "user_message": "Hi"}),
            "",
        ),
        (
            HookData::UserPromptExpansion {
                expansion_type: ExpansionType::McpPrompt,
                command_name: text("mcp__github__review"),
                command_args: text("12"),
                command_source: Some(text("mcp")),
                prompt: text("/mcp__github__review 12"),
            },
            json!({"expansion_type": "mcp_prompt", "command_name": "mcp__github__review",
                   "command_args": "12", "command_source": "mcp",
                   "prompt": "/mcp__github__review 12"}),
            "mcp__github__review",
        ),
        (
            HookData::SubagentStart { agent_id: text("a"), agent_type: text("Explore") },
            json!({"agent_id": "a", "agent_type": "Explore"}),
            "Explore",
        ),
        (
            HookData::SubagentStop {
                agent_id: text("a"),
                agent_type: text("Explore"),
                stop_hook_active: false,
                agent_transcript_path: Some(text("/a.jsonl")),
                last_assistant_message: text("Found"),
            },
            json!({"agent_id": "a", "agent_type": "Explore", "stop_hook_active": false,
                   "agent_transcript_path": "/a.jsonl", "last_assistant_message": "Found"}),
            "Explore",
        ),
        (HookData::WorktreeCreate { name: text("w") }, json!({"name": "w"}), ""),
        (
            HookData::WorktreeRemove { worktree_path: text("/w") },
            json!({"worktree_path": "/w"}),
            "",
        ),
        (
            HookData::InstructionsLoaded {
                file_path: text("/project/CLAUDE.md"),
                memory_type: "Project",
                load_reason: "session_start",
            },
            json!({"file_path": "/project/CLAUDE.md", "memory_type": "Project",
                   "load_reason": "session_start"}),
            "session_start",
        ),
        (
            HookData::Elicitation {
                mcp_server_name: text("github"),
                message: text("Which?"),
                mode: "form",
                url: None,
                elicitation_id: None,
                requested_schema: Some(json!({"type": "object"})),
            },
            json!({"mcp_server_name": "github", "message": "Which?", "mode": "form",
                   "requested_schema": {"type": "object"}}),
            "github",
        ),
        (
            HookData::ElicitationResult {
                mcp_server_name: text("github"),
                mode: "url",
                elicitation_id: Some(text("e")),
                action: "decline",
                content: None,
            },
            json!({"mcp_server_name": "github", "mode": "url", "elicitation_id": "e",
                   "action": "decline"}),
            "github",
        ),
        (
            HookData::TaskCreated { task_id: text("1"), task_subject: text("Test") },
            json!({"task_id": "1", "task_subject": "Test"}),
            "",
        ),
        (
            HookData::TaskCompleted { task_id: text("1"), task_subject: text("Test") },
            json!({"task_id": "1", "task_subject": "Test"}),
            "",
        ),
        (
            HookData::ConfigChange {
                source: ConfigSource::LocalSettings,
                file_path: Some(text("/project/.robota/settings.local.json")),
            },
            json!({"source": "local_settings",
                   "file_path": "/project/.robota/settings.local.json"}),
            "local_settings",
        ),
        (
            HookData::CwdChanged { old_cwd: text("/project"), new_cwd: text("/project/src") },
            json!({"old_cwd": "/project", "new_cwd": "/project/src"}),
            "",
        ),
    ]
}

#[test]
fn core_22_each_event_sends_its_fields_and_those_of_the_session() {
    let samples = samples();
    let mut events: Vec<_> = samples.iter().map(|(data, ..)| data.event()).collect();
    events.sort();
    assert_eq!(events, HookEvent::ALL);
    for (data, fields, target) in samples {
        let mut expected = json!({
            "session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/project",
            "permission_mode": "acceptEdits", "effort": {"level": "high"}, "hook_event_name": data.event().name(),
        });
        for (name, value) in fields.as_object().unwrap() {
            expected[name] = value.clone();
        }
        assert_eq!(data.to_json(&context()), expected);
        assert_eq!(data.target(), target, "{}", data.event());
        let nothing = data.event().matched_on() == crate::hook::MatchedOn::Nothing;
        assert_eq!(target.is_empty(), nothing, "{}", data.event());
    }
}

#[test]
fn core_22_the_response_has_the_fields_that_scripts_for_claude_code_read() {
    let response = |tool: &str, input: Value, outcome: ToolOutcome| {
        let tool_use = ToolUse::new("c".into(), "id", tool, ToolInput::Json(input));
        let input = HookInput::PostToolUse { tool_use, outcome, duration_ms: None };
        let mut data = HookData::from(&input);
        data.make_paths_absolute(std::path::Path::new("/project"), None);
        data.to_json(&context())["tool_response"].clone()
    };
    let ls = json!({"command": "ls"});
    let printed = response("Bash", ls.clone(), ToolOutcome::ok("a\n"));
    let expected = json!({"stdout": "a\n", "stderr": "", "interrupted": false, "success": true, "output": "a\n"});
    assert_eq!(printed, expected);
    let nothing = ToolOutcome::ok("[no output]\n").with_metadata("output_bytes", 0);
    assert_eq!(response("Bash", ls, nothing)["stdout"], "");
    let write = response("Write", json!({"file_path": "a.rs"}), ToolOutcome::ok("Wrote it."));
    assert_eq!((&write["filePath"], &write["success"]), (&json!("/project/a.rs"), &json!(true)));
}

#[test]
fn core_22_points_of_a_turn_are_sent_as_events() {
    let tool_use =
        ToolUse::new("c".into(), "id", "Read", ToolInput::Json(json!({"path": "/secret"})));
    let outcome = ToolOutcome::ok("yes").with_metadata("lines", 3);
    for (input, field, value) in [
        (
            HookInput::UserPromptSubmit { content: vec![Block::text("a"), Block::text("b")] },
            "prompt",
            json!("a\nb"),
        ),
        (
            HookInput::PreToolUse { tool_use: tool_use.clone(), verdict: Verdict::Ask },
            "tool_input",
            json!({"path": "/secret"}),
        ),
        (
            HookInput::PostToolUse {
                tool_use: tool_use.clone(),
                outcome: outcome.clone(),
                duration_ms: Some(7),
            },
            "duration_ms",
            json!(7),
        ),
        (
            HookInput::PostToolUse { tool_use, outcome, duration_ms: None },
            "tool_response",
            json!({"success": true, "output": "yes", "metadata": {"lines": 3}}),
        ),
        (HookInput::Stop { text: "t".to_owned(), active: true }, "stop_hook_active", json!(true)),
        (HookInput::Stop { text: "t".to_owned(), active: true }, "response", json!("t")),
        (
            HookInput::Stop { text: "t".to_owned(), active: true },
            "last_assistant_message",
            json!("t"),
        ),
    ] {
        let data = HookData::from(&input);
        assert_eq!(data.event(), HookEvent::from(input.point()));
        assert_eq!(data.to_json(&context())[field], value);
    }
}

#[test]
fn core_22_the_end_of_a_session_has_a_reason_that_scripts_know() {
    for (reason, sent) in [("prompt_input_exit", "prompt_input_exit"), ("interrupted", "other")] {
        let data = HookData::SessionEnd { reason: reason.to_owned() };
        assert_eq!((data.target(), &data.to_json(&context())["reason"]), (sent, &json!(sent)));
    }
}

#[test]
fn core_22_a_failure_is_sent_with_its_error() {
    let sent = |command: &str, outcome: ToolOutcome| {
        let tool_use =
            ToolUse::new("c".into(), "id", "Bash", ToolInput::Json(json!({"command": command})));
        let input = HookInput::PostToolUse { tool_use, outcome, duration_ms: Some(7) };
        HookData::from(&input).to_json(&context())
    };
    let code = ToolOutcome::ok("out\n[exit code 3]\n").with_metadata("exit_code", 3);
    let failed = sent("make", code);
    assert_eq!(failed["hook_event_name"], "PostToolUseFailure");
    assert_eq!(failed["error"], "Exit code 3\nout");
    assert_eq!((&failed["is_interrupt"], &failed["duration_ms"]), (&json!(false), &json!(7)));
    let silent = ToolOutcome::ok("[no output]\n[exit code 1]\n")
        .with_metadata("exit_code", 1)
        .with_metadata("output_bytes", 0);
    assert_eq!(sent("false", silent.clone())["error"], "Exit code 1");
    let search = sent("grep x y", silent);
    assert_eq!(search["hook_event_name"], "PostToolUse", "it found nothing: that is no failure");
    let stopped = sent("make", ToolOutcome::failed("interrupted", "[ended: interrupted]"));
    assert_eq!(
        (&stopped["error"], &stopped["is_interrupt"]),
        (&json!("[ended: interrupted]"), &json!(true))
    );
}

#[test]
fn core_22_the_error_of_a_turn_has_the_name_that_hooks_know() {
    let of = |kind, status| {
        let error = ErrorData { http_status: status, ..ErrorData::new(kind, "no") };
        HookData::stop_failure(Some(&error), "").target().to_owned()
    };
    assert_eq!(of(ErrorKind::RateLimit, Some(429)), "rate_limit");
    assert_eq!(of(ErrorKind::Provider, Some(529)), "overloaded");
    assert_eq!(of(ErrorKind::Provider, Some(402)), "billing_error");
    assert_eq!(of(ErrorKind::Authentication, Some(401)), "authentication_failed");
    assert_eq!(of(ErrorKind::ModelNotAvailable, None), "model_not_found");
    assert_eq!(of(ErrorKind::Validation, Some(400)), "invalid_request");
    assert_eq!(of(ErrorKind::Network, None), "server_error");
    assert_eq!(of(ErrorKind::Storage, None), "unknown");
    assert_eq!(HookData::stop_failure(None, "x").target(), "unknown");
}
