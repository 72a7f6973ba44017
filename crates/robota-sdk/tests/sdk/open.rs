//! Opening, resuming, forking and ending sessions.

use robota_core::scripted::{Script, ScriptedProvider};
use robota_sdk::{Closed, Earlier, InteractiveSession, SdkError, SessionChoice};
use robota_session::{Selector, Session};

use crate::common::Scene;

#[tokio::test]
async fn sdk_06_a_session_is_resumed_by_id_and_forked_without_a_change() {
    let scene = Scene::new("- one\n- two\n- three\n- {expect: {messages: 3}, text: four}\n");
    let session = scene.open().await;
    session.submit("1").await.unwrap().result().await.unwrap();
    session.set_name("work").await.unwrap();
    let id = session.id().to_string();
    session.shutdown("done").await.unwrap();
    drop(session);

    let choice = SessionChoice::Earlier(Earlier::Named("work".into()));
    let session = scene.builder().choose(choice).open().await.unwrap();
    assert_eq!(session.id().as_str(), id);
    assert_eq!(session.name().await.unwrap().as_deref(), Some("work"));
    assert_eq!(session.conversation().messages().await.unwrap().len(), 2);
    let fork = session.fork(&Selector::Latest).await.unwrap();
    session.submit("2").await.unwrap().result().await.unwrap();
    fork.submit("3").await.unwrap().result().await.unwrap();
    assert_ne!(fork.id(), session.id());
    assert_eq!(session.conversation().messages().await.unwrap().len(), 4);
    assert_eq!(fork.conversation().messages().await.unwrap().len(), 4);
    session.shutdown("done").await.unwrap();
    drop(session);

    let stored = SessionChoice::Fork { of: Earlier::Named(id.clone()), id: Some("../x".into()) };
    let copy = scene.builder().choose(stored).open().await;
    assert!(matches!(copy.err(), Some(SdkError::SessionId(_))));
    let choice = SessionChoice::Earlier(Earlier::Named("nothing".into()));
    let error = scene.builder().choose(choice).open().await.err().unwrap();
    assert!(matches!(error, SdkError::SessionNotFound(_)));
}

#[tokio::test]
async fn sdk_07_a_session_that_ended_takes_no_prompt_and_says_why_it_ended() {
    let scene = Scene::new("- one\n");
    let session = scene.open().await;
    session.submit("1").await.unwrap().result().await.unwrap();
    let end = Closed::from("prompt_input_exit").message("User requested exit");
    session.shutdown(end).await.unwrap();
    assert!(session.submit("2").await.is_err());
    session.shutdown("again").await.unwrap();
    let events = scene.store.read(session.id(), 0, 1_000).await.unwrap();
    let last = events.last().unwrap().to_line();
    assert!(last.contains("prompt_input_exit") && last.contains("User requested exit"), "{last}");
}

#[tokio::test]
async fn sess_18_sessions_without_a_project_are_in_the_home_folder() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("HOME".to_owned(), home.path().display().to_string())];
    let environment = robota_config::ProgramEnvironment::from_iter(variables);
    let open = || {
        let level = robota_store::DurabilityLevel::default();
        std::sync::Arc::new(robota_sdk::store::of_user(&environment, level).unwrap())
    };
    let script = Script::new().text("Hello.");
    let session = Session::builder(ScriptedProvider::new(script), "scripted")
        .create(open(), Some("s".into()))
        .await
        .unwrap();
    session.run("Hi.").await.unwrap();
    session.shutdown("done").await.unwrap();
    assert!(home.path().join(".robota/sessions/s").is_dir());
    let builder = Session::builder(ScriptedProvider::new(Script::new()), "scripted");
    let again =
        builder.resume(open(), &"s".into(), robota_session::Resume::default()).await.unwrap();
    assert_eq!(again.context().messages().await.unwrap().len(), 2);
    let level = robota_store::DurabilityLevel::default();
    let error = robota_sdk::store::of_user(&robota_config::ProgramEnvironment::default(), level);
    assert!(error.unwrap_err().to_string().contains("home folder"));
}

#[tokio::test]
async fn sdk_01_a_session_that_was_built_elsewhere_can_be_used() {
    let script = Script::new().text("Hello.");
    let session = Session::builder(ScriptedProvider::new(script), "scripted")
        .create(robota_core::journal::MemoryStore::new(), None)
        .await
        .unwrap();
    let session = InteractiveSession::from_session(session);
    let result = session.submit("Hi.").await.unwrap().result().await.unwrap();
    assert_eq!(result.response, "Hello.");
    assert!(session.project().is_none());
    assert!(session.execute_command("context", "").await.unwrap().success);
}
