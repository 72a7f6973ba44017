//! A second process continues a session that the first one left in the middle of an answer. Here the
//! first one is a runtime that ends without a shutdown, as in a crash: what its tasks would have done
//! next never happens. `robota demo` kills a real process.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use robota::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota::sdk::{
    Earlier, InteractiveEvent, InteractiveSession, ModelSetup, Project, ProjectOptions,
    SessionChoice,
};
use robota::session::StartAt;

type Failure = Box<dyn std::error::Error>;

async fn open(
    folder: &Path,
    script: Script,
    choice: SessionChoice,
) -> Result<InteractiveSession, Failure> {
    let options = ProjectOptions { cwd: Some(folder.to_owned()), ..ProjectOptions::default() };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let model = ModelSetup::new(ScriptedProvider::new(script), "scripted");
    Ok(InteractiveSession::builder(Project::load(options)?, model).choose(choice).open().await?)
}

/// Works until the first words of an answer, and returns the session.
async fn begin(folder: &Path) -> Result<InteractiveSession, Failure> {
    let script = Script::new().answer(ScriptedAnswer::new().text("I note that").stall());
    let session = open(folder, script, SessionChoice::New(None)).await?;
    let mut events = session.events(StartAt::Now).await?;
    session.submit("The code word is Kobza.").await?;
    while let Some(event) = events.next().await {
        if let InteractiveEvent::TextDelta { .. } = event? {
            break;
        }
    }
    Ok(session)
}

async fn resume(folder: &Path, id: String) -> Result<(), Failure> {
    let again = SessionChoice::Earlier(Earlier::Named(id));
    let session = open(folder, Script::new().text("Kobza."), again).await?;
    let answer = session.submit("What is the code word?").await?.result().await?;
    println!("{}", answer.response);
    let messages = session.conversation().messages().await?;
    // The prompt of the first process was in the journal before its turn began.
    assert!(messages[0].text().contains("The code word is Kobza."));
    assert_eq!(answer.response, "Kobza.");
    Ok(session.shutdown("done").await?)
}

pub(crate) fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let first = runtime.enable_all().build()?;
    let session = first.block_on(begin(folder.path()))?;
    let id = session.id().to_string();
    // The tasks of the session end where they are, before it could notice that nothing uses it.
    drop(first);
    drop(session);
    runtime.build()?.block_on(resume(folder.path(), id))
}
