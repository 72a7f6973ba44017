#![allow(clippy::unwrap_used)]
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reqwest::{Body, Response};
use rmcp::model::Extensions;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, SessionConfig, create_local_session,
};
use robota_core::ids::RandomIds;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::KeepAlive;
use crate::server::http::{HttpOptions, HttpService, service};
use crate::server::{Served, ServedCall, ServedResult, ServedTool, ServedTools, ServerInfo};

/// A tool that is silent for a quarter of an hour.
struct Silent {
    /// Whether its calls keep their sessions.
    keeps: bool,
}

#[async_trait::async_trait]
impl ServedTools for Silent {
    fn list(&self) -> Vec<ServedTool> {
        vec![ServedTool {
            name: "build".to_owned(),
            description: "Builds.".to_owned(),
            input_schema: Map::from_iter([("type".to_owned(), json!("object"))]),
            output_schema: None,
            read_only: false,
        }]
    }

    async fn call(&self, call: ServedCall) -> ServedResult {
        call.host.keep_session(self.keeps);
        tokio::time::sleep(Duration::from_secs(15 * 60)).await;
        ServedResult::text("It is built.")
    }
}

async fn post(service: &HttpService, session: Option<&str>, message: Value) -> Response {
    let mut request = http::Request::post("http://localhost/mcp")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("Mcp-Session-Id", session);
    }
    let request = request.body(Body::from(message.to_string())).unwrap();
    let (parts, body) = service.handle(request).await.into_parts();
    http::Response::from_parts(parts, Body::wrap(body)).into()
}

/// Reads a response until the message with a result or an error.
async fn answer(mut response: Response) -> String {
    let mut text = String::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        if text.contains("\"result\"") || text.contains("\"error\"") {
            break;
        }
    }
    text
}

/// Opens a session, and returns its id.
async fn opened(tool: Silent) -> (HttpService, String) {
    let info = ServerInfo { name: "test", version: "1", instructions: "Build things.".to_owned() };
    let options = HttpOptions {
        hosts: vec!["localhost".to_owned()],
        origins: Vec::new(),
        stop: CancellationToken::new(),
        ids: Arc::new(RandomIds),
    };
    // The comments that keep an idle stream open follow the real time.
    let config = StreamableHttpServerConfig::default().with_sse_keep_alive(None);
    let service = service(info, Served::tools(Arc::new(tool)), options, config);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    });
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let initialized = post(&service, None, initialize).await;
    let session = initialized.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    assert!(answer(initialized).await.contains("Build things."));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert!(post(&service, Some(&session), initialized).await.status().is_success());
    (service, session)
}

// No request leaves the process, so that the paused time advances only when nothing else can happen.
#[tokio::test(start_paused = true)]
async fn a_call_that_says_nothing_keeps_its_session() {
    let (service, session) = opened(Silent { keeps: true }).await;
    let params = json!({"name": "build", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let built = answer(post(&service, Some(&session), call).await).await;
    assert!(built.contains("It is built."), "{built}");
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert!(post(&service, Some(&session), list).await.status().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_only_waits_keeps_no_session() {
    let (service, session) = opened(Silent { keeps: false }).await;
    let params = json!({"name": "build", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let built = answer(post(&service, Some(&session), call).await).await;
    assert!(!built.contains("It is built."), "{built}");
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert!(!post(&service, Some(&session), list).await.status().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_read_stops_no_call() {
    let sessions = Arc::new(LocalSessionManager::default());
    // Nothing runs the worker, so that it answers as little as one that waits for its host.
    let (handle, _worker) = create_local_session("session", SessionConfig::default());
    sessions.sessions.write().await.insert("session".into(), handle);
    let request = http::Request::get("/").header(HEADER_SESSION_ID, "session").body(()).unwrap();
    let mut extensions = Extensions::new();
    extensions.insert(request.into_parts().0);
    let call = tokio::time::sleep(Duration::from_secs(15 * 60));
    let keeps = AtomicBool::new(true);
    let keep_alive = KeepAlive::new(sessions);
    let ended = keep_alive.during(&extensions, &keeps, call);
    tokio::time::timeout(Duration::from_secs(16 * 60), ended).await.unwrap();
}
