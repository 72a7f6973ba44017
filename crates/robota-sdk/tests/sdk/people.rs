//! A home folder and a checkout as people have them (`fixtures/people`), with the mistakes that public
//! repositories contain. Everything loads, and has the effect that its author expected.

use std::path::Path;
use std::sync::{Arc, Mutex};

use robota_core::permission::Mode;
use robota_sdk::{InteractiveSession, ModelSetup, Prepared, ProjectOptions, ToolEnd};

use crate::common::Scene;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            let link = std::fs::read_link(entry.path()).unwrap();
            std::os::unix::fs::symlink(link, target).unwrap();
        } else if kind.is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn scene(script: &str) -> Scene {
    let scene = Scene::new(script);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/people");
    copy(&fixtures, scene.path());
    scene
}

async fn open(scene: &Scene, trust: bool) -> (InteractiveSession, Vec<String>) {
    let options =
        ProjectOptions { mode: Some(Mode::AcceptEdits), trust, ..ProjectOptions::default() };
    let project = scene.project_with(options);
    let seen = Arc::new(Mutex::new(Vec::new()));
    seen.lock().unwrap().extend(project.notices().iter().map(ToString::to_string));
    let notices = seen.clone();
    let model = ModelSetup::new(scene.provider.clone(), "scripted");
    let session = InteractiveSession::builder(project, model)
        .store(scene.store.clone())
        .on_notice(move |notice| notices.lock().unwrap().push(notice.to_string()))
        .open()
        .await
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    (session, seen)
}

async fn prompt(session: &InteractiveSession, text: &str) -> String {
    let Prepared::Prompt(prompt) = session.prepare(text).await.unwrap() else {
        panic!("{text} is a command");
    };
    let text = |block: &robota_core::message::Block| match block {
        robota_core::message::Block::Text(text) => text.text.clone(),
        _ => String::new(),
    };
    prompt.content.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn instructions_memory_tasks_style_and_skills_of_real_folders_reach_the_prompt_once() {
    let scene = scene("- done\n");
    let (session, _) = open(&scene, true).await;
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let system = scene.provider.requests()[0].system.clone().unwrap();
    for text in [
        "Answer briefly.",
        "Never commit secrets.",
        "Build with `make`.",
        "Use four spaces.",
        "My machine has 8 cores.",
        "Use strict mode.",
        "Answer in at most three sentences.",
        "We deploy on Fridays.",
        "Ship the feature",
        "Use this skill: when the user wants a release",
        "Reviews a change",
    ] {
        assert_eq!(system.matches(text).count(), 1, "{text} in {system}");
    }
    for text in [
        "a note to myself",
        "Not imported.",
        "Use the design system.",
        "do not panic",
        "Deploys the",
    ] {
        assert!(!system.contains(text), "{text} in {system}");
    }
}

#[tokio::test]
async fn commands_and_skills_of_real_folders_expand_as_their_authors_meant() {
    let scene = scene("- done\n");
    let (session, _) = open(&scene, true).await;
    let component = prompt(&session, "/frontend:component Button src/ui").await;
    assert_eq!(component.trim(), "Create the component Button in src/ui. Costs ${2:-nothing}.");
    assert_eq!(prompt(&session, "/standup").await.trim(), "What did I do yesterday?");
    let fix = prompt(&session, "/fix-issue 42").await;
    assert!(fix.contains("Fix issue #42") && fix.contains("Use four spaces."), "{fix}");
    assert!(prompt(&session, "/release 1.2").await.contains("Release 1.2."));
    let deploy = prompt(&session, "/deploy").await;
    assert!(deploy.contains("skills/deploy"), "{deploy}");
    let agents = session.execute_command("agents", "").await.unwrap().message;
    assert!(agents.contains("reviewer") && agents.contains("tester"), "{agents}");
    assert!(agents.contains("README.md: not an agent"), "{agents}");
}

#[tokio::test]
async fn hooks_and_permissions_of_real_folders_apply_when_they_are_trusted() {
    let scene = scene(
        "- tools: [{tool: Write, input: {file_path: new.txt, content: x}}]\n\
         - tools: [{tool: Read, input: {file_path: web/index.html}}]\n- done\n",
    );
    let (session, seen) = open(&scene, true).await;
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.tools[0].end, Some(ToolEnd::Success), "{result:?}");
    let project = scene.path().join("project");
    assert!(project.join("formatted").exists(), "the PostToolUse hook ran");
    assert!(project.join("stopped").exists(), "the Stop hook ran");
    let requests = scene.provider.requests();
    let last = requests.last().unwrap();
    let all: Vec<_> = last.messages.iter().map(|message| format!("{message:?}")).collect();
    assert!(all.join("\n").contains("Use the design system."), "nested instructions");
    let all = seen.join("\n");
    for text in ["allowEdits", "preToolUse", "can never match"] {
        assert!(all.contains(text), "{text} is not reported in {all}");
    }
    let hooks = session.execute_command("hooks", "").await.unwrap().message;
    assert!(hooks.contains("[never runs: `enabled` is false]"), "{hooks}");
    let settings = &session.project().unwrap().settings;
    assert_ne!(settings.permissions.mode, Mode::BypassPermissions);
    assert!(settings.permissions.allow.iter().any(|rule| rule.text == "Bash(make:*)"));
    assert!(settings.permissions.deny.iter().any(|rule| rule.text == "Read(./.env)"));
    assert_eq!(settings.values.env.get("NODE_ENV").map(String::as_str), Some("test"));
}

#[tokio::test]
async fn before_trust_the_folder_gives_text_only() {
    let scene =
        scene("- tools: [{tool: Write, input: {file_path: new.txt, content: x}}]\n- done\n");
    let (session, seen) = open(&scene, false).await;
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let project = scene.path().join("project");
    assert!(!project.join("formatted").exists() && !project.join("stopped").exists());
    assert!(seen.iter().any(|notice| notice.contains("robota trust")), "{seen:?}");
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("Build with `make`."));
    let allow = &session.project().unwrap().settings.permissions.allow;
    assert!(allow.iter().all(|rule| rule.text != "Bash(make:*)"));
}
