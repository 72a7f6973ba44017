//! The user's files in the prompt.

use robota_sdk::{Entered, InteractiveSession, ModelSetup};
use robota_session::Selector;
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

/// A scene whose model reads a file of a subfolder in each turn.
fn reads(turns: usize) -> Scene {
    let turn = "- {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n- done\n";
    let scene = Scene::new(&turn.repeat(turns));
    scene.write("project/web/AGENTS.md", "Web rule.\n");
    scene.write("project/.claude/rules/text.md", "---\npaths: '*.txt'\n---\nText rule.\n");
    let skill = "---\ndescription: Ships the site\n---\nShip.\n";
    scene.write("project/web/.claude/skills/ship/SKILL.md", skill);
    scene.write("project/web/a.txt", "hello\n");
    scene
}

/// Lets the model read the file, and returns how often the request after it has each text.
async fn counts(scene: &Scene, session: &InteractiveSession) -> [usize; 3] {
    session.submit("Read it.").await.unwrap().result().await.unwrap();
    let request = scene.provider.requests().pop().unwrap();
    let messages = serde_json::to_string(&request.messages).unwrap();
    ["Web rule.", "Text rule.", "ship: Ships the site"].map(|text| messages.matches(text).count())
}

#[tokio::test]
async fn sdk_12_nested_instructions_are_given_again_after_the_conversation_was_cleared() {
    let scene = reads(3);
    let session = scene.open().await;
    assert_eq!(counts(&scene, &session).await, [1, 1, 1]);
    assert_eq!(counts(&scene, &session).await, [1, 1, 1], "once in a conversation");
    assert!(session.execute_command("clear", "").await.unwrap().success);
    assert_eq!(counts(&scene, &session).await, [1, 1, 1]);
}

#[tokio::test]
async fn sdk_12_nested_instructions_are_given_again_after_a_rewind() {
    let scene = reads(2);
    let session = scene.open().await;
    counts(&scene, &session).await;
    let messages = session.session().context().messages().await.unwrap();
    session.session().context().rewind(&messages[0].id).await.unwrap();
    assert_eq!(counts(&scene, &session).await, [1, 1, 1]);
}

#[tokio::test]
async fn sdk_12_nested_instructions_are_given_again_after_compaction() {
    let scene = reads(1);
    let turn = "- {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n- done\n";
    let script = format!("{turn}{turn}{turn}- The summary.\n{turn}");
    let scene = Scene { provider: Scene::new(&script).provider, ..scene };
    let session = scene.open().await;
    for _ in 0..3 {
        counts(&scene, &session).await;
    }
    session.session().context().compact(None).await.unwrap();
    let request = scene.provider.requests().len();
    let after = counts(&scene, &session).await;
    assert_eq!(after, [1, 1, 1], "{:?}", scene.provider.requests()[request].messages);
}

#[tokio::test]
async fn sdk_12_a_fork_is_given_what_its_parent_read_after_it_was_made() {
    let scene = reads(2);
    let script = "- hello\n- {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n- done\n\
        - {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n- done\n";
    let scene = Scene { provider: Scene::new(script).provider, ..scene };
    let session = scene.open().await;
    session.submit("Hello.").await.unwrap().result().await.unwrap();
    let fork = session.fork(&Selector::Latest).await.unwrap();
    assert_eq!(counts(&scene, &session).await, [1, 1, 1]);
    assert_eq!(counts(&scene, &fork).await, [1, 1, 1]);
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

#[tokio::test]
async fn sdk_12_a_start_opens_few_files_however_many_skills_and_agents_there_are() {
    let scene = Scene::new("- One.\n- Two.\n- Three.\n");
    scene.write("project/AGENTS.md", "Use four spaces.\n");
    for n in 0..200 {
        let text = format!("---\nname: s\ndescription: Does {n}\n---\nText\n");
        scene.write(&format!("project/.claude/skills/s{n:03}/SKILL.md"), &text);
    }
    for (agents, skills) in [(0, 48), (30, 18), (100, 16)] {
        for n in 0..agents {
            let text = format!("---\nname: a{n}\ndescription: Does {n}\n---\nText\n");
            scene.write(&format!("project/.claude/agents/a{n}.md"), &text);
        }
        let options = robota_sdk::AgentOptions { tool: true, ..Default::default() };
        let session = scene.builder().agents(options).open().await.unwrap();
        let read = session.conversation().loaded().read;
        assert!(read.files < 52, "{agents} agents: {read:?}");
        session.submit("Go.").await.unwrap().result().await.unwrap();
        let system = scene.provider.requests().pop().unwrap().system.unwrap();
        assert_eq!(system.matches(": Does ").count(), skills, "{agents} agents");
    }
}

#[tokio::test]
async fn sdk_27_the_composer_adds_headings_and_facts_and_no_instructions() {
    let scene = Scene::new("- done\n");
    let given = [
        ("home/.claude/CLAUDE.md", "Users rule."),
        ("project/AGENTS.md", "Agents rule."),
        ("project/.robota/memory/MEMORY.md", "- We use tabs."),
    ];
    for (file, text) in given {
        scene.write(file, text);
    }
    scene.write("project/Cargo.toml", "[package]\n");
    scene.write("project/.agents/tasks/one.md", "# Ship it\n\n- **Status**: in-progress\n");
    let skill = "---\ndescription: Deploys it\n---\nGo.\n";
    scene.write("project/.claude/skills/deploy/SKILL.md", skill);
    let session = scene.builder().open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let system = scene.provider.requests()[0].system.clone().unwrap();
    // Without the instructions of the program and the text of the user's files, names and values are
    // left.
    let rest = system.strip_prefix(robota_sdk::prompt::CODING_AGENT.trim()).unwrap();
    let of_composer = |line: &&str| !line.is_empty() && given.iter().all(|(_, text)| line != text);
    let project = scene.path().join("project").canonicalize().unwrap();
    let lines: Vec<_> = rest.lines().filter(of_composer).collect();
    let expected = [
        format!("# Instructions from {}", scene.path().join("home/.claude/CLAUDE.md").display()),
        format!("# Instructions from {}", project.join("AGENTS.md").display()),
        "# Project memory".to_owned(),
        "# Active tasks".to_owned(),
        "## Active Task Context".to_owned(),
        "### Ship it".to_owned(),
        "- Path: .agents/tasks/one.md".to_owned(),
        "- Status: in-progress".to_owned(),
        "# Skills".to_owned(),
        "- deploy: Deploys it".to_owned(),
        format!("Working directory: {}", project.display()),
        "Project: rust".to_owned(),
        "Languages: rust".to_owned(),
        "Tools: cargo".to_owned(),
    ];
    assert_eq!(lines, expected);
}
