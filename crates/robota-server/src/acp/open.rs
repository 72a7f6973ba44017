//! An open session: the task that follows its events, and what the editor chose for it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::approve::Question;
use robota_core::event::{Event, TurnFinished};
use robota_core::ids::CallId;
use robota_sdk::{HostError, HostedSession, InteractiveSession, Notice};
use robota_session::{EventFilter, SessionError, StartAt, Subscription};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::connection::Connection;
use super::message_order::{MessageOrder, PromptPlace, Turn};
use super::project::{self, Projection, Time, Understood};
use super::v1::{Notification, Update};
use super::{options, permission};

/// How many events are read from the journal at a time; a long session is not held in memory as a
/// whole.
const PAGE: usize = 1_024;

/// Which events before the opening of the session are sent to the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// Nothing: the editor keeps the conversation itself (`session/resume`).
    Silent,
    /// Everything, as updates (`session/load`).
    Replayed,
}

/// The last event that was sent to the editor.
#[derive(Debug, Clone, Default)]
pub(super) struct LastSent {
    /// The number of the last event whose updates were all sent.
    pub(super) seq: u64,
    /// The end of the last turn, and the number of its event.
    pub(super) turn: Option<(u64, Arc<TurnFinished>)>,
}

pub(super) struct Open {
    pub(super) session: InteractiveSession,
    hosted: Arc<Mutex<HostedSession>>,
    connection: Arc<Connection>,
    sent: watch::Receiver<LastSent>,
    follower: AbortHandle,
    messages: MessageOrder,
    /// Messages for the user, until they are forwarded.
    notices: Mutex<Option<mpsc::UnboundedReceiver<Notice>>>,
}

impl Open {
    /// Returns whether this is the folder of the session.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.session.project().is_none_or(|project| real(project.cwd()) == real(folder))
    }

    /// Starts to follow a session. When this returns, the earlier events have been sent to the editor.
    pub(super) async fn start(
        connection: Arc<Connection>,
        hosted: HostedSession,
        earlier: Earlier,
        understood: Understood,
        notices: Option<mpsc::UnboundedReceiver<Notice>>,
    ) -> Result<Self, HostError> {
        let session = hosted.session.clone();
        let cwd = session.project().map(|project| project.cwd().to_owned()).unwrap_or_default();
        let (blobs, mut from) = (session.session().journal().blobs(), session.opened_at());
        let mut projection;
        match earlier {
            Earlier::Replayed => {
                // Counted from the replayed events, which are all of them.
                let costs = robota_sdk::Costs::default();
                projection = Projection::new(Time::Earlier, understood, cwd, blobs, costs);
                from = replay(&connection, &session, &mut projection).await?;
                projection.go_live();
            }
            Earlier::Silent => {
                let costs = match from {
                    // Earlier events are not read in this case, so their price has to be asked for.
                    StartAt::Start => robota_sdk::Costs::default(),
                    StartAt::Now | StartAt::After(_) => session.spending().costs().await?,
                };
                projection = Projection::new(Time::Now, understood, cwd, blobs, costs);
                if from != StartAt::Start {
                    // Not the position of the opening: what happened in between was part of opening
                    // and is no news.
                    from = StartAt::Now;
                }
            }
        }
        let events = session.session().subscribe(from, EventFilter::Everything).await?;
        let (sent_tx, sent) = watch::channel(LastSent::default());
        let hosted = Arc::new(Mutex::new(hosted));
        let follower = Follower {
            connection: connection.clone(),
            session: session.clone(),
            hosted: hosted.clone(),
            projection,
            asked: HashMap::new(),
            asked_for_agents: HashMap::new(),
            sent: sent_tx,
        };
        let follower = tokio::spawn(follower.run(events)).abort_handle();
        let (messages, notices) = (MessageOrder::default(), Mutex::new(notices));
        Ok(Self { session, hosted, connection, sent, follower, messages, notices })
    }

    /// Returns the session with its choices.
    pub(super) fn hosted(&self) -> HostedSession {
        self.hosted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what the editor chose.
    pub(super) fn choose(&self, change: impl FnOnce(&mut HostedSession)) {
        change(&mut self.hosted.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends an update of this session.
    pub(super) async fn update(&self, update: &Update) {
        send(&self.connection, &self.session, update).await;
    }

    /// Sends the names and descriptions of the commands that a prompt can start with.
    pub(super) async fn send_commands(&self) {
        self.update(&project::commands(self.session.commands().list(""))).await;
    }

    /// Sends what an editor accepts only after it knows the session.
    pub(super) async fn announce(&self) {
        self.send_commands().await;
        let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut notices) = notices else { return };
        let (connection, id) = (self.connection.clone(), self.session.id().to_string());
        // It ends with the session, which holds the other end.
        tokio::spawn(async move {
            while let Some(notice) = notices.recv().await {
                let (severity, title) = match notice {
                    Notice::Error(text) => ("error", text),
                    Notice::Note(text) => ("warning", text),
                    Notice::Hint(text) => ("info", text),
                };
                let update = Update::Notice { severity, title };
                let notification = Notification { session_id: &id, update: &update };
                connection.notify("session/update", &notification).await;
            }
        });
    }

    /// Sends the choices of the session.
    pub(super) async fn send_options(&self) {
        let config_options = options::config(&self.hosted());
        self.update(&Update::ConfigOptionUpdate { config_options }).await;
    }

    /// Waits until everything up to an event was sent to the editor. Returns the end of the turn of
    /// that event.
    pub(super) async fn wait_sent(&self, seq: u64) -> Option<Arc<TurnFinished>> {
        let mut sent = self.sent.clone();
        let sent = sent.wait_for(|sent| sent.seq >= seq).await.ok()?;
        sent.turn.as_ref().filter(|(at, _)| *at == seq).map(|(_, turn)| turn.clone())
    }

    /// Takes a prompt's place among the messages of the editor.
    pub(super) fn accept_prompt(&self) -> PromptPlace {
        self.messages.accept()
    }

    /// Takes a message's turn among those that change the session.
    pub(super) fn turn(&self) -> Turn {
        self.messages.turn()
    }

    /// Cancels what was sent so far. The returned future stops the turn that runs; prompts that are
    /// accepted from now on wait for it.
    pub(super) fn cancel(self: Arc<Self>) -> impl Future<Output = Result<(), HostError>> {
        let place = self.messages.cancel();
        async move {
            self.session.abort().await?;
            drop(place);
            Ok(())
        }
    }

    /// Closes the session. It can be opened again.
    pub(super) async fn close(&self, reason: &str) -> Result<(), HostError> {
        let ended = self.session.shutdown(reason).await;
        // Not before the end: until then it sends the events of the session.
        self.follower.abort();
        Ok(ended?)
    }
}

async fn send(connection: &Connection, session: &InteractiveSession, update: &Update) {
    let notification = Notification { session_id: session.id().as_str(), update };
    connection.notify("session/update", &notification).await;
}

/// Sends the earlier events to the editor. Returns where the later ones begin.
async fn replay(
    connection: &Connection,
    session: &InteractiveSession,
    projection: &mut Projection,
) -> Result<StartAt, SessionError> {
    let journal = session.session().journal();
    let mut after = None;
    loop {
        let page = journal.read(after, PAGE).await?;
        for event in &page {
            after = Some(event.cursor());
            for update in projection.push(&event.envelope).await {
                send(connection, session, &update).await;
            }
        }
        if page.len() < PAGE {
            return Ok(after.map_or(StartAt::Start, StartAt::After));
        }
    }
}

/// Follows the events of a session.
struct Follower {
    connection: Arc<Connection>,
    session: InteractiveSession,
    hosted: Arc<Mutex<HostedSession>>,
    projection: Projection,
    /// The questions that the user is asked.
    asked: HashMap<CallId, AbortHandle>,
    /// The questions of agents that the user is asked. They do not end with the turn of this session.
    asked_for_agents: HashMap<CallId, AbortHandle>,
    sent: watch::Sender<LastSent>,
}

impl Follower {
    async fn run(mut self, mut events: Subscription) {
        let mut questions = self.session.session().permissions().pending_changes();
        loop {
            // Questions of subagents are no events of this session, so they are watched on their
            // own.
            let event = tokio::select! {
                event = events.next_event() => event,
                Ok(()) = questions.changed() => {
                    self.ask_for_agents();
                    continue;
                }
            };
            let Some(Ok(event)) = event else { return };
            for update in self.projection.push(&event.envelope).await {
                send(&self.connection, &self.session, &update).await;
            }
            // The mode can change without the editor: by a command or by the plan tools. Pickers
            // must show it.
            if let Event::ModeChanged(_) = event.event() {
                let hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let config_options = options::config(&hosted);
                let update = Update::ConfigOptionUpdate { config_options };
                send(&self.connection, &self.session, &update).await;
            }
            self.ask(event.event());
            let seq = event.cursor().seq;
            let turn = match event.event() {
                Event::TurnFinished(turn) => Some((seq, Arc::new(turn.clone()))),
                _ => None,
            };
            // Only now: a prompt is answered once all its updates are in front of the response.
            self.sent.send_modify(|sent| {
                sent.seq = seq;
                sent.turn = turn.or_else(|| sent.turn.take());
            });
        }
    }

    fn start_asking(&self, question: Question) -> AbortHandle {
        let (connection, session) = (self.connection.clone(), self.session.clone());
        let asking = async move { permission::ask(&connection, &session, question).await };
        tokio::spawn(asking).abort_handle()
    }

    /// Asks the user about calls of agents, and withdraws the questions that were decided.
    fn ask_for_agents(&mut self) {
        let pending = self.session.approvals().into_iter();
        let pending: Vec<_> = pending.filter(|question| question.agent.is_some()).collect();
        self.asked_for_agents.retain(|call, asking| {
            let open = pending.iter().any(|question| question.call.call == *call);
            if !open {
                asking.abort();
            }
            open
        });
        for question in pending {
            let call = question.call.call.clone();
            // The watch also changes for other reasons. A question is shown once.
            if !self.asked_for_agents.contains_key(&call) {
                let asking = self.start_asking(question);
                self.asked_for_agents.insert(call, asking);
            }
        }
    }

    /// Asks the user about a call, and withdraws the question once it is decided.
    fn ask(&mut self, event: &Event) {
        match event {
            Event::PermissionAsked(data) => {
                let mut pending = self.session.approvals().into_iter();
                // A hook or another client may have decided since the event was written.
                let question = pending.find(|question| question.call.call == data.call);
                let Some(question) = question else { return };
                let asking = self.start_asking(question);
                self.asked.insert(data.call.clone(), asking);
            }
            Event::PermissionDecided(data) => {
                if let Some(asking) = self.asked.remove(&data.call) {
                    asking.abort();
                }
            }
            Event::Interrupted(_) | Event::TurnFinished(_) => {
                self.asked.drain().for_each(|(_, asking)| asking.abort());
            }
            _ => {}
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let asked = self.asked.drain().chain(self.asked_for_agents.drain());
        asked.for_each(|(_, asking)| asking.abort());
    }
}
