//! The history for clients.

use robota_core::history::{EntryKind, HistoryEntry};
use robota_sdk::Prompt;
use serde_json::Value;

use crate::common::Scene;

fn names(history: &[HistoryEntry]) -> Vec<String> {
    let name = |entry: &HistoryEntry| match &entry.kind {
        EntryKind::Chat { role, .. } => format!("{role:?}").to_lowercase(),
        EntryKind::Event { name, .. } => name.clone(),
    };
    history.iter().map(name).collect()
}

fn data<'a>(history: &'a [HistoryEntry], wanted: &str) -> &'a Value {
    let found = history.iter().find_map(|entry| match &entry.kind {
        EntryKind::Event { name, data } if name == wanted => Some(data),
        _ => None,
    });
    found.unwrap()
}

#[tokio::test]
async fn sdk_04_the_history_has_calls_usage_and_skills_between_the_messages() {
    let scene = Scene::new(
        "- {tools: [{tool: Read, input: {file_path: a.txt}}], usage: {input: 7, output: 3}}\n\
         - {text: done, usage: {input: 9, output: 1}}\n",
    );
    scene.write("project/a.txt", "hello\n");
    let session = scene.open().await;
    let prompt = Prompt::from("Read a.txt.").display("/read a.txt").metadata("skill", "read");
    session.submit(prompt).await.unwrap().result().await.unwrap();
    let history = session.conversation().full_history().await.unwrap();
    assert_eq!(
        names(&history),
        [
            "skill-invocation",
            "user",
            "assistant",
            "tool-start",
            "tool-end",
            "tool",
            "assistant",
            "tool-summary",
            "usage-summary"
        ]
    );
    assert_eq!(data(&history, "skill-invocation")["skillName"], "read");
    assert_eq!(data(&history, "skill-invocation")["displayInput"], "/read a.txt");
    assert_eq!(data(&history, "tool-start")["isRunning"], true);
    let tool = &data(&history, "tool-summary")["tools"][0];
    assert_eq!((&tool["toolName"], &tool["firstArg"]), (&"Read".into(), &"a.txt".into()));
    assert_eq!(tool["result"], "success");
    assert!(tool["toolResultData"].as_str().unwrap().contains("hello"));
    assert_eq!(data(&history, "usage-summary")["totalTokens"], 20);
    assert_eq!(data(&history, "usage-summary")["kind"], "exact");
    // The same journal gives the same entries.
    assert_eq!(history, session.conversation().full_history().await.unwrap());
}
