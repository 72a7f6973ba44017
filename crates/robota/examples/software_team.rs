//! A small software team: a product manager, a developer and a tester talk in a room until the
//! feature is done.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use robota::FileStore;
use robota::runtime::{Pool, PoolAgentOptions, Room, Template};
use robota::scripted::{Script, ScriptedProvider};
use robota::session::Session;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // A real model: let model = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let says = |script: Script, text: &str| script.tool("RoomSay", json!({"text": text})).text("");
    let pm = says(Script::new(), "@dev Write a function that adds two numbers.");
    let pm = says(pm, "@user The feature is done and tested.");
    let dev = says(Script::new(), "@qa fn add(a: i64, b: i64) -> i64 { a - b }");
    let dev = says(dev, "@qa Fixed: fn add(a: i64, b: i64) -> i64 { a + b }");
    let qa = says(Script::new(), "@dev add(1, 1) is 0, not 2.");
    let qa = says(qa, "@pm add works.");
    let template = |name: &str, system: &str, script: Script| {
        let model = ScriptedProvider::new(script);
        Template::new(name, Session::builder(model, "scripted").system(system)).joins_rooms()
    };
    let pool = Pool::builder(FileStore::new(folder.path()))
        .template(template("pm", "You plan the work and talk to the user.", pm))
        .template(template("dev", "You write code.", dev))
        .template(template("qa", "You test what the developer wrote.", qa))
        .start();
    let room = Room::open(&pool, "agent:room/session:team").await?.hop_limit(12);
    for name in ["pm", "dev", "qa"] {
        let id = format!("agent:{name}/session:1");
        pool.create(id.as_str(), name, PoolAgentOptions::default()).await?;
        room.join(name, id.as_str(), 0).await?;
    }
    room.say("user", "@pm We need a function that adds two numbers.").await?;
    // Seven messages: each answers the one before, until the product manager reports to the user.
    while room.history(20).await?.len() < 7 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let history = room.history(20).await?;
    for message in &history {
        println!("{}", message.to_text());
    }
    let speakers: Vec<&str> = history.iter().map(|message| message.from.as_str()).collect();
    assert_eq!(speakers, ["user", "pm", "dev", "qa", "dev", "qa", "pm"]);
    room.close().await?;
    let report = pool.shutdown(Duration::from_secs(5)).await;
    assert!(report.failed.is_empty());
    Ok(())
}
