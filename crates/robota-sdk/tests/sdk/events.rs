//! The events that clients receive.

use std::sync::Arc;

use futures::FutureExt as _;
use robota_core::tool::Progress;
use robota_sdk::{DiffLine, InteractiveEvent, ShellRun, ToolEnd};
use robota_session::StartAt;

use crate::common::Scene;

/// Returns the name of an event, as transports write it.
fn name(event: &InteractiveEvent) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn sdk_02_a_turn_is_seen_as_typed_events() {
    let scene = Scene::new(
        "- {text: I look., tools: [{tool: Read, input: {file_path: a.txt}}], usage: {input: 5, output: 2}}\n\
         - {text: [It says, ' hello.'], usage: {input: 9, output: 4}}\n",
    );
    scene.write("project/a.txt", "hello\n");
    let session = scene.open().await;
    let mut events = session.events(StartAt::Start).await.unwrap();
    session.submit("What does it say?").await.unwrap();
    let mut seen = Vec::new();
    let result = loop {
        match events.next().await.unwrap().unwrap() {
            InteractiveEvent::Complete(result) => break result,
            event => seen.push(event),
        }
    };
    let names: Vec<_> = seen.iter().map(name).collect();
    let position = |wanted: &str| names.iter().position(|name| name == wanted).unwrap();
    assert!(position("thinking") < position("text_delta"));
    assert!(position("tool_start") < position("tool_end"));
    assert!(names.contains(&"context_update".to_owned()));
    let text: String = seen
        .iter()
        .filter_map(|event| match event {
            InteractiveEvent::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "I look.\n\nIt says hello.");
    assert_eq!(seen.last(), Some(&InteractiveEvent::Thinking { active: false }));
    assert_eq!(result.response, "It says hello.");
    assert_eq!(result.tools.len(), 1);
    assert_eq!(result.tools[0].first_argument, "a.txt");
    assert_eq!(result.tools[0].end, Some(ToolEnd::Success));
    let usage = result.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (14, 6));
}

#[tokio::test]
async fn sdk_02_a_failed_turn_ends_with_an_error_and_an_interrupted_one_says_so() {
    let scene = Scene::new("- {steps: [{text: begin}, {stall: {gate: never}}]}\n");
    let session = scene.open().await;
    let mut events = session.events(StartAt::Start).await.unwrap();
    let submission = session.submit("Go.").await.unwrap();
    loop {
        if let InteractiveEvent::TextDelta { .. } = events.next().await.unwrap().unwrap() {
            break;
        }
    }
    assert!(session.is_executing());
    assert!(session.abort().await.unwrap());
    let result = submission.result().await.unwrap();
    assert!(result.response.starts_with("begin"), "{}", result.response);
    loop {
        match events.next().await.unwrap().unwrap() {
            InteractiveEvent::Interrupted(seen) => break assert_eq!(*seen, result),
            InteractiveEvent::Complete(_) | InteractiveEvent::Error(_) => panic!("not interrupted"),
            _ => {}
        }
    }
    // The script has no further answer.
    let failed = session.submit("Again.").await.unwrap().result().await.unwrap();
    assert!(failed.error.is_some());
    loop {
        match events.next().await.unwrap().unwrap() {
            InteractiveEvent::Error(seen) => break assert_eq!(*seen, failed),
            InteractiveEvent::Complete(_) => panic!("it failed"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn sdk_04_an_edit_carries_its_changed_lines() {
    let scene = Scene::new(
        "- {tools: [{tool: Read, input: {file_path: a.txt}}]}\n\
         - {tools: [{tool: Edit, input: {file_path: a.txt, old_string: two, new_string: TWO}}]}\n\
         - done\n",
    );
    scene.write("project/a.txt", "one\ntwo\nthree\n");
    let session = scene.open().await;
    let result = session.submit("Edit it.").await.unwrap().result().await.unwrap();
    let edit = result.tools.iter().find(|tool| tool.tool == "Edit").unwrap();
    assert!(edit.diff_file.as_deref().unwrap().ends_with("a.txt"));
    assert!(edit.diff.contains(&DiffLine::Remove { line: 2, text: "two".into() }), "{edit:?}");
    assert!(edit.diff.contains(&DiffLine::Add { line: 2, text: "TWO".into() }));
    assert!(edit.diff.iter().any(|line| matches!(line, DiffLine::Hunk { .. })));
    assert!(edit.diff.iter().any(|line| matches!(line, DiffLine::Context { .. })));
    let history = session.conversation().full_history().await.unwrap();
    let history = serde_json::to_value(&history).unwrap();
    let entries = history.as_array().unwrap();
    let summary = entries.iter().find(|entry| entry["type"] == "tool-summary").unwrap();
    let shown = summary["data"]["tools"].as_array().unwrap().last().unwrap();
    assert_eq!(*shown, serde_json::to_value(edit).unwrap());
}

#[tokio::test]
async fn sdk_02_prompts_modes_and_running_output_are_seen() {
    let scene = Scene::new(
        "- {tools: [{tool: Bash, input: {command: 'echo one; echo two; exit 3'}}]}\n- done\n- again\n",
    );
    let project = scene.project_with(robota_sdk::ProjectOptions {
        allow: vec!["Bash".to_owned()],
        ..Default::default()
    });
    let session = scene.builder_for(project).open().await.unwrap();
    let mut events = session.events(StartAt::Start).await.unwrap();
    session.set_mode(robota_core::permission::Mode::Plan).await.unwrap();
    session.set_mode(robota_core::permission::Mode::AcceptEdits).await.unwrap();
    let prompt = robota_sdk::Prompt::from("a long text").display("/run");
    let input = session.submit(prompt).await.unwrap().input().clone();
    let (mut seen, mut output) = (Vec::new(), String::new());
    loop {
        match events.next().await.unwrap().unwrap() {
            InteractiveEvent::Complete(_) => break,
            InteractiveEvent::ToolOutput { text, .. } => output.push_str(&text),
            event => seen.push(event),
        }
    }
    let position = |wanted: &InteractiveEvent| seen.iter().position(|event| event == wanted);
    let text = "/run".to_owned();
    let accepted = InteractiveEvent::PromptAccepted { input: input.clone(), text: text.clone() };
    let started = InteractiveEvent::PromptStarted { input, text };
    assert!(position(&accepted).unwrap() < position(&started).unwrap());
    let mode = robota_core::permission::Mode::Plan;
    assert!(position(&InteractiveEvent::ModeChanged { mode }).is_some());
    assert_eq!(output, "one\ntwo\n");
    let ended = seen.iter().find_map(|event| match event {
        InteractiveEvent::ToolEnd(state) => Some(state),
        _ => None,
    });
    assert_eq!(ended.unwrap().exit_code, Some(3));
}

#[tokio::test]
async fn sdk_02_a_client_that_reconnects_at_any_event_sees_the_rest_as_if_it_had_stayed() {
    // One turn with more events than are read from the journal at a time.
    let reads = "{tool: Read, input: {file_path: a.txt}}, ".repeat(80);
    let bash = "{tools: [{tool: Bash, input: {command: 'echo one; echo two'}}, \
        {tool: Bash, input: {command: ls denied}}, {tool: Bash, input: {command: touch ../asked}}]}";
    let mut scene = Scene::new(&format!(
        "- {{text: I look., tools: [{reads}]}}\n- {bash}\n- {{text: done}}\n- again\n- more\n"
    ));
    // Reads of files take several polls.
    scene.store = Arc::new(robota_store::FileStore::new(scene.path().join("store")));
    scene.write("project/a.txt", "hello\n");
    let project = scene.project_with(robota_sdk::ProjectOptions {
        allow: vec!["Bash(echo *)".to_owned()],
        deny: vec!["Bash(ls *)".to_owned()],
        ..Default::default()
    });
    let builder = scene.builder_for(project).approvals(robota_session::Approvals::Decide);
    let session = builder.queue_limit(2).open().await.unwrap();
    let permissions = session.session().permissions();
    let mut events = session.events(StartAt::Start).await.unwrap();
    session.submit(robota_sdk::Prompt::from("a long text").display("/run")).await.unwrap();
    session.submit(robota_sdk::Prompt::from("another").display("/next")).await.unwrap();
    // Waits for two turns.
    session.submit(robota_sdk::Prompt::from("a third").display("/last")).await.unwrap();
    let (mut seen, mut ended) = (Vec::new(), 0);
    while ended < 3 {
        let event = events.next().await.unwrap().unwrap();
        if let InteractiveEvent::ApprovalAsked { call, .. } = &event {
            let allow = robota_session::Decision::Allow(robota_core::approve::Scope::Once);
            permissions.decide(call, allow, None).await.unwrap();
        }
        ended += u32::from(matches!(event, InteractiveEvent::Complete(_)));
        seen.push((events.cursor().unwrap().seq, event));
    }
    let starts = seen.iter().filter(|(_, it)| matches!(it, InteractiveEvent::ToolStart(_)));
    assert!(starts.count() >= 82, "{seen:?}");
    let journal = session.session().journal().read(None, 10_000).await.unwrap();
    assert!(journal.len() > 300, "{}", journal.len());
    for from in &journal {
        let from = from.cursor();
        let mut again = session.events(StartAt::After(from)).await.unwrap();
        for (seq, expected) in seen.iter().filter(|(seq, _)| *seq > from.seq) {
            let event = again.next().await.unwrap().unwrap();
            assert_eq!((&event, again.cursor().unwrap().seq), (expected, *seq), "after {from:?}");
        }
    }
    // Also if the client gives up each wait once, as `select!` does with what is not ready.
    for from in journal.iter().rev().step_by(5).take(20) {
        let from = from.cursor();
        let mut again = session.events(StartAt::After(from)).await.unwrap();
        for (_, expected) in seen.iter().filter(|(seq, _)| *seq > from.seq) {
            let event = match again.next().now_or_never() {
                Some(event) => event,
                None => again.next().await,
            };
            assert_eq!(&event.unwrap().unwrap(), expected, "after {from:?}");
        }
    }
}

#[tokio::test]
async fn sdk_02_a_client_that_attaches_to_a_running_call_sees_its_end() {
    let read = "{tool: Read, input: {file_path: a.txt}}";
    let scene = Scene::new(&format!(
        "- {{tools: [{read}, {{tool: Bash, input: {{command: touch x}}}}]}}\n- done\n"
    ));
    scene.write("project/a.txt", "hello\n");
    let builder = scene.builder().approvals(robota_session::Approvals::Decide);
    let session = builder.mode(robota_core::permission::Mode::Default).open().await.unwrap();
    let permissions = session.session().permissions();
    let mut changes = permissions.pending_changes();
    let turn = session.submit("Go.").await.unwrap();
    while permissions.pending().is_empty() {
        changes.changed().await.unwrap();
    }
    let mut events = session.events(StartAt::Now).await.unwrap();
    let call = permissions.pending().remove(0).call.call;
    permissions.decide(&call, robota_session::Decision::Deny, None).await.unwrap();
    let result = turn.result().await.unwrap();
    let mut ends = Vec::new();
    loop {
        match events.next().await.unwrap().unwrap() {
            InteractiveEvent::ToolEnd(state) => ends.push(state.tool),
            InteractiveEvent::Complete(seen) => break assert_eq!(seen.tools, result.tools),
            _ => {}
        }
    }
    assert!(ends.contains(&"Bash".to_owned()), "{ends:?}");
}

#[tokio::test]
async fn sdk_02_a_cancelled_prompt_is_seen() {
    let scene = Scene::new("- {steps: [{text: busy}, {stall: {gate: go}}]}\n- two\n");
    let session = scene.open().await;
    let mut events = session.events(StartAt::Start).await.unwrap();
    session.submit("one").await.unwrap();
    let waiting = session.submit("two").await.unwrap();
    let input = waiting.input().clone();
    assert!(session.queue().edit(&input, "three").await.unwrap());
    assert!(session.queue().cancel(&input).await.unwrap());
    let mut changed = false;
    loop {
        match events.next().await.unwrap().unwrap() {
            InteractiveEvent::PromptChanged { text, .. } => changed |= text == "three",
            InteractiveEvent::PromptCancelled { input: gone, reason: None } => {
                break assert_eq!(gone, input);
            }
            _ => {}
        }
    }
    assert!(changed);
    scene.provider.release("go");
}

#[tokio::test]
async fn a_session_can_be_followed_without_being_opened() {
    let scene = Scene::new("- hello\n");
    let session = scene.open().await;
    let store = scene.store.clone();
    let mut events =
        robota_sdk::InteractiveEvents::follow(store, session.id(), StartAt::Start).await.unwrap();
    session.submit("Hi").await.unwrap();
    loop {
        if let InteractiveEvent::Complete(result) = events.next().await.unwrap().unwrap() {
            break assert_eq!(result.response, "hello");
        }
    }
}

#[tokio::test]
async fn a_shell_command_of_the_user_is_part_of_the_conversation_and_deny_rules_apply() {
    let scene = Scene::new("- I saw it.\n");
    let project = scene.project_with(robota_sdk::ProjectOptions {
        deny: vec!["Bash(rm *)".to_owned()],
        ..Default::default()
    });
    let session = scene.builder_for(project).open().await.unwrap();
    let outcome = session.run_shell("echo hello; exit 2", ShellRun::default()).await.unwrap();
    assert_eq!(outcome.metadata["exit_code"], 2);
    assert!(session.run_shell("rm -f x", ShellRun::default()).await.is_err());
    session.submit("What did it print?").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    let texts: Vec<_> = requests[0].messages.iter().map(|message| message.text()).collect();
    assert!(texts.iter().any(|text| text.contains("<bash-input>echo hello; exit 2")), "{texts:?}");
}

#[tokio::test]
async fn a_shell_command_of_the_user_is_followed_and_stopped() {
    let scene = Scene::new("- Never.\n");
    let session = scene.open().await;
    let (sent, mut output) = tokio::sync::mpsc::unbounded_channel();
    let progress = Progress::new(move |text| drop(sent.send(text)));
    let run = ShellRun { progress, ..ShellRun::default() };
    let cancel = run.cancel.clone();
    let running = session.run_shell("echo begun; sleep 600", run);
    tokio::pin!(running);
    tokio::select! {
        text = output.recv() => assert_eq!(text.as_deref(), Some("begun\n")),
        ended = &mut running => panic!("{ended:?}"),
    }
    cancel.cancel();
    let outcome = running.await.unwrap();
    assert!(!outcome.ok && outcome.text().contains("interrupted"), "{outcome:?}");
}
