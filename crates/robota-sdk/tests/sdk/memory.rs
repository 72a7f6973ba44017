//! `/memory` in a session.

use robota_core::permission::Mode;
use robota_sdk::{Earlier, InteractiveSession, SessionChoice, ToolEnd};
use robota_session::replay::Record;
use serde_json::json;

use crate::common::Scene;

async fn run(session: &InteractiveSession, arguments: &str) -> (bool, String) {
    let result = session.execute_command("memory", arguments).await.unwrap();
    (result.success, result.message)
}

#[tokio::test]
async fn sdk_18_the_model_finds_topics_by_a_question_and_the_history_says_which() {
    let find = "{tools: [{tool: robota_command_memory, input: {args: find how do we build this}}]}";
    let nothing = "{tools: [{tool: robota_command_memory, input: {args: find zebras}}]}";
    let scene = Scene::new(&format!("- {find}\n- {nothing}\n- done\n"));
    scene.write("project/.robota/memory/MEMORY.md", "- [build](topics/build.md)\n");
    scene.write("project/.robota/memory/topics/build.md", "- (project) We build with just.\n");
    scene.write("project/.robota/memory/topics/style.md", "- (project) Use tabs.\n");
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    let done = session.submit("Go.").await.unwrap().result().await.unwrap();
    let found = done.tools[0].output.as_deref().unwrap();
    assert!(found.contains("We build with just.") && !found.contains("tabs"), "{found}");
    assert!(done.tools[1].output.as_deref().unwrap().contains("No topic"), "{:?}", done.tools[1]);
    assert_eq!(run(&session, "used").await.1, "Recalled: build");
    let history = session.conversation().full_history().await.unwrap();
    let history = serde_json::to_string(&history).unwrap();
    assert_eq!(history.matches("memory-event").count(), 1, "{history}");
}

#[tokio::test]
async fn sdk_18_the_command_changes_files_and_records_events() {
    let scene = Scene::new("- done\n");
    let session = scene.open().await;
    let (_, text) = run(&session, "").await;
    assert_eq!(text, "The memory is empty.");
    assert!(!scene.path().join("project/.robota/memory").exists(), "reading creates nothing");
    assert!(run(&session, "add project build Use just.").await.0);
    let (ok, text) = run(&session, "add user me the password is hunter2").await;
    assert!(!ok && text.contains("is not stored") && !text.contains("hunter2"), "{text}");
    assert_eq!(run(&session, "used").await.1, "This session has recalled nothing.");
    assert!(run(&session, "show build").await.1.contains("Use just."));
    assert_eq!(run(&session, "used").await.1, "Recalled: build");
    assert!(!run(&session, "forget").await.0);
    let history =
        serde_json::to_string(&session.conversation().full_history().await.unwrap()).unwrap();
    assert_eq!(history.matches("memory-event").count(), 3, "{history}");
    assert!(!history.contains("hunter2"), "{history}");
    let id = session.id().clone();
    session.shutdown("done").await.unwrap();
    // The events survive: a resumed session knows what it used.
    let choice = SessionChoice::Earlier(Earlier::Named(id.to_string()));
    let again = scene.builder().choose(choice).open().await.unwrap();
    assert_eq!(run(&again, "used").await.1, "Recalled: build");
}

#[tokio::test]
async fn sess_10_the_record_of_a_session_has_its_memory_events_and_used_topics() {
    let scene = Scene::new("- done\n");
    let session = scene.open().await;
    assert!(run(&session, "add project build Use just.").await.0);
    // A topic that is recalled twice is used once.
    for _ in 0..2 {
        assert!(run(&session, "show build").await.0);
    }
    let events = session.session().journal().read(None, 1000).await.unwrap();
    let envelopes: Vec<_> = events.iter().map(|event| (*event.envelope).clone()).collect();
    let record = Record::from_events(session.id(), &envelopes).unwrap();
    let kinds: Vec<_> = record.memory_events.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["added", "recalled", "recalled"]);
    assert_eq!(record.used_memory_references, [json!({"id": "build", "topic": "build"})]);
    let fields = serde_json::to_value(&record).unwrap();
    assert_eq!(fields["memoryEvents"][0]["text"], "Use just.");
    assert_eq!(fields["usedMemoryReferences"][0]["topic"], "build");
}

#[tokio::test]
async fn sdk_18_the_model_reads_the_memory_in_plan_mode_and_changes_it_only_with_approval() {
    let call = |args: &str| format!("{{tool: robota_command_memory, input: {{args: '{args}'}}}}");
    let read = ["list", "show build", " find  how to build", "pending", "used"].map(call);
    let changed =
        ["add project build Use make.", "approve mem_1", "list build", "", "forget"].map(call);
    for mode in [Mode::Plan, Mode::Default] {
        let scene = Scene::new(&format!(
            "- {{tools: [{}, {}]}}\n- done\n",
            read.join(", "),
            changed.join(", ")
        ));
        scene.write("project/.robota/memory/MEMORY.md", "- [build](topics/build.md)\n");
        scene.write("project/.robota/memory/topics/build.md", "- (project) Use just.\n");
        let session = scene.builder().mode(mode).open().await.unwrap();
        let done = session.submit("Go.").await.unwrap().result().await.unwrap();
        // Calls that only read can end before those that came earlier.
        let of = |args: &str| done.tools.iter().find(|it| it.first_argument == args).unwrap();
        for args in ["list", "show build", " find  how to build", "pending", "used"] {
            assert_eq!(of(args).end, Some(ToolEnd::Success), "{mode:?} {args}: {:?}", of(args));
        }
        for args in ["add project build Use make.", "approve mem_1", "", "forget"] {
            assert_eq!(of(args).end, Some(ToolEnd::Denied), "{mode:?} {args}: {:?}", of(args));
        }
        // `list` takes no argument: the call runs and fails.
        assert_eq!(of("list build").end, Some(ToolEnd::Error), "{mode:?}");
        assert!(of("show build").output.as_deref().unwrap().contains("Use just."));
        let topic =
            std::fs::read_to_string(scene.path().join("project/.robota/memory/topics/build.md"));
        assert_eq!(topic.unwrap(), "- (project) Use just.\n");
    }
}
