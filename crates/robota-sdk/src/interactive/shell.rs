//! Shell commands that the user runs in a session.

use robota_core::ids::RandomIds;
use robota_core::message::Message;
use robota_core::tool::{Progress, ToolOutcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::InteractiveSession;
use super::history::DISPLAY;
use crate::error::SdkError;

/// How a client follows and stops a shell command of its user.
///
/// ```
/// use robota_core::tool::Progress;
/// use robota_sdk::ShellRun;
///
/// let run = ShellRun { progress: Progress::new(|text| print!("{text}")), ..ShellRun::default() };
/// assert!(!run.cancel.is_cancelled());
/// ```
#[derive(Clone)]
pub struct ShellRun {
    /// Ends the command when it is cancelled.
    pub cancel: CancellationToken,
    /// Receives the output while the command runs.
    pub progress: Progress,
}

impl Default for ShellRun {
    fn default() -> Self {
        Self { cancel: CancellationToken::new(), progress: Progress::none() }
    }
}

impl InteractiveSession {
    /// Runs a shell command that the user typed, and adds it with its output to the conversation,
    /// so that the model sees it. A command that deny rules forbid does not run; every other
    /// command runs without a question, because the user typed it.
    ///
    /// # Errors
    /// If the permissions deny the command, the session has no shell, or the journal cannot be written.
    pub async fn run_shell(&self, command: &str, run: ShellRun) -> Result<ToolOutcome, SdkError> {
        let refused = |problem: String| SdkError::Option { option: "command", problem };
        let tools = self.0.skills.as_ref().map(crate::skills::SkillRunner::tools);
        let tools = tools.ok_or_else(|| refused("this session has no shell".to_owned()))?;
        let input = json!({ "command": command });
        let ran = tools.run_for_user(self.session(), "Bash", input, run).await;
        let outcome = ran.map_err(|not_run| refused(not_run.reason()))?;
        let text = format!(
            "<bash-input>{command}</bash-input>\n<bash-output>{}</bash-output>",
            outcome.text()
        );
        let message = Message::user(&RandomIds, text).with_metadata(DISPLAY, format!("!{command}"));
        self.session().context().inject(message).await?;
        Ok(outcome)
    }
}
