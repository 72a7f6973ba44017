//! The side of the agent: a process that opens a session, works on the prompts that it receives, and
//! ends with its input.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use robota_core::approve::{Answer, Approver, Question};
use robota_core::gate::{PermissionChange, Restrictions};
use robota_core::hook::{
    BatchDecision, HookAnswer, HookEvent, HookExit, HookInput, HookObserver, HookPoint, HookReply,
    Hooks, ObservedHook, PostToolDecision, PreToolDecision, PromptDecision, StopDecision,
};
use robota_core::permission::Verdict;
use robota_session::{Session, SessionError};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::conversation::follow;
use super::lines::{AgentReply, AgentRequest, FromAgent, PARENT_ENDED, ToAgent, encode};
use crate::task::TaskInputs;

type WriteLine = dyn Fn(&[u8]) + Send + Sync;

/// Writes lines to the session that started this process.
#[derive(Clone)]
pub struct AgentOutput(Arc<WriteLine>);

impl AgentOutput {
    /// Creates an output that calls `write` with each line.
    pub fn new(write: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    /// Writes a line to the process that started the agent.
    pub fn send(&self, line: &FromAgent) {
        (self.0)(&encode(line));
    }
}

/// The requests of an agent to the session that started its process: questions about calls, and hooks of
/// the program.
#[derive(Clone)]
pub struct ParentRequests {
    output: AgentOutput,
    next: Arc<AtomicU64>,
    open: Arc<Mutex<HashMap<u64, oneshot::Sender<AgentReply>>>>,
}

impl ParentRequests {
    /// Writes requests to this output.
    #[must_use]
    pub fn new(output: AgentOutput) -> Self {
        Self { output, next: Arc::default(), open: Arc::default() }
    }

    /// Returns an observer that reports the hooks of this process to the parent.
    #[must_use]
    pub fn hook_observer(&self) -> Arc<dyn HookObserver> {
        Arc::new(ReportedHooks { output: self.output.clone(), runs: AtomicU64::default() })
    }

    /// Returns hooks that run in the parent. `points` are those that have hooks there.
    #[must_use]
    pub fn hooks(&self, hooks: usize, points: Vec<HookPoint>) -> Arc<dyn Hooks> {
        Arc::new(ParentHooks { requests: self.clone(), hooks, points })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<AgentReply>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, number: u64, reply: AgentReply) {
        if let Some(waiting) = self.lock().remove(&number) {
            // Fails only if the request was withdrawn meanwhile.
            let _ = waiting.send(reply);
        }
    }

    /// Sends a request and waits for the reply; none if the parent has ended.
    async fn send(&self, request: AgentRequest) -> Option<AgentReply> {
        // Relaxed is enough: the numbers only have to differ.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        self.lock().insert(number, sender);
        // Before the request is written, so that a future that is dropped right after it leaves no
        // question open in the parent.
        let _withdraw = Withdraw(self, number);
        self.output.send(&FromAgent::Request { number, request: Box::new(request) });
        reply.await.ok()
    }
}

/// Withdraws a request when the future that waits for its reply is dropped.
struct Withdraw<'a>(&'a ParentRequests, u64);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if self.0.lock().remove(&self.1).is_some() {
            self.0.output.send(&FromAgent::Withdrawn { number: self.1 });
        }
    }
}

#[async_trait]
impl Approver for ParentRequests {
    async fn asks_user(&self, _question: &Question) -> bool {
        // The session of the parent asks, and runs its hooks.
        false
    }

    async fn ask(&self, question: Question) -> Answer {
        match self.send(AgentRequest::Question(question)).await {
            Some(AgentReply::Answer(answer)) => answer,
            Some(AgentReply::Hook(_)) | None => {
                Answer::Unanswered { reason: PARENT_ENDED.to_owned() }
            }
        }
    }
}

/// Reports the hooks of this process to the parent.
struct ReportedHooks {
    output: AgentOutput,
    runs: AtomicU64,
}

impl HookObserver for ReportedHooks {
    fn started(&self, event: HookEvent, target: &str) -> Box<dyn ObservedHook> {
        // Relaxed is enough: the numbers only have to differ.
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        self.output.send(&FromAgent::HookStarted { run, event, target: target.to_owned() });
        Box::new(ReportedHook { output: self.output.clone(), run, ended: false })
    }
}

struct ReportedHook {
    output: AgentOutput,
    run: u64,
    ended: bool,
}

impl ObservedHook for ReportedHook {
    fn ended(&mut self, exit: &HookExit) {
        self.ended = true;
        self.output.send(&FromAgent::HookEnded { run: self.run, exit: Some(exit.into()) });
    }
}

impl Drop for ReportedHook {
    fn drop(&mut self) {
        if !self.ended {
            self.output.send(&FromAgent::HookEnded { run: self.run, exit: None });
        }
    }
}

/// Hooks that run in the parent.
struct ParentHooks {
    requests: ParentRequests,
    hooks: usize,
    points: Vec<HookPoint>,
}

#[async_trait]
impl Hooks for ParentHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        self.points.contains(&point)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let point = input.point();
        match self.requests.send(AgentRequest::Hook { hooks: self.hooks, input }).await {
            Some(AgentReply::Hook(reply)) => reply,
            Some(AgentReply::Answer(_)) | None => unanswered(point),
        }
    }
}

/// Returns the reply of hooks whose parent process has ended: the call must not run, and its result
/// is withheld.
fn unanswered(point: HookPoint) -> HookReply {
    let reason = PARENT_ENDED.to_owned();
    match point {
        HookPoint::PreToolUse => HookAnswer::PreToolUse(PreToolDecision::Deny { reason }),
        HookPoint::PostToolUse => HookAnswer::PostToolUse(PostToolDecision::Block { reason }),
        HookPoint::PostToolBatch => HookAnswer::PostToolBatch(BatchDecision::Stop { reason }),
        HookPoint::UserPromptSubmit => {
            HookAnswer::UserPromptSubmit(PromptDecision::Block { reason })
        }
        // The only hook whose absence lets the agent continue: there is nothing to protect, and no
        // one to work for.
        HookPoint::Stop => HookAnswer::Stop(StopDecision::Finish),
    }
    .into()
}

/// Makes the permissions stricter. An agent that cannot apply a rule must not continue without it.
fn restrict(session: &Session, rules: Restrictions) -> Result<(), String> {
    let permissions = session.permissions();
    for (verdict, rules) in [(Verdict::Deny, rules.deny), (Verdict::Ask, rules.ask)] {
        if !rules.is_empty() {
            permissions
                .restrict(verdict, &rules)
                .map_err(|error| format!("a rule of the session cannot be applied: {error}"))?;
        }
    }
    Ok(())
}

/// Replaces the folders of the workspace.
fn set_folders(session: &Session, folders: &[PathBuf]) -> Result<(), String> {
    let permissions = session.permissions();
    let Err(error) = permissions.set_folders(folders) else { return Ok(()) };
    // Without a folder that was added the agent can do less, and continues. With one that was removed
    // it must not.
    tracing::warn!(%error, "the folders of the session cannot be used");
    let mut kept = permissions.folders().unwrap_or_default();
    kept.retain(|folder| folders.contains(folder));
    permissions
        .set_folders(&kept)
        .map_err(|error| format!("the folders of the session cannot be used: {error}"))
}

/// Applies a change of the permissions of the parent's session.
fn change_permissions(session: &Session, change: PermissionChange) -> Result<(), String> {
    match change {
        PermissionChange::Restrict(rules) => restrict(session, rules),
        PermissionChange::Folders(folders) => set_folders(session, &folders),
    }
}

/// Works on prompts until the input ends, then closes the session.
///
/// # Errors
/// If the session cannot be closed.
pub async fn serve_agent(
    session: &Session,
    mut lines: mpsc::UnboundedReceiver<ToAgent>,
    requests: &ParentRequests,
) -> Result<(), SessionError> {
    let output = requests.output.clone();
    output.send(&FromAgent::Opened);
    let mut ending: Option<String> = None;
    while ending.is_none() {
        let text = match lines.recv().await {
            Some(ToAgent::Prompt { text }) => text,
            Some(ToAgent::Close { reason }) => {
                ending = Some(reason);
                continue;
            }
            Some(ToAgent::Permissions { change }) => {
                ending = change_permissions(session, change).err();
                continue;
            }
            // A follow-up that arrives after the turn was not counted as taken: the parent sends it again,
            // as a prompt.
            Some(
                ToAgent::Start { .. }
                | ToAgent::Input { .. }
                | ToAgent::Cancel { .. }
                | ToAgent::Reply { .. },
            ) => continue,
            None => {
                ending = Some(PARENT_ENDED.to_owned());
                continue;
            }
        };
        let cancel = CancellationToken::new();
        let (inputs, mut arrived) = (TaskInputs::default(), 0);
        let on_event = |event: &Arc<_>| output.send(&FromAgent::event(event));
        let mut turn = std::pin::pin!(follow(session, text, &inputs, &cancel, on_event));
        let finished = loop {
            tokio::select! {
                finished = &mut turn => break finished,
                // After the end of the input `recv` returns at once, again and again.
                line = lines.recv(), if ending.is_none() => match line {
                    Some(ToAgent::Input { text }) => {
                        arrived += 1;
                        inputs.send(text);
                    }
                    Some(ToAgent::Reply { number, reply }) => requests.take(number, reply),
                    Some(ToAgent::Cancel { .. }) => cancel.cancel(),
                    Some(ToAgent::Permissions { change }) => {
                        if let Err(why) = change_permissions(session, change) {
                            ending = Some(why);
                            cancel.cancel();
                        }
                    }
                    Some(ToAgent::Close { reason }) => {
                        ending = Some(reason);
                        cancel.cancel();
                    }
                    Some(ToAgent::Start { .. } | ToAgent::Prompt { .. }) => {}
                    None => {
                        ending = Some(PARENT_ENDED.to_owned());
                        cancel.cancel();
                    }
                },
            }
        };
        let taken = arrived - inputs.take().len();
        output.send(&FromAgent::Ended { finished: Box::new(finished), taken });
    }
    session.shutdown(ending.unwrap_or_default()).await
}
