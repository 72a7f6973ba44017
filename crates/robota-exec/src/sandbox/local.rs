//! The sandbox driver for this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::paths::Paths as _;
use robota_core::sandbox::{
    Boundaries, Exec, ExecEnd, Executed, Fence, Sandbox, SandboxError, Stat,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::probe::SandboxSupport;
use super::{Confinement, poll_watch};
use crate::env::Environment;
use crate::outcome::Exit;
use crate::paths::OsPaths;
use crate::shell::ShellCommand;
use crate::supervisor::Supervisor;

/// Gives access to files and commands of this machine, restricted by a [`Fence`]. The kernel
/// enforces it for commands; this driver checks the canonical path of each file that is read or
/// written through it.
pub struct LocalSandbox {
    confinement: Arc<Confinement>,
    supervisor: Supervisor,
    env: Environment,
}

impl LocalSandbox {
    /// Creates a sandbox with these restrictions, whose commands get this environment.
    ///
    /// # Errors
    /// If the system cannot enforce the restrictions.
    pub fn new(
        fence: Fence,
        support: &SandboxSupport,
        supervisor: Supervisor,
        env: Environment,
    ) -> Result<Self, SandboxError> {
        let confinement = Arc::new(Confinement::new(fence, support)?);
        Ok(Self { confinement, supervisor, env })
    }

    /// Returns the confinement of commands, for callers that start commands themselves.
    #[must_use]
    pub fn confinement(&self) -> &Arc<Confinement> {
        &self.confinement
    }

    fn fence(&self) -> &Fence {
        &self.confinement.boundaries().fence
    }

    fn readable(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let real = self.canonical("read", path)?;
        if !self.fence().may_read(&real) {
            return Err(self.denied("read", path));
        }
        Ok(real)
    }

    fn writable(&self, action: &'static str, path: &Path) -> Result<PathBuf, SandboxError> {
        let real = self.canonical(action, path)?;
        if self.fence().may_write(&real) { Ok(real) } else { Err(self.denied(action, path)) }
    }

    /// Returns the canonical path, with all links followed.
    fn canonical(&self, action: &'static str, path: &Path) -> Result<PathBuf, SandboxError> {
        OsPaths.canonical(path).ok_or_else(|| SandboxError::Failed {
            action,
            path: path.to_owned(),
            message: "its links cannot be resolved".to_owned(),
        })
    }

    fn denied(&self, action: &'static str, path: &Path) -> SandboxError {
        SandboxError::Denied { action, path: path.to_owned(), level: self.fence().level }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SandboxError {
    let path = path.to_owned();
    move |error| match error.kind() {
        std::io::ErrorKind::NotFound => SandboxError::Missing { path },
        _ => SandboxError::Failed { action, path, message: error.to_string() },
    }
}

/// Runs blocking file work on a thread pool, off the async runtime.
async fn blocking<T: Send + 'static>(
    action: &'static str,
    path: &Path,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, SandboxError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(failed(action, path))
}

#[async_trait::async_trait]
impl Sandbox for LocalSandbox {
    fn kind(&self) -> &'static str {
        "local"
    }

    fn boundaries(&self) -> &Boundaries {
        self.confinement.boundaries()
    }

    async fn read(&self, path: &Path) -> Result<Vec<u8>, SandboxError> {
        let real = self.readable(path)?;
        blocking("read", path, move || read(&real)).await
    }

    async fn write(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        let real = self.writable("write", path)?;
        let content = content.to_vec();
        blocking("write", path, move || write(&real, &content)).await
    }

    async fn remove(&self, path: &Path) -> Result<(), SandboxError> {
        // Only the parent is made canonical: a link itself is deleted, not its target.
        let parent = path.parent().unwrap_or(path);
        let name = path.file_name().unwrap_or_default();
        let real = self.writable("remove", parent)?.join(name);
        // The entry may be protected or hidden in a folder that is not.
        if !self.fence().may_write(&real) {
            return Err(self.denied("remove", path));
        }
        blocking("remove", path, move || remove(&real)).await
    }

    async fn stat(&self, path: &Path) -> Result<Option<Stat>, SandboxError> {
        let real = self.readable(path)?;
        let metadata = blocking("inspect", path, move || std::fs::symlink_metadata(real)).await;
        match metadata {
            Ok(metadata) => Ok(Some(Stat { dir: metadata.is_dir(), len: metadata.len() })),
            Err(SandboxError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list(&self, dir: &Path) -> Result<Vec<String>, SandboxError> {
        let real = self.readable(dir)?;
        blocking("list", dir, move || {
            let mut names = Vec::new();
            for entry in std::fs::read_dir(real)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort();
            Ok(names)
        })
        .await
    }

    async fn exec(&self, exec: Exec, cancel: &CancellationToken) -> Result<Executed, SandboxError> {
        let failed = |error: crate::error::ExecError| SandboxError::Failed {
            action: "run a command in",
            path: exec.cwd.clone(),
            message: error.to_string(),
        };
        let shell = ShellCommand::new(&exec.command, &exec.cwd).env(self.env.clone());
        let mut spec = shell.into_spec().map_err(failed)?.stdin(exec.stdin.clone());
        spec.timeout = exec.timeout;
        spec.confinement = Some(self.confinement.clone());
        let outcome = self.supervisor.run(spec, cancel).await.map_err(failed)?;
        let end = match outcome.exit {
            Exit::Code(code) => ExecEnd::Code(code),
            Exit::Signal(signal) => ExecEnd::Signal(signal),
            Exit::TimedOut => ExecEnd::TimedOut,
            Exit::Cancelled => ExecEnd::Cancelled,
        };
        // The driver returns bytes, which have no place for the note that text has.
        let cut = !outcome.stdout.is_complete() || !outcome.stderr.is_complete();
        let joined = |captured: crate::capture::Captured| [captured.head, captured.tail].concat();
        Ok(Executed {
            end,
            stdout: joined(outcome.stdout),
            stderr: joined(outcome.stderr),
            cut,
            denied: outcome.denied,
        })
    }

    async fn watch(&self, paths: &[PathBuf]) -> Result<mpsc::Receiver<PathBuf>, SandboxError> {
        for path in paths {
            self.readable(path)?;
        }
        poll_watch::watch(paths)
    }

    async fn dispose(&self) -> Result<(), SandboxError> {
        self.supervisor.shutdown().await;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn read(real: &Path) -> std::io::Result<Vec<u8>> {
    super::open_dir_entry::OpenDirEntry::open(real, false)?.read()
}

#[cfg(target_os = "linux")]
fn write(real: &Path, content: &[u8]) -> std::io::Result<()> {
    super::open_dir_entry::OpenDirEntry::open(real, true)?.write(content)
}

#[cfg(target_os = "linux")]
fn remove(real: &Path) -> std::io::Result<()> {
    super::open_dir_entry::OpenDirEntry::open(real, false)?.remove()
}

#[cfg(not(target_os = "linux"))]
fn read(real: &Path) -> std::io::Result<Vec<u8>> {
    std::fs::read(real)
}

#[cfg(not(target_os = "linux"))]
fn write(real: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let dir = real.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(content)?;
    if let Ok(old) = std::fs::symlink_metadata(real)
        && old.is_file()
    {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(real).map(drop).map_err(|error| error.error)
}

#[cfg(not(target_os = "linux"))]
fn remove(real: &Path) -> std::io::Result<()> {
    std::fs::remove_file(real)
}
