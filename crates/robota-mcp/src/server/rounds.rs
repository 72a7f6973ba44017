//! Sends questions to hosts of version 2026-07-28, which accept no requests from a server. The server
//! returns the question as the result of the call. The call waits in the background until the host
//! repeats it with the answer.
//!
//! The result also has an identifier of the waiting call (`requestState`), which the host sends back. The
//! call itself stays in this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, InputRequest, InputRequiredResult, InputResponses,
};
use robota_core::ids::Ids;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handler::result;
use super::{ServedCall, ServedResult, ServedTools};

/// How long a call waits for the answers of a host; then it is cancelled.
const ANSWER_LIMIT: Duration = Duration::from_secs(300);
/// How many calls wait at the same time; further questions are refused.
const MAX_WAITING: usize = 256;

/// A question of a call.
pub(super) struct RoundQuestion {
    pub(super) request: InputRequest,
    pub(super) answer: oneshot::Sender<Value>,
}

/// The calls that wait for answers.
#[derive(Clone)]
pub(super) struct Rounds(Arc<Shared>);

struct Shared {
    ids: Arc<dyn Ids>,
    connections: AtomicU64,
    waiting: Mutex<HashMap<String, RunningCall>>,
}

/// A call that runs in the background.
pub(super) struct RunningCall {
    tools: Arc<dyn ServedTools>,
    tool: String,
    arguments: Map<String, Value>,
    questions: mpsc::Receiver<RoundQuestion>,
    result: oneshot::Receiver<ServedResult>,
    /// The questions without an answer, by key.
    open: BTreeMap<String, RoundQuestion>,
    /// How many questions there were.
    asked: u32,
    /// Cancels the call when no caller waits for it any more.
    _cancel: DropGuard,
}

impl RunningCall {
    /// Runs a call in the background. Its host asks by these `questions`.
    pub(super) fn start(
        tools: Arc<dyn ServedTools>,
        call: ServedCall,
        questions: mpsc::Receiver<RoundQuestion>,
    ) -> Self {
        let (sender, result) = oneshot::channel();
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        let cancel = call.cancel.clone().drop_guard();
        let (running, called) = (tools.clone(), tool.clone());
        tokio::spawn(async move {
            if let Err(lost) = sender.send(running.call(call).await) {
                running.undelivered(&called, lost).await;
            }
        });
        let (open, asked) = (BTreeMap::new(), 0);
        Self { tools, tool, arguments, questions, result, open, asked, _cancel: cancel }
    }

    fn give(&mut self, answers: InputResponses) {
        for (key, answer) in answers {
            if let Some(question) = self.open.remove(&key) {
                // Fails if the question was withdrawn.
                let _ = question.answer.send(answer);
            }
        }
    }

    fn add(&mut self, question: RoundQuestion) {
        self.asked += 1;
        self.open.insert(format!("question_{}", self.asked), question);
    }

    /// Waits for the result; none if there are questions first.
    async fn next(&mut self) -> Option<ServedResult> {
        self.open.retain(|_, question| !question.answer.is_closed());
        if self.open.is_empty() {
            tokio::select! {
                biased;
                Some(question) = self.questions.recv() => self.add(question),
                result = &mut self.result => {
                    let failed = || ServedResult::error("the call failed");
                    return Some(result.unwrap_or_else(|_| failed()));
                }
            }
        }
        while let Ok(question) = self.questions.try_recv() {
            self.add(question);
        }
        None
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        // The call itself reports a result that it cannot send any more.
        self.result.close();
        // Without a runtime the process ends, and what the call left with it.
        if let Ok(lost) = self.result.try_recv()
            && let Ok(runtime) = Handle::try_current()
        {
            let (tools, tool) = (self.tools.clone(), std::mem::take(&mut self.tool));
            runtime.spawn(async move { tools.undelivered(&tool, lost).await });
        }
    }
}

impl Rounds {
    /// Creates the calls of a server. The ids must not be guessable if several hosts share it.
    pub(super) fn new(ids: Arc<dyn Ids>) -> Self {
        let (connections, waiting) = (AtomicU64::default(), Mutex::default());
        Self(Arc::new(Shared { ids, connections, waiting }))
    }

    /// Returns the number of a new connection.
    pub(super) fn next_connection(&self) -> u64 {
        self.0.connections.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, RunningCall>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the call that a repeated request continues.
    pub(super) fn resume(
        &self,
        request: &CallToolRequestParams,
        state: &str,
    ) -> Result<RunningCall, ErrorData> {
        let mut waiting = self.lock();
        // Compared, so that the answer to one question cannot start another call.
        let same = waiting.get(state).is_some_and(|call| {
            let arguments = request.arguments.as_ref();
            call.tool == request.name && *arguments.unwrap_or(&Map::new()) == call.arguments
        });
        let call = if same { waiting.remove(state) } else { None };
        drop(waiting);
        let unknown = || {
            let text =
                "no call waits for this answer: requestState is unknown, was used, or has expired";
            ErrorData::invalid_params(text, None)
        };
        let mut call = call.ok_or_else(unknown)?;
        call.give(request.input_responses.clone().unwrap_or_default());
        Ok(call)
    }

    /// Continues a call until its end or its next question. If the host cancels the request, the call is
    /// cancelled.
    pub(super) async fn run(
        &self,
        mut call: RunningCall,
        cancelled: &CancellationToken,
    ) -> CallToolResponse {
        let next = tokio::select! {
            next = call.next() => next,
            () = cancelled.cancelled() => Some(ServedResult::error("the call was cancelled")),
        };
        if let Some(ended) = next {
            return result(ended).into();
        }
        let requests = call.open.iter();
        let requests = requests.map(|(key, question)| (key.clone(), question.request.clone()));
        let requests = requests.collect();
        let state = self.0.ids.next().to_string();
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITING {
            return result(ServedResult::error("too many calls wait for answers")).into();
        }
        waiting.insert(state.clone(), call);
        drop(waiting);
        let (rounds, waits) = (Arc::downgrade(&self.0), state.clone());
        // A call that was resumed in time is no longer in the map, so this does nothing to it.
        tokio::spawn(async move {
            tokio::time::sleep(ANSWER_LIMIT).await;
            if let Some(shared) = rounds.upgrade() {
                Self(shared).lock().remove(&waits);
            }
        });
        InputRequiredResult::new(Some(requests), Some(state)).into()
    }
}
