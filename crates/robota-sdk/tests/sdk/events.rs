//! The events that clients receive.

use robota_sdk::{DiffLine, InteractiveEvent, ToolEnd};
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
}
