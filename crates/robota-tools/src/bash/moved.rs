//! Waits for a command, until it ends or the user moves it to the background.

use robota_core::ids::TaskId;
use robota_core::task::{ForegroundCall, MoveRequest};
use robota_core::tool::{ToolContext, ToolOutcome};
use robota_exec::{Outcome, Running};

use super::{Input, limits};
use crate::background_commands::MovedCommand;
use crate::tool_workspace::ToolWorkspace;

/// How the wait ended.
pub(super) enum Waited {
    /// The command ended, or its end is unknown.
    Ended(Result<Outcome, String>),
    /// The command continues in the background. This is the result of the call.
    Moved(ToolOutcome),
}

/// Waits for a command that runs. When the call is cancelled, the command is ended.
pub(super) async fn wait(
    workspace: &ToolWorkspace,
    input: &Input,
    running: &Running,
    context: &ToolContext,
) -> Waited {
    let mut foreground = workspace.background.enter_foreground(&context.call);
    let mut ended = std::pin::pin!(running.ended());
    loop {
        tokio::select! {
            // The end first: a command that has ended must not become a task that is already over.
            biased;
            ended = &mut ended => return Waited::Ended(ended),
            () = context.scope.cancel.cancelled() => {
                running.kill();
                // The end is awaited, because its last output belongs to the result.
                return Waited::Ended(ended.await);
            }
            request = asked(&mut foreground) => {
                if let Some(outcome) = adopt(workspace, input, running, context, request).await {
                    return Waited::Moved(outcome);
                }
            }
        }
    }
}

async fn asked(foreground: &mut Option<ForegroundCall>) -> MoveRequest {
    match foreground {
        Some(foreground) => foreground.asked().await,
        None => std::future::pending().await,
    }
}

/// Makes a background task of the command. Returns the result of the call; none if the command stays
/// in the foreground.
async fn adopt(
    workspace: &ToolWorkspace,
    input: &Input,
    running: &Running,
    context: &ToolContext,
    request: MoveRequest,
) -> Option<ToolOutcome> {
    // Read before the task is created: output in between is shown by the first BashOutput.
    let written = running.log().end();
    let command = MovedCommand {
        command_line: input.command.clone(),
        label: input.description.clone().unwrap_or_else(|| input.command.clone()),
        call: context.call.clone(),
        running: running.clone(),
    };
    let adopted = match workspace.background.adopt(command, written).await {
        Ok(adopted) => adopted,
        Err(error) => {
            request.answer(Err(error.to_string()));
            return None;
        }
    };
    // Only after it was accepted; a refused command keeps the limit of its call.
    running.lift_time_limit();
    // After a crash, its processes are found by this record.
    if let Some(process) = running.process() {
        context.processes.clone().background().started(process.clone());
    }
    request.answer(Ok(vec![TaskId::from(adopted.id.as_str())]));
    Some(outcome(&adopted.id, running, written, limits(context).tail))
}

/// Returns what the model sees: the end of the output so far, and where the command continues.
fn outcome(id: &str, running: &Running, written: u64, shown: usize) -> ToolOutcome {
    let from = written.saturating_sub(shown as u64);
    let output = running.log().read(from, usize::try_from(written - from).unwrap_or(shown));
    let mut text = String::new();
    if from > 0 {
        text.push_str(&format!("[... {from} of {written} bytes cut ...]\n"));
    }
    text.push_str(&String::from_utf8_lossy(&output.bytes));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!(
        "[the user moved this command to the background, where it continues as {id}. BashOutput \
         returns its further output, KillShell ends it.]\n"
    ));
    let pid = running.process().map(|process| process.pid);
    ToolOutcome::ok(text)
        .with_metadata("bash_id", id)
        .with_metadata("pid", pid)
        .with_metadata("output_bytes", written)
        .with_metadata("background", true)
        .with_metadata("moved_by_user", true)
}
