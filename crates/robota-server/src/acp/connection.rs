//! The connection to the editor: sends lines, and matches responses to requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

/// The sending side of a connection.
pub(super) struct Connection {
    out: mpsc::Sender<String>,
    next: AtomicI64,
    waiting: Mutex<HashMap<RequestId, oneshot::Sender<Result<Value, RpcError>>>>,
}

impl Connection {
    pub(super) fn new(out: mpsc::Sender<String>) -> Self {
        Self { out, next: AtomicI64::new(1), waiting: Mutex::default() }
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
        let (id, answered) = self.begin();
        // From here on the entry in `waiting` is removed however this future ends.
        let pending = Pending { connection: self, id };
        self.send(rpc::request(&pending.id, method, params)).await;
        read(method, answered.await)
    }

    /// Sends a request whose answer has to be handled in any case. When the receiver is dropped, it sends the
    /// editor a cancellation of the request, and a result that comes nevertheless goes to `late`.
    pub(super) fn request_or_late<T, F>(
        self: &Arc<Self>,
        method: &'static str,
        params: &impl Serialize,
        late: impl FnOnce(Arc<Self>, T) -> F + Send + 'static,
    ) -> oneshot::Receiver<Result<T, RpcError>>
    where
        T: DeserializeOwned + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        let (id, mut answered) = self.begin();
        let line = rpc::request(&id, method, params);
        let (mut sender, receiver) = oneshot::channel();
        let this = self.clone();
        tokio::spawn(async move {
            this.send(line).await;
            tokio::select! {
                biased;
                answer = &mut answered => {
                    // The receiver may be dropped at this moment.
                    if let Err(Ok(result)) = sender.send(read(method, answer)) {
                        late(this, result).await;
                    }
                    return;
                }
                () = sender.closed() => {}
            }
            this.notify("$/cancel_request", &json!({"requestId": id})).await;
            if let Ok(result) = read(method, answered.await) {
                late(this, result).await;
            }
        });
        receiver
    }

    /// Begins to wait for the response to a request.
    fn begin(&self) -> (RequestId, oneshot::Receiver<Result<Value, RpcError>>) {
        // `Relaxed` is enough: the ids only have to differ.
        let id = RequestId::Number(self.next.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), answer);
        (id, answered)
    }

    /// Takes the response to a request. A response without a waiting request is ignored.
    pub(super) fn on_response(&self, id: &RequestId, result: Result<Value, RpcError>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    /// Ends all requests that wait: no answer will come.
    pub(super) fn end(&self) {
        // Dropping the senders wakes the requests, which report that the editor closed the
        // connection.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Reads the answer to a request. Without one, the connection has ended.
fn read<T: DeserializeOwned>(
    method: &str,
    answer: Result<Result<Value, RpcError>, oneshot::error::RecvError>,
) -> Result<T, RpcError> {
    let gone = || RpcError::new(INTERNAL_ERROR, "the editor closed the connection");
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
        let waiting = &self.connection.waiting;
        let open = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        if open.is_some() {
            let params = json!({"requestId": self.id});
            // A full queue loses the notice, which is only a courtesy.
            let _ = self.connection.out.try_send(rpc::notification("$/cancel_request", &params));
        }
    }
}
