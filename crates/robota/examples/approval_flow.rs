//! Calls that need approval wait until a client decides them.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::Mode;
use robota::core::approve::Scope;
use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{InteractiveEvent, InteractiveSession, ModelSetup, Project, ProjectOptions};
use robota::session::{Approvals, Decision, StartAt};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options = ProjectOptions {
        cwd: Some(folder.path().to_owned()),
        mode: Some(Mode::Default),
        ..ProjectOptions::default()
    };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let write = |name| json!({"file_path": name, "content": "x"});
    let provider = ScriptedProvider::new(
        Script::new()
            .tool("Write", write("good.txt"))
            .tool("Write", write("bad.txt"))
            .text("One file was written."),
    );
    let session =
        InteractiveSession::builder(Project::load(options)?, ModelSetup::new(provider, "scripted"))
            .approvals(Approvals::Decide)
            .open()
            .await?;
    let mut events = session.events(StartAt::Now).await?;
    session.submit("Write two files.").await?;
    while let Some(event) = events.next().await {
        match event? {
            InteractiveEvent::ApprovalAsked { call, reason, .. } => {
                let asked = session.approvals().into_iter().find(|asked| asked.call.call == call);
                let input = asked.as_ref().and_then(|asked| asked.call.input.json());
                let good = input.is_some_and(|input| input["file_path"] == "good.txt");
                println!("{reason}: {}", if good { "yes" } else { "no" });
                let decision = if good { Decision::Allow(Scope::Once) } else { Decision::Deny };
                session.session().permissions().decide(&call, decision, None).await?;
            }
            InteractiveEvent::Complete(_) => break,
            InteractiveEvent::Error(result) => return Err(format!("{:?}", result.error).into()),
            _ => {}
        }
    }
    assert!(folder.path().join("good.txt").exists());
    assert!(!folder.path().join("bad.txt").exists());
    Ok(session.shutdown("done").await?)
}
