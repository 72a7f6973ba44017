//! The scenarios that a child runs: sessions with all features, step by step.
//!
//! The child records everything that a client received (each event of a subscription, each input
//! that `send` accepted, each fork, each deletion) with one write, and then prints a line for the
//! test.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use robota_core::event::{Delivery, Envelope};
use robota_core::journal::{JournalError, JournalStore};
use robota_session::{EventFilter, Resume, Selector, Session, SessionError, StartAt};
use robota_store::failpoint;
use tokio::task::JoinHandle;

use crate::case_store::{CaseStore, LineFile};
use crate::fixture::{Model, builder};

/// The scenarios, as steps. The last one has all of them.
pub(crate) const SCENARIOS: [&[Step]; 5] = [
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

/// The index of the scenario with every step.
pub(crate) const FULL: usize = SCENARIOS.len() - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Streaming, parallel tools, effects, two questions at once, hooks.
    Talk,
    /// Inputs that wait for the turn, and one that does not.
    Queue,
    /// Shuts the session down and opens it again.
    Again,
    /// Output that is too large for an event.
    Spill,
    /// A compaction.
    Compact,
    /// A fork.
    Fork,
    /// A fork that is deleted.
    Delete,
}

/// Prints a line for the test. It begins with a newline, because the test runner may have printed
/// half a line.
fn print_line(word: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n!{word}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Records something that a client received, then prints it.
fn report(reported: &LineFile, kind: &str, what: &str) {
    reported.add(&format!("{kind} {what}"));
    print_line(kind);
}

/// Returns a journal's line of an event.
pub(crate) fn line(event: &Envelope) -> String {
    let mut line = Vec::new();
    event.encode(&mut line).unwrap();
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

struct Runner {
    case_store: CaseStore,
    store: Arc<dyn JournalStore>,
    model: Arc<Model>,
    /// The number of this run, for unique names of forks.
    run: u32,
    session: Session,
    follower: JoinHandle<()>,
}

/// Records every event of a session as a subscriber receives it, to its end.
async fn follow(session: &Session, reported: &LineFile) -> Result<JoinHandle<()>, SessionError> {
    let mut events = session.subscribe(StartAt::Start, EventFilter::Everything).await?;
    let (reported, id) = (reported.clone(), session.id().clone());
    Ok(tokio::spawn(async move {
        // Ends if the store cannot be read; the session reports that as well.
        while let Some(Ok(event)) = events.next_event().await {
            report(&reported, "event", &format!("{id} {}", line(&event.envelope)));
        }
    }))
}

async fn open_session(
    case_store: &CaseStore,
    store: &Arc<dyn JournalStore>,
    model: &Arc<Model>,
) -> Result<(Session, JoinHandle<()>), SessionError> {
    let id = case_store.session("main");
    let make = || builder(model, &case_store.effects());
    model.set_default_script();
    let resume = Resume { continue_turn: true, ..Resume::default() };
    let session = match make().resume(store.clone(), &id, resume).await {
        Err(SessionError::Journal(JournalError::NotFound(_))) => {
            make().create(store.clone(), Some(id)).await?
        }
        other => other?,
    };
    let follower = follow(&session, &case_store.reported()).await?;
    Ok((session, follower))
}

/// Runs a scenario. With `waits`, a failed store does not end the child: it waits for a line on
/// standard input, and continues.
pub(crate) async fn run(
    case_store: CaseStore,
    scenario: usize,
    arm: Option<&str>,
    run: u32,
    waits: bool,
) {
    if let Some(arm) = arm {
        failpoint::arm(arm).unwrap();
    }
    let store = case_store.open().await.unwrap();
    let model = Model::new();
    let (session, follower) = open_session(&case_store, &store, &model).await.unwrap();
    let mut runner = Runner { case_store, store, model, run, session, follower };
    if run > 1 {
        // First finish what the previous run left.
        runner.session.run("Are you there?").await.unwrap();
    }
    let mut failed = false;
    for step in SCENARIOS[scenario] {
        match runner.step(*step).await {
            Ok(()) => {}
            Err(error) if waits && !failed => {
                failed = true;
                print_line(&format!("failed {error}"));
                let mut word = String::new();
                std::io::stdin().lock().read_line(&mut word).unwrap();
                runner.continue_after_failure().await;
            }
            Err(error) => panic!("{step:?}: {error}"),
        }
    }
    runner.close().await.unwrap();
    for (point, hits) in failpoint::hits() {
        print_line(&format!("hits {point} {hits}"));
    }
    print_line("done");
}

impl Runner {
    async fn step(&mut self, step: Step) -> Result<(), SessionError> {
        let Self { session, model, case_store, store, .. } = self;
        match step {
            Step::Talk => {
                model.set_script(
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
                model.set_script("[{tools: [act]}, One., Two., Three.]");
                for (text, delivery) in [("A", Delivery::AfterTurn), ("B", Delivery::NextRound)] {
                    let input = session.send_with(text, delivery).await?;
                    report(&case_store.reported(), "input", &format!("{} {input}", session.id()));
                }
                session.run("C").await?;
            }
            Step::Again => {
                self.close().await?;
                (self.session, self.follower) =
                    open_session(&self.case_store, &self.store, &self.model).await?;
            }
            Step::Spill => {
                model.set_script("[{tools: [big]}, That was long.]");
                session.run("Tell me everything").await?;
            }
            Step::Compact => {
                model.set_script("[In short.]");
                session.context().compact(None).await?;
            }
            Step::Fork => {
                let id = case_store.session(&format!("fork-{}", self.run));
                let child = session.fork(&Selector::Latest, Some(id)).await?;
                report(&case_store.reported(), "forked", child.id().as_str());
                let follower = follow(&child, &case_store.reported()).await?;
                model.set_script("[{tools: [act]}, From the fork.]");
                child.run("Over here").await?;
                child.shutdown("end").await?;
                follower.await.unwrap();
            }
            Step::Delete => {
                let id = case_store.session(&format!("deleted-{}", self.run));
                let child = session.fork(&Selector::Latest, Some(id.clone())).await?;
                model.set_script("[{tools: [big]}, Soon deleted.]");
                child.run("Keep this").await?;
                child.shutdown("end").await?;
                report(&case_store.reported(), "deleting", id.as_str());
                store.delete(&id).await?;
                report(&case_store.reported(), "deleted", id.as_str());
            }
        }
        Ok(())
    }

    async fn close(&mut self) -> Result<(), SessionError> {
        self.session.shutdown("end").await?;
        // Everything that was published is recorded.
        (&mut self.follower).await.unwrap();
        Ok(())
    }

    /// Continues after the store is available again, with this writer or a new one.
    async fn continue_after_failure(&mut self) {
        self.model.set_default_script();
        if let Err(error) = self.session.run("Still there?").await {
            print_line(&format!("again {error}"));
            let _ = self.session.shutdown("lost touch").await;
            (self.session, self.follower) =
                open_session(&self.case_store, &self.store, &self.model).await.unwrap();
            self.session.run("And now?").await.unwrap();
        } else {
            // The follower may have ended when the store could not be read.
            self.follower = follow(&self.session, &self.case_store.reported()).await.unwrap();
        }
    }
}
