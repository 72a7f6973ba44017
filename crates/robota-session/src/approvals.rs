//! Approvals: questions about calls wait here until a handler or a client answers them. A question
//! is queued before the journal says that it is asked, so that no answer comes too early.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use robota_core::approve::{Answer, Approver, NoApprover, Question, RuleSink, Scope};
use robota_core::gate::Gate;
use robota_core::ids::CallId;
use tokio::sync::oneshot;

use crate::error::SessionError;

/// Who answers when a call needs approval (SESS-04).
#[derive(Clone, Default)]
pub enum Approvals {
    /// Nobody: every question is denied. The default.
    #[default]
    Deny,
    /// Clients, through [`crate::Permissions::decide`]; the session is paused meanwhile.
    Decide,
    /// This handler, or a client that decides first.
    Handler(Arc<dyn Approver>),
}

/// What is decided about a call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may run; calls like it may too, as far as the scope says.
    Allow(Scope),
    /// It may not.
    Deny,
}

/// Asks for approval with a function.
pub fn approver_fn<F, R>(ask: F) -> Arc<dyn Approver>
where
    F: Fn(Question) -> R + Send + Sync + 'static,
    R: Future<Output = Answer> + Send + 'static,
{
    Arc::new(FnApprover(Box::new(move |question| Box::pin(ask(question)))))
}

type Asked = futures::future::BoxFuture<'static, Answer>;

struct FnApprover(Box<dyn Fn(Question) -> Asked + Send + Sync>);

#[async_trait::async_trait]
impl Approver for FnApprover {
    async fn ask(&self, question: Question) -> Answer {
        (self.0)(question).await
    }
}

/// The questions of one session.
pub(crate) struct ApprovalQueue {
    approvals: Approvals,
    gate: Arc<dyn Gate>,
    sink: Option<Arc<dyn RuleSink>>,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    /// Questions nobody has answered.
    questions: IndexMap<CallId, (Question, oneshot::Sender<Answer>)>,
    /// Receivers of the answers to questions that were announced and are not asked yet.
    answers: HashMap<CallId, oneshot::Receiver<Answer>>,
}

impl ApprovalQueue {
    pub(crate) fn new(
        approvals: Approvals,
        gate: Arc<dyn Gate>,
        sink: Option<Arc<dyn RuleSink>>,
    ) -> Self {
        Self { approvals, gate, sink, pending: Mutex::default() }
    }

    /// Whether only a client can answer.
    pub(crate) fn waits_for_clients(&self) -> bool {
        matches!(self.approvals, Approvals::Decide)
    }

    /// The questions that wait, oldest first.
    pub(crate) fn pending(&self) -> Vec<Question> {
        self.lock().questions.values().map(|(question, _)| question.clone()).collect()
    }

    /// Answers a question. The answer counts even if the caller drops this future.
    pub(crate) async fn decide(
        self: &Arc<Self>,
        call: &CallId,
        decision: Decision,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        let not_asked = || SessionError::NotAsked(call.clone());
        let taken = self.lock().questions.shift_remove(call);
        let (question, answer) = taken.ok_or_else(not_asked)?;
        let queue = Arc::clone(self);
        // Saving a rule takes time; a task of its own survives a caller that goes away.
        let answering = tokio::spawn(async move {
            let said = match decision {
                Decision::Allow(Scope::Once) => Answer::Allow { note },
                Decision::Allow(scope) => queue.remember(&question, scope, note).await,
                Decision::Deny => Answer::Deny { note },
            };
            answer.send(said).is_ok()
        });
        match answering.await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(not_asked()),
        }
    }

    /// Approves with a wider scope: remembers, and for [`Scope::Always`] saves, the narrow rules that
    /// were shown. If that fails the call may still run, and the note says what was not kept.
    async fn remember(&self, question: &Question, scope: Scope, note: Option<String>) -> Answer {
        let add =
            |why: String| Some(note.as_ref().map_or(why.clone(), |note| format!("{note} ({why})")));
        let rules = question.rules.clone();
        if rules.is_empty() {
            return Answer::Allow {
                note: add("for this call only: no rule is narrow enough".into()),
            };
        }
        if let Err(error) = self.gate.remember(&rules) {
            return Answer::Allow { note: add(format!("for this call only: {error}")) };
        }
        if scope == Scope::Session {
            return Answer::Remember { scope, rules, note };
        }
        let saved = match &self.sink {
            Some(sink) => sink.save(&rules).await.map_err(|error| error.message),
            None => Err("nobody saves rules here".to_owned()),
        };
        match saved {
            Ok(()) => Answer::Remember { scope: Scope::Always, rules, note },
            Err(error) => {
                let note = add(format!("for this session only: {error}"));
                Answer::Remember { scope: Scope::Session, rules, note }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Withdraws a question when it is dropped.
struct PendingGuard<'a>(&'a ApprovalQueue, CallId);

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        self.0.withdraw(&self.1);
    }
}

#[async_trait::async_trait]
impl Approver for ApprovalQueue {
    fn announce(&self, question: &Question) {
        if matches!(self.approvals, Approvals::Deny) {
            return;
        }
        let (answer, decided) = oneshot::channel();
        let call = question.call.call.clone();
        let mut pending = self.lock();
        pending.questions.insert(call.clone(), (question.clone(), answer));
        pending.answers.insert(call, decided);
    }

    fn withdraw(&self, call: &CallId) {
        let mut pending = self.lock();
        pending.questions.shift_remove(call);
        pending.answers.remove(call);
    }

    async fn ask(&self, question: Question) -> Answer {
        let handler = match &self.approvals {
            Approvals::Deny => return NoApprover.ask(question).await,
            Approvals::Decide => None,
            Approvals::Handler(handler) => Some(handler.clone()),
        };
        let call = question.call.call.clone();
        let announced = self.lock().answers.remove(&call);
        let decided = match announced {
            Some(decided) => decided,
            None => {
                self.announce(&question);
                let Some(decided) = self.lock().answers.remove(&call) else {
                    return Answer::Deny { note: None };
                };
                decided
            }
        };
        let guard = PendingGuard(self, call);
        let handled = async {
            match handler {
                Some(handler) => handler.ask(question.clone()).await,
                None => std::future::pending().await,
            }
        };
        let said = tokio::select! {
            biased;
            decided = decided => {
                let failed = || Answer::Deny { note: Some("the approval failed".to_owned()) };
                return decided.unwrap_or_else(|_| failed());
            }
            said = handled => said,
        };
        drop(guard);
        match said {
            Answer::Remember { scope, note, .. } => self.remember(&question, scope, note).await,
            said @ (Answer::Allow { .. } | Answer::Deny { .. }) => said,
        }
    }
}
