//! Runs hooks that are commands.

mod env_file;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use robota_core::hook::{
    CommandHook, HookDefinition, HookEnd, HookEvent, HookExecutor, HookExit, MAX_STDOUT,
};
use tokio_util::sync::CancellationToken;

use crate::capture::{Captured, Limits};
use crate::env::Environment;
use crate::error::ExecError;
use crate::outcome::{Exit, Outcome};
use crate::shell::ShellCommand;
use crate::spec::CommandSpec;
use crate::supervisor::Supervisor;

use env_file::MAX_FILE_BYTES;
pub use env_file::SessionVariables;

/// How much of each stream is captured. The reader of standard error uses far less of it.
const LIMITS: Limits = Limits { head: MAX_STDOUT, tail: 0 };

/// The time between SIGTERM and SIGKILL for a hook that timed out.
const GRACE: Duration = Duration::from_secs(1);

/// The environment variables with the project directory.
const PROJECT_DIR: [&str; 2] = ["CLAUDE_PROJECT_DIR", "ROBOTA_PROJECT_DIR"];

/// The environment variables with the file in which a hook sets variables.
const ENV_FILE: [&str; 2] = ["CLAUDE_ENV_FILE", "ROBOTA_ENV_FILE"];

/// The environment variables with the session id.
const SESSION_ID: [&str; 2] = ["CLAUDE_SESSION_ID", "ROBOTA_SESSION_ID"];

/// The environment variables with how hard the model thinks; absent if the provider decides it.
const EFFORT: [&str; 2] = ["CLAUDE_EFFORT", "ROBOTA_EFFORT"];

/// Runs command hooks: a command line with `bash --noprofile --norc -c`, or a program with
/// arguments. Each hook reads one JSON object from standard input and gets only the environment
/// given here. When it times out, or the future is dropped, its whole process group is ended.
#[derive(Debug, Clone)]
pub struct CommandHooks {
    supervisor: Supervisor,
    cwd: PathBuf,
    project: PathBuf,
    env: Environment,
    cancel: CancellationToken,
    variables: Option<SessionVariables>,
}

impl CommandHooks {
    /// Creates an executor for hooks that run in `cwd`, which is also the project directory. The
    /// variables for the session id and the project directory are added to `env`.
    pub fn new(
        supervisor: Supervisor,
        cwd: impl Into<PathBuf>,
        session_id: &str,
        env: Environment,
    ) -> Self {
        let cwd = cwd.into();
        let env = SESSION_ID.into_iter().fold(env, |env, name| env.with(name, session_id));
        let hooks = Self {
            supervisor,
            project: PathBuf::new(),
            cwd: cwd.clone(),
            env,
            cancel: CancellationToken::new(),
            variables: None,
        };
        hooks.project_dir(cwd)
    }

    /// Sets the project directory, if it is not the working directory.
    #[must_use]
    pub fn project_dir(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = project.into();
        for name in PROJECT_DIR {
            self.env.set(name, self.project.as_os_str());
        }
        self
    }

    /// Ends running hooks when this token is cancelled.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Lets SessionStart, Setup and CwdChanged hooks set variables for later commands: they append
    /// assignments to the file that `CLAUDE_ENV_FILE` names. Without this there is no such file.
    #[must_use]
    pub fn session_variables(mut self, variables: SessionVariables) -> Self {
        self.variables = Some(variables);
        self
    }

    /// Creates the file for the variables that a hook sets, if the event has one.
    fn env_file(&self, event: &Event) -> Result<Option<(EnvFile, &SessionVariables)>, String> {
        let Some(variables) = &self.variables else { return Ok(None) };
        let sets = [HookEvent::SessionStart, HookEvent::Setup, HookEvent::CwdChanged];
        if !sets.iter().any(|it| it.name() == event.hook_event_name) {
            return Ok(None);
        }
        let folder = self
            .env
            .get("TMPDIR")
            .filter(|dir| !dir.is_empty())
            // The hook's own TMPDIR, not that of this process: the hook has to reach the file, also
            // if its environment was given by an embedder.
            .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let file = tempfile::Builder::new().prefix("robota-env-").tempfile_in(folder);
        let file =
            file.map_err(|error| format!("cannot create the file for variables: {error}"))?;
        Ok(Some((EnvFile(file), variables)))
    }

    fn spec(&self, hook: &CommandHook, env: Environment) -> Result<CommandSpec, String> {
        match (&hook.args, hook.shell.as_deref()) {
            (Some(args), _) => {
                let expand = |text: &str| expand_variables(text, &self.project, hook);
                let args = args.iter().map(|arg| expand(arg));
                let program = expand(&hook.command);
                Ok(CommandSpec::new(program, &self.cwd).args(args).env(env))
            }
            (None, None | Some("bash")) => ShellCommand::new(&hook.command, &self.cwd)
                .env(env)
                .into_spec()
                .map_err(|error| error.to_string()),
            (None, Some(other)) => {
                Err(format!("the shell `{}` is not supported, only bash is", other.escape_debug()))
            }
        }
    }
}

#[async_trait::async_trait]
impl HookExecutor for CommandHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        let HookDefinition::Command(hook) = definition else {
            return HookExit::failed("the hook is not a command");
        };
        let event: Event = serde_json::from_str(payload).unwrap_or_default();
        let env_file = match self.env_file(&event) {
            Ok(file) => file,
            Err(reason) => return HookExit::failed(reason),
        };
        let named = |effort: &Effort| EFFORT.map(|name| (name, effort.level.clone()));
        let effort = event.effort.iter().flat_map(named);
        let env = effort.fold(self.env.clone(), |env, (name, value)| env.with(name, value));
        let env = hook.variables.iter().fold(env, |env, (name, value)| env.with(name, value));
        let env = match &env_file {
            Some((file, _)) => {
                ENV_FILE.into_iter().fold(env, |env, name| env.with(name, file.0.path()))
            }
            None => env,
        };
        let spec = match self.spec(hook, env) {
            Ok(spec) => spec,
            Err(reason) => return HookExit::failed(reason),
        };
        // Hooks in shell read their input with `read`, which fails without a line end.
        let line = format!("{payload}\n");
        let spec = spec.stdin(line).limits(LIMITS).timeout(timeout).grace(GRACE);
        let mut exit = hook_exit(self.supervisor.run(spec, &self.cancel).await);
        if let Some((file, variables)) = env_file
            // A hook that failed may have written half of its variables.
            && exit.end == HookEnd::Code(0)
            && let Err(reason) = file.read(variables, &self.env)
        {
            exit = HookExit::failed(reason);
        }
        exit
    }
}

/// The fields of an event on which the environment of its hooks depends.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Event {
    /// Decides whether the hooks may set variables.
    hook_event_name: String,
    effort: Option<Effort>,
}

#[derive(serde::Deserialize)]
struct Effort {
    level: String,
}

/// The file in which a hook sets variables. It is deleted when this is dropped.
struct EnvFile(tempfile::NamedTempFile);

impl EnvFile {
    /// Reads the variables; a file with anything but assignments is an error, after they were read.
    fn read(&self, variables: &SessionVariables, env: &Environment) -> Result<(), String> {
        let mut text = String::new();
        let failed = |error| format!("the file for variables cannot be read: {error}");
        let file = self.0.reopen().map_err(failed)?;
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it set variables of more than {MAX_FILE_BYTES} bytes"));
        }
        let ignored = variables.read(&text, env);
        if ignored.is_empty() {
            return Ok(());
        }
        let lines: Vec<_> = ignored.iter().map(usize::to_string).collect();
        Err(format!(
            "the file for variables has lines that are not assignments such as `export NAME=value`: \
             {}; the others are used",
            lines.join(", ")
        ))
    }
}

fn hook_exit(result: Result<Outcome, ExecError>) -> HookExit {
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => return HookExit::failed(error.to_string()),
    };
    let end = match outcome.exit {
        Exit::Code(code) => HookEnd::Code(code),
        Exit::Signal(signal) => HookEnd::Signal(signal),
        Exit::TimedOut => HookEnd::TimedOut,
        Exit::Cancelled => HookEnd::Failed("the hook was cancelled".to_owned()),
    };
    let Captured { head, dropped_bytes, .. } = outcome.stdout;
    HookExit { end, stdout: head, stdout_cut: dropped_bytes > 0, stderr: outcome.stderr.head }
}

/// Replaces `${CLAUDE_PROJECT_DIR}`, `${ROBOTA_PROJECT_DIR}` and the variables of the hook, such as
/// `${CLAUDE_PLUGIN_ROOT}`. A program that runs without a shell would otherwise receive them unexpanded.
fn expand_variables(text: &str, project: &Path, hook: &CommandHook) -> String {
    let replace =
        |text: String, name: &str, value: &str| text.replace(&format!("${{{name}}}"), value);
    let project = project.to_string_lossy();
    let text = PROJECT_DIR.iter().fold(text.to_owned(), |text, name| replace(text, name, &project));
    hook.variables.iter().fold(text, |text, (name, value)| replace(text, name, value))
}
