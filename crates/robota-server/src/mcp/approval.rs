//! Approvals: asks the users of MCP hosts about the calls of a session.
//!
//! Each call is asked about once, even if several tool calls of hosts wait for the same agent. A question
//! stays open when the tool call that asked has ended: hosts cancel calls after about a minute, and a user
//! may need longer. The answer is applied whenever it comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::approve::{Question, Scope};
use robota_core::ids::CallId;
use robota_mcp::server::{Asked, McpHost, OpenQuestion};
use robota_session::{Decision, Permissions};
use serde_json::{Value, json};
use tokio::sync::watch;

const ALLOW: &str = "allow";
const ALLOW_SESSION: &str = "allow_session";
const DENY: &str = "deny";

/// The questions about the calls of one session.
#[derive(Clone)]
pub(super) struct Questions {
    permissions: Permissions,
    asked: Arc<Mutex<HashMap<CallId, State>>>,
    /// Notified when a question has ended without an answer.
    unanswered: watch::Sender<()>,
}

/// A question that was sent to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The user has not answered.
    Open,
    /// The host could not ask its user.
    Refused,
}

/// Who decides about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decider {
    /// The user of a host is being asked.
    User,
    /// Nobody: the host cannot ask its user.
    Nobody,
}

impl Questions {
    pub(super) fn new(permissions: Permissions) -> Self {
        Self { permissions, asked: Arc::default(), unanswered: watch::Sender::default() }
    }

    /// Returns a receiver that is notified when a question has ended without an answer.
    pub(super) fn unanswered(&self) -> watch::Receiver<()> {
        self.unanswered.subscribe()
    }

    /// Asks the user of a host about a call, unless a user is being asked already. The answer is applied
    /// by a task of its own.
    pub(super) async fn ask(&self, host: &McpHost, question: &Question) -> Decider {
        let call = question.call.call.clone();
        let waiting = self.permissions.pending();
        {
            let mut asked = self.lock();
            // Those of calls that were decided by other means.
            asked.retain(|call, state| {
                *state == State::Open || waiting.iter().any(|other| other.call.call == *call)
            });
            match asked.get(&call) {
                Some(State::Open) => return Decider::User,
                Some(State::Refused) => return Decider::Nobody,
                None => asked.insert(call.clone(), State::Open),
            };
        }
        // Forgets the question if this future is dropped before the task has it.
        let open = OpenState { questions: self.clone(), call, left: None };
        if !self.waits(&open.call) {
            // It was decided after the caller looked.
            return Decider::User;
        }
        let sent = host.begin_ask(&message(question), schema(&question.rules)).await;
        let Some(sent) = sent else { return Decider::Nobody };
        tokio::spawn(open.settle(sent));
        Decider::User
    }

    /// Denies a call that nobody can be asked about.
    pub(super) async fn deny(&self, call: &CallId, note: &str) {
        // Fails if the turn was interrupted meanwhile; then the answer is not needed.
        let _ = self.permissions.decide(call, Decision::Deny, Some(note.to_owned())).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, State>> {
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

/// The state of a question that is open; it is replaced by `left`, or removed, at the end.
struct OpenState {
    questions: Questions,
    call: CallId,
    left: Option<State>,
}

impl OpenState {
    /// Waits for the answer and applies it.
    async fn settle(mut self, sent: OpenQuestion) {
        let (questions, call) = (self.questions.clone(), self.call.clone());
        let decision = match sent.answer(questions.settled(&call)).await {
            // The turn was interrupted, or the call was decided by other means.
            None => return,
            Some(Asked::Gone) => return,
            Some(Asked::Unsupported) => {
                self.left = Some(State::Refused);
                return;
            }
            Some(Asked::Declined) => Decision::Deny,
            Some(Asked::Accepted(form)) => match form.get("decision").and_then(Value::as_str) {
                Some(ALLOW) => Decision::Allow(Scope::Once),
                Some(ALLOW_SESSION) => Decision::Allow(Scope::Session),
                _ => Decision::Deny,
            },
        };
        // Fails if the turn was interrupted meanwhile; then the answer is not needed.
        let _ = questions.permissions.decide(&call, decision, None).await;
    }
}

impl Drop for OpenState {
    fn drop(&mut self) {
        let waits = self.questions.waits(&self.call);
        let mut asked = self.questions.lock();
        match self.left.filter(|_| waits) {
            Some(left) => asked.insert(self.call.clone(), left),
            None => asked.remove(&self.call),
        };
        drop(asked);
        if waits {
            self.questions.unanswered.send_replace(());
        }
    }
}

/// Says what the call does and why it needs approval.
fn message(question: &Question) -> String {
    let input = question.call.input.json().map(ToString::to_string).unwrap_or_default();
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
        json!({"type": "string", "title": "Decision", "enum": values, "enumNames": names});
    json!({"type": "object", "properties": {"decision": decision}, "required": ["decision"]})
}
