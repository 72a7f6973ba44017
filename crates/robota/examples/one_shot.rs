//! One prompt, one answer, with the settings and tools of a folder.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{ModelSetup, QueryOptions, query};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // A real model: let provider = robota::connect_from_env()?.provider;
    let provider = ScriptedProvider::new(Script::new().text("Rust is a programming language."));
    let options = QueryOptions { cwd: Some(folder.path().to_owned()), ..QueryOptions::default() };
    let answer = query("What is Rust?", ModelSetup::new(provider, "scripted"), options).await?;
    println!("{answer}");
    assert!(answer.contains("Rust"));
    Ok(())
}
