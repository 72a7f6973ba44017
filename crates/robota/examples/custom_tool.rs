//! A tool from an async function.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::scripted::{Script, ScriptedProvider};
use robota::{Agent, Mode, ModeGate};
use serde_json::json;

/// Returns the weather of a city.
#[robota::tool(class = Inspect)]
async fn weather(
    /// The name of the city.
    city: String,
) -> String {
    format!("It is sunny in {city}.")
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A real model: let provider = robota::connect("openai/gpt-5.5", key)?;
    let provider = ScriptedProvider::new(
        Script::new().tool("weather", json!({"city": "Kyiv"})).text("Sunny, take a hat."),
    );
    let mut agent =
        Agent::builder(provider, "scripted").tool(weather()).gate(ModeGate(Mode::Plan)).build()?;
    let report = agent.run("What is the weather in Kyiv?").await;
    println!("{}", report.text);
    assert_eq!(report.tools_executed, 1);
    Ok(())
}
