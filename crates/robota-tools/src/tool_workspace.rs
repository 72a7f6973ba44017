//! The state that the tools of one session share.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::blob::Blobs;
use robota_core::checkpoint::{Before, Changing};
use robota_core::ids::CallId;
use robota_core::sandbox::SandboxError;
use robota_core::tool::{ToolContext, ToolOutcome};
use robota_exec::sandbox::{ReadOnlyFence, SharedConfinement};
use robota_exec::{Environment, SessionVariables, Supervisor};
use serde_json::Value;

use crate::access_check::{AccessCheck, AllowAllFiles, SandboxAccessCheck};
use crate::arguments::EarlyOutcome;
use crate::ask_user::QuestionHandler;
use crate::background_commands::{BackgroundCommands, CommandTasks};
use crate::capture::{CaptureLimits, CommandCapture};
use crate::editor::{self, EditorFiles, Written};
use crate::error::FileError;
use crate::file::{FileStamp, PlannedChange, ResolvedPath, commit};
use crate::grants::Grants;
use crate::read_log::ReadLog;
use crate::todo::Todos;
use crate::web_search::Searcher;

/// The working directory of tools, and the state that they share. Clones share all state.
#[derive(Clone)]
pub struct ToolWorkspace(Arc<WorkspaceParts>);

/// Holds the parts of a [`ToolWorkspace`]. They are shared: every tool of a session has the
/// workspace.
#[derive(Clone)]
pub struct WorkspaceParts {
    pub(crate) cwd: PathBuf,
    pub(crate) supervisor: Supervisor,
    pub(crate) env: Environment,
    variables: SessionVariables,
    pub(crate) log: Arc<ReadLog>,
    /// The check by the permission rules alone.
    rules: Arc<dyn AccessCheck>,
    /// The check by the permission rules and the sandbox.
    pub(crate) access_check: Arc<dyn AccessCheck>,
    pub(crate) blobs: Option<Arc<dyn Blobs>>,
    pub(crate) confinement: Option<SharedConfinement>,
    pub(crate) read_only_fence: Option<Arc<ReadOnlyFence>>,
    pub(crate) question_handler: Option<Arc<dyn QuestionHandler>>,
    pub(crate) searcher: Option<Arc<dyn Searcher>>,
    pub(crate) editor: Option<Arc<dyn EditorFiles>>,
    pub(crate) background: BackgroundCommands,
    pub(crate) todos: Todos,
    pub(crate) capture: CommandCapture,
    follow_cd: bool,
    /// The directory in which the next Bash call starts.
    shell_cwd: Arc<Mutex<PathBuf>>,
    /// The directories for which the gate has judged Bash calls that have not started yet.
    judged_cwds: Arc<Mutex<HashMap<CallId, PathBuf>>>,
    /// The files of calls that the gate has judged and that have not run yet.
    pub(crate) grants: Arc<Grants>,
    /// Held while files are changed.
    edit_lock: Arc<tokio::sync::Mutex<()>>,
}

impl WorkspaceParts {
    fn update_access_check(&mut self) {
        self.access_check = match &self.confinement {
            Some(confinement) => Arc::new(SandboxAccessCheck {
                rules: self.rules.clone(),
                confinement: confinement.clone(),
            }),
            None => self.rules.clone(),
        };
    }
}

impl Deref for ToolWorkspace {
    type Target = WorkspaceParts;

    fn deref(&self) -> &WorkspaceParts {
        &self.0
    }
}

impl ToolWorkspace {
    /// Creates a workspace in a directory. Commands get exactly this environment.
    pub fn new(cwd: impl Into<PathBuf>, supervisor: Supervisor, env: Environment) -> Self {
        let cwd = cwd.into();
        // The comparison reads without following links, so it starts at the real folder.
        let root = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
        Self(Arc::new(WorkspaceParts {
            capture: CommandCapture::new(&root, Some(Arc::default())),
            supervisor,
            env,
            variables: SessionVariables::default(),
            log: Arc::default(),
            rules: Arc::new(AllowAllFiles),
            access_check: Arc::new(AllowAllFiles),
            blobs: None,
            confinement: None,
            read_only_fence: None,
            question_handler: None,
            searcher: None,
            editor: None,
            background: BackgroundCommands::default(),
            todos: Todos::default(),
            follow_cd: false,
            shell_cwd: Arc::new(Mutex::new(cwd.clone())),
            judged_cwds: Arc::default(),
            grants: Arc::default(),
            edit_lock: Arc::default(),
            cwd,
        }))
    }

    /// Changes parts of this workspace, and not those of its clones.
    fn with(mut self, change: impl FnOnce(&mut WorkspaceParts)) -> Self {
        // Copies the parts if another clone exists, so that its owner sees no change.
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Returns a workspace for another session: with the same directory, rules and environment, and
    /// with new state (files read, background commands, to-do list, shell directory).
    #[must_use]
    pub fn for_session(&self, blobs: Arc<dyn Blobs>) -> Self {
        Self(Arc::new(WorkspaceParts {
            blobs: Some(blobs),
            capture: self.capture.fresh(),
            log: Arc::default(),
            background: BackgroundCommands::default(),
            todos: Todos::default(),
            shell_cwd: Arc::new(Mutex::new(self.cwd.clone())),
            judged_cwds: Arc::default(),
            grants: Arc::default(),
            edit_lock: Arc::default(),
            ..(*self.0).clone()
        }))
    }

    /// Returns a workspace for an agent in another directory, for instance a worktree, with the rules
    /// of that directory.
    #[must_use]
    pub fn in_folder(&self, cwd: impl Into<PathBuf>, rules: Arc<dyn AccessCheck>) -> Self {
        let cwd = cwd.into();
        let root = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
        let workspace = self.clone().with(|parts| {
            parts.capture = self.capture.in_folder(&root);
            parts.shell_cwd = Arc::new(Mutex::new(cwd.clone()));
            parts.cwd = cwd;
        });
        workspace.access_check(rules)
    }

    /// Runs background commands as tasks of the session.
    #[must_use]
    pub fn command_tasks(self, tasks: Arc<dyn CommandTasks>) -> Self {
        self.with(|parts| parts.background = BackgroundCommands::of_tasks(Some(tasks)))
    }

    /// Returns the same workspace without a handler for questions to the user.
    #[must_use]
    pub fn without_questions(self) -> Self {
        self.with(|parts| parts.question_handler = None)
    }

    /// Sets the rules that decide which files tools may return.
    #[must_use]
    pub fn access_check(self, rules: Arc<dyn AccessCheck>) -> Self {
        self.with(|parts| {
            parts.rules = rules;
            parts.update_access_check();
        })
    }

    /// Sets the variables that hooks set for commands.
    #[must_use]
    pub fn session_variables(self, variables: SessionVariables) -> Self {
        self.with(|parts| parts.variables = variables)
    }

    /// Returns the variables that hooks set for commands.
    #[must_use]
    pub fn variables(&self) -> &SessionVariables {
        &self.variables
    }

    /// Returns the environment of a command that starts now.
    pub(crate) fn command_env(&self) -> Environment {
        self.variables.apply(self.env.clone())
    }

    /// Sets the blob store, which is needed to show images.
    #[must_use]
    pub fn blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        self.with(|parts| parts.blobs = Some(blobs))
    }

    /// Restricts the tools to a sandbox. The kernel enforces it for commands; tools that read and
    /// change files enforce it themselves.
    #[must_use]
    pub fn confine(self, confinement: impl Into<SharedConfinement>) -> Self {
        self.with(|parts| {
            parts.confinement = Some(confinement.into());
            parts.update_access_check();
        })
    }

    /// Sets the fence for commands that are allowed only because they were proven to read.
    #[must_use]
    pub fn read_only_fence(self, fence: Arc<ReadOnlyFence>) -> Self {
        self.with(|parts| parts.read_only_fence = Some(fence))
    }

    /// Fails if the sandbox does not allow one of the changes.
    fn check_sandbox(&self, planned: &[PlannedChange]) -> Result<(), EarlyOutcome> {
        let Some(confinement) = &self.confinement else { return Ok(()) };
        let confinement = confinement.current();
        let fence = &confinement.boundaries().fence;
        let denied = planned.iter().find(|change| !fence.may_write(&change.path.target));
        let Some(denied) = denied else { return Ok(()) };
        let path = denied.path.given.clone();
        let what = format!("write ({})", path.display());
        let error = SandboxError::Denied { action: "write", path, level: fence.level };
        let text = format!("{error}; nothing was changed.\n[denied by the sandbox: {what}]\n");
        let outcome = ToolOutcome::failed("sandbox_denied", text);
        Err(outcome.with_metadata("sandbox_denied", vec![what]).into())
    }

    /// Sets the handler that shows questions to the user.
    #[must_use]
    pub fn question_handler(self, handler: Arc<dyn QuestionHandler>) -> Self {
        self.with(|parts| parts.question_handler = Some(handler))
    }

    /// Sets the limits within which the files that commands change are recorded; `None` records
    /// none of them. It has an effect in sessions only.
    #[must_use]
    pub fn capture_limits(self, limits: Option<CaptureLimits>) -> Self {
        self.with(|parts| parts.capture.set_limits(limits))
    }

    /// Sets the editor that has the workspace open. Reads show its text that is not saved; a file
    /// that exists is changed through it.
    #[must_use]
    pub fn editor(self, editor: Arc<dyn EditorFiles>) -> Self {
        self.with(|parts| parts.editor = Some(editor))
    }

    /// Sets the search service for WebSearch.
    #[must_use]
    pub fn searcher(self, searcher: Arc<dyn Searcher>) -> Self {
        self.with(|parts| parts.searcher = Some(searcher))
    }

    /// Keeps the working directory from one Bash call to the next.
    ///
    /// The gate judges a command in the directory in which it will start. Bash passes that directory
    /// through [`Tool::gate_input`](robota_core::tool::Tool::gate_input).
    #[must_use]
    pub fn follow_cd(self) -> Self {
        self.with(|parts| parts.follow_cd = true)
    }

    /// Returns the directory in which the next Bash call starts.
    #[must_use]
    pub fn shell_cwd(&self) -> PathBuf {
        self.shell_cwd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the directory in which the gate judges a Bash call, and records it: the call will
    /// start there, even if earlier calls change the directory in the meantime.
    #[must_use]
    pub(crate) fn cwd_for_gate(&self, call: &CallId) -> PathBuf {
        let dir = self.shell_cwd();
        if self.follow_cd {
            let mut judged = self.judged_cwds.lock().unwrap_or_else(PoisonError::into_inner);
            judged.insert(call.clone(), dir.clone());
        }
        dir
    }

    /// Returns the directory in which a Bash call starts.
    pub(crate) fn start_cwd(&self, call: &CallId) -> PathBuf {
        let judged = self.judged_cwds.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
        judged.unwrap_or_else(|| self.shell_cwd())
    }

    /// Returns the file that a path of the call led to when the gate judged it.
    pub(crate) fn granted(
        &self,
        call: &CallId,
        given: &Path,
    ) -> Result<ResolvedPath, EarlyOutcome> {
        let granted = self.grants.take(call, given);
        granted.map_err(|error| crate::blocking::failed(&error).into())
    }

    /// Returns whether the content of a file may be returned. Both of its names must be allowed.
    pub(crate) fn may_read(&self, path: &ResolvedPath) -> bool {
        let allowed = |path: &Path| self.access_check.may_read(path);
        // A rule may name the link or its target.
        allowed(&path.target) && (path.given == path.target || allowed(&path.given))
    }

    /// Returns whether the user has to approve reading a file, because of one of its names.
    pub(crate) fn needs_approval(&self, path: &ResolvedPath) -> bool {
        let named = |path: &Path| self.access_check.needs_approval(path);
        named(&path.target) || (path.given != path.target && named(&path.given))
    }

    /// Returns the arguments of a call of a file tool for the gate: with the file that `file_path`
    /// leads to, if that is another name. The call will use that file.
    pub(crate) fn gate_file(&self, call: &CallId, input: &Value) -> Option<Value> {
        let mut judged = input.as_object()?.clone();
        let given = judged.get("file_path")?.as_str()?.to_owned();
        self.grants.record(call, self.cwd.join(given), &mut judged, "path");
        Some(Value::Object(judged))
    }

    /// Returns the to-do list.
    #[must_use]
    pub fn todos(&self) -> &Todos {
        &self.todos
    }

    pub(crate) fn tracks_cwd(&self) -> bool {
        self.follow_cd
    }

    /// Sets the directory for the next Bash call, if it exists and is in the workspace. Returns the
    /// directory before it; none if it was not set.
    pub(crate) fn change_shell_cwd(&self, dir: &Path) -> Option<PathBuf> {
        // Outside of the workspace, later commands would be judged by other rules than the user
        // expects.
        let inside = self.cwd.canonicalize().is_ok_and(|root| dir.starts_with(root));
        (inside && dir.is_dir()).then(|| {
            let mut cwd = self.shell_cwd.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *cwd, dir.to_owned())
        })
    }

    /// Returns a path as text, relative to the working directory if it is below it.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd).unwrap_or(path).display().to_string()
    }

    /// Returns the folder for temporary files.
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        let set = self.env.get("TMPDIR").filter(|dir| !dir.is_empty());
        set.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// Saves the current content of all files before they are changed.
    async fn checkpoint(
        &self,
        context: &ToolContext,
        planned: &[PlannedChange],
    ) -> Result<(), EarlyOutcome> {
        let new_folders: Vec<_> =
            planned.iter().map(|change| missing_folders(&change.path.target)).collect();
        let files: Vec<_> = planned
            .iter()
            .zip(&new_folders)
            .map(|(change, new_folders)| {
                let before = match &change.before {
                    None => Before::Missing,
                    Some(content) => Before::File { content, mode: change.mode() },
                };
                Changing { path: &change.path.target, before, after: &change.after, new_folders }
            })
            .collect();
        let saved = context.checkpoints.before_change(&context.call, &files).await;
        saved.map_err(|error| {
            let path = planned.first().map(|change| change.path.given.clone()).unwrap_or_default();
            let error = FileError::NoCheckpoint { path, message: error.message };
            crate::blocking::failed(&error).into()
        })
    }

    /// Plans changes, saves a checkpoint, then makes the changes. Only one call does this at a time:
    /// two concurrent edits could overwrite each other.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        context: &ToolContext,
        plan: impl FnOnce(&ReadLog) -> Result<(Vec<PlannedChange>, T), FileError> + Send + 'static,
    ) -> Result<(Vec<(PlannedChange, FileStamp)>, T), EarlyOutcome> {
        let _one_at_a_time = self.edit_lock.lock().await;
        let log = self.log.clone();
        let (planned, extra) = crate::blocking::blocking(move || plan(&log)).await?;
        // Before the checkpoint: a change that is not allowed needs none.
        self.check_sandbox(&planned)?;
        if let Some(editor) = &self.editor {
            let saved = editor::check_saved(&**editor, &planned).await;
            saved.map_err(|error| crate::blocking::failed(&error))?;
        }
        self.checkpoint(context, &planned).await?;
        let through_editor = match &self.editor {
            Some(editor) => editor::write(&**editor, &planned).await,
            None => false,
        };
        let log = self.log.clone();
        let made = crate::blocking::blocking(move || {
            let written = if through_editor {
                editor::after_write(&planned)?
            } else {
                Written::exact(commit(&planned)?)
            };
            // A file that the session has written counts as read.
            // After an editor formatted the file, the model has to read what is in it now.
            for (change, stamp) in planned.iter().zip(&written.stamps).filter(|_| written.exact) {
                log.record(&change.path.target, *stamp);
            }
            Ok(planned.into_iter().zip(written.stamps).collect())
        })
        .await?;
        Ok((made, extra))
    }
}

/// Returns the folders of a path that do not exist, outermost first.
fn missing_folders(path: &Path) -> Vec<String> {
    let folders = path.ancestors().skip(1);
    let missing = folders.take_while(|folder| folder.symlink_metadata().is_err());
    let mut missing: Vec<_> = missing.map(|folder| folder.display().to_string()).collect();
    missing.reverse();
    missing
}
