//! A process group: the child that leads it and everything that stayed with it.
//!
//! The leader is reaped only after the last signal to the group. Until then its id, which is
//! the group's, cannot be given to anybody else, so that no signal of ours can hit a stranger.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStdin, ChildStdout};

use crate::env::is_program;
use crate::error::ExecError;
use crate::outcome::Exit;
use crate::spec::{CommandSpec, Stdin, Streams};

pub(super) struct Group {
    program: PathBuf,
    id: Pid,
    /// Absent once it is reaped.
    leader: Option<Child>,
}

pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: ChildStdout,
    /// Absent when both streams go into one pipe.
    pub(super) stderr: Option<ChildStdout>,
}

impl Group {
    /// Starts the program as the leader of a new session, and so of a new group: without a
    /// terminal it cannot ask the user for anything behind our back.
    pub(super) fn spawn(spec: &CommandSpec) -> Result<(Self, Pipes), ExecError> {
        let program = find(spec)?;
        let fail = |source| ExecError::Spawn { program: program.clone(), source };

        let (stdout, stdout_end) = io::pipe().map_err(fail)?;
        let (stderr, stderr_end) = match spec.streams {
            Streams::Split => {
                let (stderr, end) = io::pipe().map_err(fail)?;
                (Some(stderr), end)
            }
            Streams::Merged => (None, stdout_end.try_clone().map_err(fail)?),
        };

        let mut child = {
            // Our copies of the writing ends close with the command, at the end of this block.
            let mut command = prepare(&program, spec);
            command.stdout(stdout_end).stderr(stderr_end);
            command.spawn().map_err(|source| spawn_error(source, &program, spec))?
        };
        let stdin = child.stdin.take();
        let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return Err(ExecError::Wait { program, source: io::Error::other("no process id") });
        };
        // From here on, leaving early ends the child.
        let group = Self { program: program.clone(), id, leader: Some(child) };

        let reader = |pipe: io::PipeReader| {
            ChildStdout::from_std(std::os::fd::OwnedFd::from(pipe).into()).map_err(fail)
        };
        let pipes = Pipes {
            stdin: stdin.map(ChildStdin::from_std).transpose().map_err(fail)?,
            stdout: reader(stdout)?,
            stderr: stderr.map(reader).transpose()?,
        };
        Ok((group, pipes))
    }

    /// Resolves when the leader has exited; it stays a zombie, and the group's id ours.
    pub(super) fn leader_exited(&self) -> impl Future<Output = ()> + use<> {
        let id = self.id;
        let waiter = tokio::task::spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(id), options) {}
        });
        async move {
            // It neither panics nor is cancelled.
            let _ = waiter.await;
        }
    }

    /// Sends a signal to everything in the group.
    pub(super) fn signal(&self, signal: Signal) {
        if self.leader.is_some() {
            // It fails only if nobody is left who could get it.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// How the leader ended. To be called when it has.
    pub(super) fn reap(&mut self) -> Result<Exit, ExecError> {
        let lost = |source| ExecError::Wait { program: self.program.clone(), source };
        let Some(leader) = &mut self.leader else {
            return Err(lost(io::Error::other("asked twice")));
        };
        let status = leader.wait().map_err(lost)?;
        self.leader = None;
        match (status.code(), status.signal()) {
            (Some(code), _) => Ok(Exit::Code(code)),
            (None, Some(signal)) => Ok(Exit::Signal(signal)),
            (None, None) => Err(lost(io::Error::other(format!("status {status}")))),
        }
    }

    /// Reaps the leader if it has exited; never waits.
    pub(super) fn try_reap(&mut self) {
        if let Some(leader) = &mut self.leader
            && matches!(leader.try_wait(), Ok(Some(_)))
        {
            self.leader = None;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.try_reap();
        if let Some(mut leader) = self.leader.take() {
            // Not dead at once: somebody has to collect it, but not the thread that serves all.
            let _ = std::thread::Builder::new()
                .name("robota-reap".to_owned())
                .spawn(move || leader.wait());
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
fn prepare(program: &Path, spec: &CommandSpec) -> Command {
    let mut command = Command::new(program);
    command.args(&spec.args).current_dir(&spec.cwd).env_clear().envs(spec.env.iter());
    command.stdin(match spec.stdin {
        Stdin::Closed => Stdio::null(),
        Stdin::Bytes(_) => Stdio::piped(),
    });
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let in_child = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{getppid, set_parent_process_death_signal};
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Had we died before that call, no signal would ever come.
            if getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes plain system calls only; it allocates
    // nothing, takes no lock and touches no memory of ours but a copied id.
    #[expect(unsafe_code, reason = "std offers no safe way to set the parent-death signal")]
    unsafe {
        command.pre_exec(in_child);
    }
    command
}

fn find(spec: &CommandSpec) -> Result<PathBuf, ExecError> {
    let given = Path::new(&spec.program);
    let bare_name = given.components().count() == 1 && !given.has_root();
    let slash = spec.program.as_encoded_bytes().contains(&b'/');
    let found = if bare_name && !slash {
        spec.env.find_program(&spec.program)
    } else {
        Some(spec.cwd.join(given)).filter(|path| path.exists())
    };
    found.ok_or_else(|| ExecError::ProgramMissing {
        program: spec.program.clone(),
        path: spec.env.get("PATH").unwrap_or_default().to_owned(),
    })
}

/// The system's "not found" does not say *what* was not found.
fn spawn_error(source: io::Error, program: &Path, spec: &CommandSpec) -> ExecError {
    match spec.cwd.metadata() {
        Err(source) => return ExecError::BadDirectory { cwd: spec.cwd.clone(), source },
        Ok(metadata) if !metadata.is_dir() => {
            let source = io::Error::from(io::ErrorKind::NotADirectory);
            return ExecError::BadDirectory { cwd: spec.cwd.clone(), source };
        }
        Ok(_) => {}
    }
    if source.kind() == io::ErrorKind::PermissionDenied && is_program(program) {
        // The program may be run, so it is the directory that may not be entered.
        return ExecError::BadDirectory { cwd: spec.cwd.clone(), source };
    }
    ExecError::Spawn { program: program.to_owned(), source }
}
