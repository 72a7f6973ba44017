//! Schedules: inputs by time and by steps, which survive the process.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use robota::core::event::InputSource;
use robota::runtime::{MissedRuns, NewSchedule, SessionSchedules as _};
use robota::scripted::{Script, ScriptedProvider};
use robota::session::{EventFilter, Resume, Session, StartAt, Subscription, SubscriptionItem};
use robota::{Event, FileStore};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(FileStore::new(folder.path()));
    // A real model: let model = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let model = ScriptedProvider::new(Script::new().text("All is well.").looped());
    let builder = Session::builder(model, "scripted");
    let id = "agent:assistant/session:demo".into();

    let session = builder.clone().create(store.clone(), Some(id)).await?;
    let schedules = session.schedule();
    schedules.every(Duration::from_secs(1), "Status check").await?;
    schedules.every_steps(2, "Reminder: review the security guidelines").await?;
    let daily = NewSchedule::daily("09:00", "Daily report").zone("Europe/Stockholm");
    schedules.add(daily.id("daily").missed(MissedRuns::Skip)).await?;
    schedules.weekly("Mon 09:00", "Weekly summary").await?;
    for schedule in schedules.list().await? {
        println!("{}: next {:?}", schedule.id, schedule.next.first().map(ToString::to_string));
    }
    session.run("Hello").await?;
    session.run("How are you?").await?;
    session.shutdown("the process ends").await?;

    // A later process continues the session; its schedules are part of it.
    let session = builder.resume(store, session.id(), Resume::default()).await?;
    let schedules = session.schedule();
    schedules.pause(&"daily".into()).await?;
    let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await?;
    schedules.start();
    for _ in 0..2 {
        println!("{}", next_run(&mut events).await?);
    }
    let runs: u64 = schedules.list().await?.iter().map(|schedule| schedule.runs).sum();
    assert!(runs >= 2, "the steps of the first process count");
    Ok(session.shutdown("done").await?)
}

/// Waits until a schedule fires.
async fn next_run(events: &mut Subscription) -> Result<String, Box<dyn std::error::Error>> {
    while let Some(item) = events.next().await {
        if let SubscriptionItem::Event(event) = item?
            && let Event::InputAccepted(input) = &event.envelope.event
            && let Some(InputSource::Schedule { schedule, .. }) = &input.source
        {
            return Ok(format!("schedule {schedule} fired"));
        }
    }
    Err("the session ended".into())
}
