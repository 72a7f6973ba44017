//! A program and the processes it started: as a direct child, or below a monitor of the reaper.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::process::ProcessIdentity;
use tokio::process::{ChildStdin, ChildStdout};

use super::direct_group::DirectGroup;
use super::terminal;
use crate::env::is_program;
use crate::error::ExecError;
use crate::launch::{ChildStreams, Launch};
use crate::outcome::Exit;
use crate::spec::{CommandSpec, Stdin, Streams};

#[cfg(target_os = "linux")]
pub(crate) use crate::linux::client::ReaperClient;
#[cfg(target_os = "linux")]
use crate::linux::monitored_group::{MonitoredGroup, StartError};
#[cfg(not(target_os = "linux"))]
pub(crate) use crate::reaper_stub::ReaperClient;

/// How often a reaper that died before it took the request is replaced.
#[cfg(target_os = "linux")]
const REAPER_ATTEMPTS: usize = 3;

/// A future that owns what it waits for.
pub(super) type BoxedFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) enum ProcessGroup {
    Direct(DirectGroup),
    #[cfg(target_os = "linux")]
    Monitored(MonitoredGroup),
}

/// The supervisor's ends of the streams of a child.
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    /// `None` if the output goes to a file.
    pub(super) stdout: Option<ChildStdout>,
    /// `None` if both streams are merged, or the output goes to a file.
    pub(super) stderr: Option<ChildStdout>,
    /// Receives the notification descriptor of the seccomp filter.
    pub(super) denials: Option<std::os::unix::net::UnixStream>,
}

impl ProcessGroup {
    /// Starts the program as the leader of a new session, and so of a new group. Without a
    /// controlling terminal it cannot prompt the user directly.
    pub(super) async fn spawn(
        spec: &CommandSpec,
        reaper: Option<&Arc<ReaperClient>>,
    ) -> Result<(Self, Pipes), ExecError> {
        let program = find_program(spec)?;
        let fail = |source| ExecError::Spawn { program: program.clone(), source };
        let (child_streams, own_ends) = open_streams(spec).map_err(fail)?;
        // The program is looked up before the wrapper is put in front of it, so that a missing
        // program is reported by its own name and not as a failure of bubblewrap.
        let (executable, args) = match spec.confinement.as_ref().and_then(|c| c.wrapper.as_ref()) {
            None => (program.clone(), spec.args.clone()),
            Some((wrapper, before)) => {
                let cwd = ["--chdir".into(), spec.cwd.clone().into(), "--".into()];
                let wrapped = std::iter::once(program.clone().into_os_string());
                let args = before.iter().cloned().chain(cwd).chain(wrapped);
                (wrapper.clone(), args.chain(spec.args.iter().cloned()).collect())
            }
        };
        let launch = Launch {
            program: executable,
            args,
            cwd: spec.cwd.clone(),
            env: spec.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            terminal: spec.terminal.is_some(),
            filter: spec.confinement.as_ref().map_or_else(Vec::new, |c| c.filter.clone()),
            wrapped: spec.confinement.as_ref().is_some_and(|c| c.wrapper.is_some()),
        };
        let group = match reaper {
            #[cfg(target_os = "linux")]
            Some(client) => {
                let request = crate::linux::wire::LaunchRequest {
                    launch,
                    call: spec.call.clone().unwrap_or_default(),
                    records: client.program().records.clone().unwrap_or_default(),
                    survives_crash: spec.survives_crash,
                    grace_ms: u64::try_from(spec.grace.as_millis()).unwrap_or(u64::MAX),
                };
                let started = start_monitored(client, &request, child_streams).await;
                Self::Monitored(started.map_err(|error| match error {
                    StartError::Spawn(source) => spawn_error(source, &program, spec),
                    StartError::Lost(source) => {
                        ExecError::Wait { program: program.clone(), source }
                    }
                    StartError::Reaper(source)
                        if source.kind() == io::ErrorKind::ArgumentListTooLong =>
                    {
                        fail(source)
                    }
                    StartError::Reaper(source) => {
                        ExecError::Reaper { reaper: client.program().path.clone(), source }
                    }
                    StartError::NotTaken => {
                        let source = io::Error::other("it does not accept requests");
                        ExecError::Reaper { reaper: client.program().path.clone(), source }
                    }
                })?)
            }
            _ => {
                let child = launch
                    .start(child_streams)
                    .map_err(|source| spawn_error(source, &program, spec))?;
                Self::Direct(DirectGroup::new(&program, child)?)
            }
        };
        let pipes = Pipes {
            stdin: own_ends
                .stdin
                .map(|fd| ChildStdin::from_std(fd.into()))
                .transpose()
                .map_err(fail)?,
            stdout: own_ends.stdout.map(reader).transpose().map_err(fail)?,
            stderr: own_ends.stderr.map(reader).transpose().map_err(fail)?,
            denials: own_ends.denials,
        };
        Ok((group, pipes))
    }

    /// Returns the identity of the leader; `None` if the system does not provide it.
    pub(super) fn identity(&self) -> Option<&ProcessIdentity> {
        match self {
            Self::Direct(direct) => direct.identity(),
            #[cfg(target_os = "linux")]
            Self::Monitored(monitored) => Some(monitored.identity()),
        }
    }

    /// Resolves when the leader has exited.
    pub(super) fn leader_exited(&self) -> BoxedFuture {
        match self {
            Self::Direct(direct) => Box::pin(direct.leader_exited()),
            #[cfg(target_os = "linux")]
            Self::Monitored(monitored) => Box::pin(monitored.leader_exited()),
        }
    }

    /// Sends SIGTERM to all processes, also to those that are started while others end. Resolves
    /// when none is left.
    pub(super) fn terminate(&self) -> BoxedFuture {
        match self {
            Self::Direct(direct) => Box::pin(direct.terminate()),
            #[cfg(target_os = "linux")]
            Self::Monitored(monitored) => {
                monitored.terminate();
                Box::pin(monitored.cleared())
            }
        }
    }

    /// Sends SIGKILL to all processes that are left.
    pub(super) fn kill(&self) {
        match self {
            Self::Direct(direct) => direct.kill(),
            #[cfg(target_os = "linux")]
            Self::Monitored(monitored) => monitored.kill(),
        }
    }

    /// Resolves when no process is left. To be called after [`kill`](Self::kill).
    pub(super) fn cleared(&self) -> BoxedFuture {
        match self {
            Self::Direct(direct) => Box::pin(direct.cleared()),
            #[cfg(target_os = "linux")]
            Self::Monitored(monitored) => Box::pin(monitored.cleared()),
        }
    }

    /// Returns how the leader ended. To be called once, after it has exited.
    pub(super) fn reap(&mut self) -> Result<Exit, ExecError> {
        match self {
            Self::Direct(direct) => direct.reap(),
            #[cfg(target_os = "linux")]
            Self::Monitored(monitored) => monitored.reap(),
        }
    }

    /// Reaps the leader if it has exited. Does not wait.
    pub(super) fn try_reap(&mut self) {
        match self {
            Self::Direct(direct) => direct.try_reap(),
            #[cfg(target_os = "linux")]
            Self::Monitored(_) => {}
        }
    }
}

/// Starts the program below a monitor. A reaper that died before it took the request is replaced.
/// A request that was taken is not repeated, because the program may already run.
#[cfg(target_os = "linux")]
async fn start_monitored(
    client: &ReaperClient,
    request: &crate::linux::wire::LaunchRequest,
    streams: ChildStreams,
) -> Result<MonitoredGroup, StartError> {
    // Repeated only while the request was certainly not taken: a program must not run twice.
    for _ in 0..REAPER_ATTEMPTS {
        match MonitoredGroup::start(client, request, &streams).await {
            Err(StartError::NotTaken) => client.discard(),
            other => return other,
        }
    }
    Err(StartError::NotTaken)
}

/// The supervisor's ends of the descriptors.
#[derive(Default)]
struct OwnEnds {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    denials: Option<std::os::unix::net::UnixStream>,
}

/// Opens the streams of a child: its ends and the supervisor's ends.
fn open_streams(spec: &CommandSpec) -> io::Result<(ChildStreams, OwnEnds)> {
    let mut own = OwnEnds::default();
    let terminal = spec.terminal.map(terminal::open).transpose()?;
    // The rule set is built after the terminal is open: the program has to write to its own
    // terminal, whose file is known only now.
    let ruleset = match &spec.confinement {
        Some(confinement) => {
            confinement.ruleset(terminal.as_ref().map(|own| own.path.as_path()))?
        }
        None => None,
    };
    let mut notify = None;
    if spec.confinement.as_ref().is_some_and(|confinement| confinement.reports_denials) {
        let (receiver, sender) = std::os::unix::net::UnixStream::pair()?;
        own.denials = Some(receiver);
        notify = Some(OwnedFd::from(sender));
    }
    if let Some(terminal::Terminal { master, slave, .. }) = terminal {
        own.stdin = match spec.stdin {
            Stdin::Closed => None,
            Stdin::Bytes(_) | Stdin::Open => Some(master.try_clone()?),
        };
        own.stdout = Some(master);
        let (stdin, stdout) = (slave.try_clone()?, slave.try_clone()?);
        return Ok((ChildStreams { stdin, stdout, stderr: slave, ruleset, notify }, own));
    }
    let stdin = match spec.stdin {
        Stdin::Closed => OwnedFd::from(File::open("/dev/null")?),
        Stdin::Bytes(_) | Stdin::Open => {
            let (reading, writing) = io::pipe()?;
            own.stdin = Some(writing.into());
            reading.into()
        }
    };
    if let Some(path) = &spec.output_file {
        // Both streams share one open file in append mode, so neither overwrites the other, and a
        // program that survives this process keeps writing to it.
        let stdout = OwnedFd::from(OpenOptions::new().append(true).create(true).open(path)?);
        let stderr = stdout.try_clone()?;
        return Ok((ChildStreams { stdin, stdout, stderr, ruleset, notify }, own));
    }
    let (reading, stdout) = io::pipe()?;
    own.stdout = Some(reading.into());
    let stdout = OwnedFd::from(stdout);
    let stderr = match spec.streams {
        Streams::Split => {
            let (reading, stderr) = io::pipe()?;
            own.stderr = Some(reading.into());
            stderr.into()
        }
        Streams::Merged => stdout.try_clone()?,
    };
    Ok((ChildStreams { stdin, stdout, stderr, ruleset, notify }, own))
}

fn reader(fd: OwnedFd) -> io::Result<ChildStdout> {
    ChildStdout::from_std(fd.into())
}

fn find_program(spec: &CommandSpec) -> Result<PathBuf, ExecError> {
    let given = Path::new(&spec.program);
    // As execvp does: only a name without a slash is looked up in PATH, and `./name` is relative to
    // the folder in which the program will start, not to ours.
    let bare_name = given.components().count() == 1 && !given.has_root();
    let slash = spec.program.as_encoded_bytes().contains(&b'/');
    let path = if bare_name && !slash {
        spec.env.find_program(&spec.program)
    } else {
        Some(spec.cwd.join(given)).filter(|path| path.exists())
    };
    path.ok_or_else(|| ExecError::ProgramMissing {
        program: spec.program.clone(),
        path: spec.env.get("PATH").unwrap_or_default().to_owned(),
    })
}

/// Finds the cause of a failed start: the system's "not found" may mean the working directory, the
/// program or its interpreter.
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
        // The program is executable, so it is the directory that may not be entered.
        return ExecError::BadDirectory { cwd: spec.cwd.clone(), source };
    }
    ExecError::Spawn { program: program.to_owned(), source }
}
