//! A second process continues a session that the first one left. Here the first one is simulated by
//! dropping everything without a shutdown; `robota demo` kills a real process.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{
    Earlier, InteractiveSession, ModelSetup, Project, ProjectOptions, SessionChoice,
};

async fn open(
    folder: &std::path::Path,
    script: Script,
    choice: SessionChoice,
) -> Result<InteractiveSession, Box<dyn std::error::Error>> {
    let options = ProjectOptions { cwd: Some(folder.to_owned()), ..ProjectOptions::default() };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let model = ModelSetup::new(ScriptedProvider::new(script), "scripted");
    Ok(InteractiveSession::builder(Project::load(options)?, model).choose(choice).open().await?)
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let first = open(folder.path(), Script::new().text("Noted."), SessionChoice::New(None)).await?;
    first.submit("The code word is Kobza.").await?.result().await?;
    let id = first.id().to_string();
    first.shutdown("gone").await?;
    drop(first);

    let again = SessionChoice::Earlier(Earlier::Named(id));
    let second = open(folder.path(), Script::new().text("Kobza."), again).await?;
    let answer = second.submit("What is the code word?").await?.result().await?;
    println!("{}", answer.response);
    assert_eq!(second.conversation().messages().await?.len(), 4);
    Ok(second.shutdown("done").await?)
}
