//! The folders of the sessions that an editor opened or listed. A session is stored in its folder, and
//! editors name a session by its id alone.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use robota_core::ids::SessionId;
use robota_core::journal::SessionHead;
use robota_sdk::{HostError, SessionHost};

/// Finds sessions in the folder that the program was started in, and in all that the editor named.
#[derive(Default)]
pub(super) struct Folders(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// In the order in which the editor named them.
    folders: Vec<PathBuf>,
    of_session: HashMap<SessionId, PathBuf>,
    /// The sessions that were deleted.
    deleted: HashSet<SessionId>,
}

impl Seen {
    fn add(&mut self, folder: &Path, session: Option<&SessionId>) {
        if !self.folders.iter().any(|it| it == folder) {
            self.folders.push(folder.to_owned());
        }
        if let Some(session) = session {
            self.of_session.insert(session.clone(), folder.to_owned());
            self.deleted.remove(session);
        }
    }
}

impl Folders {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the folder of a session that was opened.
    pub(super) fn add(&self, folder: &Path, session: &SessionId) {
        self.seen().add(folder, Some(session));
    }

    /// Lists the sessions of a folder; without one, those of all known folders. The newest are first.
    pub(super) async fn list(
        &self,
        host: &dyn SessionHost,
        folder: Option<&Path>,
    ) -> Result<Vec<SessionHead>, HostError> {
        if let Some(folder) = folder {
            let heads = host.list(Some(folder)).await?;
            let mut seen = self.seen();
            seen.add(folder, None);
            heads.iter().for_each(|head| seen.add(folder, Some(&head.session)));
            return Ok(heads);
        }
        let mut all = host.list(None).await?;
        let mut listed: HashSet<_> = all.iter().map(|head| head.session.clone()).collect();
        let folders = {
            let mut seen = self.seen();
            // A session that is listed again was restored, or another folder has it too.
            seen.deleted.retain(|session| !listed.contains(session));
            seen.folders.clone()
        };
        for folder in folders {
            match host.list(Some(&folder)).await {
                // Several folders can have one store.
                Ok(heads) => {
                    let more = heads.into_iter().filter(|it| listed.insert(it.session.clone()));
                    let more: Vec<_> = more.collect();
                    let mut seen = self.seen();
                    more.iter().for_each(|head| seen.add(&folder, Some(&head.session)));
                    all.extend(more);
                }
                // A folder that is gone must not hide the sessions of the others.
                Err(error) => {
                    let folder = folder.display();
                    tracing::warn!(%error, "the sessions in {folder} cannot be listed");
                }
            }
        }
        all.sort_by_key(|head| std::cmp::Reverse(head.updated));
        Ok(all)
    }

    /// Deletes a stored session. It can be called again, after a failure and also after a success. Returns
    /// false if no known folder has the session.
    pub(super) async fn delete(
        &self,
        host: &dyn SessionHost,
        session: &SessionId,
    ) -> Result<bool, HostError> {
        let (of_session, folders) = {
            let seen = self.seen();
            if seen.deleted.contains(session) {
                return Ok(true);
            }
            (seen.of_session.get(session).cloned(), seen.folders.clone())
        };
        let places = match of_session {
            // Only there: a copy of the folder has a session of the same id.
            Some(folder) => vec![Some(folder)],
            None => std::iter::once(None).chain(folders.into_iter().map(Some)).collect(),
        };
        for folder in places {
            if host.delete(folder.as_deref(), session).await? {
                let mut seen = self.seen();
                seen.of_session.remove(session);
                seen.deleted.insert(session.clone());
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
