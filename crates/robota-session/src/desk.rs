//! Where questions about calls lie until somebody answers: a handler, or a client that decides.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use robota_core::approve::{Answer, Approver, NobodyToAsk, Question, RuleSink, Scope};
use robota_core::gate::Gate;
use robota_core::ids::CallId;
use tokio::sync::oneshot;

use crate::error::SessionError;

/// Who answers when a call needs somebody's word (SESS-04).
#[derive(Clone, Default)]
pub enum Approvals {
    /// Nobody: what would be asked is denied. The default.
    #[default]
    Deny,
    /// Whoever calls [`crate::Permissions::decide`]; the session is paused meanwhile.
    Decide,
    /// This handler, or whoever decides first.
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
pub(crate) struct Desk {
    approvals: Approvals,
    gate: Arc<dyn Gate>,
    sink: Option<Arc<dyn RuleSink>>,
    open: Mutex<IndexMap<CallId, Open>>,
}

struct Open {
    question: Question,
    answer: oneshot::Sender<Answer>,
}

impl Desk {
    pub(crate) fn new(
        approvals: Approvals,
        gate: Arc<dyn Gate>,
        sink: Option<Arc<dyn RuleSink>>,
    ) -> Self {
        Self { approvals, gate, sink, open: Mutex::default() }
    }

    /// Whether a question waits for a client, so that nobody may wait for its answer.
    pub(crate) fn waits_for_clients(&self) -> bool {
        matches!(self.approvals, Approvals::Decide)
    }

    /// The questions that wait, oldest first.
    pub(crate) fn pending(&self) -> Vec<Question> {
        self.lock().values().map(|open| open.question.clone()).collect()
    }

    /// Answers a question.
    pub(crate) async fn decide(
        &self,
        call: &CallId,
        decision: Decision,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        let not_asked = || SessionError::NotAsked(call.clone());
        let Open { question, answer } = self.lock().shift_remove(call).ok_or_else(not_asked)?;
        let said = match decision {
            Decision::Allow(Scope::Once) => Answer::Allow { note },
            Decision::Allow(scope) => self.keep(&question, scope, note).await,
            Decision::Deny => Answer::Deny { note },
        };
        answer.send(said).map_err(|_| not_asked())
    }

    /// A yes that reaches further: the narrow rules that were shown are kept, as far as they can
    /// be. What cannot be kept is said in the note; the call itself may run.
    async fn keep(&self, question: &Question, scope: Scope, note: Option<String>) -> Answer {
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

    fn lock(&self) -> MutexGuard<'_, IndexMap<CallId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a question off the desk, also when it is withdrawn.
struct Lying<'a>(&'a Desk, CallId);

impl Drop for Lying<'_> {
    fn drop(&mut self) {
        self.0.lock().shift_remove(&self.1);
    }
}

#[async_trait::async_trait]
impl Approver for Desk {
    async fn ask(&self, question: Question) -> Answer {
        let handler = match &self.approvals {
            Approvals::Deny => return NobodyToAsk.ask(question).await,
            Approvals::Decide => None,
            Approvals::Handler(handler) => Some(handler.clone()),
        };
        let (answer, mut decided) = oneshot::channel();
        let call = question.call.call.clone();
        self.lock().insert(call.clone(), Open { question: question.clone(), answer });
        let lying = Lying(self, call);
        let handled = async {
            match handler {
                Some(handler) => handler.ask(question.clone()).await,
                None => std::future::pending().await,
            }
        };
        let said = tokio::select! {
            biased;
            decided = &mut decided => return decided.unwrap_or(Answer::Deny { note: None }),
            said = handled => said,
        };
        drop(lying);
        match said {
            Answer::Remember { scope, note, .. } => self.keep(&question, scope, note).await,
            said @ (Answer::Allow { .. } | Answer::Deny { .. }) => said,
        }
    }
}
