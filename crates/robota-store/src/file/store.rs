//! The store: from a root folder to journals.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::blob::Blobs;
use robota_core::event::{Cursor, Durability, Envelope};
use robota_core::ids::SessionId;
use robota_core::journal::{
    Journal, JournalError, JournalStore, SessionFilter, SessionHead, SessionPage,
};

use super::disk;
use super::folder::folder_name;
use super::head;
use super::lock::WriterLock;
use super::segment::{self, Reader, Segment};
use super::writer::{SEGMENT_BYTES, Writer};

/// Keeps each session in a folder of files below a root.
///
/// Opening costs the last segment, not the length of the session. It cuts off a last line
/// whose write did not finish, which nobody was told is safe; any other damage is an error
/// that names the file and the line, and nothing is changed.
#[derive(Debug, Clone)]
pub struct FileStore {
    root: PathBuf,
    segment_bytes: u64,
}

impl FileStore {
    /// A store below that folder, which is made when the first session is.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), segment_bytes: SEGMENT_BYTES }
    }

    /// The folder it keeps sessions in.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[cfg(test)]
    fn with_segments(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// The folder a session is kept in, whether it exists or not.
    #[must_use]
    pub fn folder(&self, session: &SessionId) -> PathBuf {
        self.root.join(folder_name(session))
    }

    fn create_now(&self, session: &SessionId) -> Result<Writer, JournalError> {
        let folder = self.folder(session);
        let mut unsynced = make_root(&self.root)?;
        if disk::make_folder(&folder).map_err(|error| io("create", &folder, &error))? {
            unsynced.push(self.root.clone());
        }
        let lock = WriterLock::take(&folder, session)?;
        // What a writer left that died before anything was acknowledged is no session.
        let segments = segment::list(&folder)?;
        if last_whole(&segments)?.is_some() {
            return Err(JournalError::Exists(session.clone()));
        }
        for left in &segments {
            std::fs::remove_file(&left.path).map_err(|error| io("remove", &left.path, &error))?;
        }
        head::write(&folder, session)?;
        unsynced.push(folder.clone());
        Ok(Writer::new(folder, lock, unsynced).with_segments(self.segment_bytes))
    }

    fn open_now(&self, session: &SessionId) -> Result<Writer, JournalError> {
        let folder = self.folder(session);
        if segment::list(&folder)?.is_empty() {
            return Err(JournalError::NotFound(session.clone()));
        }
        let lock = WriterLock::take(&folder, session)?;
        head::check(&folder, session)?;
        // Only now: who had the lock may have added one.
        let segments = segment::list(&folder)?;
        let Some(end) = last_whole(&segments)? else {
            return Err(JournalError::NotFound(session.clone()));
        };
        for left in segments.iter().filter(|left| left.first > end.segment.first) {
            std::fs::remove_file(&left.path).map_err(|error| io("remove", &left.path, &error))?;
        }
        let path = end.segment.path;
        let file = disk::open_append(&path, false).map_err(|error| io("open", &path, &error))?;
        if end.torn {
            file.set_len(end.whole).map_err(|error| io("repair", &path, &error))?;
        }
        // A writer that died may not have synced the names of its files.
        Ok(Writer::new(folder.clone(), lock, vec![folder]).with_segments(self.segment_bytes).at(
            path,
            Box::new(file),
            end.whole,
            end.next,
        ))
    }

    fn head_now(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        let mut events = self.read_now(session, 0, usize::MAX)?.into_iter();
        let first = events.next().ok_or_else(|| JournalError::NotFound(session.clone()))?;
        let mut head = SessionHead::begin(session.clone(), &first);
        events.for_each(|event| head.apply(&event));
        Ok(head)
    }

    fn delete_now(&self, session: &SessionId) -> Result<bool, JournalError> {
        let folder = self.folder(session);
        if segment::list(&folder)?.is_empty() {
            return Ok(false);
        }
        let _lock = WriterLock::take(&folder, session)?;
        std::fs::remove_dir_all(&folder).map_err(|error| io("remove", &folder, &error))?;
        Ok(true)
    }

    fn read_now(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        let folder = self.folder(session);
        let segments = segment::list(&folder)?;
        if segments.is_empty() {
            return Err(JournalError::NotFound(session.clone()));
        }
        head::check(&folder, session)?;
        // The last segment that begins at or before the first event asked for.
        let start = segments
            .partition_point(|segment| segment.first <= after.saturating_add(1))
            .saturating_sub(1);
        let mut events = Vec::new();
        let mut due = None;
        for (at, segment) in segments.iter().enumerate().skip(start) {
            if let Some(due) = due.filter(|due| *due != segment.first) {
                return Err(JournalError::Damaged {
                    place: segment.path.display().to_string(),
                    reason: format!("it begins where event {due} is due; a segment is missing"),
                });
            }
            let mut reader = Reader::open(segment, at + 1 == segments.len())?;
            while let Some(event) = reader.next()? {
                if event.seq > after {
                    if events.len() == limit {
                        return Ok(events);
                    }
                    events.push(event);
                }
            }
            due = Some(reader.next_seq());
        }
        // Nothing was ever acknowledged, so there is no session.
        if segments.first().map(|first| first.first) == due {
            return Err(JournalError::NotFound(session.clone()));
        }
        Ok(events)
    }

    /// Runs what blocks where blocking is fine.
    async fn off<T: Send + 'static>(
        &self,
        session: &SessionId,
        work: fn(&Self, &SessionId) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let (store, session) = (self.clone(), session.clone());
        blocking(self.root.clone(), move || work(&store, &session)).await
    }
}

#[async_trait::async_trait]
impl JournalStore for FileStore {
    async fn create(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        self.off(session, Self::create_now).await.map(FileJournal::boxed)
    }

    async fn open(&self, session: &SessionId) -> Result<Box<dyn Journal>, JournalError> {
        self.off(session, Self::open_now).await.map(FileJournal::boxed)
    }

    async fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        let (store, session) = (self.clone(), session.clone());
        blocking(self.root.clone(), move || store.read_now(&session, after_seq, limit)).await
    }

    async fn pick(&self, session: &SessionId, seqs: &[u64]) -> Result<Vec<Envelope>, JournalError> {
        let mut events = Vec::with_capacity(seqs.len());
        for seq in seqs {
            let found = self.read(session, seq.saturating_sub(1), 1).await?;
            let missing = || JournalError::NoSuchEvent {
                session: session.clone(),
                at: Cursor { epoch: 0, seq: *seq },
            };
            events.push(found.into_iter().find(|event| event.seq == *seq).ok_or_else(missing)?);
        }
        Ok(events)
    }

    async fn head(&self, session: &SessionId) -> Result<SessionHead, JournalError> {
        self.off(session, Self::head_now).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, JournalError> {
        let (store, filter) = (self.clone(), filter.clone());
        blocking(self.root.clone(), move || {
            let mut heads = Vec::new();
            for session in head::all(&store.root)? {
                match store.head_now(&session) {
                    Ok(head) => heads.push(head),
                    Err(JournalError::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(filter.page(heads))
        })
        .await
    }

    async fn fork(
        &self,
        parent: &SessionId,
        at: Cursor,
        child: &SessionId,
        first: &[Arc<Envelope>],
    ) -> Result<Box<dyn Journal>, JournalError> {
        let mut events = self.read(parent, 0, usize::MAX).await?;
        events.retain(|event| event.seq <= at.seq);
        if events.last().map(Envelope::cursor) != Some(at) {
            return Err(JournalError::NoSuchEvent { session: parent.clone(), at });
        }
        let mut all: Vec<_> = events.into_iter().map(Arc::new).collect();
        all.extend_from_slice(first);
        let mut journal = self.create(child).await?;
        journal.append(&all, Durability::Synced).await?;
        Ok(journal)
    }

    async fn delete(&self, session: &SessionId) -> Result<bool, JournalError> {
        self.off(session, Self::delete_now).await
    }

    fn blobs(&self, _session: &SessionId) -> Arc<dyn Blobs> {
        Arc::new(super::blobs::FileBlobs::new(self.root.join("blobs")))
    }
}

/// A session open for writing. Dropping it gives the session free, once an append that may
/// still be under way is through.
struct FileJournal {
    /// Shared with the append under way, so that one whose caller went away still ends in a
    /// known state before the next begins.
    writer: Arc<Mutex<Writer>>,
}

impl FileJournal {
    fn boxed(writer: Writer) -> Box<dyn Journal> {
        Box::new(Self { writer: Arc::new(Mutex::new(writer)) })
    }
}

#[async_trait::async_trait]
impl Journal for FileJournal {
    async fn append(
        &mut self,
        events: &[Arc<Envelope>],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let writer = Arc::clone(&self.writer);
        let events = events.to_vec();
        blocking(PathBuf::from("the journal"), move || {
            writer.lock().unwrap_or_else(PoisonError::into_inner).append(&events, durability)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    place: PathBuf,
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The runtime is shutting down, or the work panicked.
        Err(error) => Err(JournalError::Io {
            action: "finish the work on",
            place: place.display().to_string(),
            reason: error.to_string(),
        }),
    }
}

/// Where a journal ends.
struct End {
    segment: Segment,
    whole: u64,
    torn: bool,
    next: u64,
}

/// The last segment with an event in it: a writer that died may have left an empty one, or
/// one with nothing but a torn line, behind it. None when there is no event at all.
fn last_whole(segments: &[Segment]) -> Result<Option<End>, JournalError> {
    let mut last = true;
    for segment in segments.iter().rev() {
        let mut reader = Reader::open(segment, last)?;
        while reader.next()?.is_some() {}
        if reader.whole() > 0 {
            return Ok(Some(End {
                segment: segment.clone(),
                whole: reader.whole(),
                torn: reader.torn(),
                next: reader.next_seq(),
            }));
        }
        last = false;
    }
    Ok(None)
}

/// Makes the root and what leads to it. Returns the folders whose names must be synced.
fn make_root(root: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let mut unsynced = Vec::new();
    let parent = |path: &Path| path.parent().map(Path::to_path_buf);
    for missing in disk::missing_ancestors(root) {
        unsynced.extend(parent(&missing));
    }
    if let Some(parent) = root.parent() {
        std::fs::create_dir_all(parent).map_err(|error| io("create", parent, &error))?;
    }
    // The root itself may be a link: where sessions are kept is the caller's choice.
    if root.is_dir() {
        return Ok(unsynced);
    }
    if disk::make_folder(root).map_err(|error| io("create", root, &error))? {
        unsynced.extend(parent(root));
        hide_from_git(root)?;
    }
    Ok(unsynced)
}

/// Sessions of a project hold what was said and read there, and are nobody else's: they must
/// not be committed by accident.
fn hide_from_git(root: &Path) -> Result<(), JournalError> {
    let named = |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
    let of_project =
        named(root, "sessions") && root.parent().is_some_and(|dir| named(dir, ".robota"));
    if !of_project {
        return Ok(());
    }
    let path = root.join(".gitignore");
    disk::create_new(&path, b"*\n").map_err(|error| io("write", &path, &error))
}

fn io(action: &'static str, place: &Path, error: &std::io::Error) -> JournalError {
    JournalError::io(action, place.display().to_string(), error)
}

#[cfg(test)]
mod tests;
