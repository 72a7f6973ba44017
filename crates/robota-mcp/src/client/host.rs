//! Servers in the host program: each message is a request to the host, and its answer the reply.

use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use super::link::{self, LinkError};

/// Sends messages to servers in the host program.
#[async_trait::async_trait]
pub trait HostChannel: Send + Sync {
    /// Sends a message to a server and returns its answer; `null` if there is none.
    ///
    /// # Errors
    /// If the host does not answer; the text says why.
    async fn send(&self, server: &str, message: Value) -> Result<Value, String>;
}

/// The transport to one server in the host.
pub(super) struct HostTransport {
    server: String,
    channel: Arc<dyn HostChannel>,
    received: (mpsc::Sender<Value>, mpsc::Receiver<Value>),
}

impl HostTransport {
    pub(super) fn new(server: &str, channel: Arc<dyn HostChannel>) -> Self {
        Self { server: server.to_owned(), channel, received: mpsc::channel(64) }
    }
}

impl Transport<RoleClient> for HostTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let (server, channel) = (self.server.clone(), self.channel.clone());
        let received = self.received.0.clone();
        async move {
            let message = serde_json::to_value(&item).map_err(LinkError::new)?;
            let id = message.get("id").cloned();
            let is_request = id.is_some() && message.get("method").is_some();
            // The answer comes with the acknowledgement, so a long call must not hold up others.
            tokio::spawn(async move {
                let answer = match channel.send(&server, message).await {
                    Ok(answer) => answer,
                    Err(problem) => serde_json::json!({
                        "jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": problem},
                    }),
                };
                if is_request && answer.is_object() {
                    let _ = received.send(answer).await;
                }
            });
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let value = self.received.1.recv().await?;
            if let Some(message) = link::decode(value) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.received.1.close();
        Ok(())
    }
}
