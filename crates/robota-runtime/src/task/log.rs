//! The text that tasks write: append-only, one log for each task. The journal has only what
//! happened; text goes here as it arrives.

use std::collections::HashMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use robota_core::ids::TaskId;
use serde::Serialize;

/// A part of a log that ends between two characters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LogPage {
    /// The text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The offset in bytes at which the next page begins.
    pub next: u64,
    /// Whether the log had more when it was read; a running task may add to it.
    pub more: bool,
}

/// Keeps the logs of tasks: in files, or in memory for sessions that are not stored.
#[async_trait]
pub trait TaskLogs: Send + Sync {
    /// Starts the log of a task. Returns its file, if it has one.
    ///
    /// # Errors
    /// If the file cannot be created.
    async fn create(&self, task: &TaskId) -> std::io::Result<Option<PathBuf>>;

    /// Appends text.
    ///
    /// # Errors
    /// If it cannot be written.
    async fn append(&self, task: &TaskId, text: String) -> std::io::Result<()>;

    /// Reads at most `bytes` bytes from an offset. `file` is what [`create`](Self::create) returned
    /// for the task, also in an earlier process.
    ///
    /// # Errors
    /// If it cannot be read.
    async fn read(
        &self,
        task: &TaskId,
        file: Option<&str>,
        offset: u64,
        bytes: usize,
    ) -> std::io::Result<LogPage>;

    /// Frees the memory that the log of a task takes, because the task left the list. A file stays. Does
    /// nothing unless implemented.
    fn forget(&self, task: &TaskId) {
        let _ = task;
    }
}

/// The most bytes that are kept in memory for each task.
const MAX_MEMORY: usize = 1024 * 1024;

/// Keeps the end of each log in memory, for sessions that are not stored.
#[derive(Debug, Default)]
pub struct MemoryLogs(Mutex<HashMap<TaskId, (u64, String)>>);

impl MemoryLogs {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, (u64, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}

#[async_trait]
impl TaskLogs for MemoryLogs {
    async fn create(&self, task: &TaskId) -> std::io::Result<Option<PathBuf>> {
        self.lock().insert(task.clone(), (0, String::new()));
        Ok(None)
    }

    async fn append(&self, task: &TaskId, text: String) -> std::io::Result<()> {
        let mut logs = self.lock();
        let (start, log) = logs.entry(task.clone()).or_default();
        log.push_str(&text);
        let mut excess = log.len().saturating_sub(MAX_MEMORY);
        // The log is text, so it is cut between two characters.
        while !log.is_char_boundary(excess) {
            excess += 1;
        }
        log.drain(..excess);
        *start += excess as u64;
        Ok(())
    }

    async fn read(
        &self,
        task: &TaskId,
        _: Option<&str>,
        offset: u64,
        bytes: usize,
    ) -> std::io::Result<LogPage> {
        let logs = self.lock();
        let Some((start, log)) = logs.get(task) else { return Ok(LogPage::default()) };
        let from = usize::try_from(offset.saturating_sub(*start)).unwrap_or(usize::MAX);
        let kept = log.as_bytes().get(from.min(log.len())..).unwrap_or_default();
        let first = *start + from.min(log.len()) as u64;
        Ok(page(kept, bytes, first))
    }

    fn forget(&self, task: &TaskId) {
        self.lock().remove(task);
    }
}

/// Keeps each log in a file of a folder. The files are readable by their owner only.
#[derive(Debug)]
pub struct FileLogs {
    folder: PathBuf,
    files: Mutex<HashMap<TaskId, PathBuf>>,
}

impl FileLogs {
    /// Keeps logs in this folder, which is created with the first log.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), files: Mutex::default() }
    }

    fn file(&self, task: &TaskId) -> Option<PathBuf> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get(task).cloned()
    }
}

#[async_trait]
impl TaskLogs for FileLogs {
    async fn create(&self, task: &TaskId) -> std::io::Result<Option<PathBuf>> {
        let (folder, name) = (self.folder.clone(), task.to_string());
        let path = blocking(move || {
            std::fs::create_dir_all(&folder)?;
            // The logs quote files and commands of the user; none of it belongs into a repository.
            let ignore = folder.join(".gitignore");
            if !ignore.exists() {
                std::fs::write(ignore, "*\n")?;
            }
            // An id of an earlier process may be used again; its log stays.
            for number in 1_u32.. {
                let suffix = if number == 1 { String::new() } else { format!("-{number}") };
                let path = folder.join(format!("{name}{suffix}.log"));
                match options().create_new(true).open(&path) {
                    Ok(_) => return Ok(path),
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
            Err(std::io::Error::other("there are too many logs"))
        })
        .await?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(task.clone(), path.clone());
        Ok(Some(path))
    }

    async fn append(&self, task: &TaskId, text: String) -> std::io::Result<()> {
        let path = self.file(task).ok_or_else(|| std::io::Error::other("it has no log"))?;
        blocking(move || options().open(path)?.write_all(text.as_bytes())).await
    }

    async fn read(
        &self,
        task: &TaskId,
        file: Option<&str>,
        offset: u64,
        bytes: usize,
    ) -> std::io::Result<LogPage> {
        let path = file.map(PathBuf::from).or_else(|| self.file(task));
        // The journal of another user may name any file.
        let path = path.filter(|path| path.parent() == Some(self.folder.as_path()));
        let Some(path) = path else { return Ok(LogPage::default()) };
        blocking(move || {
            let mut file = std::fs::File::open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            // A character that is cut at the end of the page is part of the next one.
            let mut kept = Vec::new();
            file.take(bytes as u64 + 8).read_to_end(&mut kept)?;
            Ok(page(&kept, bytes, offset))
        })
        .await
    }

    fn forget(&self, task: &TaskId) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(task);
    }
}

/// Returns a page of at most `bytes` bytes, which ends between two characters.
fn page(kept: &[u8], bytes: usize, offset: u64) -> LogPage {
    let mut end = kept.len().min(bytes);
    while end > 0 && end < kept.len() && kept[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    // The page is smaller than one character, or the bytes are no UTF-8: without this the reader
    // would never get further.
    if end == 0 {
        end = kept.len().min(bytes);
    }
    let text = String::from_utf8_lossy(&kept[..end]).into_owned();
    LogPage { text, next: offset + end as u64, more: end < kept.len() }
}

fn options() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()))
}
