//! Servers in the host program: each message is a request to the host, and its answer the reply.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Messages that servers in the host send by themselves: notifications, and requests to this client.
/// Clones share them.
#[derive(Clone, Default)]
pub struct HostInbox(Arc<Mutex<HashMap<String, mpsc::Sender<Value>>>>);

impl HostInbox {
    fn senders(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a message to the connection of a server. It never waits.
    ///
    /// # Errors
    /// If the server is not connected, or sends faster than its messages are handled.
    pub(super) fn push(&self, server: &str, message: Value) -> Result<(), &'static str> {
        let sender = self.senders().get(server).cloned();
        match sender.map(|sender| sender.try_send(message)) {
            Some(Ok(())) => Ok(()),
            Some(Err(mpsc::error::TrySendError::Full(_))) => Err("it sends too many messages"),
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => Err("it is not connected"),
        }
    }
}

/// The transport to one server in the host.
pub(super) struct HostTransport {
    server: String,
    channel: Arc<dyn HostChannel>,
    received: (mpsc::Sender<Value>, mpsc::Receiver<Value>),
    inbox: HostInbox,
}

impl HostTransport {
    pub(super) fn new(server: &str, channel: Arc<dyn HostChannel>, inbox: HostInbox) -> Self {
        let received = mpsc::channel(64);
        inbox.senders().insert(server.to_owned(), received.0.clone());
        Self { server: server.to_owned(), channel, received, inbox }
    }
}

impl Drop for HostTransport {
    fn drop(&mut self) {
        let mut senders = self.inbox.senders();
        // A later connection to the same server has replaced it.
        if senders.get(&self.server).is_some_and(|sender| sender.same_channel(&self.received.0)) {
            senders.remove(&self.server);
        }
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
