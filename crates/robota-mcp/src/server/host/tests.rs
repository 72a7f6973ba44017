#![allow(clippy::unwrap_used)]
use serde_json::Map;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::server::{
    Served, ServedCall, ServedResult, ServedTool, ServedTools, ServerInfo, serve_streams,
};

use super::*;

/// A tool that reports more than the connection takes without a reader, and says when it is done.
struct Chatty(Arc<Notify>);

#[async_trait::async_trait]
impl ServedTools for Chatty {
    fn list(&self) -> Vec<ServedTool> {
        vec![ServedTool {
            name: "chatty".to_owned(),
            description: "Reports a lot.".to_owned(),
            input_schema: Map::from_iter([("type".to_owned(), json!("object"))]),
            output_schema: None,
            read_only: true,
        }]
    }

    async fn call(&self, call: ServedCall) -> ServedResult {
        for step in 1..=20 {
            call.host.progress(f64::from(step), None, Some("x".repeat(4_096))).await;
            call.host.log(LogLevel::Emergency, "y".repeat(4_096)).await;
        }
        self.0.notify_one();
        ServedResult::text("done")
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_no_reports_does_not_hold_up_the_call() {
    let (client, server) = tokio::io::duplex(1_024);
    let done = Arc::new(Notify::new());
    let info = ServerInfo { name: "test", version: "1", instructions: String::new() };
    let served = Served::tools(Arc::new(Chatty(done.clone())));
    let stop = CancellationToken::new();
    let serving = tokio::spawn(serve_streams(info, served, tokio::io::split(server), stop.clone()));
    let (read, mut write) = tokio::io::split(client);
    let mut lines = BufReader::new(read).lines();
    let mut send = async |message: Value| {
        write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    };
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    });
    send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).await;
    lines.next_line().await.unwrap().unwrap();
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let params = json!({"name": "chatty", "arguments": {}, "_meta": {"progressToken": 1}});
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})).await;
    // Nothing reads the reports; the paused time advances only when nothing else can happen.
    tokio::time::timeout(Duration::from_secs(60), done.notified()).await.unwrap();
    // Both halves, because the server cannot end while its last message is not taken.
    drop((lines, write));
    stop.cancel();
    drop(serving.await.unwrap());
}
