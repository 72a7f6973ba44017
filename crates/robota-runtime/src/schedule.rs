//! Schedules: inputs that a session gets at certain times, or after a number of steps.
//!
//! A schedule is part of the session's journal, so it survives the process. The input that it sends
//! contains the due time: every due time gives at most one input, also after a crash of the
//! process. `docs/schedules.md` describes time zones, missed times and jitter.
//!
//! ```
//! use std::time::Duration;
//!
//! use robota_core::journal::MemoryStore;
//! use robota_core::scripted::{Script, ScriptedProvider};
//! use robota_runtime::{NewSchedule, SessionSchedules as _};
//! use robota_session::Session;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedProvider::new(Script::new());
//! let session = Session::builder(model, "some-model").create(MemoryStore::new(), None).await?;
//! let schedules = session.schedule();
//! schedules.every(Duration::from_secs(600), "Check the status.").await?;
//! schedules.add(NewSchedule::daily("09:00", "Daily report.").zone("Europe/Stockholm")).await?;
//! schedules.start();
//! assert_eq!(schedules.list().await?.len(), 2);
//! # Ok(())
//! # }
//! ```

mod driver;
mod due;
mod error;
mod fire;
mod new;
mod stored;
mod text;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use robota_core::clock::Clock;
use robota_core::event::{Event, ScheduleAdded, SchedulePaused, ScheduleRemoved, ScheduleResumed};
use robota_core::ids::{Ids, ScheduleId};
use robota_core::message::Content;
use robota_core::state::{Schedule, State};
use robota_session::Session;

pub use driver::ScheduleDriver;
pub(crate) use driver::{LOOK_AT_CLOCK, until};
pub use error::ScheduleError;
pub(crate) use fire::first_due;
pub use new::NewSchedule;
pub(crate) use stored::state_of;
pub use stored::{ScheduleChange, change_stored_schedule, stored_schedules};
pub use text::parse_period;

/// How many of its next times [`ScheduleInfo`] lists.
const UPCOMING: usize = 3;

/// Adds the handle for schedules to [`Session`].
pub trait SessionSchedules {
    /// Returns the handle for the schedules of the session.
    fn schedule(&self) -> Schedules;
}

impl SessionSchedules for Session {
    fn schedule(&self) -> Schedules {
        Schedules { session: self.clone(), clock: self.config().clock() }
    }
}

/// Adds, lists and changes the schedules of an open session.
#[derive(Clone)]
pub struct Schedules {
    session: Session,
    clock: Arc<dyn Clock>,
}

/// Describes a schedule as people see it: what it does, and what has happened.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleInfo {
    /// The id by which it is paused, resumed and removed.
    pub id: ScheduleId,
    /// When it fires, what it sends, and what happens with missed times.
    pub spec: ScheduleAdded,
    /// Whether it is paused, so that it does not fire.
    pub paused: bool,
    /// How often it sent an input.
    pub runs: u64,
    /// The number of due times that were missed or skipped.
    pub missed: u64,
    /// The next times at which it fires; empty while it is paused, and for a number of steps.
    pub next: Vec<Timestamp>,
    /// Why it cannot fire, for instance because its time zone is not known.
    pub problem: Option<String>,
}

impl ScheduleInfo {
    pub(crate) fn of(schedule: &Schedule, now: Timestamp) -> Self {
        let progress = &schedule.progress;
        let plan = due::Plan::of(&schedule.spec);
        let mut next = Vec::new();
        if let (Ok(plan), false) = (&plan, progress.paused) {
            let mut after = fire::settled_by(schedule, now);
            // Computed from the due time without jitter, as the driver does; jitter is added for
            // display only.
            while let Some(due) = plan.after(after).filter(|_| next.len() < UPCOMING) {
                next.push(fire::with_jitter(due, &schedule.spec));
                after = due;
            }
        }
        let never = matches!(&plan, Ok(plan) if !matches!(plan, due::Plan::Steps { .. }))
            && next.is_empty()
            && !progress.paused;
        let problem = match plan {
            Err(error) => Some(error.to_string()),
            Ok(_) => never.then(|| "its time never comes".to_owned()),
        };
        Self {
            id: schedule.spec.schedule.clone(),
            spec: schedule.spec.clone(),
            paused: progress.paused,
            runs: progress.runs,
            missed: progress.missed,
            next,
            problem,
        }
    }
}

pub(crate) fn infos(state: &State, now: Timestamp) -> Vec<ScheduleInfo> {
    state.schedules.values().map(|schedule| ScheduleInfo::of(schedule, now)).collect()
}

impl Schedules {
    /// Adds a schedule, or replaces the one with the same id. Returns its id.
    ///
    /// # Errors
    /// If the schedule is not valid, or the journal cannot be written.
    pub async fn add(&self, new: NewSchedule) -> Result<ScheduleId, ScheduleError> {
        let added = new.check(self.clock.now(), &*self.session.config().ids())?;
        let id = added.schedule.clone();
        self.append(move |_, _| (vec![added.into()], ())).await?;
        Ok(id)
    }

    /// Sends an input every `period`, counted from now.
    ///
    /// # Errors
    /// As [`Schedules::add`].
    pub async fn every(
        &self,
        period: Duration,
        content: impl Into<Content>,
    ) -> Result<ScheduleId, ScheduleError> {
        self.add(NewSchedule::every(period, content)).await
    }

    /// Sends an input after every `steps` answers of the model.
    ///
    /// # Errors
    /// As [`Schedules::add`].
    pub async fn every_steps(
        &self,
        steps: u32,
        content: impl Into<Content>,
    ) -> Result<ScheduleId, ScheduleError> {
        self.add(NewSchedule::every_steps(steps, content)).await
    }

    /// Sends an input every day at a time such as `09:00`, in UTC.
    ///
    /// # Errors
    /// As [`Schedules::add`].
    pub async fn daily(
        &self,
        time: &str,
        content: impl Into<Content>,
    ) -> Result<ScheduleId, ScheduleError> {
        self.add(NewSchedule::daily(time, content)).await
    }

    /// Sends an input every week at a day and time such as `Mon 09:00`, in UTC.
    ///
    /// # Errors
    /// As [`Schedules::add`].
    pub async fn weekly(
        &self,
        day_and_time: &str,
        content: impl Into<Content>,
    ) -> Result<ScheduleId, ScheduleError> {
        self.add(NewSchedule::weekly(day_and_time, content)).await
    }

    /// Lists the schedules in the order in which they were added.
    ///
    /// # Errors
    /// If the session has ended.
    pub async fn list(&self) -> Result<Vec<ScheduleInfo>, ScheduleError> {
        let now = self.clock.now();
        Ok(self.session.journal().state(move |state| infos(state, now)).await?)
    }

    /// Pauses a schedule; times during the pause do not count as missed.
    ///
    /// # Errors
    /// If there is no such schedule, or the journal cannot be written.
    pub async fn pause(&self, id: &ScheduleId) -> Result<(), ScheduleError> {
        self.change(ScheduleChange::Pause(id.clone())).await
    }

    /// Resumes a paused schedule.
    ///
    /// # Errors
    /// As [`Schedules::pause`].
    pub async fn resume(&self, id: &ScheduleId) -> Result<(), ScheduleError> {
        self.change(ScheduleChange::Resume(id.clone())).await
    }

    /// Removes a schedule.
    ///
    /// # Errors
    /// As [`Schedules::pause`].
    pub async fn remove(&self, id: &ScheduleId) -> Result<(), ScheduleError> {
        self.change(ScheduleChange::Remove(id.clone())).await
    }

    /// Starts the task that fires the schedules of this session. It ends with the session, and does
    /// not keep it open. A pool does this itself.
    pub fn start(&self) -> ScheduleDriver {
        ScheduleDriver::start(&self.session)
    }

    async fn change(&self, change: ScheduleChange) -> Result<(), ScheduleError> {
        let (now, ids) = (self.clock.now(), self.session.config().ids());
        let decided = self.append(move |state, _| match change.decide(state, now, &*ids) {
            Ok(events) => (events, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        });
        decided.await?
    }

    async fn append<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&State, &dyn Ids) -> (Vec<Event>, T) + Send + 'static,
    ) -> Result<T, ScheduleError> {
        Ok(self.session.journal().append_with(decide).await?)
    }
}

impl ScheduleChange {
    /// Returns the events that make this change.
    pub(crate) fn decide(
        self,
        state: &State,
        now: Timestamp,
        ids: &dyn Ids,
    ) -> Result<Vec<Event>, ScheduleError> {
        let known = |id: &ScheduleId| {
            let missing = || ScheduleError::NotFound(id.clone());
            state.schedules.get(id).map(|it| it.progress.paused).ok_or_else(missing)
        };
        Ok(match self {
            Self::Add(new) => vec![new.check(now, ids)?.into()],
            Self::Pause(id) => match known(&id)? {
                // Pausing twice is not an event: the journal would grow with every click.
                true => Vec::new(),
                false => vec![SchedulePaused { schedule: id }.into()],
            },
            Self::Resume(id) => match known(&id)? {
                true => vec![ScheduleResumed { schedule: id, at: now }.into()],
                false => Vec::new(),
            },
            Self::Remove(id) => {
                known(&id)?;
                vec![ScheduleRemoved { schedule: id }.into()]
            }
        })
    }
}
