//! The reference MCP servers, unchanged, over stdio, streamable HTTP and HTTP with server-sent events. Our
//! messages over stdio are recorded, and validated against the JSON Schema of the protocol.

use std::path::Path;
use std::process::{Output, Stdio};

use robota_testkit::mock::{MockServer, Reply, Scenario, When};
use robota_testkit::{Packages, Part, requires};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::home::{Home, stderr, stdout};
use crate::host::Host;
use crate::installed::{mcp_schema, script, valid_mcp_messages};

const SERVERS: Packages = Packages::Npm(
    "mcp-servers-2026.8.31",
    &[
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
    ],
);

fn program(folder: &Path, name: &str) -> String {
    folder.join("node_modules/.bin").join(format!("mcp-server-{name}")).display().to_string()
}

async fn add(home: &Home, name: &str, entry: &Value) {
    let added = home.robota(&["mcp", "add-json", name, &entry.to_string()], &[]).await;
    assert!(added.status.success(), "{}", stderr(&added));
    let tested = home.robota(&["mcp", "test", name], &[]).await;
    assert!(stdout(&tested).contains("connected, "), "{}{}", stdout(&tested), stderr(&tested));
}

/// Lets the model call a tool and returns what the model gets.
async fn call(home: &Home, tool: &str, input: Value) -> String {
    // With many tools the model finds one by a search first.
    let search = Reply::new().tool("ToolSearch", json!({"query": format!("select:{tool}")}));
    let call = Reply::new().tool(tool, input);
    let mock = MockServer::start(Scenario::reply(search).then(call).then("Done.")).await.unwrap();
    let origin = mock.origin();
    let variables = [
        ("ANTHROPIC_BASE_URL", origin.as_str()),
        ("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef"),
    ];
    let server = tool.rsplit_once("__").unwrap().0;
    let output = home.robota(&["-p", "go", "--allowedTools", server], &variables).await;
    assert_eq!(stdout(&output), "Done.\n", "{}", stderr(&output));
    let calls = mock.calls();
    calls[2].json["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
}

#[tokio::test]
async fn kode_15_the_reference_servers_work_over_stdio() {
    let Some(folder) = requires(Part::McpServers, SERVERS.folder()) else { return };
    let home = Home::new();
    home.write("project/notes.txt", "remember the milk");
    let everything = json!({"command": program(&folder, "everything"), "args": ["stdio"]});
    add(&home, "everything", &everything).await;
    let text = call(&home, "mcp__everything__echo", json!({"message": "hello there"})).await;
    assert!(text.contains("hello there"), "{text}");
    let image = call(&home, "mcp__everything__get-tiny-image", json!({})).await;
    assert!(image.contains("image/png"), "{image}");
    let project = home.path("project");
    let filesystem = json!({"command": program(&folder, "filesystem"), "args": [project]});
    add(&home, "files", &filesystem).await;
    let path = project.join("notes.txt");
    let text = call(&home, "mcp__files__read_text_file", json!({"path": path})).await;
    assert!(text.contains("remember the milk"), "{text}");
    let text = call(&home, "mcp__files__read_text_file", json!({"path": "/etc/passwd"})).await;
    assert!(text.contains("denied") || text.contains("outside"), "{text}");
    let memory = json!({
        "command": program(&folder, "memory"),
        "env": {"MEMORY_FILE_PATH": home.path("memory.json")},
    });
    add(&home, "memory", &memory).await;
    let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes programs"]}]});
    call(&home, "mcp__memory__create_entities", entity).await;
    let text = call(&home, "mcp__memory__search_nodes", json!({"query": "Ada"})).await;
    assert!(text.contains("writes programs"), "{text}");
}

/// How the reference server `everything` is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Http,
    Sse,
}

impl Way {
    const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];
}

/// The reference server `everything`, which runs as long as this exists.
struct Everything {
    entry: Value,
    _child: Option<Child>,
}

impl Everything {
    /// Starts the server; over stdio the program does, through a program that records the messages.
    async fn start(folder: &Path, way: Way, home: &Home) -> Self {
        let program = program(folder, "everything");
        let (mode, transport, path) = match way {
            Way::Stdio => {
                let args = [script("mcp_record.mjs"), frames(home), program, "stdio".to_owned()];
                return Self { entry: json!({"command": "node", "args": args}), _child: None };
            }
            Way::Http => ("streamableHttp", "http", "mcp"),
            Way::Sse => ("sse", "sse", "sse"),
        };
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = tokio::process::Command::new(program)
            .arg(mode)
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(&port.to_string()) {
                break;
            }
        }
        // The test does not read the rest, but the pipe must stay open.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let url = format!("http://127.0.0.1:{port}/{path}");
        Self { entry: json!({"type": transport, "url": url}), _child: Some(server) }
    }

    /// Returns the configuration with only this server.
    fn config(&self, more: &[(&str, Value)]) -> String {
        let mut entry = self.entry.clone();
        for (key, value) in more {
            entry[*key] = value.clone();
        }
        json!({"mcpServers": {"everything": entry}}).to_string()
    }
}

fn frames(home: &Home) -> String {
    home.path("frames.jsonl").display().to_string()
}

/// Runs a prompt with the server, and returns what the model got last.
async fn ask(home: &Home, config: &str, scenario: Scenario, args: &[&str]) -> (String, Output) {
    let mock = MockServer::start(scenario).await.unwrap();
    let origin = mock.origin();
    let variables = [
        ("ANTHROPIC_BASE_URL", origin.as_str()),
        ("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef"),
    ];
    let output = home.robota(&[args, &["--mcp-config", config]].concat(), &variables).await;
    let calls = mock.calls();
    assert!(!calls.is_empty(), "{} {}", stdout(&output), stderr(&output));
    let messages = calls[calls.len() - 1].json["messages"].as_array().unwrap().clone();
    (messages.last().unwrap()["content"].to_string(), output)
}

/// Lets the model find a tool and call it.
fn uses(tool: &str, input: Value) -> Scenario {
    let search = Reply::new().tool("ToolSearch", json!({"query": format!("select:{tool}")}));
    Scenario::reply(search).then(Reply::new().tool(tool, input)).then("Done.")
}

#[tokio::test]
async fn kode_15_the_reference_server_works_over_http() {
    let Some(folder) = requires(Part::McpServers, SERVERS.folder()) else { return };
    for way in [Way::Http, Way::Sse] {
        let home = Home::new();
        let server = Everything::start(&folder, way, &home).await;
        add(&home, "everything", &server.entry).await;
        let text = call(&home, "mcp__everything__echo", json!({"message": "over the wire"})).await;
        assert!(text.contains("over the wire"), "{way:?}: {text}");
    }
}

#[tokio::test]
async fn kode_15_prompts_and_resources_of_the_reference_server_reach_the_model() {
    let Some(folder) = requires(Part::McpServers, SERVERS.folder()) else { return };
    let Some(schema) = mcp_schema() else { return };
    for way in Way::ALL {
        let home = Home::new();
        let server = Everything::start(&folder, way, &home).await;
        let config = server.config(&[]);
        // Prompts are known once the server was connected.
        add(&home, "everything", &server.entry).await;
        let texts = [
            ("/mcp__everything__args-prompt Berlin", &["What's weather in Berlin?"][..]),
            (
                "See @everything:demo://resource/static/document/features.md and \
                 @everything:demo://resource/dynamic/text/7.",
                &["Everything Server", "Resource 7: This is a plaintext resource"],
            ),
            ("/mcp__everything__simple-prompt", &["This is a simple prompt without arguments."]),
            ("/mcp__everything__args-prompt Austin Texas", &["What's weather in Austin, Texas?"]),
            (
                "/mcp__everything__resource-prompt Text 7",
                &["Resource 7: This is a plaintext resource"],
            ),
        ];
        // The other transports carry the same messages.
        let texts = if way == Way::Stdio { &texts[..] } else { &texts[..2] };
        for (typed, expected) in texts {
            let hi = Scenario::reply("Hi.");
            let (text, output) = ask(&home, &config, hi, &["-p", typed]).await;
            for part in *expected {
                assert!(text.contains(part), "{way:?} {typed}: {text} {}", stderr(&output));
            }
        }
        let uri = "demo://resource/dynamic/text/9";
        let both = Reply::new()
            .tool("ListMcpResources", json!({"server": "everything"}))
            .tool("ReadMcpResource", json!({"server": "everything", "uri": uri}));
        let args = ["-p", "go", "--allowedTools", "ReadMcpResource"];
        let (text, _) = ask(&home, &config, Scenario::reply(both).then("Done."), &args).await;
        assert!(text.contains("demo://resource/static/document/features.md"), "{way:?} {text}");
        assert!(text.contains("Resource 9: This is a plaintext resource"), "{way:?} {text}");
        if way == Way::Stdio {
            let methods = valid_mcp_messages(&schema, frames(&home).as_ref()).await;
            for method in ["initialize", "prompts/get", "resources/list", "resources/read"] {
                assert!(methods.iter().any(|it| it == method), "{method}: {methods:?}");
            }
        }
    }
}

#[tokio::test]
async fn kode_15_the_reference_server_gets_roots_and_a_model_and_sends_progress() {
    let Some(folder) = requires(Part::McpServers, SERVERS.folder()) else { return };
    let Some(schema) = mcp_schema() else { return };
    for way in Way::ALL {
        let home = Home::new();
        let server = Everything::start(&folder, way, &home).await;
        let config = server.config(&[("sampling", json!(true))]);
        let args = ["-p", "go", "--allowedTools", "mcp__everything McpSampling"];
        // The server adds this tool after the handshake, because the client has folders.
        let roots = uses("mcp__everything__get-roots-list", json!({}));
        let (text, output) = ask(&home, &config, roots, &args).await;
        let project = home.path("project").display().to_string();
        assert!(text.contains(&format!("file://{project}")), "{way:?} {text} {}", stderr(&output));
        let input = json!({"duration": 0.2, "steps": 2});
        let long = uses("mcp__everything__trigger-long-running-operation", input);
        let (text, _) = ask(&home, &config, long, &args).await;
        assert!(text.contains("Long running operation completed"), "{way:?} {text}");
        let text = "Resource trigger-sampling-request context: What is 2 + 2?".to_owned();
        let to = When { last: Some(text), ..When::default() };
        let search = "select:mcp__everything__trigger-sampling-request";
        let scenario = Scenario::reply(Reply::new().text("It is 4.").when(to))
            .then(Reply::new().tool("ToolSearch", json!({"query": search})))
            .then(Reply::new().tool(
                "mcp__everything__trigger-sampling-request",
                json!({"prompt": "What is 2 + 2?", "maxTokens": 50}),
            ))
            .then("Done.");
        let (text, output) = ask(&home, &config, scenario, &args).await;
        assert!(text.contains("It is 4."), "{way:?} {text} {}", stderr(&output));
        if way == Way::Stdio {
            let methods = valid_mcp_messages(&schema, frames(&home).as_ref()).await;
            let recorded = std::fs::read_to_string(frames(&home)).unwrap();
            assert!(recorded.contains("notifications/progress"), "the client asks for progress");
            let sampled = "answer to sampling/createMessage";
            for method in ["tools/list", "tools/call", "answer to roots/list", sampled] {
                assert!(methods.iter().any(|it| it == method), "{method}: {methods:?}");
            }
        }
    }
}

#[tokio::test]
async fn kode_15_the_reference_server_asks_the_user_with_every_kind_of_field() {
    let Some(folder) = requires(Part::McpServers, SERVERS.folder()) else { return };
    let Some(schema) = mcp_schema() else { return };
    let home = Home::new();
    let server = Everything::start(&folder, Way::Stdio, &home).await;
    let tool = "mcp__everything__trigger-elicitation-request";
    let script = format!(
        "- tools: [{{tool: ToolSearch, input: {{query: 'select:{tool}'}}}}]\n\
         - tools: [{{tool: {tool}, input: {{}}}}]\n- Done.\n"
    );
    let config = server.config(&[]);
    let args = ["--mcp-config", config.as_str(), "--allowedTools", "mcp__everything"];
    let mut host = Host::start(&home, &script, &args);
    host.say("Ask.");
    let request = host.until("control_request").pop().unwrap();
    assert_eq!(request["request"]["subtype"], "elicitation", "{request}");
    let fields = &request["request"]["requested_schema"]["properties"];
    assert_eq!(fields["legacyTitledEnum"]["enumNames"][1], "Dogs", "{request}");
    let content = json!({"name": "Ada", "integer": 7, "titledMultipleSelectEnum": ["fish-2"]});
    host.answer(&request, &json!({"action": "accept", "content": content}));
    let (lines, code, errors) = host.finish();
    assert_eq!(code, Some(0), "{errors}");
    let results: Vec<_> = lines.iter().filter(|line| line["type"] == "user").collect();
    let text = json!(results).to_string();
    // Fields without an answer have their defaults.
    for part in
        ["- Name: Ada", "- Favorite Integer: 7", "- Favorite Number: 3.14", "fish-2", "pet-1"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let methods = valid_mcp_messages(&schema, frames(&home).as_ref()).await;
    assert!(methods.iter().any(|it| it == "answer to elicitation/create"), "{methods:?}");
}
