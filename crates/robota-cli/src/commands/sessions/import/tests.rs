use robota_core::event::Envelope;
use robota_store::FileStore;

use super::*;

const JOURNAL: &[u8] = include_bytes!("../../../../../../fixtures/journal-v1/tools.jsonl");

#[tokio::test]
async fn kode_11_a_session_of_another_user_is_copied_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = |key: &str| FileStore::new(dir.path()).with_owner_key(key);
    let theirs = store("theirs");
    let written = journal::parse(JOURNAL).unwrap();
    journal::import(&Destination::new(&theirs), written.clone()).await.unwrap();

    let ours = store("ours");
    let foreign = SessionId::from("session-1");
    assert!(ours.head(&foreign).await.unwrap().foreign);
    assert!(ours.open(&foreign).await.is_err());
    let first = from_session(&ours, "session-1", None).await.unwrap();
    let again = from_session(&ours, "session-1", None).await.unwrap();
    assert!(!first.already && again.already);
    assert_eq!(first.session, again.session);
    assert!(!ours.head(&first.session).await.unwrap().foreign);
    drop(ours.open(&first.session).await.unwrap());
    let copied = read_all(&ours, &first.session, 0).await.unwrap();
    assert_eq!(kinds(&copied), kinds(&written));

    let named = SessionId::from("mine");
    let copy = from_session(&ours, "session-1", Some(&named)).await.unwrap();
    assert_eq!(copy.session, named);
    assert!(
        from_session(&ours, "mine", None).await.is_err(),
        "a session of one's own is not imported"
    );
}

fn kinds(events: &[Envelope]) -> Vec<&str> {
    events.iter().map(|event| event.event.kind()).collect()
}
