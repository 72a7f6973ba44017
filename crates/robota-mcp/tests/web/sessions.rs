//! Sessions of servers that end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use robota_core::tool::{ToolContext, ToolSource as _};
use robota_exec::Supervisor;
use robota_mcp::client::{McpClientOptions, McpServers};
use robota_mcp::config::ServerConfig;
use serde_json::{Value, json};

use crate::server::{Http, Request, Response, rpc};

/// A server that forgets its first session once it was asked for its lists of tools and prompts.
async fn forgetful() -> (Http, McpServers) {
    let sessions = Mutex::new(0);
    let web = Http::start(move |_, request: &Request| {
        if request.method != "POST" {
            return Response::status("405 Method Not Allowed");
        }
        let message: Value = serde_json::from_str(&request.body).unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        let session = request.headers.get("mcp-session-id").map(String::as_str);
        let result = match method {
            "initialize" => {
                let mut sessions = sessions.lock().unwrap();
                *sessions += 1;
                let result = json!({
                    "protocolVersion": "2025-06-18", "capabilities": {"prompts": {}, "resources": {}},
                    "serverInfo": {"name": "web", "version": "1"},
                });
                let mut response =
                    Response::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                response.headers.push(("Mcp-Session-Id", format!("session-{sessions}")));
                return response;
            }
            "prompts/list" => json!({"prompts": [{"name": "greet"}]}),
            _ if method.starts_with("notifications/") => return rpc(&request.body),
            _ if session == Some("session-1") => return Response::status("404 Not Found"),
            "prompts/get" => {
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Hi."}}]})
            }
            "resources/list" => json!({"resources": [{"uri": "demo://one", "name": "One"}]}),
            "resources/read" => json!({"contents": [{"uri": "demo://one", "text": "the resource"}]}),
            _ => return rpc(&request.body),
        };
        Response::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    })
    .await;
    let entry = json!({"type": "http", "url": format!("{}/mcp", web.origin)});
    let config = ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config;
    let options = McpClientOptions::new(Supervisor::new(), std::env::temp_dir());
    let servers = McpServers::new(vec![config], &options);
    assert!(servers.settled(Duration::from_secs(60)).await);
    (web, servers)
}

#[tokio::test]
async fn prompts_and_resources_are_requested_again_after_a_lost_session() {
    let (_web, servers) = forgetful().await;
    let prompt = servers.prompts().remove(0);
    assert_eq!(servers.prompt(&prompt, "").await.unwrap(), "Hi.");
    let (_web, servers) = forgetful().await;
    let read = servers.read_resource("web", "demo://one").await.unwrap();
    assert_eq!(read["contents"][0]["text"], "the resource");
    let (_web, servers) = forgetful().await;
    let tools = servers.session_tools().tools();
    let list = tools.iter().find(|tool| tool.spec().name == "ListMcpResources").unwrap();
    let listed = list.run(json!({}), ToolContext::detached()).await;
    assert_eq!(listed.text(), "web: demo://one One");
}

#[tokio::test]
async fn calls_at_the_same_time_share_the_connection_after_a_lost_session() {
    let sessions = Arc::new(Mutex::new(0));
    let counted = sessions.clone();
    let web = Http::start(move |_, request: &Request| {
        if request.method != "POST" {
            return Response::status("405 Method Not Allowed");
        }
        let message: Value = serde_json::from_str(&request.body).unwrap();
        let session = request.headers.get("mcp-session-id").map(String::as_str);
        match (message["method"].as_str(), session) {
            (Some("initialize"), _) => {
                let mut counted = counted.lock().unwrap();
                *counted += 1;
                let mut response = rpc(&request.body);
                response.headers.push(("Mcp-Session-Id", format!("session-{counted}")));
                response
            }
            (Some("tools/call"), Some("session-1")) => Response::status("404 Not Found"),
            _ => rpc(&request.body),
        }
    })
    .await;
    let entry = json!({"type": "http", "url": format!("{}/mcp", web.origin)});
    let config = ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config;
    let options = McpClientOptions::new(Supervisor::new(), std::env::temp_dir());
    let servers = McpServers::new(vec![config], &options);
    servers.check("web").await.unwrap();
    let call = || {
        let servers = servers.clone();
        tokio::spawn(async move { servers.call("mcp__web__hello", json!({})).await })
    };
    // Both are under way before the first one learns that the session is lost.
    let (one, other) = tokio::join!(call(), call());
    for result in [one.unwrap(), other.unwrap()] {
        assert_eq!(result.unwrap()["content"][0]["text"], "hello");
    }
    assert_eq!(*sessions.lock().unwrap(), 2);
}
