//! Commands that users type with a slash (SDK-09, SDK-10).
//!
//! A command returns data: a message, whether it succeeded, and values. A change that only the client
//! can make, such as to switch the model, is a value that the client applies. To add a built-in
//! command, copy the smallest file of `builtin/` and add it to [`builtin::commands`].

pub mod builtin;
mod info;
mod registry;
mod tool;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

pub use info::{CommandInfo, CommandOrigin, CommandSafety};
pub use registry::{CommandModule, CommandRegistry, CommandSource, SessionPart};
pub(crate) use tool::command_tools;

use crate::interactive::InteractiveSession;

/// What a command returns.
///
/// ```
/// use robota_sdk::CommandResult;
///
/// fn show(result: &CommandResult) -> String {
///     let mark = if result.success { "ok" } else { "failed" };
///     format!("{mark}: {}", result.message)
/// }
/// # let _ = show;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CommandResult {
    /// The text that clients show to the user; of a command that failed, why it failed.
    pub message: String,
    /// Whether the command did what it was asked.
    pub success: bool,
    /// Values for the client, such as `modelId`, which the client applies.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

impl CommandResult {
    /// Creates the result of a command that succeeded.
    pub fn ok(message: impl Into<String>) -> Self {
        Self { message: message.into(), success: true, data: Map::new() }
    }

    /// Creates the result of a command that failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { success: false, ..Self::ok(message) }
    }

    /// Adds a value that clients act on.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }
}

/// Runs a command of a session, such as `/compact`.
///
/// ```
/// use robota_sdk::{CommandInfo, CommandResult, InteractiveSession, SystemCommand};
///
/// struct Ping;
///
/// #[async_trait::async_trait]
/// impl SystemCommand for Ping {
///     fn info(&self) -> CommandInfo {
///         CommandInfo::new("ping", "Answers")
///     }
///
///     async fn execute(&self, _: &InteractiveSession, arguments: &str) -> CommandResult {
///         CommandResult::ok(format!("pong {arguments}"))
///     }
/// }
/// assert_eq!(Ping.info().name, "ping");
/// ```
#[async_trait]
pub trait SystemCommand: Send + Sync {
    /// Describes the command. It is called for every lookup and every menu, so it should be cheap.
    fn info(&self) -> CommandInfo;

    /// Executes the command. `arguments` is the text after the name.
    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult;
}
