//! A session that stops when its budget is used up.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{Budget, BudgetLimits, InteractiveSession, ModelSetup, Project, ProjectOptions};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options =
        ProjectOptions { cwd: Some(folder.path().to_owned()), ..ProjectOptions::default() };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let provider = ScriptedProvider::new(Script::new().text("One.").text("Two."));
    let turns = BudgetLimits { turns: Some(1), ..BudgetLimits::default() };
    let session =
        InteractiveSession::builder(Project::load(options)?, ModelSetup::new(provider, "scripted"))
            .budget(Budget { session: turns, ..Budget::default() })
            .on_notice(|notice| println!("{notice}"))
            .open()
            .await?;
    println!("{}", session.submit("Count.").await?.result().await?.response);
    let refused = session.submit("Go on.").await?.result().await;
    println!("{}", refused.err().ok_or("the budget was not kept")?);
    assert_eq!(session.conversation().messages().await?.len(), 2);
    Ok(session.shutdown("done").await?)
}
