//! `availableModels`: other models are refused.

use robota_sdk::{AgentRun, AgentWork, ModelSetup, ProjectOptions};

use crate::common::Scene;

const CURRENT: &str = "claude-sonnet-4-5";

fn scene(script: &str) -> Scene {
    let scene = Scene::new(script);
    let list = r#"{"availableModels": ["sonnet", "claude-haiku-4-5"]}"#;
    scene.write("home/.claude/settings.json", list);
    scene
}

async fn open(scene: &Scene) -> robota_sdk::InteractiveSession {
    let model = ModelSetup::new(scene.provider.clone(), CURRENT);
    let builder = robota_sdk::InteractiveSession::builder(scene.project(), model);
    builder.store(scene.store.clone()).open().await.unwrap()
}

#[tokio::test]
async fn an_agent_with_another_model_does_not_start() {
    let scene = scene("- done\n- done\n");
    let agent =
        |model: &str| format!("---\nname: {model}\ndescription: x\nmodel: {model}\n---\nGo.\n");
    for model in ["claude-haiku-4-5", "claude-opus-4-1"] {
        scene.write(&format!("home/.claude/agents/{model}.md"), &agent(model));
    }
    let session = open(&scene).await;
    let run = async |agent: &str, model: Option<&str>| {
        let (agent, prompt, model) = (agent.to_owned(), "Go.".to_owned(), model.map(str::to_owned));
        let work = AgentWork { agent, prompt, model, ..AgentWork::default() };
        let run = AgentRun { label: "go".to_owned(), work, ..AgentRun::default() };
        session.agent_runs().unwrap().run(run, None).await
    };
    assert!(run("claude-haiku-4-5", None).await.success);
    assert_eq!(scene.provider.requests()[0].model, "claude-haiku-4-5");
    // The model that a call names is one, too.
    for (agent, model) in [("claude-opus-4-1", None), ("general-purpose", Some("claude-opus-4-1"))]
    {
        let refused = run(agent, model).await;
        let why = format!("{refused:?}");
        assert!(!refused.success && why.contains("availableModels"), "{why}");
        assert!(
            why.contains("sonnet, claude-haiku-4-5") && why.contains("settings.json:1"),
            "{why}"
        );
    }
    assert_eq!(scene.provider.requests().len(), 1);
}

#[tokio::test]
async fn a_skill_with_another_model_is_refused() {
    let scene = scene("- done\n");
    for (name, model) in [("cheap", "claude-haiku-4-5"), ("costly", "claude-opus-4-1")] {
        let text = format!("---\ndescription: x\nmodel: {model}\n---\nGo.\n");
        scene.write(&format!("home/.claude/skills/{name}/SKILL.md"), &text);
    }
    let session = open(&scene).await;
    let refused = session.enter("/costly").await.err().unwrap().to_string();
    assert!(refused.contains("`claude-opus-4-1` is not in `availableModels`"), "{refused}");
    let robota_sdk::Entered::Submitted(submitted) = session.enter("/cheap").await.unwrap() else {
        panic!("it is no prompt")
    };
    submitted.result().await.unwrap();
    assert_eq!(scene.provider.requests()[0].model, "claude-haiku-4-5");
}

#[tokio::test]
async fn a_hook_with_another_model_blocks() {
    let scene = Scene::new("- {tools: [{tool: Bash, input: {command: touch made}}]}\n- done\n");
    let settings = serde_json::json!({
        "availableModels": ["sonnet"],
        "hooks": {"PreToolUse": [{"hooks": [
            {"type": "prompt", "prompt": "Fine?", "model": "claude-opus-4-1"}]}]},
    });
    scene.write("home/.claude/settings.json", &settings.to_string());
    let options = ProjectOptions { allow: vec!["Bash".to_owned()], ..ProjectOptions::default() };
    let session = scene.builder_for(scene.project_with(options)).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    assert!(!scene.path().join("project/made").exists());
    assert_eq!(scene.provider.requests().len(), 2, "the model of the hook was not called");
}

#[tokio::test]
async fn a_managed_list_replaces_that_of_the_user() {
    let scene = scene("- done\n");
    scene.write("etc/managed-settings.json", r#"{"availableModels": ["opus"]}"#);
    let managed = Some(vec![scene.path().join("etc")]);
    let project = scene.project_with(ProjectOptions { managed, ..ProjectOptions::default() });
    let check = |model| project.settings.available_models.check(None, model);
    assert!(check("claude-opus-4-1").is_ok());
    let refused = check("claude-haiku-4-5").unwrap_err().to_string();
    assert!(
        refused.contains("managed-settings.json") && refused.contains("available: opus"),
        "{refused}"
    );
    let ignored = format!("{:?}", project.settings.report.dropped);
    assert!(ignored.contains("availableModels"), "{ignored}");
}
