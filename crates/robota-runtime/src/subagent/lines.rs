//! The lines between a session and the process of one of its agents: JSON objects, one per line, on the
//! standard input and output of the process. Nothing is passed to it in another way, so that no
//! other process can read the credentials in the first line.

use robota_core::approve::{Answer, Question};
use robota_core::event::Envelope;
use robota_core::gate::PermissionChange;
use robota_core::hook::{HookEnd, HookEvent, HookExit, HookInput, HookReply};
use robota_core::task::{TaskError, TaskFinished};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line to the process of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToAgent {
    /// The first line: what the process opens its session with, credentials included.
    Start {
        /// What the program that is started reads.
        start: Value,
    },
    /// Starts a turn; at most one runs.
    Prompt {
        /// The text of the user message.
        text: String,
    },
    /// Adds a follow-up to the running turn.
    Input {
        /// The text, which is delivered before the next model call. One that arrives after the turn is
        /// ignored: the end of the turn says that it was not taken.
        text: String,
    },
    /// Interrupts the turn of the agent that runs.
    Cancel {
        /// Why it is interrupted, for people.
        reason: String,
    },
    /// Answers a request of the agent.
    Reply {
        /// The number of the request, which the agent chose.
        number: u64,
        /// The reply, of the same kind as the request.
        reply: AgentReply,
    },
    /// Changes the permissions of the agent: those of the session of the parent changed after the start.
    Permissions {
        /// What changes.
        change: PermissionChange,
    },
    /// Ends the session and the process.
    Close {
        /// The reason that the journal of the agent records.
        reason: String,
    },
}

impl ToAgent {
    /// Returns the line that is used at the end of the input: the parent has ended.
    #[must_use]
    pub fn parent_ended() -> Self {
        Self::Close { reason: PARENT_ENDED.to_owned() }
    }
}

/// The reason that the journal records when the parent of an agent has ended.
pub(super) const PARENT_ENDED: &str = "the session that started the agent ended";

/// A line from the process of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromAgent {
    /// The session that the parent named is open.
    Opened,
    /// The session could not be opened.
    Failed {
        /// Why it could not be opened.
        error: TaskError,
    },
    /// An event of the session, after it was written.
    Event {
        /// The event, as it is written in journals.
        line: String,
    },
    /// Asks for something that only the parent can decide.
    Request {
        /// The number by which the reply names the request; unique in the process.
        number: u64,
        /// What the parent has to decide.
        request: Box<AgentRequest>,
    },
    /// The agent no longer waits for the reply to a request.
    Withdrawn {
        /// The number of the request that needs no reply any more.
        number: u64,
    },
    /// A hook of the agent starts.
    HookStarted {
        /// The number by which its end names the run; unique in the process.
        run: u64,
        /// The event at which it runs.
        event: HookEvent,
        /// What its matcher was compared with.
        target: String,
    },
    /// A hook of the agent has ended.
    HookEnded {
        /// The number of the run.
        run: u64,
        /// How it ended; none if it was cancelled.
        exit: Option<HookExitLine>,
    },
    /// The turn has ended; another prompt or the end may follow.
    Ended {
        /// How it ended: the end of the task, unless a hook continues it.
        finished: Box<TaskFinished>,
        /// How many of the follow-ups since the prompt the conversation has; the others came too late.
        /// All of them, if it does not say.
        #[serde(default = "usize::max_value")]
        taken: usize,
    },
}

/// How a hook of an agent ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookExitLine {
    /// How it ended, before its output is read.
    pub end: HookEnd,
    /// Its standard output as text.
    pub stdout: String,
    /// Its standard error as text.
    pub stderr: String,
}

impl From<&HookExit> for HookExitLine {
    fn from(exit: &HookExit) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { end: exit.end.clone(), stdout: text(&exit.stdout), stderr: text(&exit.stderr) }
    }
}

impl From<HookExitLine> for HookExit {
    fn from(line: HookExitLine) -> Self {
        let (stdout, stderr) = (line.stdout.into_bytes(), line.stderr.into_bytes());
        Self { end: line.end, stdout, stdout_cut: false, stderr }
    }
}

/// What only the parent of an agent can decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRequest {
    /// A call of the agent needs approval.
    Question(Question),
    /// Hooks of the parent's program run for a call.
    Hook {
        /// The position of the hooks in the list that the parent passed with the first line.
        hooks: usize,
        /// What the hooks of a point receive.
        input: HookInput,
    },
}

/// The reply to an [`AgentRequest`] of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentReply {
    /// What the user decided about an [`AgentRequest::Question`].
    Answer(Answer),
    /// What the hooks of the parent decided about an [`AgentRequest::Hook`].
    Hook(HookReply),
}

impl FromAgent {
    /// Returns the line of an event.
    #[must_use]
    pub fn event(envelope: &Envelope) -> Self {
        Self::Event { line: envelope.to_line() }
    }
}

/// Encodes a line, with its newline.
pub(super) fn encode(line: &impl Serialize) -> Vec<u8> {
    // These types have string keys only, so that they can always be encoded.
    let mut bytes = serde_json::to_vec(line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Collects the lines of a stream that arrives in pieces.
#[derive(Default)]
pub(super) struct LineSplitter(Vec<u8>);

impl LineSplitter {
    /// Takes a piece, and returns the lines that are complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut self.0);
            line.extend_from_slice(&rest[..at]);
            lines.push(line);
            rest = &rest[at + 1..];
        }
        self.0.extend_from_slice(rest);
        lines
    }
}

#[cfg(test)]
mod tests;
