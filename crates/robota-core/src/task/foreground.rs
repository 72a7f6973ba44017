//! Calls that wait for work which could continue without them: a command, or an agent. A user who
//! does not want to wait moves the work to the background.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::ids::{CallId, TaskId};

/// The calls of a session that wait for work. Clones share the list.
///
/// ```
/// use robota_core::ids::CallId;
/// use robota_core::task::ForegroundCalls;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let calls = ForegroundCalls::default();
/// let mut waiting = calls.enter(&CallId::from("c1"));
/// assert_eq!(calls.list(), [CallId::from("c1")]);
/// let user = calls.clone();
/// let moved = tokio::spawn(async move { user.move_to_background(&CallId::from("c1")).await });
/// // The tool that waits makes a task of its work, and returns.
/// waiting.asked().await.answer(Ok(vec!["bash_1".into()]));
/// assert_eq!(moved.await.unwrap(), Ok(vec!["bash_1".into()]));
/// drop(waiting);
/// assert!(calls.list().is_empty());
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ForegroundCalls(Arc<Mutex<Vec<Waiting>>>);

#[derive(Debug)]
struct Waiting {
    call: CallId,
    requests: mpsc::UnboundedSender<MoveRequest>,
}

/// Why a call was not moved to the background.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMoved {
    /// The call does not wait for anything that can continue without it.
    #[error("the call {0} does not run in the foreground")]
    NotWaiting(CallId),
    /// No task could be made of its work, which continues in the foreground.
    #[error("it could not be moved to the background: {0}")]
    Failed(String),
}

impl ForegroundCalls {
    /// Adds a call that waits. It can be moved until the returned value is dropped.
    #[must_use]
    pub fn enter(&self, call: &CallId) -> ForegroundCall {
        let (requests, receiver) = mpsc::unbounded_channel();
        self.lock().push(Waiting { call: call.clone(), requests: requests.clone() });
        ForegroundCall { calls: self.clone(), call: call.clone(), requests, receiver }
    }

    /// Returns the calls that wait, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<CallId> {
        self.lock().iter().map(|waiting| waiting.call.clone()).collect()
    }

    /// Moves the work of a call to the background. Returns the tasks that continue it; the call
    /// ends, and its result names them.
    ///
    /// # Errors
    /// If the call does not wait, or its work ended meanwhile, or no task could be made of it.
    pub async fn move_to_background(&self, call: &CallId) -> Result<Vec<TaskId>, NotMoved> {
        let not_waiting = || NotMoved::NotWaiting(call.clone());
        let requests = {
            let calls = self.lock();
            calls.iter().find(|waiting| waiting.call == *call).map(|it| it.requests.clone())
        };
        let (answer, answered) = oneshot::channel();
        requests.and_then(|it| it.send(MoveRequest(answer)).ok()).ok_or_else(not_waiting)?;
        // A call that ends without an answer was not moved.
        answered.await.unwrap_or_else(|_| Err(not_waiting()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits for work. Dropping it says that it no longer waits.
#[derive(Debug)]
pub struct ForegroundCall {
    calls: ForegroundCalls,
    call: CallId,
    /// Identifies this entry in the list, and keeps the channel open.
    requests: mpsc::UnboundedSender<MoveRequest>,
    receiver: mpsc::UnboundedReceiver<MoveRequest>,
}

impl ForegroundCall {
    /// Waits until a user moves the work to the background.
    pub async fn asked(&mut self) -> MoveRequest {
        match self.receiver.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }
}

impl Drop for ForegroundCall {
    fn drop(&mut self) {
        // By channel and not only by call: the same call may wait twice, one wait after the other.
        let own = |waiting: &Waiting| {
            waiting.call == self.call && waiting.requests.same_channel(&self.requests)
        };
        self.calls.lock().retain(|waiting| !own(waiting));
    }
}

/// Asks a running call to continue in the background.
#[derive(Debug)]
pub struct MoveRequest(oneshot::Sender<Result<Vec<TaskId>, NotMoved>>);

impl MoveRequest {
    /// Answers with the tasks that continue the work, or why there are none; then the call
    /// continues to wait.
    pub fn answer(self, moved: Result<Vec<TaskId>, String>) {
        // Fails only if the user no longer waits for the answer.
        let _ = self.0.send(moved.map_err(NotMoved::Failed));
    }
}

#[cfg(test)]
mod tests;
