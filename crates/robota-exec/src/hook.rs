//! Runs hooks that are commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use robota_core::hook::{CommandHook, HookDefinition, HookEnd, HookExecutor, HookExit, MAX_STDOUT};
use tokio_util::sync::CancellationToken;

use crate::capture::{Captured, Limits};
use crate::env::Environment;
use crate::error::ExecError;
use crate::outcome::{Exit, Outcome};
use crate::shell::ShellCommand;
use crate::spec::CommandSpec;
use crate::supervisor::Supervisor;

/// How much of each stream is captured. The reader of standard error uses far less of it.
const LIMITS: Limits = Limits { head: MAX_STDOUT, tail: 0 };

/// The time between SIGTERM and SIGKILL for a hook that timed out.
const GRACE: Duration = Duration::from_secs(1);

/// The environment variables with the project directory.
const PROJECT_DIR: [&str; 2] = ["CLAUDE_PROJECT_DIR", "ROBOTA_PROJECT_DIR"];

/// The environment variables with the session id.
const SESSION_ID: [&str; 2] = ["CLAUDE_SESSION_ID", "ROBOTA_SESSION_ID"];

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

    fn spec(&self, hook: &CommandHook) -> Result<CommandSpec, String> {
        match (&hook.args, hook.shell.as_deref()) {
            (Some(args), _) => {
                let args = args.iter().map(|arg| expand_project_dir(arg, &self.project));
                let program = expand_project_dir(&hook.command, &self.project);
                Ok(CommandSpec::new(program, &self.cwd).args(args).env(self.env.clone()))
            }
            (None, None | Some("bash")) => ShellCommand::new(&hook.command, &self.cwd)
                .env(self.env.clone())
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
        let spec = match self.spec(hook) {
            Ok(spec) => spec,
            Err(reason) => return HookExit::failed(reason),
        };
        let line = format!("{payload}\n");
        let spec = spec.stdin(line).limits(LIMITS).timeout(timeout).grace(GRACE);
        hook_exit(self.supervisor.run(spec, &self.cancel).await)
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

/// Replaces `${CLAUDE_PROJECT_DIR}` and `${ROBOTA_PROJECT_DIR}`. A program that runs without a shell
/// would otherwise receive them unexpanded.
fn expand_project_dir(text: &str, project: &Path) -> String {
    PROJECT_DIR.iter().fold(text.to_owned(), |text, name| {
        text.replace(&format!("${{{name}}}"), &project.to_string_lossy())
    })
}
