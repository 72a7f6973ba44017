#![allow(clippy::unwrap_used)]
use reqwest::{Body, Response};
use rmcp::transport::StreamableHttpServerConfig;
use robota_core::ids::RandomIds;
use serde_json::{Map, Value};

use super::*;
use crate::server::ServedTools;
use crate::server::http::{HttpOptions, HttpService, service};

/// A tool that answers with the number of the host.
struct Number;

#[async_trait::async_trait]
impl ServedTools for Number {
    fn list(&self) -> Vec<ServedTool> {
        vec![ServedTool {
            name: "number".to_owned(),
            description: "Names the host.".to_owned(),
            input_schema: Map::from_iter([("type".to_owned(), json!("object"))]),
            output_schema: None,
            read_only: true,
        }]
    }

    async fn call(&self, call: ServedCall) -> ServedResult {
        ServedResult::text(call.host.connection().to_string())
    }
}

/// Returns the number that the tool gets for a host of this name.
async fn number(service: &HttpService, host: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": host, "version": "1"},
    });
    let params = json!({"name": "number", "arguments": {}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = http::Request::post("http://localhost/mcp")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "number")
        .body(Body::from(call.to_string()))
        .unwrap();
    let (parts, body) = service.handle(request).await.into_parts();
    let text =
        Response::from(http::Response::from_parts(parts, Body::wrap(body))).text().await.unwrap();
    let json = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    let mut answers = json.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answers.find(|it| it.get("result").is_some());
    let answer = answer.unwrap_or_else(|| panic!("{text}"));
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_requests_of_a_newer_host_over_http_have_one_number() {
    let info = ServerInfo { name: "test", version: "1", instructions: String::new() };
    let options = HttpOptions {
        hosts: vec!["localhost".to_owned()],
        origins: Vec::new(),
        stop: CancellationToken::new(),
        ids: Arc::new(RandomIds),
    };
    let config = StreamableHttpServerConfig::default();
    let service = service(info, Served::tools(Arc::new(Number)), options, config);
    let first = number(&service, "one").await;
    assert_eq!(number(&service, "one").await, first);
    assert_ne!(number(&service, "two").await, first);
}
