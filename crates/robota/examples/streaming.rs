//! Follows a session event by event: text as it arrives, tool calls with their changed lines.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::Mode;
use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{InteractiveEvent, InteractiveSession, ModelSetup, Project, ProjectOptions};
use robota::session::StartAt;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options = ProjectOptions {
        cwd: Some(folder.path().to_owned()),
        mode: Some(Mode::AcceptEdits),
        ..ProjectOptions::default()
    };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let provider = ScriptedProvider::new(
        Script::new()
            .tool("Write", json!({"file_path": "hello.txt", "content": "Hello!\n"}))
            .text("I wrote hello.txt."),
    );
    let session =
        InteractiveSession::builder(Project::load(options)?, ModelSetup::new(provider, "scripted"))
            .open()
            .await?;
    let mut events = session.events(StartAt::Now).await?;
    session.submit("Write a greeting.").await?;
    while let Some(event) = events.next().await {
        match event? {
            InteractiveEvent::TextDelta { text } => print!("{text}"),
            InteractiveEvent::ToolEnd(tool) => println!("[{} {}]", tool.tool, tool.first_argument),
            InteractiveEvent::Complete(result) => {
                println!("\n{} rounds", result.rounds);
                break;
            }
            InteractiveEvent::Error(result) => return Err(format!("{:?}", result.error).into()),
            _ => {}
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("hello.txt"))?, "Hello!\n");
    Ok(session.shutdown("done").await?)
}
