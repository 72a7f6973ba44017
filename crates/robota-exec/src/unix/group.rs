//! A program and everything it started, held one way or the other.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::process::ProcessIdentity;
use tokio::process::{ChildStdin, ChildStdout};

use super::direct::Direct;
use super::terminal;
use crate::env::is_program;
use crate::error::ExecError;
use crate::launch::{Launch, Streams as ChildStreams};
use crate::outcome::Exit;
use crate::spec::{CommandSpec, Stdin, Streams};

#[cfg(target_os = "linux")]
pub(crate) use crate::linux::client::Client;
#[cfg(target_os = "linux")]
use crate::linux::nannied::{Nannied, NotStarted};
#[cfg(not(target_os = "linux"))]
pub(crate) use crate::no_reaper::Client;

/// As many are tried.
#[cfg(target_os = "linux")]
const REAPERS: usize = 3;

pub(super) enum Group {
    Direct(Direct),
    #[cfg(target_os = "linux")]
    Nannied(Nannied),
}

/// Our ends of its streams.
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    /// Absent when the output goes to a file.
    pub(super) stdout: Option<ChildStdout>,
    /// Absent when both streams go one way.
    pub(super) stderr: Option<ChildStdout>,
    /// Where what it is refused is heard of.
    pub(super) notices: Option<std::os::unix::net::UnixStream>,
}

impl Group {
    /// Starts the program as the leader of a new session, and so of a new group: without a
    /// terminal it cannot ask the user for anything behind our back.
    pub(super) async fn spawn(
        spec: &CommandSpec,
        reaper: Option<&Arc<Client>>,
    ) -> Result<(Self, Pipes), ExecError> {
        let program = find(spec)?;
        let fail = |source| ExecError::Spawn { program: program.clone(), source };
        let (theirs, ours) = streams(spec).map_err(fail)?;
        let (first, args) = match spec.confinement.as_ref().and_then(|c| c.wrapper.as_ref()) {
            None => (program.clone(), spec.args.clone()),
            Some((wrapper, before)) => {
                let cwd = ["--chdir".into(), spec.cwd.clone().into(), "--".into()];
                let own = std::iter::once(program.clone().into_os_string());
                let args = before.iter().cloned().chain(cwd).chain(own);
                (wrapper.clone(), args.chain(spec.args.iter().cloned()).collect())
            }
        };
        let launch = Launch {
            program: first,
            args,
            cwd: spec.cwd.clone(),
            env: spec.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            terminal: spec.terminal.is_some(),
            filter: spec.confinement.as_ref().map_or_else(Vec::new, |c| c.filter.clone()),
        };
        let group = match reaper {
            #[cfg(target_os = "linux")]
            Some(client) => {
                let order = crate::linux::wire::Order {
                    launch,
                    call: spec.call.clone().unwrap_or_default(),
                    records: client.program().records.clone().unwrap_or_default(),
                    lives_on: spec.lives_on,
                    grace_ms: u64::try_from(spec.grace.as_millis()).unwrap_or(u64::MAX),
                };
                let started = below_reaper(client, &order, theirs).await;
                Self::Nannied(started.map_err(|why| match why {
                    NotStarted::Refused(source) => spawn_error(source, &program, spec),
                    NotStarted::Lost(source) => {
                        ExecError::Wait { program: program.clone(), source }
                    }
                    NotStarted::Reaper(source)
                        if source.kind() == io::ErrorKind::ArgumentListTooLong =>
                    {
                        fail(source)
                    }
                    NotStarted::Reaper(source) => {
                        ExecError::Reaper { reaper: client.program().path.clone(), source }
                    }
                    NotStarted::NotTaken => {
                        let source = io::Error::other("it takes no orders");
                        ExecError::Reaper { reaper: client.program().path.clone(), source }
                    }
                })?)
            }
            _ => {
                let child =
                    launch.start(theirs).map_err(|source| spawn_error(source, &program, spec))?;
                Self::Direct(Direct::new(&program, child)?)
            }
        };
        let pipes = Pipes {
            stdin: ours
                .stdin
                .map(|fd| ChildStdin::from_std(fd.into()))
                .transpose()
                .map_err(fail)?,
            stdout: ours.stdout.map(reader).transpose().map_err(fail)?,
            stderr: ours.stderr.map(reader).transpose().map_err(fail)?,
            notices: ours.notices,
        };
        Ok((group, pipes))
    }

    /// Which process leads it, where the system tells.
    pub(super) fn identity(&self) -> Option<&ProcessIdentity> {
        match self {
            Self::Direct(direct) => direct.identity(),
            #[cfg(target_os = "linux")]
            Self::Nannied(nannied) => Some(nannied.identity()),
        }
    }

    /// Resolves when the leader has ended.
    pub(super) fn leader_exited(&self) -> futures_box::Boxed {
        match self {
            Self::Direct(direct) => Box::pin(direct.leader_exited()),
            #[cfg(target_os = "linux")]
            Self::Nannied(nannied) => Box::pin(nannied.leader_exited()),
        }
    }

    /// Asks everything to end.
    pub(super) fn ask(&self) {
        match self {
            Self::Direct(direct) => direct.ask(),
            #[cfg(target_os = "linux")]
            Self::Nannied(nannied) => nannied.ask(),
        }
    }

    /// Ends everything that is left.
    pub(super) fn kill(&self) {
        match self {
            Self::Direct(direct) => direct.kill(),
            #[cfg(target_os = "linux")]
            Self::Nannied(nannied) => nannied.kill(),
        }
    }

    /// Resolves when it is known that nothing is left; at once where it cannot be known.
    pub(super) fn cleared(&self) -> futures_box::Boxed {
        match self {
            Self::Direct(_) => Box::pin(std::future::ready(())),
            #[cfg(target_os = "linux")]
            Self::Nannied(nannied) => Box::pin(nannied.cleared()),
        }
    }

    /// How the leader ended. To be called when it has.
    pub(super) fn reap(&mut self) -> Result<Exit, ExecError> {
        match self {
            Self::Direct(direct) => direct.reap(),
            #[cfg(target_os = "linux")]
            Self::Nannied(nannied) => nannied.reap(),
        }
    }

    /// Reaps the leader if it has exited; never waits.
    pub(super) fn try_reap(&mut self) {
        match self {
            Self::Direct(direct) => direct.try_reap(),
            #[cfg(target_os = "linux")]
            Self::Nannied(_) => {}
        }
    }
}

/// Starts it below a nanny. A reaper that died before it took the order is replaced; one that took
/// it is not asked twice.
#[cfg(target_os = "linux")]
async fn below_reaper(
    client: &Client,
    order: &crate::linux::wire::Order,
    streams: ChildStreams,
) -> Result<Nannied, NotStarted> {
    for _ in 0..REAPERS {
        match Nannied::start(client, order, &streams).await {
            Err(NotStarted::NotTaken) => client.discard(),
            other => return other,
        }
    }
    Err(NotStarted::NotTaken)
}

pub(super) mod futures_box {
    /// A future that owns what it waits for.
    pub(crate) type Boxed = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
}

#[derive(Default)]
struct Ours {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    notices: Option<std::os::unix::net::UnixStream>,
}

/// Both ends of everything.
fn streams(spec: &CommandSpec) -> io::Result<(ChildStreams, Ours)> {
    let mut ours = Ours::default();
    let ruleset = match &spec.confinement {
        Some(confinement) => confinement.ruleset.as_ref().map(|fd| fd.try_clone()).transpose()?,
        None => None,
    };
    let mut notify = None;
    if ruleset.is_some() {
        let (hear, tell) = std::os::unix::net::UnixStream::pair()?;
        ours.notices = Some(hear);
        notify = Some(OwnedFd::from(tell));
    }
    if let Some(size) = spec.terminal {
        let (master, slave) = terminal::open(size)?;
        ours.stdin = match spec.stdin {
            Stdin::Closed => None,
            Stdin::Bytes(_) | Stdin::Open => Some(master.try_clone()?),
        };
        ours.stdout = Some(master);
        let (stdin, stdout) = (slave.try_clone()?, slave.try_clone()?);
        return Ok((ChildStreams { stdin, stdout, stderr: slave, ruleset, notify }, ours));
    }
    let stdin = match spec.stdin {
        Stdin::Closed => OwnedFd::from(File::open("/dev/null")?),
        Stdin::Bytes(_) | Stdin::Open => {
            let (theirs, writing) = io::pipe()?;
            ours.stdin = Some(writing.into());
            theirs.into()
        }
    };
    if let Some(path) = &spec.output {
        let stdout = OwnedFd::from(OpenOptions::new().append(true).create(true).open(path)?);
        let stderr = stdout.try_clone()?;
        return Ok((ChildStreams { stdin, stdout, stderr, ruleset, notify }, ours));
    }
    let (reading, stdout) = io::pipe()?;
    ours.stdout = Some(reading.into());
    let stdout = OwnedFd::from(stdout);
    let stderr = match spec.streams {
        Streams::Split => {
            let (reading, stderr) = io::pipe()?;
            ours.stderr = Some(reading.into());
            stderr.into()
        }
        Streams::Merged => stdout.try_clone()?,
    };
    Ok((ChildStreams { stdin, stdout, stderr, ruleset, notify }, ours))
}

fn reader(fd: OwnedFd) -> io::Result<ChildStdout> {
    ChildStdout::from_std(fd.into())
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
