//! The folder of the administrator.

use std::path::PathBuf;
use std::sync::Arc;

use robota_mcp::client::HostChannel;
use robota_sdk::{AgentRun, AgentWork, Entered, McpSetup, Project, ProjectOptions, mcp};
use serde_json::{Map, Value, json};

use crate::common::Scene;

const SERVERS: &str = r#"{"mcpServers": {"theirs": {"command": "no-such-server"}}}"#;

/// A program with servers that no session may use.
struct NeverAsked;

#[async_trait::async_trait]
impl HostChannel for NeverAsked {
    async fn send(&self, server: &str, _: Value) -> Result<Value, String> {
        panic!("the server {server} is used")
    }
}

fn project(scene: &Scene) -> Project {
    let managed: PathBuf = scene.path().join("etc");
    scene.project_with(ProjectOptions { managed: Some(vec![managed]), ..Default::default() })
}

#[tokio::test]
async fn only_the_servers_of_the_administrator_are_used() {
    let scene = Scene::new("- helped\n");
    scene.write("etc/managed-mcp.json", SERVERS);
    scene.write("home/.robota/mcp.json", r#"{"mcpServers": {"mine": {"command": "nothing"}}}"#);
    let own = "{own: {type: stdio, command: nothing}}";
    scene.write(
        "home/.claude/agents/helper.md",
        &format!("---\nname: helper\ndescription: Helps\nmcpServers: {own}\n---\nHelp.\n"),
    );
    let setup = McpSetup {
        arguments: vec![r#"{"mcpServers": {"flag": {"command": "nothing"}}}"#.to_owned()],
        host_servers: vec!["sdk".to_owned()],
        host: Some(Arc::new(NeverAsked)),
        wait: std::time::Duration::ZERO,
        ..McpSetup::default()
    };
    let found = mcp::configured(&project(&scene), &setup);
    let names: Vec<_> = found.configs.iter().map(|config| config.name.as_str()).collect();
    assert_eq!(names, ["theirs"]);
    let reported = format!("{:?}", found.notices);
    for name in ["mine", "flag", "sdk"] {
        assert!(reported.contains(name), "{name}: {reported}");
    }
    // A host cannot add one later, nor can the definition of an agent.
    let notices = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = notices.clone();
    let session = scene.builder_for(project(&scene)).mcp(setup);
    let session = session.on_notice(move |notice| heard.lock().unwrap().push(notice.to_string()));
    let session = session.open().await.unwrap();
    let mcp = session.mcp().unwrap();
    let entries = Map::from_iter([("late".to_owned(), json!({"command": "nothing"}))]);
    let replaced = mcp.replace(session.project().unwrap(), &entries);
    assert!(replaced.added.is_empty(), "{replaced:?}");
    assert!(replaced.errors["late"].contains("managed-mcp.json"), "{replaced:?}");
    let work = AgentWork { agent: "helper".into(), prompt: "Go.".into(), ..AgentWork::default() };
    let run = AgentRun { label: "go".to_owned(), work, ..AgentRun::default() };
    assert!(session.agent_runs().unwrap().run(run, None).await.success);
    let said = notices.lock().unwrap().join("\n");
    assert!(said.contains("the agent `helper`: its MCP servers are not started"), "{said}");
    let servers = mcp.servers().reports().into_iter().map(|report| report.name);
    assert_eq!(servers.collect::<Vec<_>>(), ["theirs"]);
}

#[tokio::test]
async fn hooks_of_managed_skills_run_where_only_managed_hooks_do() {
    let scene = Scene::new("- one\n- two\n");
    scene.write("etc/managed-settings.json", r#"{"allowManagedHooksOnly": true}"#);
    let skill = |text: &str| {
        let hook = format!("{{type: command, command: \"printf {text} >> ran\"}}");
        format!("---\ndescription: x\nhooks: {{Stop: [{{hooks: [{hook}]}}]}}\n---\n{text}\n")
    };
    scene.write("etc/.claude/skills/theirs/SKILL.md", &skill("theirs"));
    scene.write("home/.claude/skills/mine/SKILL.md", &skill("mine"));
    let session = scene.builder_for(project(&scene)).open().await.unwrap();
    for name in ["mine", "theirs"] {
        let Entered::Submitted(submitted) = session.enter(&format!("/{name}")).await.unwrap()
        else {
            panic!("it is no prompt")
        };
        submitted.result().await.unwrap();
    }
    let ran = std::fs::read_to_string(scene.path().join("project/ran")).unwrap();
    assert_eq!(ran, "theirs");
}

#[tokio::test]
async fn the_prompt_begins_with_the_instructions_of_the_administrator() {
    let scene = Scene::new("- done\n");
    scene.write("etc/CLAUDE.md", "Their rule.\n");
    scene.write("home/.claude/CLAUDE.md", "My rule.\n");
    scene.write("home/.claude/settings.json", r#"{"claudeMdExcludes": ["/**"]}"#);
    let session = scene.builder_for(project(&scene)).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("Their rule.") && !system.contains("My rule."), "{system}");
}
