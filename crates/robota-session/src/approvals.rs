//! Approvals: questions about calls wait here until a handler or a client answers them. A question
//! is queued before the journal records it, so that an immediate answer finds it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use robota_core::approve::{Answer, Approver, NoApprover, Question, RuleSink, Scope};
use robota_core::gate::Gate;
use robota_core::guard::{drop_guarded, guarded, guarded_async};
use robota_core::hook::{EventDecision, HookData, HookEvent, Hooks as _, NotificationType};
use robota_core::ids::{CallId, SessionId};
use robota_core::permission::{PermissionUpdate, RuleUpdate, UpdateDestination, Verdict};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::error::SessionError;
use crate::hooks::HookChain;

/// Who decides when a call needs approval (SESS-04).
///
/// ```
/// use robota_core::approve::Answer;
/// use robota_session::{Approvals, approver_fn};
///
/// let approver = approver_fn(|_question| async { Answer::Allow { note: None } });
/// let approvals = Approvals::Handler(approver);
/// # drop(approvals);
/// ```
#[derive(Clone, Default)]
pub enum Approvals {
    /// Every question is denied. The default.
    #[default]
    Deny,
    /// Clients decide, through [`crate::Permissions::decide`]; the session is paused until then.
    Decide,
    /// This handler decides, or a client that is faster.
    Handler(Arc<dyn Approver>),
}

/// What a client decides about a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call may run, and similar calls as far as the scope says.
    Allow(Scope),
    /// The call may not run; its result says that it was denied.
    Deny,
}

/// Makes an approver from an async function.
pub fn approver_fn<F, R>(ask: F) -> Arc<dyn Approver>
where
    F: Fn(Question) -> R + Send + Sync + 'static,
    R: Future<Output = Answer> + Send + 'static,
{
    Arc::new(FnApprover(Box::new(move |question| Box::pin(ask(question)))))
}

/// Makes an approver from a function that shows a text to a person and returns the line that the
/// person entered; `None` means that there is no more input. `y` or `yes` allows the call, `s` or
/// `session` also allows similar calls until the session ends, and everything else denies it.
///
/// ```
/// use robota_session::{Approvals, prompt_approver};
///
/// let approver = prompt_approver(|text| async move {
///     print!("{text}");
///     tokio::task::spawn_blocking(|| std::io::stdin().lines().next()?.ok()).await.ok()?
/// });
/// let approvals = Approvals::Handler(approver);
/// # drop(approvals);
/// ```
pub fn prompt_approver<F, R>(prompt: F) -> Arc<dyn Approver>
where
    F: Fn(String) -> R + Send + Sync + 'static,
    R: Future<Output = Option<String>> + Send + 'static,
{
    approver_fn(move |question| {
        let line = prompt(prompt_text(&question));
        async move {
            let Some(line) = line.await else {
                return Answer::Unanswered { reason: "there is no more input".to_owned() };
            };
            let (note, rules) = (None, question.rules);
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" => Answer::Allow { note },
                "s" | "session" if !rules.is_empty() => {
                    Answer::Remember { scope: Scope::Session, rules, note }
                }
                _ => Answer::Deny { note },
            }
        }
    })
}

fn prompt_text(question: &Question) -> String {
    let Question { call, reason, rules, .. } = question;
    let input = call.input.json().map(ToString::to_string).unwrap_or_default();
    let session = match rules.as_slice() {
        [] => String::new(),
        rules => format!(", [s]ession ({})", rules.join(", ")),
    };
    format!("{} {input}\n{reason}\nAllow it? [y]es{session}, [n]o: ", call.name)
}

type AnswerFuture = futures::future::BoxFuture<'static, Answer>;

struct FnApprover(Box<dyn Fn(Question) -> AnswerFuture + Send + Sync>);

#[async_trait::async_trait]
impl Approver for FnApprover {
    async fn ask(&self, question: Question) -> Answer {
        drop_guarded("the approver", (self.0)(question)).await
    }
}

/// The questions of one session.
pub(crate) struct ApprovalQueue {
    session: SessionId,
    approvals: Approvals,
    hooks: Arc<HookChain>,
    gate: Arc<dyn Gate>,
    sink: Option<Arc<dyn RuleSink>>,
    pending: Mutex<Pending>,
    /// Notified when a question is added or removed.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Pending {
    /// Questions without an answer, oldest first, with the sender that answers each.
    questions: IndexMap<CallId, (Question, oneshot::Sender<Answer>)>,
    /// Receivers of the answers to questions that were announced and not asked yet.
    answers: HashMap<CallId, oneshot::Receiver<Answer>>,
}

impl ApprovalQueue {
    pub(crate) fn new(
        session: SessionId,
        approvals: Approvals,
        hooks: Arc<HookChain>,
        gate: Arc<dyn Gate>,
        sink: Option<Arc<dyn RuleSink>>,
    ) -> Self {
        let (pending, changed) = (Mutex::default(), watch::Sender::default());
        Self { session, approvals, hooks, gate, sink, pending, changed }
    }

    /// Lets hooks decide about a call, and notifies them if they leave it to the user.
    async fn ask_hooks(&self, question: &Question) -> Option<Answer> {
        if self.hooks.has_event(HookEvent::PermissionRequest) {
            let data = HookData::permission_request(question);
            if let Some(answer) = self.hooks.run_event(data).await.approval(question) {
                return Some(answer.by_hook());
            }
        }
        if self.hooks.has_event(HookEvent::Notification) {
            let message = format!("Robota needs your permission to use {}", question.call.name);
            let data = HookData::notification(NotificationType::PermissionPrompt, message);
            let hooks = self.hooks.clone();
            // The user need not wait for it.
            drop(tokio::spawn(async move { hooks.run_event(data).await }));
        }
        None
    }

    /// Returns a receiver that is notified when a question is added or removed.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns whether only a client can answer.
    pub(crate) fn waits_for_clients(&self) -> bool {
        matches!(self.approvals, Approvals::Decide)
    }

    /// Returns the waiting questions, oldest first.
    pub(crate) fn pending(&self) -> Vec<Question> {
        self.lock().questions.values().map(|(question, _)| question.clone()).collect()
    }

    /// Answers a question, with other rules than those that were shown if there are some. The answer
    /// counts even if the caller drops this future.
    pub(crate) async fn decide(
        self: &Arc<Self>,
        call: &CallId,
        decision: Decision,
        rules: Option<Vec<String>>,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        let not_asked = || SessionError::NotAsked(call.clone());
        // Removed under the lock: of two clients that decide at the same time, one gets `NotAsked`.
        let taken = self.lock().questions.shift_remove(call);
        let (question, sender) = taken.ok_or_else(not_asked)?;
        self.changed.send_replace(());
        let queue = Arc::clone(self);
        // Saving a rule takes time. Its own task continues if the caller drops the future.
        let answering = tokio::spawn(async move {
            let answer = match decision {
                Decision::Allow(Scope::Once) => Answer::Allow { note },
                Decision::Allow(scope) => {
                    queue.remember(rules.unwrap_or(question.rules), scope, note).await
                }
                Decision::Deny => Answer::Deny { note },
            };
            sender.send(answer).is_ok()
        });
        match answering.await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(not_asked()),
        }
    }

    /// Approves with a wider scope: remembers narrow rules that were shown, and saves them for
    /// [`Scope::Always`]. If that fails, the call may still run, and the note says what was not
    /// saved.
    async fn remember(&self, rules: Vec<String>, scope: Scope, note: Option<String>) -> Answer {
        let add =
            |why: String| Some(note.as_ref().map_or(why.clone(), |note| format!("{note} ({why})")));
        if rules.is_empty() {
            return Answer::Allow {
                note: add("for this call only: no rule is narrow enough".into()),
            };
        }
        // Before the answer is sent, so that calls that are judged after it find the rules.
        // In memory first: if saving fails, the session still has what the user allowed.
        let remembered = guarded("the gate", || self.gate.remember(&rules));
        if let Err(error) = remembered.unwrap_or_else(|| Err("the gate panicked".to_owned())) {
            return Answer::Allow { note: add(format!("for this call only: {error}")) };
        }
        if scope == Scope::Session {
            return Answer::Remember { scope, rules, note };
        }
        let update = PermissionUpdate::AddRules(RuleUpdate {
            rules: rules.clone(),
            behavior: Verdict::Allow,
            destination: UpdateDestination::LocalSettings,
        });
        match self.save(&update).await {
            Ok(()) => Answer::Remember { scope: Scope::Always, rules, note },
            Err(error) => {
                let note = add(format!("for this session only: {error}"));
                Answer::Remember { scope: Scope::Session, rules, note }
            }
        }
    }

    /// Makes the changes of permissions that an approval came with, each for its own destination.
    /// Returns the approval with what was allowed; the note says what was not done. The call may run
    /// also if a change could not be made.
    async fn update(
        &self,
        updates: Vec<PermissionUpdate>,
        input: Option<Value>,
        note: Option<String>,
    ) -> Answer {
        let mut allowed: Vec<String> = Vec::new();
        let mut scope = Scope::Always;
        let mut notes: Vec<String> = note.into_iter().collect();
        for update in updates {
            if let Err(problem) = self.update_session(&update).await {
                notes.push(problem);
                continue;
            }
            let mut reaches = Scope::Session;
            if !update.destination().is_session() {
                match self.save(&update).await {
                    Ok(()) => reaches = Scope::Always,
                    Err(error) => notes.push(format!("for this session only: {error}")),
                }
            }
            for rule in update.allowed_rules() {
                scope = scope.min(reaches);
                if !allowed.contains(rule) {
                    allowed.push(rule.clone());
                }
            }
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        match input {
            Some(input) => Answer::AllowChanged { input, note },
            None if allowed.is_empty() => Answer::Allow { note },
            None => Answer::Remember { scope, rules: allowed, note },
        }
    }

    /// Makes a change of permissions in this session, for the calls that are judged from now on.
    async fn update_session(&self, update: &PermissionUpdate) -> Result<(), String> {
        if let PermissionUpdate::SetMode { mode, .. } = update {
            let Some(sink) = &self.sink else { return Err(NO_SINK.to_owned()) };
            return sink.set_mode(&self.session, *mode).await.map_err(|error| error.message);
        }
        let file = self.sink.as_ref().and_then(|sink| sink.file(update.destination()));
        self.gate.update(update, file.as_deref())
    }

    /// Saves a change, unless hooks block the change of the settings.
    async fn save(&self, update: &PermissionUpdate) -> Result<(), String> {
        let saving = guarded_async("the rule sink", self.save_with(update)).await;
        saving.unwrap_or_else(|| Err("the rule sink panicked".to_owned()))
    }

    async fn save_with(&self, update: &PermissionUpdate) -> Result<(), String> {
        let Some(sink) = &self.sink else { return Err(NO_SINK.to_owned()) };
        if let Some(data) = sink.event(update.destination()) {
            let event = data.event();
            if self.hooks.has_event(event)
                && let EventDecision::Block { reason } = self.hooks.run_event(data).await.decision
            {
                return Err(format!("{event} hook: {reason}"));
            }
        }
        sink.save(update).await.map_err(|error| error.message)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NO_SINK: &str = "no rule sink is configured to save rules";

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
        if matches!(self.approvals, Approvals::Deny) || !self.gate.may_ask() {
            return;
        }
        let (answer, decided) = oneshot::channel();
        let call = question.call.call.clone();
        let mut pending = self.lock();
        pending.questions.insert(call.clone(), (question.clone(), answer));
        // Kept until `ask` takes it: a client may answer between the announcement and the question.
        pending.answers.insert(call, decided);
        // Unlocked before the notification: a receiver may ask for the pending questions at once.
        drop(pending);
        self.changed.send_replace(());
    }

    fn withdraw(&self, call: &CallId) {
        let mut pending = self.lock();
        let removed = pending.questions.shift_remove(call).is_some();
        pending.answers.remove(call);
        drop(pending);
        if removed {
            self.changed.send_replace(());
        }
    }

    async fn ask(&self, question: Question) -> Answer {
        if !self.gate.may_ask() {
            // The mode may have changed since the question was announced.
            self.withdraw(&question.call.call);
            let reason = format!("{}; mode `dontAsk` does not ask", question.reason);
            return Answer::Unanswered { reason };
        }
        let handler = match &self.approvals {
            Approvals::Deny => return NoApprover.ask(question).await,
            Approvals::Decide => None,
            Approvals::Handler(handler) => Some(handler.clone()),
        };
        let call = question.call.call.clone();
        let announced = self.lock().answers.remove(&call);
        let mut decided = match announced {
            Some(decided) => decided,
            // The driver announces before it asks; a caller of this trait that does not is served
            // the same way.
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
            let asks = match &handler {
                Some(handler) => handler.asks_user(&question).await,
                None => true,
            };
            if asks && let Some(answer) = self.ask_hooks(&question).await {
                return answer;
            }
            match handler {
                Some(handler) => handler.ask(question.clone()).await,
                None => std::future::pending().await,
            }
        };
        let client = |decided: Result<Answer, _>| {
            let failed = || Answer::Deny { note: Some("the approval failed".to_owned()) };
            decided.unwrap_or_else(|_| failed())
        };
        let answer = tokio::select! {
            biased;
            // Biased: if a client and the handler answer at the same time, the client's
            // decision counts.
            decided = &mut decided => return client(decided),
            answer = handled => answer,
        };
        // Who takes the question decides the call. A client that took it before the handler answered
        // may still be saving a rule.
        if self.lock().questions.shift_remove(&guard.1).is_none() {
            return client(decided.await);
        }
        self.changed.send_replace(());
        let (answer, by_hook) = answer.without_hook();
        let answer = match answer {
            Answer::Remember { scope, rules, note } => {
                // Only what was shown; without a choice, all of it.
                let shown = question.rules;
                let rules = match rules {
                    rules if rules.is_empty() => shown,
                    rules => rules.into_iter().filter(|rule| shown.contains(rule)).collect(),
                };
                self.remember(rules, scope, note).await
            }
            Answer::Update { updates, input, note } => self.update(updates, input, note).await,
            answer @ (Answer::Allow { .. }
            | Answer::AllowChanged { .. }
            | Answer::Deny { .. }
            | Answer::DenyAndStop { .. }
            | Answer::ByHook { .. }
            | Answer::Unanswered { .. }) => answer,
        };
        if by_hook { answer.by_hook() } else { answer }
    }
}

#[cfg(test)]
mod tests;
