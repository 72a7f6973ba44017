//! Calls of MCP tools for the program that hosts a session, and resources that prompts mention.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use robota_core::env_ref::Secret;
use robota_core::hook::{AfterChange, PreToolDecision};
use robota_core::ids::CallId;
use robota_core::message::{Block, ToolInput, ToolUse};
use robota_core::permission::Mode;
use robota_core::tool::ToolOutcome;
use robota_mcp::client::HostChannel;
use robota_sdk::mentions::Attached;
use robota_sdk::{
    AgentOptions, AgentRun, AgentWork, InteractiveSession, McpCallError, McpSetup, ProjectOptions,
    Prompt, PromptBlock,
};
use robota_session::{CodeHook, HookScope};
use serde_json::{Value, json};

use crate::common::Scene;

/// A value that the session must not store and no model may see.
const SECRET: &str = "sk-planted-secret-7b1f";

/// A server in the program, which counts the calls of its tools and the reads of its resources. It has
/// the tool `echo` and these tools.
#[derive(Default)]
struct Server(AtomicUsize, Vec<Value>);

#[async_trait::async_trait]
impl HostChannel for Server {
    async fn send(&self, _server: &str, message: Value) -> Result<Value, String> {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "own", "version": "1"},
            }),
            "tools/list" => {
                let echo = json!({"name": "echo", "inputSchema": {"type": "object"}});
                let tools = [&[echo], self.1.as_slice()].concat();
                json!({ "tools": tools })
            }
            "tools/call" => {
                self.0.fetch_add(1, Ordering::SeqCst);
                json!({"content": [{"type": "text", "text": "it ran"}]})
            }
            "resources/read" => {
                self.0.fetch_add(1, Ordering::SeqCst);
                let uri = message["params"]["uri"].as_str().unwrap_or_default();
                let text = if uri.ends_with("secret") { SECRET } else { "the resource" };
                json!({"contents": [{"uri": uri, "text": text}]})
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
    offered_by(Arc::new(Server::default()), fields, only).await
}

async fn offered_by(
    server: Arc<Server>,
    fields: Value,
    only: Option<&[&str]>,
) -> (Vec<String>, InteractiveSession) {
    let scene = Scene::new("- Done.\n");
    let mcp = McpSetup {
        host_servers: vec!["own".to_owned()],
        host: Some(server),
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

/// A server with tools that are too many to be offered at once: `a_0` to `a_49` and `b_0` to `b_9`.
fn many_tools() -> Arc<Server> {
    let names = (0..50).map(|n| format!("a_{n}")).chain((0..10).map(|n| format!("b_{n}")));
    let tools = names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    Arc::new(Server(AtomicUsize::new(0), tools.collect()))
}

/// Runs an agent with these tools beside [`many_tools`]; it searches for `a_1` and `b_1`. Returns the
/// names of the tools that its two requests offered, and the result of its search.
async fn searched(tools: &str) -> (Vec<String>, Vec<String>, String) {
    let search = "{tools: [{tool: ToolSearch, input: {query: 'select:a_1,b_1'}}]}";
    let scene = Scene::new(&format!("- {search}\n- Done.\n"));
    scene.write(
        "home/.robota/agents/worker.md",
        &format!("---\nname: worker\ndescription: Works\ntools: {tools}\n---\nYou work.\n"),
    );
    let mcp = McpSetup {
        host_servers: vec!["own".to_owned()],
        host: Some(many_tools()),
        ..McpSetup::default()
    };
    let session = scene.builder().mcp(mcp).open().await.unwrap();
    assert!(session.mcp().unwrap().servers().host_settled(Duration::from_secs(60)).await);
    let work =
        AgentWork { agent: "worker".to_owned(), prompt: "Go.".to_owned(), ..Default::default() };
    let run = AgentRun { label: "go".to_owned(), work, ..AgentRun::default() };
    assert!(session.agent_runs().unwrap().run(run, None).await.success);
    let requests = scene.provider.requests();
    let names =
        |at: usize| requests[at].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let result = serde_json::to_string(requests[1].messages.last().unwrap()).unwrap();
    (names(0), names(1), result)
}

#[tokio::test]
async fn an_agent_finds_the_tools_of_its_list_and_no_others_by_a_search() {
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let (first, second, result) = searched("Read, mcp__own__a*").await;
    assert!(has(&first, "ToolSearch") && !has(&first, "mcp__own__a_1"), "{first:?}");
    assert!(has(&second, "mcp__own__a_1") && !has(&second, "mcp__own__b_1"), "{second:?}");
    assert!(result.contains("mcp__own__a_1") && !result.contains("mcp__own__b_1"), "{result}");
    // Few enough to be offered at once.
    let (first, _, _) = searched("Read, mcp__own__b*").await;
    assert!(has(&first, "mcp__own__b_1") && !has(&first, "ToolSearch"), "{first:?}");
    let (first, _, _) = searched("Read").await;
    assert!(has(&first, "Read") && !has(&first, "ToolSearch"), "{first:?}");
}

#[tokio::test]
async fn a_conversation_as_an_agent_finds_the_tools_of_its_list_by_a_search() {
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let fields = |tools: &[&str]| json!({"description": "d", "prompt": "p", "tools": tools});
    let (tools, _session) = offered_by(many_tools(), fields(&["Read", "mcp__own"]), None).await;
    assert!(has(&tools, "ToolSearch") && !has(&tools, "Bash"), "{tools:?}");
    let (tools, _session) =
        offered_by(many_tools(), fields(&["Read", "mcp__own__b_1"]), None).await;
    assert!(has(&tools, "mcp__own__b_1") && !has(&tools, "ToolSearch"), "{tools:?}");
}

async fn call(session: &InteractiveSession) -> Result<Value, McpCallError> {
    call_tool(session, "mcp__own__echo").await
}

async fn call_tool(session: &InteractiveSession, name: &str) -> Result<Value, McpCallError> {
    let input = ToolInput::Json(json!({}));
    let call = ToolUse::new(CallId::from("call"), "call", name, input);
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
async fn a_call_for_the_host_asks_when_the_tool_requires_a_user() {
    let meta = json!({"anthropic/requiresUserInteraction": true});
    let pay = json!({"name": "pay", "inputSchema": {"type": "object"}, "_meta": meta});
    let server = Arc::new(Server(AtomicUsize::new(0), vec![pay]));
    let allow = vec!["mcp__own".to_owned()];
    let options = ProjectOptions { allow, ..ProjectOptions::default() };
    let (_scene, session) = open_with(&server, options).await;
    assert_eq!(call(&session).await.unwrap()["content"][0]["text"], "it ran");
    // The default denies what needs approval.
    let refused = call_tool(&session, "mcp__own__pay").await;
    assert!(matches!(refused, Err(McpCallError::NotRun(_))), "{refused:?}");
    assert_eq!(server.0.load(Ordering::SeqCst), 1);
    // Also if a hook changed the arguments.
    let change = PreToolDecision::Change { input: json!({"sum": 1}), then: AfterChange::Judge };
    session.session().config().use_hooks(Arc::new(Decides(change)));
    let refused = call_tool(&session, "mcp__own__pay").await;
    assert!(matches!(refused, Err(McpCallError::NotRun(_))), "{refused:?}");
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

#[tokio::test]
async fn sess_13_a_resource_that_a_user_mentions_is_attached_without_secrets() {
    let options =
        ProjectOptions { secrets: vec![Secret::new(SECRET)], ..ProjectOptions::default() };
    let (shown, asked) = mentioned(options, "See @own:demo://secret.").await;
    assert_eq!((shown.as_deref(), asked), (Some("[resource own:demo://secret]\n[REDACTED]"), 1));
}

#[tokio::test]
async fn sdk_14_a_conversation_as_an_agent_has_the_servers_of_its_definition() {
    // Nothing answers at this address.
    let server = json!({"type": "http", "url": "http://127.0.0.1:9/mcp"});
    let fields = json!({"description": "Works", "prompt": "You work.",
        "mcpServers": ["first", {"its own": server}, "missing"]});
    for strict in [false, true] {
        let scene = Scene::new("- Done.\n");
        let settings = json!({"mcpServers": {"first": server, "second": server}}).to_string();
        scene.write("home/.robota/settings.json", &settings);
        let notices: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let seen = notices.clone();
        let (mut agents, _) =
            robota_config::agents::agents_from_json(&json!({"worker": fields}).to_string());
        let agents = AgentOptions { main: agents.pop(), ..AgentOptions::default() };
        let given = json!({"mcpServers": {"given": server}}).to_string();
        let mcp = McpSetup { arguments: vec![given], strict, ..McpSetup::default() };
        let builder = scene.builder().agents(agents).mcp(mcp).on_notice(move |notice| {
            seen.lock().unwrap().push(notice.to_string());
        });
        let session = builder.open().await.unwrap();
        let used = ["first", "second", "given", "its own"]
            .map(|name| session.mcp().unwrap().scope(name).is_some());
        let notices = notices.lock().unwrap().join("\n");
        assert!(notices.contains("no MCP server `missing`"), "{notices}");
        if strict {
            assert_eq!(used, [false, false, true, false], "only the servers of the arguments");
            assert!(
                notices.contains("are not started") && notices.contains("its own"),
                "{notices}"
            );
        } else {
            assert_eq!(used, [true, false, true, true]);
        }
    }
}

#[tokio::test]
async fn an_agent_has_a_server_whose_name_is_no_name_of_a_tool() {
    let scene = Scene::new("- Done.\n");
    let mcp = McpSetup {
        host_servers: vec!["my own".to_owned()],
        host: Some(Arc::new(Server::default())),
        ..McpSetup::default()
    };
    let fields = json!({"description": "Works", "prompt": "You work.", "mcpServers": ["my own"]});
    let (definitions, _) =
        robota_config::agents::agents_from_json(&json!({"worker": fields}).to_string());
    let agents = AgentOptions { definitions, ..AgentOptions::default() };
    let session = scene.builder().agents(agents).mcp(mcp).open().await.unwrap();
    assert!(session.mcp().unwrap().servers().host_settled(Duration::from_secs(60)).await);
    let work = robota_sdk::AgentWork {
        agent: "worker".to_owned(),
        prompt: "Go.".to_owned(),
        ..robota_sdk::AgentWork::default()
    };
    let run = robota_sdk::AgentRun { work, ..robota_sdk::AgentRun::default() };
    assert!(session.agent_runs().unwrap().run(run, None).await.success);
    let request = scene.provider.requests().remove(0);
    let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(tools.contains(&"mcp__my_own__echo"), "{tools:?}");
}
