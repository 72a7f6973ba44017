//! The transcript that hooks can read: the conversation of a session as JSON lines.
//!
//! The journal is the session; the transcript is made from it, and only when a hook runs. It exists
//! while the session is open.

mod line;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::event::Envelope;
use robota_core::hook::HookTranscript;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use tempfile::TempDir;
use tokio::sync::Mutex;

use line::Lines;

/// How many events are read at once.
const BATCH: usize = 1_000;

/// Writes the transcript of a session, which its hooks read.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::hook::HookTranscript as _;
/// use robota_core::ids::SessionId;
/// use robota_core::journal::MemoryStore;
/// use robota_sdk::SessionTranscript;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (store, session) = (Arc::new(MemoryStore::new()), SessionId::from("nightly"));
/// let transcript = SessionTranscript::new(store, session, "project".to_owned());
/// let file = transcript.write().await.ok_or("the file cannot be written")?;
/// assert!(file.ends_with("nightly.jsonl"));
/// # Ok(()) }
/// ```
pub struct SessionTranscript {
    store: Arc<dyn JournalStore>,
    session: SessionId,
    state: Mutex<State>,
}

struct State {
    /// The file; `None` before the first hook.
    written: Option<Written>,
    lines: Lines,
}

/// The file, which is removed with its folder.
struct Written {
    _folder: TempDir,
    path: PathBuf,
    file: std::fs::File,
    /// The last event that it contains.
    seq: u64,
}

impl SessionTranscript {
    /// Creates the transcript of a session. Nothing is written before a hook runs.
    #[must_use]
    pub fn new(store: Arc<dyn JournalStore>, session: SessionId, cwd: String) -> Self {
        let lines = Lines::new(session.as_str(), cwd);
        Self { store, session, state: Mutex::new(State { written: None, lines }) }
    }
}

#[async_trait::async_trait]
impl HookTranscript for SessionTranscript {
    async fn write(&self) -> Option<String> {
        // Two hooks may run at the same time, and both append to the file.
        let mut state = self.state.lock().await;
        let State { written, lines } = &mut *state;
        if written.is_none() {
            let session = self.session.as_str().to_owned();
            let created = tokio::task::spawn_blocking(move || create(&session)).await.ok()?;
            *written = created.ok();
        }
        let written = written.as_mut()?;
        loop {
            // A session that is being created has no events yet.
            let read = self.store.read(&self.session, written.seq, BATCH).await;
            let events = read.unwrap_or_default();
            append(written, lines, &events).ok()?;
            if events.len() < BATCH {
                return written.path.to_str().map(str::to_owned);
            }
        }
    }
}

/// Creates an empty file that only this user can read.
fn create(session: &str) -> io::Result<Written> {
    let folder = tempfile::Builder::new().prefix("robota-transcript-").tempdir()?;
    // Ids such as `agent:a/session:b` would name a folder.
    let path = folder.path().join(format!("{}.jsonl", session.replace('/', "_")));
    let file = std::fs::OpenOptions::new().append(true).create_new(true).open(&path)?;
    Ok(Written { _folder: folder, path, file, seq: 0 })
}

fn append(written: &mut Written, lines: &mut Lines, events: &[Envelope]) -> io::Result<()> {
    let mut text = String::new();
    for event in events {
        lines.add(event, &mut text);
    }
    written.file.write_all(text.as_bytes())?;
    written.seq = events.last().map_or(written.seq, |event| event.cursor().seq);
    Ok(())
}
