//! Parts of a session that no other file is about: raw input, usage, compaction, shutdown, rewind,
//! settings of turns.

use robota_core::event::Event;
use robota_core::journal::{MemoryStore, read_all};
use robota_core::permission::Mode;
use robota_core::task::TaskStatus;
use robota_sdk::{AgentOptions, CostStatus, InteractiveSession, ModelSetup, Prompt, UsageKind};

use crate::common::Scene;

#[tokio::test]
async fn sdk_03_hooks_receive_what_the_user_typed() {
    let scene = Scene::new("- done\n");
    let hook = serde_json::json!({"hooks": {"UserPromptSubmit": [
        {"hooks": [{"type": "command", "command": "cat > input.json"}]}]}});
    scene.write("home/.robota/settings.json", &hook.to_string());
    let session = scene.open().await;
    let prompt = Prompt::from("For the model.").display("Shown.").raw("Typed.");
    session.submit(prompt).await.unwrap().result().await.unwrap();
    let input = std::fs::read_to_string(scene.path().join("project/input.json")).unwrap();
    let input: serde_json::Value = serde_json::from_str(&input).unwrap();
    assert_eq!(input["prompt"], "Typed.");
    let sent = scene.provider.requests().remove(0);
    assert_eq!(sent.messages[0].text(), "For the model.");
}

#[tokio::test]
async fn sdk_05_the_usage_of_a_turn_is_counted_or_estimated_and_has_a_price() {
    let scene = Scene::new(
        "- {text: one, usage: {input: 1000, output: 500}}\n- two\n- {text: three, usage: {input: 9, output: 1}}\n",
    );
    let known = ModelSetup::new(scene.provider.clone(), "claude-sonnet-5-5");
    let session = InteractiveSession::builder(scene.project(), known)
        .store(MemoryStore::new())
        .open()
        .await
        .unwrap();
    let run = async |session: &InteractiveSession| {
        session.submit("Go.").await.unwrap().result().await.unwrap().usage.unwrap()
    };
    let usage = run(&session).await;
    assert_eq!((usage.kind, usage.scope), (UsageKind::Exact, "turn"));
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (1000, 500, 1500)
    );
    assert_eq!(usage.cost_status, CostStatus::Estimated);
    assert!(usage.cost.unwrap() > 0.0 && usage.context_max_tokens > 0);
    let shown = session.execute_command("cost", "").await.unwrap();
    assert_eq!(shown.data["costUsd"].as_f64(), usage.cost);
    assert!(shown.message.contains("Cost: $"), "{}", shown.message);
    let usage = run(&session).await;
    assert_eq!((usage.kind, usage.cost_status), (UsageKind::Estimated, CostStatus::Unknown));
    assert!(usage.cost.is_none() && usage.context_used_tokens > 0);
    let unknown = scene.open().await;
    assert_eq!(run(&unknown).await.cost_status, CostStatus::Unknown);
}

#[tokio::test]
async fn sdk_12_compaction_gets_the_compact_instructions_of_the_project() {
    let scene = Scene::new("- {text: answer}\n- {text: summary}\n");
    scene.write("project/CLAUDE.md", "# Compact Instructions\nKeep all names of people.\n");
    let session = scene.open().await;
    session.submit("Ada works here.").await.unwrap().result().await.unwrap();
    let done = session.execute_command("compact", "").await.unwrap();
    assert!(done.success, "{done:?}");
    let request = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&request.messages).unwrap();
    assert!(text.contains("Keep all names of people."), "{text}");
}

#[tokio::test]
async fn sdk_07_shutdown_cancels_background_work() {
    let start = "{tools: [{tool: Bash, input: {command: sleep 1000, run_in_background: true}}]}";
    let scene = Scene::new(&format!("- {start}\n- Started.\n"));
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    assert!(!session.session().is_running());
    let tasks = session.tasks().unwrap();
    assert_eq!(tasks.list()[0].status, TaskStatus::Running);
    session.shutdown("the user quit").await.unwrap();
    assert_eq!(tasks.list()[0].status, TaskStatus::Cancelled);
    assert!(session.submit("More.").await.is_err());
    session.shutdown("again").await.unwrap();
}

#[tokio::test]
async fn sdk_09_rewind_restores_code_and_conversation_and_the_history_says_so() {
    let scene = Scene::new(
        "- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- done\n- again\n",
    );
    let session = scene.open().await;
    session.submit("Write it.").await.unwrap().result().await.unwrap();
    let file = scene.path().join("project/a.txt");
    assert!(file.exists());
    let restored = session.execute_command("rewind", "restore 1").await.unwrap();
    assert!(restored.success && !file.exists(), "{}", restored.message);
    let history = session.conversation().full_history().await.unwrap();
    let history = serde_json::to_string(&history).unwrap();
    assert!(history.contains("checkpoint-restored"), "{history}");
    session.submit("Once more.").await.unwrap().result().await.unwrap();
    assert_eq!(scene.provider.requests().pop().unwrap().messages.len(), 1);
}

#[tokio::test]
async fn sdk_11_the_settings_of_compaction_and_effort_are_used() {
    for (settings, share) in [
        ("{}", Some(0.835)),
        (r#"{"autoCompactThreshold": 0.5}"#, Some(0.5)),
        (r#"{"autoCompactThreshold": false}"#, None),
        (r#"{"autoCompactThreshold": 0.5, "autoCompactEnabled": false}"#, None),
    ] {
        let scene = Scene::new("- done\n");
        scene.write("home/.robota/settings.json", settings);
        let session = scene.open().await;
        assert_eq!(session.session().context().auto_compact(), share, "{settings}");
    }
    let agent = "{tools: [{tool: Agent, input: {prompt: Look at it., subagent_type: Explore}}]}";
    let scene = Scene::new(&format!("- {agent}\n- looked\n- done\n"));
    scene.write("home/.robota/settings.json", r#"{"effortLevel": "low"}"#);
    let agents = AgentOptions { tool: true, ..AgentOptions::default() };
    let session = scene.builder().agents(agents).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    let efforts: Vec<_> = requests.iter().map(|request| &request.options["effort"]).collect();
    assert_eq!(efforts, ["low", "low", "low"], "of the session and its agent");
}

#[tokio::test]
async fn sdk_11_instructions_that_the_settings_exclude_are_not_read() {
    let scene = Scene::new("- done\n");
    scene.write("home/.robota/settings.json", r#"{"claudeMdExcludes": ["**/AGENTS.md"]}"#);
    scene.write("project/AGENTS.md", "Agents rule.\n");
    scene.write("project/CLAUDE.md", "Claudes rule.\n");
    scene.open().await.submit("Go.").await.unwrap().result().await.unwrap();
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("Claudes rule.") && !system.contains("Agents rule."), "{system}");
}

#[tokio::test]
async fn sdk_17_the_record_of_what_commands_change_can_be_switched_off() {
    for enabled in [true, false] {
        let scene = Scene::new("- {tools: [{tool: Bash, input: {command: touch made}}]}\n- done\n");
        let settings = serde_json::json!({
            "permissions": {"allow": ["Bash(touch *)", "Edit"]},
            "fileCheckpointingEnabled": enabled,
        });
        scene.write("home/.robota/settings.json", &settings.to_string());
        let session = scene.open().await;
        session.submit("Go.").await.unwrap().result().await.unwrap();
        assert!(scene.path().join("project/made").exists(), "the command ran");
        let events = read_all(&*scene.store, session.session().id(), 0).await.unwrap();
        let changed = events.iter().any(|event| matches!(event.event, Event::FilesChanged(_)));
        assert_eq!(changed, enabled, "{settings}");
    }
}
