//! One prompt, one answer (SDK-24).

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::permission::Mode;
use robota_session::{Approvals, Callbacks};

use crate::error::SdkError;
use crate::interactive::InteractiveSession;
use crate::model_setup::ModelSetup;
use crate::project::{Project, ProjectOptions};

/// Changes how a query runs.
///
/// ```
/// use robota_core::permission::Mode;
/// use robota_sdk::QueryOptions;
///
/// let options = QueryOptions { mode: Some(Mode::Plan), max_turns: 5, ..QueryOptions::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
pub struct QueryOptions {
    /// The working folder; none is the current folder of the process.
    pub cwd: Option<PathBuf>,
    /// The permission mode; none leaves it to the settings.
    pub mode: Option<Mode>,
    /// How many rounds the turn may take; zero means no limit.
    pub max_turns: u32,
    /// Who decides on calls that need approval; none denies them.
    pub approvals: Option<Approvals>,
    /// Receives the text of the answer as it arrives.
    pub on_text_delta: Option<Arc<dyn Fn(String) + Send + Sync>>,
}

/// Answers a prompt with the settings and tools of a folder, and returns the text. The session is
/// stored like any other and can be resumed.
///
/// ```
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_sdk::{ModelSetup, QueryOptions, query};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let model = ModelSetup::new(ScriptedProvider::new(Script::new().text("Two.")), "scripted");
/// let options = QueryOptions { cwd: Some(folder.path().to_owned()), ..QueryOptions::default() };
/// assert_eq!(query("What is 1 + 1?", model, options).await?, "Two.");
/// # Ok(()) }
/// ```
///
/// # Errors
/// If an option is invalid, or the turn was interrupted, blocked or failed.
pub async fn query(
    prompt: &str,
    model: ModelSetup,
    options: QueryOptions,
) -> Result<String, SdkError> {
    let project = Project::load(ProjectOptions {
        cwd: options.cwd,
        mode: options.mode,
        ..ProjectOptions::default()
    })?;
    let mut builder = InteractiveSession::builder(project, model).max_rounds(options.max_turns);
    if let Some(show) = options.on_text_delta {
        builder = builder.callbacks(Callbacks::new().on_text(move |text| show(text)));
    }
    if let Some(approvals) = options.approvals {
        builder = builder.approvals(approvals);
    }
    let session = builder.open().await?;
    let answer = session.session().run(prompt).await;
    // Before an error is returned: the child processes must end in any case.
    let ended = session.shutdown("done").await;
    let answer = answer?;
    ended?;
    Ok(answer)
}
