//! What waits for the end of a turn or a command: requests that change files while one runs, what the
//! host sends after them, and messages while a command runs.

use std::collections::VecDeque;

use robota_core::message::Block;
use robota_session::QueuePause;
use robota_stream_json::ControlErrorCode;
use tokio::task::JoinHandle;

use super::drive::{Drive, Progress};
use super::host::Asker;
use super::input::{ControlInput, UserInput};
use super::sent::{HostMessage, Sent};

/// What waits for the end of the turn or the command that runs, in the order in which the host sent
/// it. While no command runs the first one is a request.
#[derive(Default)]
pub(crate) struct AfterTurn {
    held: VecDeque<Held>,
    pause: Pause,
}

enum Held {
    Request(ControlInput),
    Message(UserInput),
    /// A message that an interrupt cancelled before its turn.
    Again(Vec<Block>, Option<HostMessage>),
}

impl Held {
    fn is_message(&self) -> bool {
        match self {
            Self::Request(_) => false,
            Self::Message(_) | Self::Again(..) => true,
        }
    }

    /// Returns the id that the host gave to the message.
    fn uuid(&self) -> Option<&str> {
        match self {
            Self::Request(_) => None,
            Self::Message(message) => message.uuid.as_deref(),
            Self::Again(_, message) => message.as_ref().and_then(|message| message.uuid.as_deref()),
        }
    }

    /// Returns whether the message will have an answer.
    fn has_turn(&self) -> bool {
        match self {
            Self::Request(_) => false,
            Self::Message(message) => message.should_query != Some(false),
            Self::Again(..) => true,
        }
    }
}

/// The pause between two turns. Inputs that wait already must not start a turn meanwhile.
#[derive(Default)]
enum Pause {
    #[default]
    None,
    /// The session was asked for it.
    // A task, because the session grants the pause only between two turns, and this run prints the
    // turn meanwhile.
    Asked(JoinHandle<Option<QueuePause>>),
    /// It has begun; none if the session has ended.
    Granted { _pause: Option<QueuePause> },
}

impl AfterTurn {
    /// Returns whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns how many of the messages that wait will have an answer.
    pub(super) fn turns(&self) -> usize {
        self.held.iter().filter(|held| held.has_turn()).count()
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
        let ids = self.held.iter().filter_map(Held::uuid).map(str::to_owned).collect();
        if cancel_queued {
            self.held.retain(|held| !held.is_message());
        }
        ids
    }

    /// Removes the message with this id. Returns false if it does not wait.
    pub(super) fn cancel(&mut self, uuid: &str) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.uuid() != Some(uuid));
        self.held.len() < before
    }

    /// Keeps a message that has to be sent again. It is older than what the host sent since.
    pub(super) fn push_again(&mut self, content: Vec<Block>, from_host: Option<HostMessage>) {
        let older = self.held.iter().take_while(|held| matches!(held, Held::Again(..))).count();
        self.held.insert(older, Held::Again(content, from_host));
    }

    /// Removes the requests, and ends the pause that they need.
    fn take_requests(&mut self) -> Vec<ControlInput> {
        self.pause = Pause::None;
        let mut requests = Vec::new();
        for held in std::mem::take(&mut self.held) {
            match held {
                Held::Request(request) => requests.push(request),
                message @ (Held::Message(_) | Held::Again(..)) => self.held.push_back(message),
            }
        }
        requests
    }
}

impl Drive {
    /// Returns whether messages wait: for the end of a command, or for the model of their turns.
    pub(super) fn holds_messages(&self) -> bool {
        self.command.is_some() || !self.model_changes.is_empty()
    }

    /// Takes a message of the host: now, or after the command that runs and the requests that wait.
    pub(super) async fn on_message(
        &mut self,
        input: UserInput,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        if self.after_turn.is_empty() && !self.holds_messages() {
            return self.deliver(input, progress).await;
        }
        self.after_turn.held.push_back(Held::Message(input));
        Ok(())
    }

    /// Handles a request that changes files: now, or after the turn or the command that runs. Its
    /// calls may change the files while they are restored.
    pub(super) async fn on_file_request(&mut self, request: ControlInput, progress: &Progress) {
        let busy = self.is_busy(progress);
        if !busy && self.after_turn.is_empty() {
            return self.requests.handle(request).await;
        }
        if busy && self.turn_asks_host() {
            return self.refuse(&request);
        }
        self.after_turn.held.push_back(Held::Request(request));
    }

    /// Returns whether the turn that runs cannot end before the host answers a question. A host that
    /// waits for the end of the turn would never answer it.
    fn turn_asks_host(&self) -> bool {
        let asking = self.requests.host.asking();
        if asking.is_empty() {
            return false;
        }
        let background = self.running_agents();
        // The turn does not wait for agents in the background.
        asking.iter().any(|asker| match asker {
            Asker::Session => true,
            // A command waits for the agent that it started.
            Asker::Agent(task) => self.command.is_some() || !background.contains(task),
            Asker::Server => self.projection.may_use_servers(),
        })
    }

    fn refuse(&self, request: &ControlInput) {
        let why = "the turn waits for an answer of this host, so its files cannot be restored yet; \
                   answer first, or interrupt the turn";
        let reply = Err((ControlErrorCode::Failed, why.to_owned()));
        self.requests.host.reply(&request.request_id, &reply);
    }

    /// Handles what waits for the end of a turn, once the turn has ended and its lines are printed.
    pub(super) async fn run_after_turn(&mut self, progress: &mut Progress) -> anyhow::Result<()> {
        if self.after_turn.is_empty() {
            self.after_turn.pause = Pause::None;
            return Ok(());
        }
        if self.is_busy(progress) && self.turn_asks_host() {
            for request in self.after_turn.take_requests() {
                self.refuse(&request);
            }
            return self.deliver_held(progress).await;
        }
        if self.holds_messages() || self.interrupting.is_some() {
            return Ok(());
        }
        // After a command the messages that it held back come first.
        self.deliver_held(progress).await?;
        if self.holds_messages() || self.after_turn.is_empty() {
            return Ok(());
        }
        match self.after_turn.pause {
            // The session would pause before inputs that wait in it, although they came first.
            Pause::None if !progress.inputs.0.iter().any(Sent::waits) => {
                let queue = self.session.queue();
                // A session that has ended has nothing to pause.
                let asked = tokio::spawn(async move { queue.pause().await.ok() });
                self.after_turn.pause = Pause::Asked(asked);
                return Ok(());
            }
            Pause::None | Pause::Asked(_) => return Ok(()),
            Pause::Granted { .. } => {}
        }
        // Nothing runs in the session. Inputs that do not wait in it have ended, and the ends that were
        // not printed yet come first.
        let waiting = self.session.queue().list().await.unwrap_or_default();
        let waits = |sent: &Sent| waiting.iter().any(|input| input.input == *sent.chat.input());
        if !progress.inputs.0.iter().all(waits) {
            return Ok(());
        }
        while let Some(Held::Request(_)) = self.after_turn.held.front() {
            if let Some(Held::Request(request)) = self.after_turn.held.pop_front() {
                self.requests.handle(request).await;
            }
        }
        self.after_turn.pause = Pause::None;
        self.deliver_held(progress).await
    }

    /// Delivers the messages up to the next request, which waits for their turns. A message that names
    /// a command is the last one: the others wait for its end.
    async fn deliver_held(&mut self, progress: &mut Progress) -> anyhow::Result<()> {
        // After a signal, or without a reader, what is held is not sent: it would start a turn.
        while !progress.stopping() && !self.holds_messages() && self.interrupting.is_none() {
            match self.after_turn.held.pop_front() {
                Some(Held::Message(message)) => self.deliver(message, progress).await?,
                Some(Held::Again(content, from_host)) => {
                    self.send(content, from_host, progress).await?;
                }
                Some(request @ Held::Request(_)) => {
                    self.after_turn.held.push_front(request);
                    break;
                }
                None => break,
            }
        }
        Ok(())
    }
}
