//! Two agents share one provider; each has its own conversation.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use robota::Agent;
use robota::scripted::{Script, ScriptedProvider};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let script = Script::new().text("Write a function.").text("It needs a test.");
    let provider = Arc::new(ScriptedProvider::new(script));
    let mut author = Agent::builder(provider.clone(), "scripted").system("You write.").build()?;
    let mut critic = Agent::builder(provider, "scripted").system("You review.").build()?;
    let draft = author.run("Plan the change.").await.text;
    let review = critic.run(format!("Review this plan: {draft}")).await.text;
    println!("{draft}\n{review}");
    assert_eq!(review, "It needs a test.");
    Ok(())
}
