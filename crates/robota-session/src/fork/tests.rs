use robota_core::journal::MemoryStore;
use robota_core::scripted::{Script, ScriptedProvider};

use super::*;
use crate::Session;

#[tokio::test]
async fn any_safe_point_of_a_long_session_is_found_through_snapshots() {
    let (store, id) = (MemoryStore::new(), SessionId::from("s"));
    let model = ScriptedProvider::new(Script::new().text("Done.").looped());
    let session = Session::builder(model, "m").open(store.clone(), "s").await.unwrap();
    for _ in 0..300 {
        session.run("Go on.").await.unwrap();
    }
    let state = session.inspect(State::clone).await.unwrap();
    let events = store.read(&id, 0, usize::MAX).await.unwrap();
    let snapshots = events.iter().filter(|event| matches!(event.event, Event::StateSnapshot(_)));
    assert!(snapshots.count() > 8);
    let is_point = |event: &&Envelope| SafePoints::is_safe_point(&event.event);
    let points: Vec<Cursor> = events.iter().filter(is_point).map(Envelope::cursor).collect();
    for (number, at) in (1..).zip(&points) {
        let found = resolve(&state, &store, &id, &Selector::SafePoint(number)).await.unwrap();
        assert_eq!(found, *at);
    }
    for event in events.iter().step_by(7) {
        let place = Selector::At(event.cursor());
        let found = resolve(&state, &store, &id, &place).await.ok();
        let expected = points.iter().rev().find(|point| point.seq <= event.seq).copied();
        assert_eq!(found, expected, "up to {}", event.seq);
    }
}
