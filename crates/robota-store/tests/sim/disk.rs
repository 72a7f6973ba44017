//! The operations of the simulated disk.

use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use robota_store::disk::{AppendFile, CreateMode, Disk, FileInfo, LockGuard, LockMode, ReadFile};

use super::{Change, Entry, Locked, SimDisk, World};

fn error(kind: ErrorKind, text: &str) -> io::Error {
    io::Error::new(kind, text)
}

impl World {
    /// Counts an operation that changes something, and fails if it is set to fail.
    fn operate(&mut self) -> io::Result<()> {
        self.operations += 1;
        if self.faults.read_only {
            return Err(error(ErrorKind::ReadOnlyFilesystem, "read-only file system"));
        }
        if self.faults.fail_at == Some(self.operations) {
            return Err(error(ErrorKind::Other, "input/output error"));
        }
        Ok(())
    }

    /// Records the state after a change.
    fn record(&mut self) {
        let state = &self.state;
        if let Some(history) = &mut self.history {
            history.push(state.clone());
        }
    }

    fn entry(&self, path: &Path) -> io::Result<&Entry> {
        let key = self.key(path);
        let mut folders = key.ancestors().skip(1);
        if folders.any(|folder| matches!(self.state.names.get(folder), Some(Entry::File(..)))) {
            return Err(error(ErrorKind::NotADirectory, "not a directory"));
        }
        self.state.names.get(&key).ok_or_else(|| error(ErrorKind::NotFound, "no such file"))
    }

    fn file(&self, path: &Path) -> io::Result<u64> {
        match self.entry(path)? {
            Entry::File(_, number) => Ok(*number),
            Entry::Folder(_) => Err(error(ErrorKind::InvalidInput, "it is not a regular file")),
        }
    }

    fn add(&mut self, path: &Path, entry: Entry) -> io::Result<()> {
        let key = self.key(path);
        let parent = key.parent().map(Path::to_path_buf).unwrap_or_default();
        if !is_root(&parent) && !matches!(self.state.names.get(&parent), Some(Entry::Folder(_))) {
            return Err(error(ErrorKind::NotFound, "no such folder"));
        }
        self.state.change(Change { removed: None, added: Some((key, entry)) });
        Ok(())
    }
}

fn is_root(path: &Path) -> bool {
    path.as_os_str().is_empty() || path == Path::new("/")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Disk for SimDisk {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        let world = self.world();
        let number = world.file(path)?;
        let file = world.state.files.get(&number).cloned().unwrap_or_default();
        let info = FileInfo { len: file.content.len() as u64, user_id: file.user, id: number };
        Ok(Box::new(OpenFile { content: Cursor::new(file.content), info }))
    }

    fn open_append(&self, path: &Path, create: CreateMode) -> io::Result<Box<dyn AppendFile>> {
        let mut world = self.world();
        let number = match (world.file(path), create) {
            (Ok(_), CreateMode::Always) => {
                return Err(error(ErrorKind::AlreadyExists, "file exists"));
            }
            (Ok(number), _) if !world.faults.read_only => number,
            (Ok(_), _) => {
                return Err(error(ErrorKind::ReadOnlyFilesystem, "read-only file system"));
            }
            (Err(missing), CreateMode::IfMissing | CreateMode::Always)
                if missing.kind() == ErrorKind::NotFound =>
            {
                world.operate()?;
                let number = world.state.next_file;
                world.add(path, Entry::File(name(path), number))?;
                world.state.next_file += 1;
                let user = world.faults.user;
                world.state.files.insert(number, super::File { user, ..super::File::default() });
                world.record();
                number
            }
            (Err(error), _) => return Err(error),
        };
        Ok(Box::new(OpenAppend { disk: self.clone(), number }))
    }

    fn make_folder(&self, path: &Path) -> io::Result<bool> {
        let mut world = self.world();
        match world.entry(path) {
            Ok(Entry::Folder(_)) => return Ok(false),
            Ok(Entry::File(..)) => {
                return Err(error(ErrorKind::NotADirectory, "it is not a folder"));
            }
            Err(missing) if missing.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        world.operate()?;
        world.add(path, Entry::Folder(name(path)))?;
        world.record();
        Ok(true)
    }

    fn is_folder(&self, path: &Path) -> bool {
        is_root(path) || matches!(self.world().entry(path), Ok(Entry::Folder(_)))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let world = self.world();
        if !is_root(folder)
            && let Entry::File(..) = world.entry(folder)?
        {
            return Err(error(ErrorKind::NotADirectory, "not a directory"));
        }
        let key = world.key(folder);
        let inside = world.state.names.iter().filter(|(path, _)| path.parent() == Some(&*key));
        Ok(inside
            .map(|(_, entry)| match entry {
                Entry::Folder(name) | Entry::File(name, _) => name.clone(),
            })
            .collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.world();
        let number = world.file(from)?;
        world.operate()?;
        let (from, key) = (world.key(from), world.key(to));
        let added = Some((key, Entry::File(name(to), number)));
        world.state.change(Change { removed: Some(from), added });
        world.record();
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.world();
        if world.faults.no_links {
            return Err(error(ErrorKind::Unsupported, "operation not permitted"));
        }
        let number = world.file(from)?;
        if world.entry(to).is_ok() {
            return Err(error(ErrorKind::AlreadyExists, "file exists"));
        }
        world.operate()?;
        world.add(to, Entry::File(name(to), number))?;
        world.record();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.file(path)?;
        world.operate()?;
        let key = world.key(path);
        world.state.change(Change { removed: Some(key), added: None });
        world.record();
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        if !self.names(path)?.is_empty() {
            return Err(error(ErrorKind::DirectoryNotEmpty, "directory not empty"));
        }
        let mut world = self.world();
        world.operate()?;
        let key = world.key(path);
        world.state.change(Change { removed: Some(key), added: None });
        world.record();
        Ok(())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.operate()?;
        world.syncs += 1;
        if world.faults.sync_fails {
            return Err(error(ErrorKind::Other, "input/output error"));
        }
        let key = world.key(path);
        let state = &mut world.state;
        let (safe, pending) = state.pending.drain(..).partition(|change| change.is_in(&key));
        state.pending = pending;
        let safe: Vec<Change> = safe;
        safe.iter().for_each(|change| change.apply(&mut state.safe));
        world.record();
        Ok(())
    }

    fn try_lock(&self, path: &Path, note: &str) -> io::Result<Result<LockGuard, String>> {
        self.open_append(path, CreateMode::IfMissing)?;
        let mut world = self.world();
        let key = world.key(path);
        let lock = world.locks.entry(key.clone()).or_default();
        if lock.alone || lock.together > 0 {
            return Ok(Err(lock.note.clone()));
        }
        *lock = Locked { alone: true, together: 0, note: note.trim().to_owned() };
        Ok(Ok(Box::new(SimLock { disk: self.clone(), path: key, mode: LockMode::Exclusive })))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<LockGuard> {
        self.open_append(path, CreateMode::IfMissing)?;
        let mut world = self.world();
        let key = world.key(path);
        let lock = world.locks.entry(key.clone()).or_default();
        match mode {
            LockMode::Shared if !lock.alone => lock.together += 1,
            LockMode::Exclusive if !lock.alone && lock.together == 0 => lock.alone = true,
            // Tests use one thread for the store, so nothing would ever release the lock.
            _ => return Err(error(ErrorKind::WouldBlock, "this would wait indefinitely")),
        }
        Ok(Box::new(SimLock { disk: self.clone(), path: key, mode }))
    }

    fn network_file_system(&self, _folder: &Path) -> io::Result<Option<&'static str>> {
        Ok(self.world().faults.network)
    }

    fn user_id(&self) -> u32 {
        self.world().faults.user
    }
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    mode: LockMode,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut world = self.disk.world();
        if let Some(lock) = world.locks.get_mut(&self.path) {
            match self.mode {
                LockMode::Exclusive => lock.alone = false,
                LockMode::Shared => lock.together = lock.together.saturating_sub(1),
            }
        }
    }
}

struct OpenFile {
    content: Cursor<Vec<u8>>,
    info: FileInfo,
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer)
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }
}

impl ReadFile for OpenFile {
    fn info(&self) -> io::Result<FileInfo> {
        Ok(self.info)
    }
}

struct OpenAppend {
    disk: SimDisk,
    number: u64,
}

impl AppendFile for OpenAppend {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut world = self.disk.world();
        world.operate()?;
        let fits = world.faults.room.unwrap_or(u64::MAX).min(bytes.len() as u64);
        let taken = usize::try_from(fits).unwrap_or(usize::MAX);
        if let Some(room) = &mut world.faults.room {
            *room -= fits;
        }
        let file = world.state.files.entry(self.number).or_default();
        file.content.extend_from_slice(&bytes[..taken]);
        world.record();
        if taken < bytes.len() {
            return Err(error(ErrorKind::StorageFull, "no space left on device"));
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut world = self.disk.world();
        world.operate()?;
        world.syncs += 1;
        if world.faults.sync_fails {
            return Err(error(ErrorKind::Other, "input/output error"));
        }
        if let Some(file) = world.state.files.get_mut(&self.number) {
            file.safe = file.content.clone();
        }
        world.record();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut world = self.disk.world();
        if world.faults.truncate_fails {
            return Err(error(ErrorKind::Other, "input/output error"));
        }
        world.operate()?;
        if let Some(file) = world.state.files.get_mut(&self.number) {
            file.content.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        }
        world.record();
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let world = self.disk.world();
        Ok(world.state.files.get(&self.number).map_or(0, |file| file.content.len() as u64))
    }
}
