//! Forks a session and asks both branches something else.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{InteractiveSession, ModelSetup, Project, ProjectOptions};
use robota::session::Selector;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options =
        ProjectOptions { cwd: Some(folder.path().to_owned()), ..ProjectOptions::default() };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let script = Script::new().text("We need a name.").text("Call it Ada.").text("Call it Bob.");
    let provider = ScriptedProvider::new(script);
    let session =
        InteractiveSession::builder(Project::load(options)?, ModelSetup::new(provider, "scripted"))
            .open()
            .await?;
    session.submit("What do we need?").await?.result().await?;
    let fork = session.fork(&Selector::Latest).await?;
    let first = session.submit("Propose a name.").await?.result().await?;
    let second = fork.submit("Propose another name.").await?.result().await?;
    println!("{} / {}", first.response, second.response);
    assert_ne!(first.response, second.response);
    assert_eq!(
        session.conversation().messages().await?.len(),
        fork.conversation().messages().await?.len()
    );
    fork.shutdown("done").await?;
    Ok(session.shutdown("done").await?)
}
