//! Prompts that wait for the running turn.

use robota_sdk::{InteractiveEvent, InteractiveSession, Prompt, SdkError};
use robota_session::StartAt;

use crate::common::Scene;

const BUSY: &str = "- {steps: [{text: busy}, {stall: {gate: go}}]}\n- two\n- three\n- four\n";

/// Starts a turn that runs until its gate is released.
async fn busy(session: &InteractiveSession) {
    let mut events = session.events(StartAt::Start).await.unwrap();
    session.submit("one").await.unwrap();
    loop {
        if let InteractiveEvent::TextDelta { .. } = events.next().await.unwrap().unwrap() {
            return;
        }
    }
}

fn asked(scene: &Scene) -> Vec<String> {
    let requests = scene.provider.requests();
    requests.iter().map(|request| request.messages.last().unwrap().text()).collect()
}

#[tokio::test]
async fn sdk_03_one_prompt_waits_and_runs_after_the_turn() {
    let scene = Scene::new(BUSY);
    let session = scene.open().await;
    busy(&session).await;
    let waiting = session.submit("next").await.unwrap();
    assert!(matches!(session.submit("third").await, Err(SdkError::QueueFull { limit: 1 })));
    assert_eq!(session.queue().list().await.unwrap()[0].text, "next");
    scene.provider.release("go");
    assert_eq!(waiting.result().await.unwrap().response, "two");
    assert!(session.queue().list().await.unwrap().is_empty());
}

#[tokio::test]
async fn sdk_03_waiting_prompts_can_be_edited_moved_and_removed() {
    let scene = Scene::new(BUSY);
    let session = scene.builder().queue_limit(8).open().await.unwrap();
    busy(&session).await;
    let a = session.submit("a").await.unwrap();
    let b = session.submit("b").await.unwrap();
    let c = session.submit(Prompt::from("a long text").display("/c")).await.unwrap();
    assert!(session.queue().move_to(c.input(), 0).await.unwrap());
    let d = session.submit(Prompt::from("old").display("/old").raw("/old")).await.unwrap();
    assert!(session.queue().edit(d.input(), "new").await.unwrap());
    assert!(session.queue().edit(a.input(), "a, corrected").await.unwrap());
    assert!(session.queue().cancel(b.input()).await.unwrap());
    assert!(!session.queue().cancel(b.input()).await.unwrap());
    let texts: Vec<_> =
        session.queue().list().await.unwrap().into_iter().map(|it| it.text).collect();
    assert_eq!(texts, ["/c", "a, corrected", "new"]);
    assert!(session.queue().cancel(d.input()).await.unwrap());
    scene.provider.release("go");
    assert_eq!(c.result().await.unwrap().response, "two");
    assert_eq!(a.result().await.unwrap().response, "three");
    assert!(b.result().await.is_err());
    assert_eq!(asked(&scene), ["one", "a long text", "a, corrected"]);
    assert!(!session.queue().edit(&robota_core::ids::InputId::from("none"), "x").await.unwrap());
}

#[tokio::test]
async fn sdk_03_an_abort_removes_what_waits() {
    let scene = Scene::new(BUSY);
    let session = scene.open().await;
    busy(&session).await;
    let waiting = session.submit("next").await.unwrap();
    assert!(session.abort().await.unwrap());
    assert!(waiting.result().await.is_err());
    assert!(!session.is_executing());
    assert_eq!(asked(&scene), ["one"]);
}

#[tokio::test]
async fn sdk_03_a_turn_is_stopped_for_the_next_prompt() {
    let scene = Scene::new(BUSY);
    let session = scene.builder().queue_limit(8).open().await.unwrap();
    busy(&session).await;
    let a = session.submit("a").await.unwrap();
    let b = session.submit("b").await.unwrap();
    assert!(session.queue().move_to(b.input(), 0).await.unwrap());
    assert!(session.queue().start_next().await.unwrap());
    assert_eq!(b.result().await.unwrap().response, "two");
    assert_eq!(a.result().await.unwrap().response, "three");
    assert_eq!(asked(&scene), ["one", "b", "a"]);
    assert!(!session.queue().start_next().await.unwrap());
}

#[tokio::test]
async fn sdk_03_cancelling_the_queue_leaves_the_turn_alone() {
    let scene = Scene::new(BUSY);
    let session = scene.open().await;
    busy(&session).await;
    session.submit("next").await.unwrap();
    assert_eq!(session.queue().clear().await.unwrap(), 1);
    assert!(session.is_executing());
    scene.provider.release("go");
    let mut events = session.events(StartAt::Start).await.unwrap();
    loop {
        if let InteractiveEvent::Complete(result) = events.next().await.unwrap().unwrap() {
            break assert_eq!(result.response, "busy");
        }
    }
}
