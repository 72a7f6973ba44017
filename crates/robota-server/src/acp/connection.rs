//! The connection to the editor: sends lines, and matches responses to requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::rpc::{self, INTERNAL_ERROR, RequestId, RpcError};

/// A line of the editor that has more bytes than this is skipped. A prompt may contain
/// images.
pub const MAX_LINE: u64 = 64 * 1024 * 1024;

/// What was read of the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLine {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line above [`MAX_LINE`]. It was skipped.
    TooLong,
}

/// The requests that wait for their answers.
type Requests = HashMap<RequestId, oneshot::Sender<Result<Value, RpcError>>>;

/// The sending side of a connection.
pub(super) struct Connection {
    out: mpsc::Sender<String>,
    next: AtomicI64,
    /// The requests without an answer; none after the end, when no answer can come.
    waiting: Mutex<Option<Requests>>,
}

impl Connection {
    pub(super) fn new(out: mpsc::Sender<String>) -> Self {
        Self { out, next: AtomicI64::new(1), waiting: Mutex::new(Some(Requests::new())) }
    }

    /// Sends a line. If the editor has closed the connection, the line is dropped: the input ends
    /// too, and that ends everything else.
    async fn send(&self, line: String) {
        let _ = self.out.send(line).await;
    }

    /// Sends a notification. One that an editor no longer reads is dropped.
    pub(super) async fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(rpc::notification(method, params)).await;
    }

    /// Sends the response to a request of the editor.
    pub(super) async fn respond(&self, id: Option<&RequestId>, result: Result<Value, RpcError>) {
        self.send(rpc::response(id, &result)).await;
    }

    /// Sends a request and waits for its response. When the future is dropped, it sends the editor
    /// a cancellation of the request.
    pub(super) async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, RpcError> {
        let (id, answered) = self.begin().ok_or_else(gone)?;
        // From here on the entry in `waiting` is removed however this future ends.
        let pending = Pending { connection: self, id };
        self.send(rpc::request(&pending.id, method, params)).await;
        read(method, answered.await)
    }

    /// Sends a request whose result always has an owner: `own` makes it, and it is dropped if the
    /// receiver
    /// does not take it. When the receiver is dropped, it sends the editor a cancellation of the
    /// request; the result
    /// may come nevertheless.
    pub(super) fn request_owned<T, O>(
        self: &Arc<Self>,
        method: &'static str,
        params: &impl Serialize,
        own: impl FnOnce(T) -> O + Send + 'static,
    ) -> oneshot::Receiver<Result<O, RpcError>>
    where
        T: DeserializeOwned,
        O: Send + 'static,
    {
        let (mut sender, receiver) = oneshot::channel();
        let Some((id, mut answered)) = self.begin() else {
            // The receiver is there.
            let _ = sender.send(Err(gone()));
            return receiver;
        };
        let line = rpc::request(&id, method, params);
        let this = self.clone();
        tokio::spawn(async move {
            this.send(line).await;
            tokio::select! {
                biased;
                answer = &mut answered => {
                    // Fails if the receiver was dropped at this moment.
                    let _ = sender.send(read(method, answer).map(own));
                    return;
                }
                () = sender.closed() => {}
            }
            this.notify("$/cancel_request", &json!({"requestId": id})).await;
            drop(read(method, answered.await).map(own));
        });
        receiver
    }

    /// Begins to wait for the response to a request; none if the connection has ended.
    fn begin(&self) -> Option<(RequestId, oneshot::Receiver<Result<Value, RpcError>>)> {
        // `Relaxed` is enough: the ids only have to differ.
        let id = RequestId::Number(self.next.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        // The end takes the map, so that a request either begins before it or not at all.
        self.waiting().as_mut()?.insert(id.clone(), answer);
        Some((id, answered))
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Requests>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request that waits.
    fn take(&self, id: &RequestId) -> Option<oneshot::Sender<Result<Value, RpcError>>> {
        self.waiting().as_mut()?.remove(id)
    }

    /// Takes the response to a request. A response without a waiting request is ignored.
    pub(super) fn on_response(&self, id: &RequestId, result: Result<Value, RpcError>) {
        if let Some(waiting) = self.take(id) {
            let _ = waiting.send(result);
        }
    }

    /// Ends all requests that wait, and those that begin later: no answer will come.
    pub(super) fn end(&self) {
        // Dropping the senders wakes the requests, which report that the editor closed the
        // connection.
        *self.waiting() = None;
    }
}

fn gone() -> RpcError {
    RpcError::new(INTERNAL_ERROR, "the editor closed the connection")
}

/// Reads the answer to a request. Without one, the connection has ended.
fn read<T: DeserializeOwned>(
    method: &str,
    answer: Result<Result<Value, RpcError>, oneshot::error::RecvError>,
) -> Result<T, RpcError> {
    let result = answer.map_err(|_| gone())??;
    serde_json::from_value(result).map_err(|error| {
        RpcError::new(INTERNAL_ERROR, format!("the editor's answer to {method}: {error}"))
    })
}

/// A request that waits for its answer.
struct Pending<'a> {
    connection: &'a Connection,
    id: RequestId,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.connection.take(&self.id).is_some() {
            let params = json!({"requestId": self.id});
            // A full queue loses the notice, which is only a courtesy.
            let _ = self.connection.out.try_send(rpc::notification("$/cancel_request", &params));
        }
    }
}

#[cfg(test)]
mod tests;
