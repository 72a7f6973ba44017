//! Sessions of servers that end.

use std::sync::{Arc, Mutex};

use robota_exec::Supervisor;
use robota_mcp::client::{McpClientOptions, McpServers};
use robota_mcp::config::ServerConfig;
use serde_json::{Value, json};

use crate::server::{Http, Request, Response, rpc};

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
