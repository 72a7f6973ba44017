//! Servers that are programs: one message in each line of their standard streams.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use robota_exec::{CommandSpec, Limits, OutputSink, Running, Stdin};
use serde_json::Value;
use tokio::sync::Notify;

use super::link::{self, LinkError, MAX_MESSAGE};
use super::nesting::flatten;
use super::options::McpClientOptions;
use crate::text::clean;

/// At most this many bytes wait to be read; a server that sends more than can be processed is ended.
const MAX_WAITING: usize = 4 * MAX_MESSAGE;
/// After this many bytes of messages without a request of this side in between a server is ended.
const MAX_UNASKED: usize = 4 * MAX_MESSAGE;
/// After this many messages without a request of this side in between a server is ended.
const MAX_UNASKED_MESSAGES: usize = 100_000;
/// After this many lines that are no messages a server is ended.
const MAX_NOISE: usize = 1_000;
/// How much of the standard error of a server is kept for error messages, in bytes.
const STDERR_TAIL: usize = 4 * 1024;
/// How long a server may take to end after its input was closed.
const END_WAIT: Duration = Duration::from_secs(2);

/// The lines that a program has printed and the transport has not read.
#[derive(Default)]
struct Inbox {
    partial: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    waiting: usize,
    failed: Option<String>,
}

impl Inbox {
    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.failed.is_some() {
                return;
            }
            if self.partial.len() + piece.len() > MAX_MESSAGE {
                self.fail(format!("it sent a message of more than {MAX_MESSAGE} bytes"));
            // The sink must not block, because it runs in the thread that supervises all programs;
            // so a limit and not back pressure.
            } else if self.waiting + piece.len() > MAX_WAITING {
                self.fail("it sends more than can be read".to_owned());
            } else {
                self.partial.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    let line = std::mem::take(&mut self.partial);
                    self.waiting += line.len();
                    self.lines.push_back(line);
                }
            }
        }
    }

    fn fail(&mut self, problem: String) {
        self.failed = Some(problem);
        self.partial = Vec::new();
    }
}

/// The end of a program's standard error, and why the connection ended.
#[derive(Clone, Default)]
pub(super) struct StdioState(Arc<Shared>);

#[derive(Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    arrived: Notify,
    stderr: Mutex<VecDeque<u8>>,
}

impl StdioState {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.0.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stderr(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.stderr.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is known of the failure: what the server did, and the end of its standard error.
    pub(super) fn problem(&self) -> String {
        let failed = self.inbox().failed.clone();
        let stderr: Vec<u8> = self.stderr().iter().copied().collect();
        let stderr = clean(String::from_utf8_lossy(&stderr).trim(), STDERR_TAIL);
        match (failed, stderr.is_empty()) {
            (Some(failed), _) => failed,
            (None, true) => "the program ended".to_owned(),
            (None, false) => format!("the program ended; its last output: {stderr}"),
        }
    }
}

/// Reads and writes the messages of a program, one in each line.
pub(super) struct StdioTransport {
    running: Running,
    state: StdioState,
    noise: usize,
    /// What the server sent since the last request of this side.
    unasked: Unasked,
}

/// Counts messages. Those that are answers count too: a server can make up answers, and questions that
/// this side has to answer.
#[derive(Default)]
struct Unasked {
    messages: usize,
    bytes: usize,
}

impl Unasked {
    /// Counts a message. Returns false if there are too many.
    fn add(&mut self, bytes: usize) -> bool {
        self.messages += 1;
        self.bytes += bytes;
        self.messages <= MAX_UNASKED_MESSAGES && self.bytes <= MAX_UNASKED
    }
}

/// Starts the program of a server, under the supervisor of the session.
pub(super) async fn start(
    options: &McpClientOptions,
    command: &str,
    args: &[String],
    env: &std::collections::BTreeMap<String, String>,
) -> Result<(StdioTransport, StdioState), String> {
    let mut environment = options.environment.clone();
    // Servers that were written for Claude Code find their project by this variable.
    environment.set("CLAUDE_PROJECT_DIR", options.cwd.as_os_str());
    for (name, value) in env {
        // After our own variable, so that the user can override it.
        environment.set(name, value);
    }
    let state = StdioState::default();
    let (read, errors) = (state.clone(), state.clone());
    let mut spec = CommandSpec::new(command, &options.cwd)
        .args(args)
        .env(environment)
        // Nothing is captured: the sinks take the output, with limits of their own.
        .limits(Limits { head: 0, tail: 0 })
        .sink(OutputSink::new(move |bytes| {
            read.inbox().push(bytes);
            read.0.arrived.notify_one();
        }))
        .stderr_sink(OutputSink::new(move |bytes| {
            let mut tail = errors.stderr();
            tail.extend(bytes);
            let excess = tail.len().saturating_sub(STDERR_TAIL);
            tail.drain(..excess);
        }));
    spec.stdin = Stdin::Open;
    let running = options.supervisor.start(spec).await.map_err(|error| error.to_string())?;
    Ok((
        StdioTransport { running, state: state.clone(), noise: 0, unasked: Unasked::default() },
        state,
    ))
}

impl StdioTransport {
    async fn next_line(&self) -> Option<Vec<u8>> {
        loop {
            // Asked before the inbox is read: lines that were printed before the end are all in it
            // by then.
            let ended = self.running.outcome().is_some();
            {
                let mut inbox = self.state.inbox();
                if inbox.failed.is_some() {
                    return None;
                }
                if let Some(line) = inbox.lines.pop_front() {
                    inbox.waiting -= line.len();
                    return Some(line);
                }
            }
            if ended {
                return None;
            }
            tokio::select! {
                () = self.state.0.arrived.notified() => {}
                _ = self.running.ended() => {}
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let line = serde_json::to_vec(&item).map_err(LinkError::new);
        if matches!(item, JsonRpcMessage::Request(_)) {
            self.unasked = Unasked::default();
        }
        let ended = self.running.outcome().is_some();
        let result = line.and_then(|mut line| {
            if ended {
                return Err(LinkError::new(self.state.problem()));
            }
            line.push(b'\n');
            self.running.write(line);
            Ok(())
        });
        std::future::ready(result)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(line) = self.next_line().await else {
                self.running.kill();
                return None;
            };
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let message =
                serde_json::from_slice::<Value>(&flatten(line)).ok().and_then(link::decode);
            if let Some(message) = message {
                if self.unasked.add(line.len()) {
                    return Some(message);
                }
                self.state.inbox().fail("it sends messages without end".to_owned());
                continue;
            }
            self.noise += 1;
            tracing::debug!(bytes = line.len(), "a line of an MCP server is not a message");
            if self.noise > MAX_NOISE {
                let problem = "it prints text that is not the protocol".to_owned();
                self.state.inbox().fail(problem);
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.running.close_input();
        if tokio::time::timeout(END_WAIT, self.running.ended()).await.is_err() {
            self.running.kill();
            let _ = self.running.ended().await;
        }
        Ok(())
    }
}
