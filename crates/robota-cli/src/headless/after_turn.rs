//! Requests that change files while a turn runs: they wait for its end, and the messages of the host
//! that come after them wait for them.

use std::collections::VecDeque;

use robota_session::QueuePause;
use robota_stream_json::ControlErrorCode;
use tokio::task::JoinHandle;

use super::drive::{Drive, Progress};
use super::input::{ControlInput, UserInput};
use super::sent::Sent;

/// What waits for the end of the turn that runs.
#[derive(Default)]
pub(crate) struct AfterTurn {
    requests: Vec<ControlInput>,
    /// The messages that came after them.
    messages: VecDeque<UserInput>,
    pause: Pause,
}

/// The pause between two turns. Inputs that wait already must not start a turn meanwhile.
#[derive(Default)]
enum Pause {
    #[default]
    None,
    /// The session was asked for it.
    Asked(JoinHandle<Option<QueuePause>>),
    /// It has begun; none if the session has ended.
    Granted { _pause: Option<QueuePause> },
}

impl AfterTurn {
    /// Returns whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.messages.is_empty()
    }

    /// Waits until the pause begins. Cancel safe.
    pub(super) async fn paused(&mut self) {
        match &mut self.pause {
            Pause::Asked(asked) => {
                let granted = asked.await.ok().flatten();
                self.pause = Pause::Granted { _pause: granted };
            }
            Pause::None | Pause::Granted { .. } => std::future::pending().await,
        }
    }

    /// Returns the ids of the messages that wait, and removes the messages if they are cancelled.
    pub(super) fn interrupt(&mut self, cancel_queued: bool) -> Vec<String> {
        let ids = self.messages.iter().filter_map(|message| message.uuid.clone()).collect();
        if cancel_queued {
            self.messages.clear();
        }
        ids
    }

    /// Removes the message with this id. Returns false if it does not wait.
    pub(super) fn cancel(&mut self, uuid: &str) -> bool {
        let before = self.messages.len();
        self.messages.retain(|message| message.uuid.as_deref() != Some(uuid));
        self.messages.len() < before
    }
}

impl Drive {
    /// Takes a message of the host, now or after the requests that wait.
    pub(super) async fn on_message(
        &mut self,
        input: UserInput,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        if self.after_turn.is_empty() {
            return self.deliver(input, progress).await;
        }
        self.after_turn.messages.push_back(input);
        Ok(())
    }

    /// Handles a request that changes files: now, or after the turn that runs. Calls of the turn may
    /// change the files while they are restored.
    pub(super) async fn on_file_request(&mut self, request: ControlInput, progress: &Progress) {
        if progress.inputs.0.is_empty() && self.after_turn.is_empty() {
            return self.requests.handle(request).await;
        }
        // A host that waits for the answer to this request would never answer the other one.
        if self.requests.host.is_asked() {
            let why = "the turn waits for an answer of this host, so its files cannot be restored yet; \
                       answer first, or interrupt the turn";
            let reply = Err((ControlErrorCode::Failed, why.to_owned()));
            return self.requests.host.reply(&request.request_id, &reply);
        }
        self.after_turn.requests.push(request);
        if let Pause::None = self.after_turn.pause {
            let queue = self.session.queue();
            // A session that has ended has nothing to pause.
            let asked = tokio::spawn(async move { queue.pause().await.ok() });
            self.after_turn.pause = Pause::Asked(asked);
        }
    }

    /// Handles what waits for the end of a turn, once the turn has ended and its lines are printed.
    pub(super) async fn run_after_turn(&mut self, progress: &mut Progress) -> anyhow::Result<()> {
        let Pause::Granted { .. } = self.after_turn.pause else { return Ok(()) };
        // Nothing runs in the session. Inputs that do not wait in it have ended, and the ends that were
        // not printed yet come first.
        let waiting = self.session.queue().list().await.unwrap_or_default();
        let waits = |sent: &Sent| waiting.iter().any(|input| input.input == *sent.chat.input());
        if !progress.inputs.0.iter().all(waits) {
            return Ok(());
        }
        for request in std::mem::take(&mut self.after_turn.requests) {
            self.requests.handle(request).await;
        }
        self.after_turn.pause = Pause::None;
        for message in std::mem::take(&mut self.after_turn.messages) {
            self.deliver(message, progress).await?;
        }
        Ok(())
    }
}
