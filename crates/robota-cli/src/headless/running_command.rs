//! A command that a prompt names, while it runs: requests of the host are answered meanwhile, and its
//! messages wait for the end.

use std::collections::HashSet;

use robota_core::ids::TaskId;
use robota_core::message::Block;
use robota_sdk::{Prepared, SdkError};
use tokio::task::JoinHandle;

use super::sent::HostMessage;

/// A command or a skill that runs.
pub(crate) struct RunningCommand {
    preparing: JoinHandle<Result<Prepared, SdkError>>,
    interrupted: bool,
    /// The prompt that named it.
    pub(super) content: Vec<Block>,
    /// The message with that prompt.
    pub(super) from_host: Option<HostMessage>,
    /// The tasks before it.
    pub(super) before: HashSet<TaskId>,
}

/// How a command ended.
pub(super) enum CommandEnd {
    /// By itself: it was executed, or it became a prompt.
    Prepared(Result<Prepared, SdkError>),
    /// Something ended it, for this reason.
    Stopped(&'static str),
}

impl RunningCommand {
    /// Follows a command. `content` and `from_host` are the prompt that named it, `before` the tasks
    /// that there were.
    pub(super) fn new(
        preparing: JoinHandle<Result<Prepared, SdkError>>,
        content: Vec<Block>,
        from_host: Option<HostMessage>,
        before: HashSet<TaskId>,
    ) -> Self {
        Self { preparing, interrupted: false, content, from_host, before }
    }

    /// Ends the command and the agents for which it waits.
    pub(super) fn interrupt(&mut self) {
        self.interrupted = true;
        self.preparing.abort();
    }

    /// Waits for the end. Cancel safe.
    pub(super) async fn ended(&mut self) -> CommandEnd {
        match (&mut self.preparing).await {
            // A command that was executed in the last moment has its effect. A prompt starts no turn
            // after an interrupt.
            Ok(Ok(Prepared::Prompt(_)) | Err(_)) | Err(_) if self.interrupted => {
                CommandEnd::Stopped("the command was interrupted")
            }
            Ok(prepared) => CommandEnd::Prepared(prepared),
            Err(_) => CommandEnd::Stopped("the command failed unexpectedly"),
        }
    }
}
