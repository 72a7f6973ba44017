//! The reference MCP servers, unchanged, over stdio and streamable HTTP.

use std::path::Path;
use std::process::Stdio;

use robota_testkit::mock::{MockServer, Reply, Scenario};
use robota_testkit::{Packages, Part, requires};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::home::{Home, stderr, stdout};

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

#[tokio::test]
async fn kode_15_the_reference_server_works_over_http() {
    let Some(folder) = requires(Part::McpServers, SERVERS.folder()) else { return };
    for (mode, transport, path) in [("streamableHttp", "http", "mcp"), ("sse", "sse", "sse")] {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = tokio::process::Command::new(program(&folder, "everything"))
            .arg(mode)
            .env("PORT", port.to_string())
            .stdout(Stdio::piped())
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
        let home = Home::new();
        let url = format!("http://127.0.0.1:{port}/{path}");
        add(&home, "everything", &json!({"type": transport, "url": url})).await;
        let text = call(&home, "mcp__everything__echo", json!({"message": "over the wire"})).await;
        assert!(text.contains("over the wire"), "{mode}: {text}");
        server.kill().await.unwrap();
    }
}
