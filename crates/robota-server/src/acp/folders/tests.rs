#![allow(clippy::unwrap_used, clippy::unimplemented)]
use robota_sdk::host::HostErrorKind;
use robota_sdk::{HostedSession, InteractiveSession, OpenRequest};

use super::*;

/// Folders that each have one session of the same id.
struct Copies {
    have: Mutex<HashSet<PathBuf>>,
    fails: Mutex<bool>,
}

#[async_trait::async_trait]
impl SessionHost for Copies {
    async fn check_model(&self) -> Result<(), HostError> {
        Err(HostError::new(HostErrorKind::Invalid, "not a part of this test"))
    }

    async fn open(&self, _request: OpenRequest) -> Result<HostedSession, HostError> {
        Err(HostError::new(HostErrorKind::Invalid, "not a part of this test"))
    }

    async fn list(&self, cwd: Option<&Path>) -> Result<Vec<SessionHead>, HostError> {
        let has = self.have.lock().unwrap().contains(cwd.unwrap_or(Path::new("/start")));
        let time = "2026-01-01T00:00:00Z";
        let head =
            serde_json::json!({"session": "s", "created": time, "updated": time, "last": "1-1"});
        let head = has.then(|| serde_json::from_value(head).unwrap());
        Ok(head.into_iter().collect())
    }

    async fn delete(&self, cwd: Option<&Path>, _id: &SessionId) -> Result<bool, HostError> {
        if std::mem::take(&mut *self.fails.lock().unwrap()) {
            return Err(HostError::new(HostErrorKind::Failed, "the disk is full"));
        }
        Ok(self.have.lock().unwrap().remove(cwd.unwrap_or(Path::new("/start"))))
    }

    async fn set_model(
        &self,
        _session: &InteractiveSession,
        _model: &str,
    ) -> Result<String, HostError> {
        Err(HostError::new(HostErrorKind::Invalid, "not a part of this test"))
    }
}

#[tokio::test]
async fn a_repeated_delete_deletes_no_copy_of_the_session() {
    let have = ["/start", "/copy", "/work"].map(PathBuf::from);
    let host = Copies { have: Mutex::new(have.into()), fails: Mutex::new(true) };
    let (folders, session) = (Folders::default(), SessionId::from("s"));
    folders.add(Path::new("/copy"), &SessionId::from("other"));
    folders.add(Path::new("/work"), &session);
    assert!(folders.delete(&host, &session).await.is_err());
    for _ in 0..2 {
        assert!(folders.delete(&host, &session).await.unwrap());
    }
    let left: HashSet<_> = ["/start", "/copy"].map(PathBuf::from).into();
    assert_eq!(*host.have.lock().unwrap(), left);
}

#[tokio::test]
async fn a_session_that_is_listed_again_can_be_deleted_again() {
    let have = Mutex::new(HashSet::from([PathBuf::from("/start")]));
    let host = Copies { have, fails: Mutex::new(false) };
    let (folders, session) = (Folders::default(), SessionId::from("s"));
    assert!(folders.delete(&host, &session).await.unwrap());
    // Someone restores the file of the session.
    host.have.lock().unwrap().insert(PathBuf::from("/start"));
    assert_eq!(folders.list(&host, None).await.unwrap().len(), 1);
    assert!(folders.delete(&host, &session).await.unwrap());
    assert!(host.have.lock().unwrap().is_empty());
}
