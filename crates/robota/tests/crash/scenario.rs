//! What a child does until it dies: a session with everything in it, step by step.
//!
//! Whatever somebody was told (each event a subscriber saw, each input that `send` accepted, each
//! fork, each deletion) it notes with a plain write, and then says a line to whoever watches.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use robota_core::event::{Delivery, Envelope};
use robota_core::journal::{JournalError, JournalStore};
use robota_session::{EventFilter, Resume, Selector, Session, SessionError, StartAt};
use robota_store::failpoint;
use tokio::task::JoinHandle;

use crate::place::{Notes, Place};
use crate::stage::{Model, builder};

/// What a child plays, as steps. The last act has all of them.
pub(crate) const ACTS: [&[Step]; 5] = [
    &[Step::Talk],
    &[Step::Queue, Step::Again],
    &[Step::Spill, Step::Compact],
    &[Step::Fork, Step::Delete],
    &[
        Step::Talk,
        Step::Queue,
        Step::Again,
        Step::Spill,
        Step::Compact,
        Step::Fork,
        Step::Delete,
        Step::Talk,
    ],
];

/// The act with every step.
pub(crate) const WHOLE: usize = ACTS.len() - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Streaming, parallel tools, effects, two questions at once, hooks.
    Talk,
    /// Inputs that wait, and one that does not.
    Queue,
    /// A writer that ends well, and another.
    Again,
    /// More than an event holds.
    Spill,
    /// A summary in place of it all.
    Compact,
    /// Another session that goes on from here.
    Fork,
    /// And one that is deleted.
    Delete,
}

/// One line to whoever watches. The line before may be half of the test runner's own.
fn say(word: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n!{word}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Notes something that was told, then says so.
fn tell(told: &Notes, kind: &str, what: &str) {
    told.add(&format!("{kind} {what}"));
    say(kind);
}

/// A journal's line of an event.
pub(crate) fn line(event: &Envelope) -> String {
    let mut line = Vec::new();
    event.encode(&mut line).unwrap();
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

struct Scene {
    place: Place,
    store: Arc<dyn JournalStore>,
    model: Arc<Model>,
    /// Which life of the sessions this is: names of forks differ.
    life: u32,
    session: Session,
    follower: JoinHandle<()>,
}

/// Notes every event of a session as a subscriber sees it, to its end.
async fn follow(session: &Session, told: &Notes) -> Result<JoinHandle<()>, SessionError> {
    let mut events = session.subscribe(StartAt::Start, EventFilter::Everything).await?;
    let (told, id) = (told.clone(), session.id().clone());
    Ok(tokio::spawn(async move {
        // A store that cannot be read ends it; the session says so too.
        while let Some(Ok(event)) = events.next_event().await {
            tell(&told, "event", &format!("{id} {}", line(&event.envelope)));
        }
    }))
}

async fn enter(
    place: &Place,
    store: &Arc<dyn JournalStore>,
    model: &Arc<Model>,
) -> Result<(Session, JoinHandle<()>), SessionError> {
    let id = place.session("main");
    let make = || builder(model, &place.effects());
    model.go_on();
    let resume = Resume { continue_turn: true, ..Resume::default() };
    let session = match make().resume(store.clone(), &id, resume).await {
        Err(SessionError::Journal(JournalError::NotFound(_))) => {
            make().create(store.clone(), Some(id)).await?
        }
        other => other?,
    };
    let follower = follow(&session, &place.told()).await?;
    Ok((session, follower))
}

/// Plays all of it. A patient child does not die of a store that fails: it waits for a word, and
/// goes on.
pub(crate) async fn play(place: Place, act: usize, arm: Option<&str>, life: u32, patient: bool) {
    if let Some(arm) = arm {
        failpoint::arm(arm).unwrap();
    }
    let store = place.open().await.unwrap();
    let model = Model::new();
    let (session, follower) = enter(&place, &store, &model).await.unwrap();
    let mut scene = Scene { place, store, model, life, session, follower };
    if life > 1 {
        // What the one before left, first.
        scene.session.run("Are you there?").await.unwrap();
    }
    let mut failed = false;
    for step in ACTS[act] {
        match scene.step(*step).await {
            Ok(()) => {}
            Err(error) if patient && !failed => {
                failed = true;
                say(&format!("failed {error}"));
                let mut word = String::new();
                std::io::stdin().lock().read_line(&mut word).unwrap();
                scene.come_back().await;
            }
            Err(error) => panic!("{step:?}: {error}"),
        }
    }
    scene.leave().await.unwrap();
    for (point, hits) in failpoint::hits() {
        say(&format!("hits {point} {hits}"));
    }
    say("done");
}

impl Scene {
    async fn step(&mut self, step: Step) -> Result<(), SessionError> {
        let Self { session, model, place, store, .. } = self;
        match step {
            Step::Talk => {
                model.play(
                    "
chunk: 12
answers:
  - {thinking: hm, text: I look around., tools: [look, act, asked, asked, nowhere]}
  - Done.
",
                );
                session.run("First").await?;
            }
            Step::Queue => {
                model.play("[{tools: [act]}, One., Two., Three.]");
                for (text, delivery) in [("A", Delivery::AfterTurn), ("B", Delivery::NextRound)] {
                    let input = session.send_with(text, delivery).await?;
                    tell(&place.told(), "input", &format!("{} {input}", session.id()));
                }
                session.run("C").await?;
            }
            Step::Again => {
                self.leave().await?;
                (self.session, self.follower) =
                    enter(&self.place, &self.store, &self.model).await?;
            }
            Step::Spill => {
                model.play("[{tools: [big]}, That was long.]");
                session.run("Tell me everything").await?;
            }
            Step::Compact => {
                model.play("[In short.]");
                session.context().compact(None).await?;
            }
            Step::Fork => {
                let id = place.session(&format!("fork-{}", self.life));
                let child = session.fork(&Selector::Latest, Some(id)).await?;
                tell(&place.told(), "forked", child.id().as_str());
                let follower = follow(&child, &place.told()).await?;
                model.play("[{tools: [act]}, From the fork.]");
                child.run("Over here").await?;
                child.shutdown("end").await?;
                follower.await.unwrap();
            }
            Step::Delete => {
                let id = place.session(&format!("gone-{}", self.life));
                let child = session.fork(&Selector::Latest, Some(id.clone())).await?;
                model.play("[{tools: [big]}, Soon gone.]");
                child.run("Keep this").await?;
                child.shutdown("end").await?;
                tell(&place.told(), "deleting", id.as_str());
                store.delete(&id).await?;
                tell(&place.told(), "deleted", id.as_str());
            }
        }
        Ok(())
    }

    async fn leave(&mut self) -> Result<(), SessionError> {
        self.session.shutdown("end").await?;
        // All that was published is noted.
        (&mut self.follower).await.unwrap();
        Ok(())
    }

    /// The store is back: the session goes on, in this life or as another writer.
    async fn come_back(&mut self) {
        self.model.go_on();
        if let Err(error) = self.session.run("Still there?").await {
            say(&format!("again {error}"));
            let _ = self.session.shutdown("lost touch").await;
            (self.session, self.follower) =
                enter(&self.place, &self.store, &self.model).await.unwrap();
            self.session.run("And now?").await.unwrap();
        } else {
            // What followed it may have given up when the store could not be read.
            self.follower = follow(&self.session, &self.place.told()).await.unwrap();
        }
    }
}
