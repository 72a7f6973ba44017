//! The user's files in the prompt.

use robota_sdk::{Entered, ModelSetup};
use serde_json::json;

use crate::common::Scene;

#[tokio::test]
async fn sdk_12_the_prompt_has_the_users_files_in_a_fixed_order() {
    let scene = Scene::new("- done\n- again\n");
    scene.write("home/.claude/CLAUDE.md", "Users rule.\n");
    scene.write("project/AGENTS.md", "Agents rule.\n");
    scene.write("project/CLAUDE.md", "Claudes rule. See @notes.md\n");
    scene.write("project/notes.md", "Imported notes.\n");
    scene.write("project/Cargo.toml", "[package]\n");
    scene.write("project/.robota/memory/MEMORY.md", "- We use tabs.\n");
    scene.write("project/.agents/tasks/one.md", "# Ship it\n\n- **Status**: in-progress\n");
    scene.write(
        "project/.claude/skills/deploy/SKILL.md",
        "---\ndescription: Deploys it\n---\nGo.\n",
    );
    scene.write("home/.claude/settings.json", r#"{"language": "Ukrainian"}"#);
    let session = scene.builder().append_system("The end.").open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let system = scene.provider.requests()[0].system.clone().unwrap();
    let at = |text: &str| system.find(text).unwrap_or_else(|| panic!("{text} is not in {system}"));
    let order = [
        at("You are a coding agent"),
        at("Users rule."),
        at("Agents rule."),
        at("Claudes rule."),
        at("We use tabs."),
        at("Ship it"),
        at("deploy"),
        at("Working directory:"),
        at("Response language: Ukrainian"),
        at("The end."),
    ];
    assert!(order.is_sorted(), "{order:?} in {system}");
    at("Imported notes.");
    at("Project: rust");
    // The same files give the same bytes.
    let again = scene.builder().append_system("The end.").open().await.unwrap();
    again.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(scene.provider.requests()[1].system.as_deref(), Some(&*system));
    let parts = &session.conversation().loaded().parts;
    assert!(parts.iter().any(|part| part.name.ends_with("AGENTS.md") && part.tokens > 0));
    let context = session.execute_command("context", "").await.unwrap();
    assert!(context.message.contains("AGENTS.md"), "{}", context.message);
    assert!(session.conversation().loaded().read.files < 20);
}

#[tokio::test]
async fn sdk_12_instructions_of_a_subfolder_come_with_its_files() {
    let scene = Scene::new(
        "- {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n\
         - {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n\
         - done\n",
    );
    scene.write("project/web/AGENTS.md", "Web rule.\n");
    scene.write("project/web/a.txt", "hello\n");
    let session = scene.open().await;
    session.submit("Read it.").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    assert!(!requests[0].system.as_deref().unwrap().contains("Web rule."));
    let results = requests
        .last()
        .unwrap()
        .messages
        .iter()
        .map(|message| serde_json::to_string(&**message).unwrap().matches("Web rule.").count());
    assert_eq!(results.sum::<usize>(), 1);
}

#[tokio::test]
async fn sdk_12_an_output_style_replaces_the_instructions_of_the_program() {
    let scene = Scene::new("- done\n");
    scene.write("home/.claude/settings.json", r#"{"outputStyle": "terse"}"#);
    scene.write("home/.claude/output-styles/terse.md", "---\nname: terse\n---\nOne word.\n");
    let session = scene.open().await;
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("One word."));
    assert!(!system.contains("Read before you change"));
    assert_eq!(session.conversation().loaded().output_style.as_deref(), Some("terse"));
}

#[tokio::test]
async fn sdk_18_memory_is_read_and_changed_by_its_command() {
    let scene = Scene::new("- done\n");
    let session = scene.open().await;
    let run = |text: &'static str| {
        let session = session.clone();
        async move {
            match session.enter(text).await.unwrap() {
                Entered::Command(result) => result,
                Entered::Submitted(_) => panic!("not a command"),
            }
        }
    };
    assert!(!session.tools().names().contains(&"robota_command_memory".to_owned()));
    assert!(run("/memory add project style We use tabs.").await.success);
    assert!(run("/memory show style").await.message.contains("We use tabs."));
    let refused = run("/memory add user key password=hunter2hunter2").await;
    assert!(!refused.success, "{}", refused.message);
    let history = session.conversation().full_history().await.unwrap();
    let recorded = serde_json::to_string(&history).unwrap();
    assert!(recorded.contains("memory-event"));
    assert!(!recorded.contains("hunter2"));
    // A project with a memory offers the command to the model.
    let later = scene.open().await;
    assert!(later.tools().names().contains(&"robota_command_memory".to_owned()));
}

#[tokio::test]
async fn sdk_21_a_prompt_hook_asks_the_model_and_can_block() {
    let scene = Scene::new(
        "- {tools: [{tool: Write, input: {file_path: a.txt, content: x}}]}\n\
         - '{\"ok\": false, \"reason\": \"not on Fridays\"}'\n\
         - done\n",
    );
    let hooks = json!({"hooks": {"PreToolUse": [{
        "matcher": "Write",
        "hooks": [{"type": "prompt", "prompt": "May it? $ARGUMENTS"}],
    }]}});
    scene.write("home/.claude/settings.json", &hooks.to_string());
    let model = ModelSetup::new(scene.provider.clone(), "scripted");
    let session = robota_sdk::InteractiveSession::builder(scene.project(), model)
        .store(scene.store.clone())
        .open()
        .await
        .unwrap();
    let result = session.submit("Write it.").await.unwrap().result().await.unwrap();
    assert!(result.tools[0].output.as_deref().unwrap().contains("not on Fridays"), "{result:?}");
    assert!(!scene.path().join("project/a.txt").exists());
    let listed = session.execute_command("hooks", "").await.unwrap();
    assert!(listed.message.contains("PreToolUse(Write)"), "{}", listed.message);
}
