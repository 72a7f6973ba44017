//! Entries such as `Bash(git *)` in a list of tools: other calls of the tool are denied.

use robota_config::agents::agents_from_json;
use robota_core::permission::Mode;
use robota_sdk::{AgentOptions, AgentRun, AgentWork, InteractiveSession, ProjectOptions};

use crate::common::Scene;

/// Two commands of one answer; only the first one matches `Bash(mkdir *)`.
const CALLS: &str = "- {tools: [{tool: Bash, input: {command: mkdir -p one}}, \
                     {tool: Bash, input: {command: touch two}}]}\n- done\n";

const DENIED: &str =
    "this agent may use Bash only for calls of which every part matches Bash(mkdir *)";

/// Returns a project whose mode allows every call that nothing denies.
fn project(scene: &Scene) -> robota_sdk::Project {
    let mode = Some(Mode::BypassPermissions);
    scene.project_with(ProjectOptions { mode, ..ProjectOptions::default() })
}

fn main_agent(definition: &str) -> AgentOptions {
    let (agents, report) = agents_from_json(&format!(r#"{{"lead": {definition}}}"#));
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    AgentOptions { main: agents.into_iter().next(), ..AgentOptions::default() }
}

/// Checks that the first command ran and that the model could read why the second did not.
fn check(scene: &Scene, why: &str) {
    let made = |name: &str| scene.path().join("project").join(name).exists();
    assert!(made("one") && !made("two"), "{} {}", made("one"), made("two"));
    let requests = scene.provider.requests();
    let results = serde_json::to_string(&requests.last().unwrap().messages).unwrap();
    assert!(results.contains(why), "{results}");
}

async fn go(session: &InteractiveSession) {
    session.submit("Go.").await.unwrap().result().await.unwrap();
}

#[tokio::test]
async fn sdk_14_an_agent_has_only_the_calls_that_its_tools_name() {
    let scene = Scene::new(CALLS);
    let header = "name: worker\ndescription: Works\ntools: Bash(mkdir *), Edit\n";
    scene.write("home/.claude/agents/worker.md", &format!("---\n{header}---\nWork.\n"));
    let session = scene.builder_for(project(&scene)).may_bypass(true).open().await.unwrap();
    let work = AgentWork { agent: "worker".into(), prompt: "Go.".into(), ..AgentWork::default() };
    let run = AgentRun { label: "go".to_owned(), work, ..AgentRun::default() };
    let result = session.agent_runs().unwrap().run(run, None).await;
    assert!(result.success, "{result:?}");
    check(&scene, DENIED);
}

#[tokio::test]
async fn sdk_14_a_conversation_and_its_fork_have_only_the_calls_that_the_agent_names() {
    let scene = Scene::new(&CALLS.repeat(2));
    let agents = main_agent(
        r#"{"description": "Leads", "prompt": "Lead.", "tools": ["Bash(mkdir *)", "Edit"]}"#,
    );
    let builder = scene.builder_for(project(&scene)).may_bypass(true).agents(agents);
    let session = builder.open().await.unwrap();
    go(&session).await;
    check(&scene, DENIED);
    let fork = session.fork(&robota_session::Selector::Latest).await.unwrap();
    std::fs::remove_dir(scene.path().join("project/one")).unwrap();
    go(&fork).await;
    check(&scene, DENIED);
}

#[tokio::test]
async fn sdk_14_names_of_the_caller_limit_calls_and_replace_those_of_the_agent() {
    let scene = Scene::new(CALLS);
    let agents =
        main_agent(r#"{"description": "Leads", "prompt": "Lead.", "tools": "Bash(touch *)"}"#);
    let only = ["Bash(mkdir *)", "Edit"].map(str::to_owned).to_vec();
    let builder = scene.builder_for(project(&scene)).may_bypass(true).agents(agents);
    let session = builder.only_tools(only).open().await.unwrap();
    go(&session).await;
    check(&scene, DENIED);
}

#[tokio::test]
async fn sdk_14_an_agent_of_a_limited_conversation_is_limited_too() {
    let scene = Scene::new(CALLS);
    let worker = "---\nname: worker\ndescription: Works\n---\nWork.\n";
    scene.write("home/.claude/agents/worker.md", worker);
    let only = ["Bash(mkdir *)", "Edit", "Agent"].map(str::to_owned).to_vec();
    let builder = scene.builder_for(project(&scene)).may_bypass(true).only_tools(only);
    let session = builder.open().await.unwrap();
    let work = AgentWork { agent: "worker".into(), prompt: "Go.".into(), ..AgentWork::default() };
    let run = AgentRun { label: "go".to_owned(), work, ..AgentRun::default() };
    session.agent_runs().unwrap().run(run, None).await;
    check(&scene, DENIED);
}

#[tokio::test]
async fn sdk_14_disallowed_calls_are_denied_and_others_are_not() {
    let scene = Scene::new(CALLS);
    let agents = main_agent(
        r#"{"description": "Leads", "prompt": "Lead.", "disallowedTools": "Bash(touch *)"}"#,
    );
    let builder = scene.builder_for(project(&scene)).may_bypass(true).agents(agents);
    let session = builder.open().await.unwrap();
    go(&session).await;
    check(&scene, "touch");
}

#[tokio::test]
async fn sdk_14_names_of_the_caller_limit_which_skills_and_agents_are_used() {
    let scene = Scene::new(
        "- {tools: [{tool: Agent, input: {prompt: Go., subagent_type: general-purpose}}, \
            {tool: Skill, input: {skill: deploy}}, {tool: Skill, input: {skill: review}}]}\n- done\n",
    );
    for name in ["deploy", "review"] {
        let text =
            format!("---\nname: {name}\ndescription: For {name}\n---\nThe text of {name}.\n");
        scene.write(&format!("home/.claude/skills/{name}/SKILL.md"), &text);
    }
    let only = ["Read", "Agent(Explore)", "Skill(review)"].map(str::to_owned).to_vec();
    let agents = AgentOptions { tool: true, ..AgentOptions::default() };
    let builder = scene.builder_for(project(&scene)).may_bypass(true).agents(agents);
    let session = builder.only_tools(only).open().await.unwrap();
    go(&session).await;
    let requests = scene.provider.requests();
    let results = serde_json::to_string(&requests.last().unwrap().messages).unwrap();
    assert!(results.contains("there is no agent `general-purpose`"), "{results}");
    assert!(
        results.contains("only for calls of which every part matches Skill(review)"),
        "{results}"
    );
    assert!(results.contains("The text of review.") && !results.contains("The text of deploy."));
    assert!(session.tasks().unwrap().list().is_empty());
}
