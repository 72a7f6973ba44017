//! Runs agents in this process, each with a session of its own.

use std::sync::Arc;

use async_trait::async_trait;
use robota_core::event::{Delivery, TurnEnd};
use robota_core::task::{
    TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskPlace, TaskStatus,
};
use robota_session::{ChatEnd, EventFilter, Reply, SendOptions, Session};

use super::events::AgentProgress;
use super::{AgentHooks, AgentJob, AgentSessions, NoAgentHooks};
use crate::task::{TaskJob, TaskReporter, TaskRunner, TaskWork};

/// The most bytes of the answer that are recorded and returned.
pub(super) const MAX_ANSWER: usize = 64 * 1024;

/// How often in a row hooks may keep an agent from ending.
const MAX_CONTINUED: u32 = 8;

/// Runs agents in this process.
#[derive(Clone)]
pub struct InProcessAgents {
    sessions: Arc<dyn AgentSessions>,
    hooks: Arc<dyn AgentHooks>,
}

impl InProcessAgents {
    /// Runs agents in these sessions.
    #[must_use]
    pub fn new(sessions: Arc<dyn AgentSessions>) -> Self {
        Self { sessions, hooks: Arc::new(NoAgentHooks) }
    }

    /// Sets who is told when agents start and end.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn AgentHooks>) -> Self {
        self.hooks = hooks;
        self
    }

    async fn work(
        &self,
        task: &mut TaskJob,
        job: AgentJob,
        reporter: &TaskReporter,
    ) -> TaskFinished {
        let added = self.hooks.started(&job).await;
        let session = match self.sessions.open(&job).await {
            Ok(opened) => opened.session,
            Err(error) => return TaskFinished::failed(error),
        };
        reporter.placed(TaskPlace {
            session: Some(session.id().clone()),
            worktree: job.worktree.clone(),
            ..TaskPlace::default()
        });
        let mut prompt = job.work.prompt.clone();
        if let Some(added) = added {
            prompt.push_str(&format!("\n\n{added}"));
        }
        let mut progress = AgentProgress::default();
        let mut continued = 0;
        let end = loop {
            let reply = match follow(&session, prompt, task, &mut progress, reporter).await {
                Ok(reply) => reply,
                Err(end) => break end,
            };
            let text = reply.text.clone();
            let end = finished(reply);
            if end.status != TaskStatus::Completed || continued >= MAX_CONTINUED {
                break end;
            }
            match self.hooks.stopping(&job, &text, continued > 0).await {
                None => break end,
                Some(reason) => prompt = reason,
            }
            continued += 1;
        };
        let reason = end.status.name();
        if let Err(error) = session.shutdown(reason).await {
            tracing::warn!(%error, "the session of an agent could not be closed");
        }
        TaskFinished { usage: progress.usage, ..end }
    }
}

/// Sends a prompt and follows its turn to the end.
async fn follow(
    session: &Session,
    prompt: String,
    task: &mut TaskJob,
    progress: &mut AgentProgress,
    reporter: &TaskReporter,
) -> Result<Reply, TaskFinished> {
    let crashed = |error: robota_session::SessionError| {
        TaskFinished::failed(TaskError::new(TaskErrorCategory::Runner, error.to_string()))
    };
    let options = SendOptions::default();
    let sent = session.chat_with(prompt, options, EventFilter::Everything).await;
    let mut chat = sent.map_err(crashed)?;
    chat.wait_for_approvals();
    let mut cancelled = false;
    loop {
        tokio::select! {
            event = chat.next() => match event {
                Some(event) => progress.take(&event.map_err(crashed)?.envelope, reporter),
                None => break,
            },
            Some(text) = task.inputs.recv() => {
                session.send_with(text, Delivery::NextRound).await.map_err(crashed)?;
            }
            () = task.cancel.cancelled(), if !cancelled => {
                cancelled = true;
                let note = Some("the agent was cancelled".to_owned());
                session.interrupt(note).await.map_err(crashed)?;
            }
        }
    }
    chat.finish().await.map_err(crashed)
}

/// Returns the end of a task whose turn ended this way.
fn finished(reply: Reply) -> TaskFinished {
    let Reply { end, text, .. } = reply;
    let output = cut(text);
    let fail = |category, text: String| TaskFinished {
        output: output.clone(),
        ..TaskFinished::failed(TaskError::new(category, text))
    };
    match end {
        ChatEnd::Ended { error: Some(error), .. } => TaskFinished {
            error: Some(TaskError {
                recoverable: error.kind.recoverable(),
                ..TaskError::new(TaskErrorCategory::Runner, error.message)
            }),
            ..fail(TaskErrorCategory::Runner, String::new())
        },
        ChatEnd::Ended { end, error: None } => match end {
            TurnEnd::Complete | TurnEnd::RoundLimit => {
                TaskFinished { output, ..TaskFinished::new(TaskStatus::Completed) }
            }
            TurnEnd::Interrupted => {
                TaskFinished { output, ..TaskFinished::new(TaskStatus::Cancelled) }
            }
            TurnEnd::ContextFull => {
                fail(TaskErrorCategory::Limit, "its context window is full".to_owned())
            }
            TurnEnd::UnknownTools => fail(
                TaskErrorCategory::Runner,
                "it kept making calls that cannot succeed".to_owned(),
            ),
            TurnEnd::Blocked => fail(TaskErrorCategory::Limit, "a hook blocked it".to_owned()),
            TurnEnd::Stopped => fail(TaskErrorCategory::Limit, "a hook stopped it".to_owned()),
            TurnEnd::ProviderFailed | TurnEnd::StoreFailed => {
                fail(TaskErrorCategory::Runner, "it failed".to_owned())
            }
        },
        ChatEnd::Blocked { reason } => fail(TaskErrorCategory::Limit, reason),
        ChatEnd::Cancelled => TaskFinished::new(TaskStatus::Cancelled),
        _ => fail(TaskErrorCategory::Runner, "it waits for an approval".to_owned()),
    }
}

/// Cuts an answer that is too long to be recorded.
pub(super) fn cut(mut text: String) -> String {
    if text.len() > MAX_ANSWER {
        let end = (0..=MAX_ANSWER).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n[the rest of the answer is in the transcript]");
    }
    text
}

#[async_trait]
impl TaskRunner for InProcessAgents {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, mut task: TaskJob, reporter: TaskReporter) -> TaskFinished {
        let TaskWork::Agent(work) = &task.work else {
            let text = "an agent was expected";
            return TaskFinished::failed(TaskError::new(TaskErrorCategory::Start, text));
        };
        let job = AgentJob {
            task: task.task.clone(),
            call: task.call.clone(),
            work: (**work).clone(),
            worktree: None,
        };
        self.work(&mut task, job, &reporter).await
    }
}
