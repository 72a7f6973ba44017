//! Creates sessions, and opens existing ones for writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::ids::{SessionId, SessionName};
use robota_core::journal::{JournalError, LeaseOwner};

use super::replace::SyncMode;
use super::writer::{OpenSegment, Writer};
use super::{Files, identity, segment};
use crate::disk::{CreateMode, LockGuard};
use crate::failpoint::failpoint;
use crate::io;

impl Files {
    /// Creates a session without events, and takes its lock.
    pub(super) fn create(self: &Arc<Self>, session: &SessionId) -> Result<Writer, JournalError> {
        let (lock, unsynced) = self.claim(session)?;
        Ok(Writer::new(Arc::clone(self), session.clone(), lock, unsynced))
    }

    /// Creates the folder of a new session and takes its lock. Returns the folders whose names must
    /// be synced.
    pub(super) fn claim(
        &self,
        session: &SessionId,
    ) -> Result<(LockGuard, Vec<PathBuf>), JournalError> {
        SessionName::parse(session.as_str())?;
        let folder = self.folder(session);
        self.make_root()?;
        self.refuse_network()?;
        self.disk.make_folder(&folder).map_err(|error| io("create", &folder, &error))?;
        let lock = self.take_lock(session)?;
        self.clear(session)?;
        // Also if the folder existed: a blob of the session, or a writer that crashed, may have
        // created it without a sync.
        Ok((lock, vec![self.root.clone(), folder]))
    }

    /// Removes old files from the folder of a new session: those of a writer that crashed before
    /// anything was acknowledged, and of a deletion that did not finish. Neither is a session.
    fn clear(&self, session: &SessionId) -> Result<(), JournalError> {
        let folder = self.folder(session);
        let segments = segment::list(&*self.disk, &folder)?;
        if identity::read(&*self.disk, &folder)?.is_some()
            && self.fold(session, &segments, None)?.head.is_some()
        {
            return Err(JournalError::Exists(session.clone()));
        }
        // `refs` stays: blobs may be stored before the first event.
        let ours = |name: &str| {
            name == "session.json"
                || [".jsonl", ".head", ".idx", "head.json"].iter().any(|end| name.ends_with(end))
        };
        for name in self.disk.names(&folder).map_err(|error| io("list", &folder, &error))? {
            if ours(&name) {
                let path = folder.join(name);
                self.disk.remove(&path).map_err(|error| io("remove", &path, &error))?;
            }
        }
        Ok(())
    }

    /// Opens a session for writing, and repairs the end that a crashed writer left.
    pub(super) fn open(self: &Arc<Self>, session: &SessionId) -> Result<Writer, JournalError> {
        self.identity(session)?;
        self.refuse_network()?;
        let folder = self.folder(session);
        let lock = self.take_lock(session)?;
        failpoint!("store.open.after_lock");
        // Read only now: the previous holder of the lock may have deleted the session or added a
        // segment.
        let stored = self.identity(session)?;
        if self.is_foreign(&stored) {
            let place = folder.display().to_string();
            return Err(JournalError::Foreign { session: session.clone(), place });
        }
        let segments = segment::list(&*self.disk, &folder)?;
        let end = self.fold(session, &segments, None)?;
        let head = end.head.ok_or_else(|| JournalError::NotFound(session.clone()))?;
        failpoint!("store.open.before_repair");
        for left in segments.iter().filter(|left| left.first > head.last.seq) {
            self.disk.remove(&left.path).map_err(|error| io("remove", &left.path, &error))?;
        }
        let writer = Writer::new(Arc::clone(self), session.clone(), lock, Vec::new());
        let writer = if end.names_synced { writer } else { writer.with_unsynced_names() };
        let writer = writer.of_session(stored.identity, head);
        let Some(last) = end.segment else { return Ok(writer) };
        let mut tail = self
            .disk
            .open_append(&last.path, CreateMode::Never)
            .map_err(|error| io("open", &last.path, &error))?;
        if end.torn {
            tail.truncate(end.whole).map_err(|error| io("repair", &last.path, &error))?;
        }
        Ok(writer.at_end_of(OpenSegment { segment: last, tail, len: end.whole }))
    }

    /// Takes the lock of a session's folder, or fails with its holder.
    pub(super) fn take_lock(&self, session: &SessionId) -> Result<LockGuard, JournalError> {
        let path = self.folder(session).join("lock");
        let note = format!("{}\n", crate::owner::lease_owner(&*self.clock));
        match self.disk.try_lock(&path, &note) {
            Ok(Ok(lock)) => Ok(lock),
            Ok(Err(note)) => Err(JournalError::Locked {
                session: session.clone(),
                owner: LeaseOwner::parse(&note),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(JournalError::NotFound(session.clone()))
            }
            Err(error) => Err(io("lock", &path, &error)),
        }
    }

    /// Fails if the root is on a network file system: a lock there may not exclude other machines.
    fn refuse_network(&self) -> Result<(), JournalError> {
        let network = self
            .disk
            .network_file_system(&self.root)
            .map_err(|error| io("read", &self.root, &error))?;
        match network {
            None => Ok(()),
            Some(name) => Err(JournalError::Unsuitable {
                place: self.root.display().to_string(),
                reason: format!(
                    "it is on a network file system ({name}), where two machines could write \
                     to one session at the same time"
                ),
            }),
        }
    }

    /// Creates the root and its missing parents, and syncs their names: other processes create their
    /// sessions in a root that exists, and do not know who created it.
    pub(super) fn make_root(&self) -> Result<(), JournalError> {
        // The root itself may be a link: the caller chose where sessions are stored.
        let missing: Vec<_> = self
            .root
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !self.disk.is_folder(path))
            .collect();
        for path in missing.iter().rev() {
            self.disk.make_folder(path).map_err(|error| io("create", path, &error))?;
        }
        if self.sync_mode() == SyncMode::Content {
            for parent in missing.iter().filter_map(|path| path.parent()) {
                let sync = self.disk.sync_folder(parent);
                sync.map_err(|error| io("sync", parent, &error))?;
            }
        }
        if !missing.is_empty() {
            self.hide_from_git()?;
        }
        Ok(())
    }

    /// Writes a `.gitignore` if the root belongs to a project. Its sessions contain what was said
    /// and read there, and must not be committed by accident.
    fn hide_from_git(&self) -> Result<(), JournalError> {
        let named =
            |path: &Path, name: &str| path.file_name().is_some_and(|file_name| file_name == name);
        let of_project = named(&self.root, "sessions")
            && self.root.parent().is_some_and(|dir| named(dir, ".robota"));
        if !of_project {
            return Ok(());
        }
        let path = self.root.join(".gitignore");
        let written = self
            .disk
            .open_append(&path, CreateMode::Always)
            .and_then(|mut file| file.write(b"*\n"));
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(io("write", &path, &error))
            }
            _ => Ok(()),
        }
    }
}
