//! A room: agents of a pool talk to each other.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use robota::runtime::{Pool, PoolAgentOptions, Room, Template};
use robota::scripted::{Script, ScriptedProvider};
use robota::session::Session;
use robota::{FileStore, SessionError};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // A real model: let model = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let model = || ScriptedProvider::new(Script::new().text("I heard it.").looped());
    let pool = Pool::builder(FileStore::new(folder.path()))
        .template(Template::new("pm", Session::builder(model(), "scripted")))
        .template(Template::new("dev", Session::builder(model(), "scripted")))
        .start();
    let members = [
        ("alice", "agent:pm/session:alice"),
        ("bob", "agent:dev/session:bob"),
        ("carol", "agent:dev/session:carol"),
    ];
    for (name, id) in members {
        let template = if name == "alice" { "pm" } else { "dev" };
        pool.create(id, template, PoolAgentOptions::default()).await?;
    }
    let room = Room::open(&pool, "agent:room/session:standup").await?;
    for (name, id) in members {
        room.join(name, id, 20).await?;
    }
    // A mention is direct; everything else goes to all members but the sender.
    let direct = room.say("alice", "@bob Please review the PR").await?;
    let everybody = room.say("alice", "Meeting at 3pm").await?;
    println!("{:?}, {:?}", direct.delivered, everybody.delivered);
    assert_eq!(direct.delivered, ["bob"]);
    assert_eq!(everybody.delivered, ["bob", "carol"]);
    for message in room.history(10).await? {
        println!("{}", message.to_text());
    }
    let bob = pool.get(&"agent:dev/session:bob".into()).ok_or("bob is gone")?;
    assert_eq!(turns(&bob).await?, 2);
    room.close().await?;
    let report = pool.shutdown(Duration::from_secs(5)).await;
    assert!(report.failed.is_empty());
    Ok(())
}

/// Waits until the agent has nothing to do, and counts its answers.
async fn turns(agent: &robota::runtime::PoolAgent) -> Result<u64, Box<dyn std::error::Error>> {
    let session = agent.session().await?;
    loop {
        let status = session.status().await.map_err(|error: SessionError| error.to_string())?;
        if status.queued == 0 && !session.is_running() {
            return Ok(status.messages);
        }
        tokio::task::yield_now().await;
    }
}
