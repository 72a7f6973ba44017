//! Calls of MCP tools for the program that hosts a session, and resources that prompts mention.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use robota_core::hook::PreToolDecision;
use robota_core::ids::CallId;
use robota_core::message::{Block, ToolInput, ToolUse};
use robota_core::permission::Mode;
use robota_core::tool::ToolOutcome;
use robota_mcp::client::HostChannel;
use robota_sdk::mentions::Attached;
use robota_sdk::{
    AgentOptions, InteractiveSession, McpCallError, McpSetup, ProjectOptions, Prompt, PromptBlock,
};
use robota_session::{CodeHook, HookScope};
use serde_json::{Value, json};

use crate::common::Scene;

/// A server in the program, which counts the calls of its tool and the reads of its resources.
#[derive(Default)]
struct Server(AtomicUsize);

#[async_trait::async_trait]
impl HostChannel for Server {
    async fn send(&self, _server: &str, message: Value) -> Result<Value, String> {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "own", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            "tools/call" => {
                self.0.fetch_add(1, Ordering::SeqCst);
                json!({"content": [{"type": "text", "text": "it ran"}]})
            }
            "resources/read" => {
                self.0.fetch_add(1, Ordering::SeqCst);
                let uri = &message["params"]["uri"];
                json!({"contents": [{"uri": uri, "text": "the resource"}]})
            }
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                return Ok(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
        };
        Ok(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

/// A hook in code with a fixed decision.
struct Decides(PreToolDecision);

#[async_trait::async_trait]
impl CodeHook for Decides {
    fn name(&self) -> &str {
        "decides"
    }

    async fn pre_tool(&self, _call: &ToolUse, _scope: &HookScope) -> PreToolDecision {
        self.0.clone()
    }
}

/// Opens a session with the server, whose tool a rule allows.
async fn open(server: &Arc<Server>) -> (Scene, InteractiveSession) {
    let allow = vec!["mcp__own__echo".to_owned()];
    open_with(server, ProjectOptions { allow, ..ProjectOptions::default() }).await
}

async fn open_with(server: &Arc<Server>, options: ProjectOptions) -> (Scene, InteractiveSession) {
    let scene = Scene::new("[Unused.]");
    let project = scene.project_with(options);
    let mcp = McpSetup {
        host_servers: vec!["own".to_owned()],
        host: Some(server.clone()),
        ..McpSetup::default()
    };
    let session = scene.builder_for(project).mcp(mcp).open().await.unwrap();
    let servers = session.mcp().unwrap().servers();
    assert!(servers.host_settled(Duration::from_secs(60)).await);
    (scene, session)
}

/// Returns the names of the tools that a conversation offers which runs as an agent with these fields.
async fn offered(fields: Value, only: Option<&[&str]>) -> (Vec<String>, InteractiveSession) {
    let scene = Scene::new("- Done.\n");
    let mcp = McpSetup {
        host_servers: vec!["own".to_owned()],
        host: Some(Arc::new(Server::default())),
        ..McpSetup::default()
    };
    let (mut agents, report) =
        robota_config::agents::agents_from_json(&json!({"worker": fields}).to_string());
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let agents = AgentOptions { main: agents.pop(), ..AgentOptions::default() };
    let mut builder = scene.builder().agents(agents).mcp(mcp);
    if let Some(only) = only {
        builder = builder.only_tools(only.iter().map(|name| (*name).to_owned()).collect());
    }
    let session = builder.open().await.unwrap();
    assert!(session.mcp().unwrap().servers().host_settled(Duration::from_secs(60)).await);
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let request = scene.provider.requests().remove(0);
    (request.tools.iter().map(|tool| tool.name.clone()).collect(), session)
}

#[tokio::test]
async fn sdk_14_a_conversation_as_an_agent_has_only_the_tools_that_a_started_agent_has() {
    let agent = |field: &str, names: &[&str]| {
        let mut agent = json!({"description": "Works", "prompt": "You work."});
        agent[field] = json!(names);
        agent
    };
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let (all, _session) = offered(agent("disallowedTools", &[]), None).await;
    for name in ["Read", "Write", "Edit", "mcp__own__echo"] {
        assert!(has(&all, name), "{name} {all:?}");
    }
    for denied in ["mcp__own__*", "mcp__own"] {
        let (tools, session) = offered(agent("disallowedTools", &[denied, "Write"]), None).await;
        assert!(has(&tools, "Read") && has(&tools, "Bash"), "{tools:?}");
        for name in ["Write", "Edit", "MultiEdit", "mcp__own__echo"] {
            assert!(!has(&tools, name), "{name} {tools:?}");
        }
        // The rule holds for what a program of the session calls, too.
        let refused = call(&session).await.unwrap_err().to_string();
        assert!(refused.contains("mcp__own"), "{refused}");
    }
    let (tools, _session) = offered(agent("tools", &["Read"]), None).await;
    assert!(has(&tools, "Read") && !has(&tools, "mcp__own__echo"), "{tools:?}");
    let (tools, _session) = offered(agent("tools", &["Read", "mcp__own"]), None).await;
    assert!(has(&tools, "mcp__own__echo") && !has(&tools, "Bash"), "{tools:?}");
    // The names of the caller do not bring back what the agent denies.
    let only: &[&str] = &["Read", "Write", "Edit"];
    let (tools, _session) = offered(agent("disallowedTools", &["Write"]), Some(only)).await;
    assert!(has(&tools, "Read") && !has(&tools, "Write") && !has(&tools, "Edit"), "{tools:?}");
}

async fn call(session: &InteractiveSession) -> Result<Value, McpCallError> {
    let input = ToolInput::Json(json!({}));
    let call = ToolUse::new(CallId::from("call"), "call", "mcp__own__echo", input);
    let mcp = session.mcp().unwrap();
    mcp.call_for_host(session.session(), call, Duration::from_secs(60)).await
}

#[tokio::test]
async fn hooks_in_code_decide_about_calls_for_the_host() {
    let server = Arc::new(Server::default());
    let (_scene, session) = open(&server).await;
    assert_eq!(call(&session).await.unwrap()["content"][0]["text"], "it ran");

    let add = |decision| session.session().config().use_hooks(Arc::new(Decides(decision)));
    let ask = robota_core::hook::HookQuestion::new("the code asks");
    add(PreToolDecision::Ask(ask));
    // The default denies what needs approval.
    assert!(matches!(call(&session).await, Err(McpCallError::NotRun(_))));
    add(PreToolDecision::Answer { outcome: ToolOutcome::ok("from the hook") });
    let answered = call(&session).await.unwrap();
    assert_eq!(answered["content"][0]["text"], "from the hook");
    assert_eq!(answered["isError"], false);
    assert_eq!(server.0.load(Ordering::SeqCst), 1);
    session.shutdown("done").await.unwrap();
}

#[tokio::test]
async fn a_hook_in_code_denies_a_call_for_the_host() {
    let server = Arc::new(Server::default());
    let (_scene, session) = open(&server).await;
    let deny = PreToolDecision::Deny { reason: "the code forbids it".to_owned() };
    session.session().config().use_hooks(Arc::new(Decides(deny)));
    let denied = call(&session).await.unwrap_err();
    assert_eq!(denied.to_string(), "the tool did not run: the code forbids it");
    assert_eq!(server.0.load(Ordering::SeqCst), 0);
    session.shutdown("done").await.unwrap();
}

/// Prepares a prompt in a session with these rules. Returns the text of its attachment, or why there is
/// none, and how often the server was asked.
async fn mentioned(options: ProjectOptions, prompt: impl Into<Prompt>) -> (Option<String>, usize) {
    let server = Arc::new(Server::default());
    let (_scene, session) = open_with(&server, options).await;
    let prepared = session.prepare_prompt(prompt).await;
    let refused = prepared.attachments.first().and_then(|it| match &it.attached {
        Attached::Nothing { reason } => Some(reason.clone()),
        _ => None,
    });
    let texts = prepared.content.iter().filter_map(|block| match block {
        Block::Text(text) if text.text.starts_with("[resource ") => Some(text.text.clone()),
        _ => None,
    });
    let shown = refused.or(texts.into_iter().next());
    session.shutdown("done").await.unwrap();
    (shown, server.0.load(Ordering::SeqCst))
}

#[tokio::test]
async fn rules_hold_for_resources_that_a_user_mentions() {
    let typed = "See @own:demo://one.";
    let options = |mode, deny: &[&str]| ProjectOptions {
        mode: Some(mode),
        deny: deny.iter().map(|&rule| rule.to_owned()).collect(),
        ..ProjectOptions::default()
    };
    let read = "[resource own:demo://one]\nthe resource";
    // The user asked for it, so the mode does not stop it.
    for options in [
        options(Mode::Default, &["mcp__own__echo", "mcp__other"]),
        options(Mode::Plan, &["ReadMcpResource(server:other)"]),
    ] {
        assert_eq!(mentioned(options, typed).await, (Some(read.to_owned()), 1));
    }
    for rule in ["ReadMcpResource", "ReadMcpResource(uri:demo*)", "mcp__own", "mcp__*"] {
        let (shown, asked) = mentioned(options(Mode::Default, &[rule]), typed).await;
        assert_eq!(asked, 0, "{rule}: {shown:?}");
        assert!(shown.is_some_and(|reason| !reason.contains("the resource")), "{rule}");
    }
    let embedded = vec![PromptBlock::Embedded(Block::text(typed))];
    assert_eq!(mentioned(options(Mode::Default, &[]), embedded).await, (None, 0));
}
