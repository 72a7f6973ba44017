//! An answer as a Rust type: the schema comes from the type, and a wrong answer is sent back.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::Agent;
use robota::scripted::{Script, ScriptedProvider};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Review {
    /// Whether the change can be merged.
    approve: bool,
    /// What to improve.
    remarks: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A real model: let provider = robota::connect("openai/gpt-5.5", key)?;
    let provider = ScriptedProvider::new(
        Script::new().text("Looks good!").text(r#"{"approve": true, "remarks": ["add a test"]}"#),
    );
    let mut agent = Agent::builder(provider, "scripted").build()?;
    let review: Review = agent.run_as("Review the change.").await?;
    println!("approve: {}, remarks: {}", review.approve, review.remarks.join(", "));
    assert!(review.approve && review.remarks.len() == 1);
    Ok(())
}
