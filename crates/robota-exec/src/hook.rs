//! Hooks that are commands.

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

/// How much of a stream is kept: standard error is cut to far less when it is read.
const LIMITS: Limits = Limits { head: MAX_STDOUT, tail: 0 };

/// The time between TERM and KILL for a hook whose time is up.
const GRACE: Duration = Duration::from_secs(1);

/// The names under which a hook finds the project's directory.
const PROJECT_DIR: [&str; 2] = ["CLAUDE_PROJECT_DIR", "ROBOTA_PROJECT_DIR"];

/// The names under which a hook finds the session.
const SESSION_ID: [&str; 2] = ["CLAUDE_SESSION_ID", "ROBOTA_SESSION_ID"];

/// Runs command hooks: a command line with `bash --noprofile --norc -c`, or a program with
/// arguments. Each reads one JSON object and gets the environment given here, nothing else. When
/// its time is up, or nobody waits any more, its whole process group is ended.
#[derive(Debug, Clone)]
pub struct CommandHooks {
    supervisor: Supervisor,
    cwd: PathBuf,
    project: PathBuf,
    env: Environment,
    cancel: CancellationToken,
}

impl CommandHooks {
    /// Hooks that run in a directory, which is the project's too, with this environment and
    /// what tells them about the session.
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

    /// The same for a project whose directory is another one.
    #[must_use]
    pub fn project_dir(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = project.into();
        for name in PROJECT_DIR {
            self.env.set(name, self.project.as_os_str());
        }
        self
    }

    /// The same, ended when that token is cancelled.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    fn spec(&self, hook: &CommandHook) -> Result<CommandSpec, String> {
        match (&hook.args, hook.shell.as_deref()) {
            (Some(args), _) => {
                let args = args.iter().map(|arg| placed(arg, &self.project));
                let program = placed(&hook.command, &self.project);
                Ok(CommandSpec::new(program, &self.cwd).args(args).env(self.env.clone()))
            }
            (None, None | Some("bash")) => ShellCommand::new(&hook.command, &self.cwd)
                .env(self.env.clone())
                .into_spec()
                .map_err(|error| error.to_string()),
            (None, Some(other)) => {
                Err(format!("there is no shell `{}` here, only bash", other.escape_debug()))
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
            return HookExit::failed("it is no command");
        };
        let spec = match self.spec(hook) {
            Ok(spec) => spec,
            Err(why) => return HookExit::failed(why),
        };
        let line = format!("{payload}\n");
        let spec = spec.stdin(line).limits(LIMITS).timeout(timeout).grace(GRACE);
        exit(self.supervisor.run(spec, &self.cancel).await)
    }
}

fn exit(ran: Result<Outcome, ExecError>) -> HookExit {
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(error) => return HookExit::failed(error.to_string()),
    };
    let end = match outcome.exit {
        Exit::Code(code) => HookEnd::Code(code),
        Exit::Signal(signal) => HookEnd::Signal(signal),
        Exit::TimedOut => HookEnd::TimedOut,
        Exit::Cancelled => HookEnd::Failed("it was cancelled".to_owned()),
    };
    let Captured { head, dropped_bytes, .. } = outcome.stdout;
    HookExit { end, stdout: head, stdout_cut: dropped_bytes > 0, stderr: outcome.stderr.head }
}

/// Without a shell nobody else puts the project's directory in place of its name.
fn placed(text: &str, project: &Path) -> String {
    PROJECT_DIR.iter().fold(text.to_owned(), |text, name| {
        text.replace(&format!("${{{name}}}"), &project.to_string_lossy())
    })
}
