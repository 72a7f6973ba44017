//! Commands in terminals of the editor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::ids::CallId;
use robota_sdk::host::{TerminalCommand, TerminalEnd, TerminalResult};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::v1::{
    CreateTerminalRequest, CreateTerminalResponse, Notification, TerminalExit, TerminalOutput,
    TerminalRequest, ToolCall, ToolCallContent, Update,
};

/// How long the editor may take for an answer that needs no waiting.
const LIMIT: Duration = Duration::from_secs(10);

/// The terminals of the calls of a session, so that their last updates show them. Clones share them.
#[derive(Clone, Default)]
pub(super) struct ShownTerminals(Arc<Mutex<HashMap<CallId, String>>>);

impl ShownTerminals {
    /// Takes the terminal of a call that has ended.
    pub(super) fn take(&self, call: &CallId) -> Option<ToolCallContent> {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let terminal_id = shown.remove(call)?;
        Some(ToolCallContent::Terminal { terminal_id })
    }
}

/// Runs a command in a terminal of the editor and shows the terminal in its call. Returns none if the
/// editor refused to start it.
pub(super) async fn run(
    connection: &Arc<Connection>,
    session_id: &str,
    shown: &ShownTerminals,
    call: &CallId,
    command: TerminalCommand,
    cancel: &CancellationToken,
) -> Option<TerminalResult> {
    let request = CreateTerminalRequest {
        session_id,
        command: &command.program,
        args: &command.args,
        cwd: command.cwd.to_str()?,
        output_byte_limit: command.output_limit,
    };
    let (connecting, session) = (connection.clone(), session_id.to_owned());
    // The editor may answer after the wait has ended; it has started the command then.
    let own = |created: CreateTerminalResponse| Terminal {
        connection: connecting,
        session,
        id: created.terminal_id,
        released: false,
    };
    let creating = connection.request_owned("terminal/create", &request, own);
    let created = tokio::select! {
        // Biased: a terminal that was started counts.
        biased;
        created = creating => created.ok()?.ok()?,
        // The editor may still start the command, so that it must not be run elsewhere.
        () = cancel.cancelled() => return Some(without_terminal(TerminalEnd::Interrupted)),
        () = tokio::time::sleep(LIMIT) => return Some(without_terminal(TerminalEnd::Unknown)),
    };
    let terminal_id = created.id.clone();
    shown
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(call.clone(), terminal_id.clone());
    // The terminal is shown while the command runs, not only in the result of the call.
    let update = Update::ToolCallUpdate(ToolCall {
        tool_call_id: call.to_string(),
        content: Some(vec![ToolCallContent::Terminal { terminal_id: terminal_id.clone() }]),
        ..ToolCall::default()
    });
    let notification = Notification { session_id, update: &update };
    connection.notify("session/update", &notification).await;
    let terminal = TerminalRequest { session_id, terminal_id: &terminal_id };
    let waiting = connection.request::<TerminalExit>("terminal/wait_for_exit", &terminal);
    let end = tokio::select! {
        exit = waiting => match exit {
            Ok(exit) => end_of(&exit),
            Err(_) => TerminalEnd::Unknown,
        },
        () = cancel.cancelled() => TerminalEnd::Interrupted,
        () = tokio::time::sleep(command.timeout) => TerminalEnd::TimedOut,
    };
    let ask = async |method: &str| {
        tokio::time::timeout(LIMIT, connection.request::<Value>(method, &terminal)).await
    };
    if matches!(end, TerminalEnd::Interrupted | TerminalEnd::TimedOut) {
        let _ = ask("terminal/kill").await;
    }
    // After the kill, so that the last lines of the command are in it.
    let output = match ask("terminal/output").await {
        Ok(Ok(output)) => serde_json::from_value::<TerminalOutput>(output).unwrap_or_default(),
        _ => TerminalOutput::default(),
    };
    created.release().await;
    Some(TerminalResult { output: output.output, cut: output.truncated, end })
}

/// A terminal that the editor has created. It is released when this is dropped.
struct Terminal {
    connection: Arc<Connection>,
    session: String,
    id: String,
    released: bool,
}

impl Terminal {
    /// Lets the editor forget the terminal. It ends the command, and still shows what was printed.
    async fn release(mut self) {
        if let Some(releasing) = self.begin_release() {
            // Fails only if the runtime ends.
            let _ = releasing.await;
        }
    }

    /// A task of its own: a caller that is dropped must not stop it.
    fn begin_release(&mut self) -> Option<JoinHandle<()>> {
        // Without a runtime the process ends, and the connection with it.
        let runtime = Handle::try_current().ok()?;
        if std::mem::replace(&mut self.released, true) {
            return None;
        }
        let connection = self.connection.clone();
        let (session, id) = (self.session.clone(), self.id.clone());
        Some(runtime.spawn(async move {
            let terminal = TerminalRequest { session_id: &session, terminal_id: &id };
            let releasing = connection.request::<Value>("terminal/release", &terminal);
            let _ = tokio::time::timeout(LIMIT, releasing).await;
        }))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.begin_release();
    }
}

/// Returns the result of a command whose terminal the editor did not name.
fn without_terminal(end: TerminalEnd) -> TerminalResult {
    let output = "[the editor did not say whether it started the command]\n".to_owned();
    TerminalResult { output, cut: false, end }
}

fn end_of(exit: &TerminalExit) -> TerminalEnd {
    match (exit.exit_code, &exit.signal) {
        (Some(code), _) => TerminalEnd::Code(code),
        (None, Some(signal)) => TerminalEnd::Signal(signal.clone()),
        (None, None) => TerminalEnd::Unknown,
    }
}

#[cfg(test)]
mod tests;
