//! Approvals: asks the users of MCP hosts about the calls of a session.
//!
//! Each call is asked about once, even if several tool calls of hosts wait for the same agent. A question
//! stays open when the tool call that asked has ended: it answers within a minute, and a user may need
//! longer. The answer is applied whenever it comes. Another tool call asks if the host cancels the one that
//! asked, or cannot ask. When the tool call that asked has ended, those of other hosts ask too: its user may
//! be away. The first answer counts.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use robota_core::approve::{Question, Scope};
use robota_core::ids::CallId;
use robota_mcp::server::{Asked, McpHost, OpenQuestion};
use robota_session::{Decision, Permissions};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a question counts as shown by a host that may have dropped it. It is shown again then, and either
/// answer counts.
const SHOWN: Duration = Duration::from_secs(120);
const ALLOW: &str = "allow";
const ALLOW_SESSION: &str = "allow_session";
const DENY: &str = "deny";

/// The questions about the calls of one session.
#[derive(Clone)]
pub(super) struct Questions {
    permissions: Permissions,
    asked: Arc<Mutex<AskedCalls>>,
    /// Notified when a question has ended without an answer, or a tool call that could ask has ended.
    unanswered: watch::Sender<()>,
}

#[derive(Default)]
struct AskedCalls {
    /// The calls about which users are being asked.
    open: HashMap<CallId, Vec<Asking>>,
    /// The tool calls of hosts that wait, each with the calls about which its host could not ask.
    waiters: HashMap<u64, HashSet<CallId>>,
    /// The number of the next waiter.
    next: u64,
}

/// A question about a call that a user is being asked.
struct Asking {
    /// The waiter that asked.
    waiter: u64,
    /// The connection of its host.
    connection: u64,
    /// When its host is asked again; none if it shows the question until it is settled.
    again: Option<Instant>,
}

impl Asking {
    /// Returns whether a host with this connection shows the question.
    fn is_shown(&self, connection: u64) -> bool {
        self.connection == connection && self.again.is_none_or(|again| Instant::now() < again)
    }
}

/// Who decides about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decider {
    /// The user of a host is being asked, or will be asked by another waiter.
    User,
    /// No host that waits can ask its user.
    Nobody,
}

/// A tool call of a host that waits for a session, and asks the user of that host.
pub(super) struct Waiter {
    questions: Questions,
    number: u64,
    /// Cancelled when the host no longer wants the answers.
    gave_up: CancellationToken,
    unanswered: watch::Receiver<()>,
}

impl Questions {
    pub(super) fn new(permissions: Permissions) -> Self {
        Self { permissions, asked: Arc::default(), unanswered: watch::Sender::default() }
    }

    /// Registers a call of a host that waits for the agent, and may therefore ask its user.
    pub(super) fn waiter(&self) -> Waiter {
        let unanswered = self.unanswered.subscribe();
        let mut asked = self.lock();
        let number = asked.next;
        asked.next += 1;
        asked.waiters.insert(number, HashSet::new());
        drop(asked);
        Waiter { questions: self.clone(), number, gave_up: CancellationToken::new(), unanswered }
    }

    /// Denies a call for which there is no one to ask.
    pub(super) async fn deny(&self, call: &CallId, note: &str) {
        // Fails if the turn was interrupted meanwhile; then the answer is not needed.
        let _ = self.permissions.decide(call, Decision::Deny, Some(note.to_owned())).await;
    }

    fn lock(&self) -> MutexGuard<'_, AskedCalls> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self, call: &CallId) -> bool {
        self.permissions.pending().iter().any(|question| question.call.call == *call)
    }

    /// Returns when a call no longer waits for a decision.
    async fn settled(&self, call: &CallId) {
        let mut changes = self.permissions.pending_changes();
        while self.waits(call) && changes.changed().await.is_ok() {}
    }
}

impl Waiter {
    /// Asks the user of a host about a call, unless a user is being asked already. The answer is applied
    /// by a task of its own.
    pub(super) async fn ask(&self, host: &McpHost, question: &Question) -> Decider {
        let call = &question.call.call;
        let again = host.may_drop_questions().then(|| Instant::now() + SHOWN);
        let asking = Asking { waiter: self.number, connection: host.connection(), again };
        let begun = self.questions.lock().begin(asking, call);
        if let Some(decider) = begun {
            return decider;
        }
        // Forgets the question if this future is dropped before the task has it.
        let mut open = OpenCall {
            questions: self.questions.clone(),
            call: call.clone(),
            waiter: self.number,
            refused: false,
        };
        if !self.questions.waits(call) {
            // It was decided after the caller looked.
            return Decider::User;
        }
        if let Some(sent) = host.begin_ask(&message(question), schema(&question.rules)).await {
            tokio::spawn(open.settle(sent, self.gave_up.clone()));
            return Decider::User;
        }
        open.refused = true;
        drop(open);
        self.others(call)
    }

    /// Waits until a call may have to be asked about again.
    pub(super) async fn unanswered(&mut self) {
        // Cannot fail: the questions own the sender.
        let _ = self.unanswered.changed().await;
    }

    /// Withdraws the questions of this waiter, because its host cancelled it. Another waiter asks.
    pub(super) fn give_up(&self) {
        self.gave_up.cancel();
    }

    /// Returns who decides about a call that the host of this waiter cannot ask about.
    fn others(&self, call: &CallId) -> Decider {
        self.questions.lock().other_than(self.number, call)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.questions.lock().waiters.remove(&self.number);
        // Another waiter may count on this one.
        self.questions.unanswered.send_replace(());
    }
}

impl AskedCalls {
    /// Opens the question of a waiter about a call; returns who decides if this waiter does not ask.
    fn begin(&mut self, new: Asking, call: &CallId) -> Option<Decider> {
        let waiter = new.waiter;
        let mut asking = self.open.get(call).into_iter().flatten();
        // A host must not show its question twice.
        if asking.any(|it| it.is_shown(new.connection) || self.waiters.contains_key(&it.waiter)) {
            return Some(Decider::User);
        }
        if self.waiters.get(&waiter).is_some_and(|refused| refused.contains(call)) {
            return Some(self.other_than(waiter, call));
        }
        self.open.entry(call.clone()).or_default().push(new);
        None
    }

    /// Closes the question of a waiter about a call.
    fn end(&mut self, waiter: u64, call: &CallId) {
        if let Some(asking) = self.open.get_mut(call) {
            asking.retain(|it| it.waiter != waiter);
        }
        self.open.retain(|_, asking| !asking.is_empty());
    }

    /// Returns who decides about a call that one waiter cannot ask about.
    fn other_than(&self, waiter: u64, call: &CallId) -> Decider {
        let mut others = self.waiters.iter().filter(|(number, _)| **number != waiter);
        let asks =
            self.open.contains_key(call) || others.any(|(_, refused)| !refused.contains(call));
        if asks { Decider::User } else { Decider::Nobody }
    }
}

/// A call about which a user is being asked. It is no longer one when this is dropped.
struct OpenCall {
    questions: Questions,
    call: CallId,
    waiter: u64,
    /// Whether the host could not ask.
    refused: bool,
}

impl OpenCall {
    /// Waits for the answer and applies it.
    async fn settle(mut self, sent: OpenQuestion, gave_up: CancellationToken) {
        let (questions, call) = (self.questions.clone(), self.call.clone());
        let unneeded = async {
            tokio::select! {
                () = questions.settled(&call) => {}
                () = gave_up.cancelled() => {}
            }
        };
        let decision = match sent.answer(unneeded).await {
            // The turn was interrupted, the call was decided by other means, or the host cancelled the
            // tool call that asked.
            None => return,
            Some(Asked::Gone) => return,
            Some(Asked::Unsupported) => {
                self.refused = true;
                return;
            }
            Some(Asked::Declined) => Decision::Deny,
            Some(Asked::Accepted(form)) => match form.get("decision").and_then(Value::as_str) {
                Some(ALLOW) => Decision::Allow(Scope::Once),
                Some(ALLOW_SESSION) => Decision::Allow(Scope::Session),
                // A form that is not understood denies.
                _ => Decision::Deny,
            },
        };
        // Fails if the turn was interrupted meanwhile; then the answer is not needed.
        let _ = questions.permissions.decide(&call, decision, None).await;
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let mut asked = self.questions.lock();
        asked.end(self.waiter, &self.call);
        if self.refused
            && let Some(refused) = asked.waiters.get_mut(&self.waiter)
        {
            refused.insert(self.call.clone());
        }
        drop(asked);
        if self.questions.waits(&self.call) {
            self.questions.unanswered.send_replace(());
        }
    }
}

/// Says what the call does and why it needs approval.
fn message(question: &Question) -> String {
    let input = question.call.input.json().map(ToString::to_string).unwrap_or_default();
    // Hosts show the message in a dialog; more would hide the buttons.
    let shown: String = input.chars().take(2_000).collect();
    let agent = question.agent.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default();
    format!("Allow {} {shown}{agent}? {}", question.call.name, question.reason)
}

fn schema(rules: &[String]) -> Value {
    let mut values = vec![ALLOW];
    let mut names = vec!["Allow".to_owned()];
    if !rules.is_empty() {
        values.push(ALLOW_SESSION);
        names.push(format!("Allow in this session: {}", rules.join(", ")));
    }
    values.push(DENY);
    names.push("Deny".to_owned());
    let decision =
        // `enumNames` is no JSON Schema, but it is how MCP forms name their values.
        json!({"type": "string", "title": "Decision", "enum": values, "enumNames": names});
    json!({"type": "object", "properties": {"decision": decision}, "required": ["decision"]})
}

#[cfg(test)]
mod tests;
