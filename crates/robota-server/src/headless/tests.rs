#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use robota_core::ids::SessionId;
use robota_core::journal::{MemoryStore, SessionHead};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_sdk::{
    Earlier, HostError, HostedSession, InteractiveSession, ModelSetup, OpenRequest, Project,
    ProjectOptions, SessionChoice, SessionHost, Transport as _, TransportError, attach_transport,
};
use serde_json::Value;

use super::{HeadlessFormat, HeadlessTransport};

/// Opens sessions whose model follows a script.
struct Scripted {
    folder: tempfile::TempDir,
    script: &'static str,
}

#[async_trait::async_trait]
impl SessionHost for Scripted {
    async fn check_model(&self) -> Result<(), HostError> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<HostedSession, HostError> {
        let options =
            ProjectOptions { cwd: Some(self.folder.path().to_owned()), ..Default::default() };
        let project = Arc::new(Project::load(options)?);
        let provider = ScriptedProvider::new(Script::from_yaml(self.script).unwrap());
        let session = InteractiveSession::builder(project, ModelSetup::new(provider, "m"))
            .store(MemoryStore::new())
            .choose(request.choice)
            .open()
            .await?;
        Ok(HostedSession {
            session,
            model: "m".to_owned(),
            models: Vec::new(),
            effort: None,
            modes: Vec::new(),
        })
    }

    async fn list(&self, _: Option<&Path>) -> Result<Vec<SessionHead>, HostError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: Option<&Path>, _: &SessionId) -> Result<bool, HostError> {
        Ok(false)
    }

    async fn set_model(&self, _: &InteractiveSession, model: &str) -> Result<String, HostError> {
        Ok(model.to_owned())
    }
}

fn sessions(script: &'static str) -> Arc<Scripted> {
    Arc::new(Scripted { folder: tempfile::tempdir().unwrap(), script })
}

async fn run(script: &'static str, format: HeadlessFormat) -> (String, bool) {
    let mut output = Vec::new();
    let mut headless = HeadlessTransport::new("hi", &mut output).format(format);
    assert_eq!(headless.name(), "headless");
    headless.attach(sessions(script));
    headless.start().await.unwrap();
    let succeeded = headless.succeeded();
    (String::from_utf8(output).unwrap(), succeeded)
}

#[tokio::test]
async fn sdk_08_headless_a_program_answers_a_prompt() {
    assert_eq!(run("- Hello.", HeadlessFormat::Text).await, ("Hello.\n".to_owned(), true));
    let (text, _) = run("- Hello.", HeadlessFormat::Json).await;
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&line["response"], &line["end"]), (&"Hello.".into(), &"complete".into()), "{line}");
    assert!(line["sessionId"].is_string());
    let (text, _) = run("- Hello.", HeadlessFormat::Events).await;
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for kind in ["session_created", "user_message", "assistant_message", "turn_finished"] {
        assert!(events.iter().any(|event| event["type"] == kind), "{kind}: {text}");
    }
}

#[tokio::test]
async fn sdk_08_headless_nothing_is_attached() {
    let error = HeadlessTransport::new("hi", Vec::new()).start().await.unwrap_err();
    assert!(matches!(error, TransportError::NotAttached("headless")), "{error}");
}

#[tokio::test]
async fn sdk_08_headless_stopped_before_its_start_sends_no_prompt() {
    let mut headless = HeadlessTransport::new("hi", Vec::new());
    headless.attach(sessions("- Never."));
    headless.stop().await;
    headless.start().await.unwrap();
    assert!(!headless.succeeded());
}

#[tokio::test]
async fn sdk_08_attach_transport_serves_one_session() {
    let sessions = sessions("- Hello.");
    let opened = sessions.open(OpenRequest::new(Default::default())).await.unwrap();
    let id = opened.session.session().id().as_str().to_owned();
    let mut headless = HeadlessTransport::new("hi", Vec::new());
    attach_transport(&mut headless, opened.session.clone(), "m");
    headless.start().await.unwrap();
    assert_eq!(headless.result().unwrap().response, "Hello.");
    assert_eq!(opened.session.session().id().as_str(), id);
    let named = SessionChoice::Earlier(Earlier::Named("other".to_owned()));
    let mut headless = HeadlessTransport::new("hi", Vec::new()).choose(named);
    attach_transport(&mut headless, opened.session, "m");
    let error = headless.start().await.unwrap_err();
    assert!(error.to_string().contains("there is no session `other`"), "{error}");
}
