use robota_core::clock::SystemClock;
use robota_core::event::{Delivery, InputAccepted};
use robota_core::journal::MemoryStore;
use robota_core::message::Block;
use robota_core::scripted::{Script, ScriptedProvider};

use super::*;
use crate::{Resume, Session};

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
        assert_eq!(found.at, *at);
        let state = found.load(&store, &id, &state).await.unwrap();
        let whole = State::fold(events.iter().take_while(|event| event.seq <= at.seq)).unwrap();
        assert_eq!(state, whole);
    }
    for event in events.iter().step_by(7) {
        let place = Selector::At(event.cursor());
        let found = resolve(&state, &store, &id, &place).await.ok().map(|point| point.at);
        let expected = points.iter().rev().find(|point| point.seq <= event.seq).copied();
        assert_eq!(found, expected, "up to {}", event.seq);
    }
}

#[tokio::test]
async fn a_fork_that_a_crash_left_untouched_does_not_do_the_work_of_its_parent() {
    let (store, id, child) = (MemoryStore::new(), SessionId::from("s"), SessionId::from("child"));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let journal = store.create(&id).await.unwrap();
    let mut recorder = Recorder::new(journal, clock.clone(), State::default());
    let created = SessionCreated {
        session: id.clone(),
        format: FORMAT,
        cwd: None,
        parent: None,
        spawned_by: None,
    };
    let opened = Opened { epoch: recorder.epoch(), after_seq: 0, pid: None };
    let waiting = InputAccepted {
        input: "input-1".into(),
        delivery: Delivery::default(),
        content: vec![Block::text("Later.")],
        metadata: Default::default(),
        source: None,
    };
    let events = vec![created.into(), opened.into(), waiting.into()];
    recorder.append(None, events).await.unwrap();
    let at = recorder.state().cursor.unwrap();
    // The fork is stored, and its process ends before it recorded anything.
    drop(StoredFork::create(&store, &id, at, None, &child, clock).await.unwrap());

    let model = ScriptedProvider::new(Script::new().text("Done.").looped());
    let builder = Session::builder(model, "m");
    let session = builder.resume(store.clone(), &child, Resume::default()).await.unwrap();
    assert_eq!(session.inspect(|state| state.inputs.len()).await.unwrap(), 0);
    let events = store.read(&child, at.seq, usize::MAX).await.unwrap();
    assert!(events.iter().any(|event| matches!(event.event, Event::InputCancelled(_))));
    assert!(!events.iter().any(|event| matches!(event.event, Event::UserMessage(_))));
}
