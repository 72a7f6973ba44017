//! What hosts see of a server, over a pair of streams: tools, resources and prompts of the program besides
//! the built-in ones.

use std::sync::Arc;

use robota_mcp::server::{Served, ServerInfo, serve_streams};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf,
};
use tokio_util::sync::CancellationToken;

use crate::conformance_host::TestHost;

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: tokio::io::WriteHalf<DuplexStream>,
    next: i64,
    /// The notifications that arrived.
    notices: Vec<Value>,
}

impl Client {
    async fn start(host: Arc<TestHost>, capabilities: Value) -> Self {
        let (client, server) = tokio::io::duplex(1 << 20);
        let info = ServerInfo { name: "test", version: "1", instructions: String::new() };
        let served = Served {
            tools: host.clone(),
            resources: Some(host.clone()),
            prompts: Some(host.clone()),
        };
        let streams = tokio::io::split(server);
        tokio::spawn(serve_streams(info, served, streams, CancellationToken::new()));
        let (read, write) = tokio::io::split(client);
        let mut client =
            Self { lines: BufReader::new(read).lines(), write, next: 1, notices: Vec::new() };
        let initialize = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "x", "version": "1"},
        });
        let answer = client.request("initialize", initialize).await;
        assert_eq!(answer["result"]["capabilities"]["resources"]["subscribe"], true, "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn message(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.message().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notices.push(message);
        }
    }

    async fn call(&mut self, tool: &str) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": {"prompt": "Hi."}})).await
    }
}

#[tokio::test]
async fn sdk_08_mcp_a_host_is_told_of_changes_of_the_resources_it_subscribed_to() {
    let host = Arc::new(TestHost::default());
    let mut client = Client::start(host.clone(), json!({})).await;
    let uri = json!({"uri": "test://watched-resource"});
    assert!(client.request("resources/subscribe", uri.clone()).await["error"].is_null());
    host.change("test://other");
    host.change("test://watched-resource");
    let told = client.message().await;
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "test://watched-resource");
    client.request("resources/unsubscribe", uri).await;
    host.change("test://watched-resource");
    client.request("ping", json!({})).await;
    assert_eq!(client.notices, Vec::<Value>::new());
}

#[tokio::test]
async fn sdk_08_mcp_log_messages_below_the_level_of_the_host_are_not_sent() {
    let mut client = Client::start(Arc::new(TestHost::default()), json!({})).await;
    client.call("test_tool_with_logging").await;
    assert_eq!(client.notices.len(), 3, "{:?}", client.notices);
    client.notices.clear();
    client.request("logging/setLevel", json!({"level": "warning"})).await;
    client.call("test_tool_with_logging").await;
    assert_eq!(client.notices, Vec::<Value>::new());
}

#[tokio::test]
async fn sdk_08_mcp_a_host_without_sampling_and_forms_is_not_asked() {
    let mut client = Client::start(Arc::new(TestHost::default()), json!({})).await;
    for tool in ["test_sampling", "test_elicitation"] {
        let answer = client.call(tool).await;
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
    }
    assert_eq!(client.notices, Vec::<Value>::new());
}

#[tokio::test]
async fn sdk_08_mcp_unknown_resources_prompts_and_missing_arguments_are_errors() {
    let mut client = Client::start(Arc::new(TestHost::default()), json!({})).await;
    for uri in ["test://none", "", "file:///etc/passwd", "robota://session/../x", "t\u{0}"] {
        let answer = client.request("resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32002, "{uri:?}: {answer}");
    }
    let answer = client.request("prompts/get", json!({"name": "none"})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let missing = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "x"}});
    let answer = client.request("prompts/get", missing).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("`arg2`"), "{answer}");
}
