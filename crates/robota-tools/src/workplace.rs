//! What the tools of one session share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::blob::Blobs;
use robota_core::checkpoint::{Before, Changing};
use robota_core::ids::CallId;
use robota_core::paths::Paths as _;
use robota_core::sandbox::SandboxError;
use robota_core::tool::{ToolContext, ToolOutcome};
use robota_exec::sandbox::Confinement;
use robota_exec::{Environment, OsPaths, Supervisor};

use crate::arguments::Early;
use crate::ask_user::Asker;
use crate::error::FileError;
use crate::file::{FileStamp, Planned, commit};
use crate::grant::{AllFiles, Fenced, Grant};
use crate::read_log::ReadLog;
use crate::shells::Shells;
use crate::todo::Todos;
use crate::web_search::Searcher;

/// Where tools work and what they share. Cloning it shares everything.
#[derive(Clone)]
pub struct Workplace {
    pub(crate) cwd: PathBuf,
    pub(crate) supervisor: Supervisor,
    pub(crate) env: Environment,
    pub(crate) log: Arc<ReadLog>,
    rules: Arc<dyn Grant>,
    pub(crate) grant: Arc<dyn Grant>,
    pub(crate) blobs: Option<Arc<dyn Blobs>>,
    pub(crate) confinement: Option<Arc<Confinement>>,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) searcher: Option<Arc<dyn Searcher>>,
    pub(crate) shells: Shells,
    pub(crate) todos: Todos,
    follow_cd: bool,
    shell_cwd: Arc<Mutex<PathBuf>>,
    /// Where calls were judged that have not started.
    judged: Arc<Mutex<HashMap<CallId, PathBuf>>>,
    editing: Arc<tokio::sync::Mutex<()>>,
}

impl Workplace {
    /// Work in a directory, with commands in exactly this environment.
    pub fn new(cwd: impl Into<PathBuf>, supervisor: Supervisor, env: Environment) -> Self {
        let cwd = cwd.into();
        Self {
            supervisor,
            env,
            log: Arc::default(),
            rules: Arc::new(AllFiles),
            grant: Arc::new(AllFiles),
            blobs: None,
            confinement: None,
            asker: None,
            searcher: None,
            shells: Shells::default(),
            todos: Todos::default(),
            follow_cd: false,
            shell_cwd: Arc::new(Mutex::new(cwd.clone())),
            judged: Arc::default(),
            editing: Arc::default(),
            cwd,
        }
    }

    /// The same place for another session: the same directory, rules and environment, and nothing
    /// of what this one's tools remember.
    #[must_use]
    pub fn for_session(&self, blobs: Arc<dyn Blobs>) -> Self {
        Self {
            blobs: Some(blobs),
            log: Arc::default(),
            shells: Shells::default(),
            todos: Todos::default(),
            shell_cwd: Arc::new(Mutex::new(self.cwd.clone())),
            judged: Arc::default(),
            editing: Arc::default(),
            ..self.clone()
        }
    }

    /// The same under rules on what may be shown.
    #[must_use]
    pub fn grant(mut self, grant: Arc<dyn Grant>) -> Self {
        self.rules = grant;
        self.behind_fence()
    }

    /// The same with a place for pictures.
    #[must_use]
    pub fn blobs(mut self, blobs: Arc<dyn Blobs>) -> Self {
        self.blobs = Some(blobs);
        self
    }

    /// The same behind a fence: commands are kept from what they must not do by the system, and
    /// tools that read and change files keep to it by themselves.
    #[must_use]
    pub fn confine(mut self, confinement: Arc<Confinement>) -> Self {
        self.confinement = Some(confinement);
        self.behind_fence()
    }

    fn behind_fence(mut self) -> Self {
        self.grant = match &self.confinement {
            Some(fence) => Arc::new(Fenced { rules: self.rules.clone(), fence: fence.clone() }),
            None => self.rules.clone(),
        };
        self
    }

    /// Refuses a change that the fence does not allow.
    fn within_fence(&self, planned: &[Planned]) -> Result<(), Early> {
        let Some(confinement) = &self.confinement else { return Ok(()) };
        let fence = &confinement.boundaries().fence;
        let outside = planned.iter().find(|change| {
            // Folders on the way may be missing, or links.
            let real = OsPaths.canonical(&change.target);
            !real.is_some_and(|real| fence.may_write(&real))
        });
        let Some(outside) = outside else { return Ok(()) };
        let path = outside.path.clone();
        let what = format!("write ({})", path.display());
        let error = SandboxError::Denied { action: "write", path, level: fence.level };
        let text = format!("{error}; nothing was changed.\n[the sandbox refused: {what}]\n");
        let refused = ToolOutcome::failed("sandbox_denied", text);
        Err(refused.with_metadata("sandbox_denied", vec![what]).into())
    }

    /// The same with somebody to ask.
    #[must_use]
    pub fn asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// The same with somebody who searches the web.
    #[must_use]
    pub fn searcher(mut self, searcher: Arc<dyn Searcher>) -> Self {
        self.searcher = Some(searcher);
        self
    }

    /// The same with a working directory that lasts from one Bash call to the next.
    ///
    /// The gate judges a command in the directory it will start in: Bash says which, through
    /// [`Tool::gate_input`](robota_core::tool::Tool::gate_input).
    #[must_use]
    pub fn follow_cd(mut self) -> Self {
        self.follow_cd = true;
        self
    }

    /// The directory the next Bash call starts in.
    #[must_use]
    pub fn shell_cwd(&self) -> PathBuf {
        self.shell_cwd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The directory to judge a Bash call in. It is also the one the call will start in, whatever
    /// calls that were judged before it have done by then.
    #[must_use]
    pub(crate) fn judged_cwd(&self, call: &CallId) -> PathBuf {
        let dir = self.shell_cwd();
        if self.follow_cd {
            let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
            judged.insert(call.clone(), dir.clone());
        }
        dir
    }

    /// The directory a Bash call starts in.
    pub(crate) fn start_cwd(&self, call: &CallId) -> PathBuf {
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
        judged.unwrap_or_else(|| self.shell_cwd())
    }

    /// The list of things to do.
    #[must_use]
    pub fn todos(&self) -> &Todos {
        &self.todos
    }

    pub(crate) fn follows_cd(&self) -> bool {
        self.follow_cd
    }

    /// A command has gone to another directory; only one that exists and lies in the workplace
    /// is followed.
    pub(crate) fn went_to(&self, dir: &Path) -> bool {
        let inside = self.cwd.canonicalize().is_ok_and(|root| dir.starts_with(root));
        let follow = inside && dir.is_dir();
        if follow {
            *self.shell_cwd.lock().unwrap_or_else(PoisonError::into_inner) = dir.to_owned();
        }
        follow
    }

    /// A path as it is shown: from the workplace, if it lies there.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd).unwrap_or(path).display().to_string()
    }

    /// Where files are put that nobody keeps.
    pub(crate) fn temporary(&self) -> PathBuf {
        let set = self.env.get("TMPDIR").filter(|dir| !dir.is_empty());
        set.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// Has what is there kept, all of it at once.
    async fn checkpoint(&self, context: &ToolContext, planned: &[Planned]) -> Result<(), Early> {
        let files: Vec<_> = planned
            .iter()
            .map(|change| {
                let before = match &change.before {
                    None => Before::Missing,
                    Some(content) => Before::File { content, mode: change.mode() },
                };
                Changing { path: &change.target, before, after: &change.after }
            })
            .collect();
        let kept = context.checkpoints.before_change(&context.call, &files).await;
        kept.map_err(|error| {
            let path = planned.first().map(|change| change.path.clone()).unwrap_or_default();
            let error = FileError::NoCheckpoint { path, message: error.message };
            crate::blocking::failed(&error).into()
        })
    }

    /// Plans changes, keeps what is there, then makes them. One at a time: two edits at once
    /// could each replace what the other wrote.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        context: &ToolContext,
        plan: impl FnOnce(&ReadLog) -> Result<(Vec<Planned>, T), FileError> + Send + 'static,
    ) -> Result<(Vec<(Planned, FileStamp)>, T), Early> {
        let _one_at_a_time = self.editing.lock().await;
        let log = self.log.clone();
        let (planned, more) = crate::blocking::blocking(move || plan(&log)).await?;
        self.within_fence(&planned)?;
        self.checkpoint(context, &planned).await?;
        let log = self.log.clone();
        let made = crate::blocking::blocking(move || {
            let stamps = commit(&planned)?;
            // Who wrote it knows what is there.
            for (change, stamp) in planned.iter().zip(&stamps) {
                log.record(&change.target, *stamp);
            }
            Ok(planned.into_iter().zip(stamps).collect())
        })
        .await?;
        Ok((made, more))
    }
}
