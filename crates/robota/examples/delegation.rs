//! A lead delegates work to named agents; each call is a session of its own.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use robota::runtime::{Pool, PoolAgentOptions, Template};
use robota::scripted::{Script, ScriptedProvider};
use robota::session::Session;
use robota::{AllowAll, FileStore};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // A real model: let model = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let task = |agent: &str, prompt: &str| json!({"subagent_type": agent, "prompt": prompt});
    let lead = ScriptedProvider::new(
        Script::new()
            .tool("Agent", task("frontend", "Build the form."))
            .tool("Agent", task("backend", "Build the endpoint."))
            .text("The form and the endpoint are ready."),
    );
    let frontend = ScriptedProvider::new(Script::new().text("The form is in form.html."));
    let backend = ScriptedProvider::new(Script::new().text("POST /answers stores the form."));
    let pool = Pool::builder(FileStore::new(folder.path()))
        .template(
            // The gate decides whether the lead may delegate. The others have gates of their own.
            Template::new("lead", Session::builder(lead.clone(), "scripted").gate(AllowAll))
                .sub_agents(["frontend", "backend"]),
        )
        .template(
            Template::new("frontend", Session::builder(frontend, "scripted"))
                .description("Builds pages."),
        )
        .template(
            Template::new("backend", Session::builder(backend, "scripted"))
                .description("Builds services."),
        )
        .start();
    let id = "agent:lead/session:demo";
    let answer = pool.create(id, "lead", PoolAgentOptions::default()).await?;
    let answer = answer.run("We need a form for answers.").await?;
    println!("{answer}");
    assert_eq!(answer, "The form and the endpoint are ready.");
    let last = lead.requests().pop().map(|request| format!("{:?}", request.messages));
    assert!(last.is_some_and(|text| text.contains("POST /answers")), "the lead saw the answers");
    let stored = robota::core::journal::SessionFilter::default();
    let sessions = pool.store().list(&stored).await?.sessions;
    assert_eq!(sessions.len(), 3, "each task is a session with its own journal");
    let report = pool.shutdown(Duration::from_secs(5)).await;
    assert!(report.failed.is_empty());
    Ok(())
}
