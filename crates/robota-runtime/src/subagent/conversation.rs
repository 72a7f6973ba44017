//! What both runners of agents share: an agent gets one prompt after the other until no hook continues
//! it, and the end of its last turn is the end of its task.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use robota_core::event::{Delivery, Envelope, Event, TurnEnd};
use robota_core::ids::InputId;
use robota_core::task::{TaskError, TaskErrorCategory, TaskFinished, TaskPlace, TaskStatus};
use robota_session::{Chat, ChatEnd, EventFilter, Reply, SendOptions, Session, SessionError};
use tokio_util::sync::CancellationToken;

use super::events::AgentProgress;
use super::{AgentJob, AgentStop, SubagentHooks};
use crate::task::{TaskInputs, TaskJob, TaskReporter};

/// The most bytes of the answer that are recorded and returned.
// The answer is in the journal of the parent and in the context of its model.
const MAX_ANSWER: usize = 64 * 1024;

/// How many characters of the follow-ups that an agent did not read are in the reason of its end.
const MAX_UNREAD: usize = 1_000;

/// How long hooks of an agent may still run after it was cancelled.
// Both kinds of hooks and the close of the session have to fit into the time after which the manager
// drops the task.
const HOOKS_AFTER_CANCEL: Duration = Duration::from_secs(3);

/// How often in a row hooks may keep an agent from ending.
const MAX_CONTINUED: u32 = 8;

/// The session of an agent, in this process or in another one.
#[async_trait]
pub(super) trait Conversation: Send {
    /// Sends a prompt and follows its turn to the end.
    async fn turn(
        &mut self,
        prompt: String,
        task: &mut TaskJob,
        progress: &mut AgentProgress,
        reporter: &TaskReporter,
    ) -> TaskFinished;

    /// Ends the session, for the reason that its journal records.
    async fn close(&mut self, reason: &str);
}

/// Opens the sessions of agents, in this process or in another one.
#[async_trait]
pub(super) trait AgentConversations: Send + Sync {
    /// Returns the hooks that run when agents start and end.
    fn agent_hooks(&self) -> &dyn SubagentHooks;

    /// Opens the session of an agent, and reports the process that it runs in, if it has its own.
    async fn open(
        &self,
        job: &AgentJob,
        reporter: &TaskReporter,
    ) -> Result<Box<dyn Conversation>, TaskError>;
}

/// Runs the agent of a task to its end.
pub(super) async fn run_agent(
    agents: &dyn AgentConversations,
    mut task: TaskJob,
    reporter: &TaskReporter,
) -> TaskFinished {
    let job = match AgentJob::of(&task) {
        Ok(job) => job,
        Err(error) => return TaskFinished::failed(error),
    };
    let hooks = agents.agent_hooks();
    let mut prompt = job.work.prompt.clone();
    if let Some(Some(added)) = unless_cancelled(&task.cancel, hooks.started(&job)).await {
        prompt.push_str(&format!("\n\n{added}"));
    }
    let mut progress = AgentProgress::default();
    let opened = async {
        let session = Some(job.session.clone());
        // Before the session exists: if this process ends now, the next one finds it and closes it.
        reporter.intends(TaskPlace { session, ..TaskPlace::default() }).await?;
        agents.open(&job, reporter).await
    };
    let opened = tokio::select! {
        biased;
        opened = opened => opened.map_err(TaskFinished::failed),
        // MCP servers of the agent may take long to start.
        () = task.cancel.cancelled() => Err(TaskFinished::new(TaskStatus::Cancelled)),
    };
    let mut conversation = match opened {
        Ok(conversation) => conversation,
        Err(end) => {
            stopping(hooks, &job, &end, false, &task.cancel).await;
            return end;
        }
    };
    let mut continued = 0;
    // The follow-ups that are in the prompt.
    let mut sent: Vec<String> = Vec::new();
    let mut end = loop {
        let turns = progress.turns;
        let end = conversation.turn(prompt, &mut task, &mut progress, reporter).await;
        let completed = end.status == TaskStatus::Completed;
        if !completed && progress.turns == turns {
            // The turn could not start.
            task.inputs.put_back(std::mem::take(&mut sent));
        }
        // Follow-ups that came with the last answer; hooks see the answer to them.
        let mut waiting = if completed { task.inputs.take() } else { Vec::new() };
        if waiting.is_empty() {
            let reason = stopping(hooks, &job, &end, continued > 0, &task.cancel).await;
            if !completed {
                break end;
            }
            if let Some(reason) = reason.filter(|_| continued < MAX_CONTINUED) {
                continued += 1;
                prompt = reason;
                sent.clear();
                continue;
            }
            waiting = task.inputs.take_or_close();
            if waiting.is_empty() {
                break end;
            }
        }
        prompt = waiting.join("\n\n");
        sent = waiting;
    };
    task.inputs.close();
    report_unread(&task.inputs.take(), &mut end, reporter);
    conversation.close(end.status.name()).await;
    TaskFinished { usage: progress.usage, ..end }
}

/// Reports the follow-ups that the agent did not read: when they were accepted, their senders could expect
/// that it would.
fn report_unread(unread: &[String], end: &mut TaskFinished, reporter: &TaskReporter) {
    if unread.is_empty() {
        return;
    }
    let unread: String = unread.join("\n\n").chars().take(MAX_UNREAD).collect();
    let text = format!("it did not read the last follow-up: {unread}");
    reporter.text(&format!("\n[{text}]\n"));
    if let Some(error) = &mut end.error {
        error.message = format!("{}; {text}", error.message);
    }
}

/// Runs the hooks of the end of a turn. Returns why the agent must continue, which counts only if it
/// has completed its work.
async fn stopping(
    hooks: &dyn SubagentHooks,
    job: &AgentJob,
    end: &TaskFinished,
    again: bool,
    cancel: &CancellationToken,
) -> Option<String> {
    let stop = AgentStop { session: &job.session, answer: &end.output, again };
    unless_cancelled(cancel, hooks.stopping(job, stop)).await.flatten()
}

/// Runs hooks; if the agent is cancelled, only for a short time more. None if they did not end in it.
async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    hooks: impl Future<Output = T>,
) -> Option<T> {
    let late = async {
        cancel.cancelled().await;
        tokio::time::sleep(HOOKS_AFTER_CANCEL).await;
    };
    tokio::select! {
        biased;
        value = hooks => Some(value),
        () = late => None,
    }
}

/// Sends a prompt and follows its turn to the end. Follow-ups are delivered before the next model
/// call, or, if there is none, as a turn of their own; a cancellation interrupts the turn.
pub(super) async fn follow(
    session: &Session,
    prompt: String,
    inputs: &TaskInputs,
    cancel: &CancellationToken,
    mut on_event: impl FnMut(&Arc<Envelope>) + Send,
) -> TaskFinished {
    let followed = async {
        let options = SendOptions::default();
        let mut chat = session.chat_with(prompt, options, EventFilter::Everything).await?;
        // The follow-ups that no turn has taken yet.
        let mut waiting: Vec<InputId> = Vec::new();
        let mut cancelled = false;
        loop {
            chat.wait_for_approvals();
            loop {
                tokio::select! {
                    biased;
                    () = cancel.cancelled(), if !cancelled => {
                        cancelled = true;
                        session.interrupt(Some("the agent was cancelled".to_owned())).await?;
                    }
                    // Not after the interrupt: the session would start a turn for it.
                    Some(text) = inputs.recv(), if !cancelled => {
                        match session.send_with(text.clone(), Delivery::NextRound).await {
                            Ok(input) => waiting.push(input),
                            Err(error) => {
                                inputs.put_back([text]);
                                return Err(error);
                            }
                        }
                    }
                    event = chat.next() => match event {
                        Some(event) => {
                            let envelope = event?.envelope;
                            let taken = taken(&envelope.event);
                            waiting.retain(|input| Some(input) != taken);
                            on_event(&envelope);
                        }
                        None => break,
                    },
                }
            }
            let reply = chat.finish().await?;
            let stored = !matches!(reply.end, ChatEnd::Ended { end: TurnEnd::StoreFailed, .. });
            // It came too late for the last model call, so the session starts a turn for it.
            let next = (!cancelled && stored).then(|| waiting.first().cloned()).flatten();
            match (next, reply.last) {
                (Some(input), Some(last)) => {
                    chat =
                        Chat::follow(session.clone(), input, last, EventFilter::Everything).await?;
                }
                _ => break Ok(reply),
            }
        }
    };
    match followed.await {
        Ok(reply) => finished(reply),
        Err(error) => crashed(&error),
    }
}

/// Returns the input that an event takes from the queue.
fn taken(event: &Event) -> Option<&InputId> {
    match event {
        Event::UserMessage(data) => data.input.as_ref(),
        Event::InputBlocked(data) => data.input.as_ref(),
        Event::InputCancelled(data) => Some(&data.input),
        _ => None,
    }
}

fn crashed(error: &SessionError) -> TaskFinished {
    TaskFinished::failed(TaskError::new(TaskErrorCategory::Runner, error.to_string()))
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
fn cut(mut text: String) -> String {
    if text.len() > MAX_ANSWER {
        let end = (0..=MAX_ANSWER).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n[the rest of the answer is in the transcript]");
    }
    text
}
