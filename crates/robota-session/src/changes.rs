//! Files that a call is about to change: what they are is kept in blobs, and the journal says so,
//! synced, before anything changes.

use std::sync::{Arc, Mutex, PoisonError};

use robota_core::blob::Blobs;
use robota_core::checkpoint::{Before, Changing, Checkpoints, FileChange};
use robota_core::driver::Command;
use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::event::FilesChanging;
use robota_core::ids::CallId;
use robota_core::message::BlobRef;
use tokio::sync::{mpsc, oneshot};

/// The way from a running call to the journal: the turn it runs in has it. A turn that is over
/// takes nothing more, so a call that was abandoned changes nothing more either.
#[derive(Default)]
pub(crate) struct TurnDoor(Mutex<Option<mpsc::WeakSender<Command>>>);

impl TurnDoor {
    /// A turn begins.
    pub(crate) fn open(&self, turn: &mpsc::Sender<Command>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn.downgrade());
    }

    fn turn(&self) -> Option<mpsc::Sender<Command>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }
}

/// Keeps files in a session's blobs and journal.
pub(crate) struct JournalCheckpoints {
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) door: Arc<TurnDoor>,
}

#[async_trait::async_trait]
impl Checkpoints for JournalCheckpoints {
    async fn before_change(&self, call: &CallId, files: &[Changing<'_>]) -> Result<(), ErrorData> {
        let over = || ErrorData::new(ErrorKind::Storage, "the turn of this call is over");
        let mut kept = Vec::with_capacity(files.len());
        for file in files {
            let (before, mode) = match file.before {
                Before::Missing => (None, None),
                Before::File { content, mode } => {
                    let blob = self.blobs.put(content).await.map_err(|error| error.to_data())?;
                    (Some(blob), mode)
                }
            };
            let path = file.path.to_string_lossy().into_owned();
            let after_sha256 = BlobRef::of(file.after).sha256;
            kept.push(FileChange { path, before, mode, after_sha256 });
        }
        let event = FilesChanging { call: call.clone(), files: kept };
        let (done, appended) = oneshot::channel();
        let turn = self.door.turn().ok_or_else(over)?;
        let command = Command::Append { events: vec![event.into()], done };
        turn.send(command).await.map_err(|_| over())?;
        drop(turn);
        let appended = appended.await.map_err(|_| over())?;
        appended.map_err(|error| error.to_data())
    }
}
