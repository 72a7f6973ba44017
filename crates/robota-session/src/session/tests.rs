use std::sync::Arc;

use robota_core::journal::MemoryStore;
use robota_core::scripted::{Script, ScriptedProvider};

use super::Session;
use crate::actor::Request;
use crate::event_kind::EventFilter;
use crate::subscribe::StartAt;

/// Code of the program is guarded where it is called, so this needs a defect of the session itself.
#[tokio::test]
async fn a_panic_of_the_session_itself_ends_its_watchers_with_an_error() {
    let model = ScriptedProvider::new(Script::new());
    let builder = Session::builder(Arc::new(model), "test-model");
    let session = builder.create(Arc::new(MemoryStore::new()), None).await.unwrap();
    let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
    let defect = Request::Inspect(Box::new(|_| panic!("on purpose")));
    assert!(session.requests.send(defect).await.is_ok());
    while let Some(event) = events.next_event().await {
        event.unwrap();
    }
    for error in [session.interrupt(None).await.unwrap_err(), session.status().await.unwrap_err()] {
        assert!(error.to_string().contains("panicked"), "{error}");
    }
}
