//! Servers that send too much, or something else than the protocol.

use std::time::Duration;

use robota_core::tool::{ToolContext, ToolSource as _};
use robota_exec::Supervisor;
use robota_mcp::client::{McpClientOptions, McpServers};
use robota_mcp::config::ServerConfig;
use serde_json::{Value, json};

use crate::server::{Http, Request, Response, rpc};

/// Starts a server that answers calls of its tool in another way than other requests.
async fn servers(call: impl Fn(&Value) -> Response + Send + Sync + 'static) -> (Http, McpServers) {
    let web = Http::start(move |_, request: &Request| {
        if request.method != "POST" {
            return Response::status("405 Method Not Allowed");
        }
        let message: Value = serde_json::from_str(&request.body).unwrap();
        match message["method"].as_str() {
            Some("tools/call") => call(&message),
            _ => rpc(&request.body),
        }
    })
    .await;
    let entry = json!({"type": "http", "url": format!("{}/mcp", web.origin), "timeout": 600_000});
    let config = ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config;
    let options = McpClientOptions::new(Supervisor::new(), std::env::temp_dir());
    (web, McpServers::new(vec![config], &options))
}

/// Calls the tool and returns what the model sees.
async fn call(servers: &McpServers) -> String {
    servers.check("web").await.unwrap();
    let tools = servers.session_tools().tools();
    let tool = tools.iter().find(|tool| tool.spec().name == "mcp__web__hello").unwrap().clone();
    let calling = tool.run(json!({}), ToolContext::detached());
    tokio::time::timeout(Duration::from_secs(60), calling).await.expect("it ends").text()
}

fn typed(kind: &str, body: String, endless: Option<String>) -> Response {
    let headers = vec![("Content-Type", kind.to_owned())];
    Response { headers, body, endless, ..Response::status("200 OK") }
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let piece = "x".repeat(1024 * 1024);
    let (_web, servers) =
        servers(move |_| typed("application/json", "{\"x\":\"".to_owned(), Some(piece.clone())))
            .await;
    let text = call(&servers).await;
    assert!(text.contains("more than 16777216 bytes"), "{text}");
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_not_read() {
    let (_web, servers) = servers(|_| {
        let mut response = typed("application/json", "x".repeat(17 * 1024 * 1024), None);
        response.status = "200 OK";
        response
    })
    .await;
    let text = call(&servers).await;
    assert!(text.contains("more than 16777216 bytes"), "{text}");
}

#[tokio::test]
async fn an_event_without_end_is_cut_off() {
    let piece = "x".repeat(1024 * 1024);
    let (_web, servers) =
        servers(move |_| typed("text/event-stream", "data: ".to_owned(), Some(piece.clone())))
            .await;
    let text = call(&servers).await;
    assert!(text.contains("an event of more than 16777216 bytes"), "{text}");
}

#[tokio::test]
async fn a_stream_of_small_events_without_end_is_cut_off() {
    // A message of the log, again and again. The time limit of the call is not what ends it.
    let log = json!({
        "jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "x"},
    });
    let piece = format!("data: {log}\n\n").repeat(100);
    let (_web, servers) =
        servers(move |_| typed("text/event-stream", String::new(), Some(piece.clone()))).await;
    let text = call(&servers).await;
    assert!(text.contains("its answer has more than 100000 events"), "{text}");
}

#[tokio::test]
async fn a_stream_of_comments_without_end_is_cut_off() {
    let piece = ": comment\n".repeat(10_000);
    let (_web, servers) =
        servers(move |_| typed("text/event-stream", String::new(), Some(piece.clone()))).await;
    let text = call(&servers).await;
    assert!(text.contains("its answer has more than 67108864 bytes"), "{text}");
}

#[tokio::test]
async fn streams_with_odd_fields_are_read() {
    let (_web, servers) = servers(|message| {
        let result = json!({"content": [{"type": "text", "text": "it works"}]});
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let body = format!(": comment\nodd\nid: 1\nid: 2\nunknown: x\ndata: {answer}\n\n");
        typed("text/event-stream", body, None)
    })
    .await;
    assert_eq!(call(&servers).await, "it works");
}

#[tokio::test]
async fn answers_that_are_no_messages_are_reported() {
    for (status, kind, body) in [
        ("200 OK", "text/html", "<html>"),
        ("200 OK", "application/json", "{broken"),
        ("500 Internal Server Error", "text/plain", "oops"),
        ("403 Forbidden", "text/plain", "no"),
        ("429 Too Many Requests", "application/json", "{}"),
    ] {
        let (_web, servers) =
            servers(move |_| Response { status, ..typed(kind, body.to_owned(), None) }).await;
        let text = call(&servers).await;
        assert!(text.contains("MCP server `web`"), "{status} {kind}: {text}");
    }
}
