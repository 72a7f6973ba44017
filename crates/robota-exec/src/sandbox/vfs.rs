//! The sandbox driver for a file tree in memory: for tests, previews and agents that must not touch
//! real files.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use robota_core::sandbox::{
    Boundaries, Exec, Executed, Fence, Sandbox, SandboxError, SandboxLevel, Stat,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Keeps a file tree in memory. A folder exists if it contains a file.
pub struct VfsSandbox {
    boundaries: Boundaries,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    files: BTreeMap<PathBuf, Vec<u8>>,
    watchers: Vec<(Vec<PathBuf>, mpsc::Sender<PathBuf>)>,
    disposed: bool,
}

impl VfsSandbox {
    /// Creates an empty tree in which every file may be written.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Fence {
            level: SandboxLevel::WorkspaceWrite,
            writable: vec![PathBuf::from("/")],
            protected: Vec::new(),
            hidden: Vec::new(),
            shown: Vec::new(),
            network: false,
        })
    }

    /// Creates an empty tree with these restrictions.
    #[must_use]
    pub fn with(fence: Fence) -> Self {
        let boundaries = Boundaries { fence, means: vec!["memory".to_owned()], gaps: Vec::new() };
        Self { boundaries, inner: Mutex::default() }
    }

    /// Adds a file without checking the restrictions, to set up the tree.
    #[must_use]
    pub fn file(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        if let Some(path) = normalize(path.as_ref()) {
            self.inner().files.insert(path, content.into());
        }
        self
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<MutexGuard<'_, Inner>, SandboxError> {
        let inner = self.inner();
        if inner.disposed {
            return Err(SandboxError::Unsupported {
                kind: "vfs",
                what: "be used: it was disposed",
            });
        }
        Ok(inner)
    }

    fn readable(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let fence = &self.boundaries.fence;
        normalize(path).filter(|path| fence.may_read(path)).ok_or_else(|| self.denied("read", path))
    }

    fn writable(&self, action: &'static str, path: &Path) -> Result<PathBuf, SandboxError> {
        normalize(path)
            .filter(|path| self.boundaries.fence.may_write(path))
            .ok_or_else(|| self.denied(action, path))
    }

    fn denied(&self, action: &'static str, path: &Path) -> SandboxError {
        let level = self.boundaries.fence.level;
        SandboxError::Denied { action, path: path.to_owned(), level }
    }
}

impl Default for VfsSandbox {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the absolute path without `.` and `..`; `None` if it leaves the root.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Prefix(_) => return None,
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::Normal(name) => out.push(name),
        }
    }
    Some(out)
}

impl Inner {
    fn changed(&mut self, path: &Path) {
        self.watchers.retain(|(paths, sender)| {
            if paths.iter().any(|watched| watched == path) {
                // A slow receiver with a full channel misses this change.
                let _ = sender.try_send(path.to_owned());
            }
            !sender.is_closed()
        });
    }

    fn is_dir(&self, path: &Path) -> bool {
        let below = self.files.range(path.to_owned()..).map(|(file, _)| file);
        path == Path::new("/") || below.take(2).any(|file| file != path && file.starts_with(path))
    }
}

#[async_trait::async_trait]
impl Sandbox for VfsSandbox {
    fn kind(&self) -> &'static str {
        "vfs"
    }

    fn boundaries(&self) -> &Boundaries {
        &self.boundaries
    }

    async fn read(&self, path: &Path) -> Result<Vec<u8>, SandboxError> {
        let real = self.readable(path)?;
        let content = self.open()?.files.get(&real).cloned();
        content.ok_or_else(|| SandboxError::Missing { path: path.to_owned() })
    }

    async fn write(&self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        let real = self.writable("write", path)?;
        let mut inner = self.open()?;
        let parent_is_file =
            real.ancestors().skip(1).any(|parent| inner.files.contains_key(parent));
        if inner.is_dir(&real) || parent_is_file {
            let message = "a file and a folder cannot have the same path".to_owned();
            return Err(SandboxError::Failed { action: "write", path: path.to_owned(), message });
        }
        inner.files.insert(real.clone(), content.to_vec());
        inner.changed(&real);
        Ok(())
    }

    async fn remove(&self, path: &Path) -> Result<(), SandboxError> {
        let real = self.writable("remove", path)?;
        let mut inner = self.open()?;
        match inner.files.remove(&real) {
            Some(_) => inner.changed(&real),
            None => return Err(SandboxError::Missing { path: path.to_owned() }),
        }
        Ok(())
    }

    async fn stat(&self, path: &Path) -> Result<Option<Stat>, SandboxError> {
        let real = self.readable(path)?;
        let inner = self.open()?;
        let file =
            inner.files.get(&real).map(|content| Stat { dir: false, len: content.len() as u64 });
        Ok(file.or_else(|| inner.is_dir(&real).then_some(Stat { dir: true, len: 0 })))
    }

    async fn list(&self, dir: &Path) -> Result<Vec<String>, SandboxError> {
        let real = self.readable(dir)?;
        let inner = self.open()?;
        if !inner.is_dir(&real) {
            return Err(SandboxError::Missing { path: dir.to_owned() });
        }
        let first = |file: &Path| {
            let rest = file.strip_prefix(&real).ok()?;
            Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned())
        };
        let mut names: Vec<String> = inner.files.keys().filter_map(|file| first(file)).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    async fn exec(&self, _: Exec, _: &CancellationToken) -> Result<Executed, SandboxError> {
        Err(SandboxError::Unsupported {
            kind: "vfs",
            what: "run commands: its files exist only in memory",
        })
    }

    async fn watch(&self, paths: &[PathBuf]) -> Result<mpsc::Receiver<PathBuf>, SandboxError> {
        let paths = paths.iter().map(|path| self.readable(path)).collect::<Result<_, _>>()?;
        let (sender, changes) = mpsc::channel(64);
        self.open()?.watchers.push((paths, sender));
        Ok(changes)
    }

    async fn dispose(&self) -> Result<(), SandboxError> {
        *self.inner() = Inner { disposed: true, ..Inner::default() };
        Ok(())
    }
}
