//! Describes a schedule that is to be added.

use std::time::Duration;

use jiff::Timestamp;
use robota_core::event::{MissedRuns, ScheduleAdded, Trigger};
use robota_core::ids::{Ids, ScheduleId, name_part};
use robota_core::message::{Block, Content};

use super::due::Plan;
use super::error::ScheduleError;

/// The shortest period of a schedule.
const MIN_PERIOD: Duration = Duration::from_secs(1);

/// A schedule that is to be added: when it fires, and the input that it sends.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchedule {
    id: Option<ScheduleId>,
    trigger: Trigger,
    zone: Option<String>,
    content: Content,
    missed: MissedRuns,
    jitter: Duration,
}

impl NewSchedule {
    /// Fires when this trigger says. The other constructors are shorter.
    pub fn new(trigger: Trigger, content: impl Into<Content>) -> Self {
        Self {
            id: None,
            trigger,
            zone: None,
            content: content.into(),
            missed: MissedRuns::default(),
            jitter: Duration::ZERO,
        }
    }

    /// Fires every `period`, counted from the time at which it is added. `every` 24 hours differs
    /// from [`NewSchedule::daily`] when the clocks change.
    pub fn every(period: Duration, content: impl Into<Content>) -> Self {
        let millis = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
        Self::new(Trigger::Every { millis }, content)
    }

    /// Fires after that many complete answers of the model, in turns that no schedule started.
    pub fn every_steps(steps: u32, content: impl Into<Content>) -> Self {
        Self::new(Trigger::EverySteps { steps }, content)
    }

    /// Fires every day at a time such as `09:00`.
    pub fn daily(time: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::new(Trigger::Daily { time: time.into() }, content)
    }

    /// Fires every week at a day and time such as `Mon 09:00`.
    #[must_use]
    pub fn weekly(day_and_time: &str, content: impl Into<Content>) -> Self {
        let (day, time) = day_and_time.trim().split_once(' ').unwrap_or((day_and_time, ""));
        let (day, time) = (day.to_ascii_lowercase(), time.trim().to_owned());
        Self::new(Trigger::Weekly { day, time }, content)
    }

    /// Fires at the times that match a cron pattern of five fields, such as `*/15 9-17 * * mon-fri`.
    pub fn cron(pattern: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::new(Trigger::Cron { pattern: pattern.into() }, content)
    }

    /// Sets the id. By default it is minted.
    #[must_use]
    pub fn id(mut self, id: impl Into<ScheduleId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the time zone by its IANA name, such as `Europe/Stockholm`. The default is UTC.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Sets what happens with times at which nothing could fire. The default is
    /// [`MissedRuns::Once`].
    #[must_use]
    pub fn missed(mut self, missed: MissedRuns) -> Self {
        self.missed = missed;
        self
    }

    /// Fires later than its times by a part of `most` that is drawn once, when it is added. So
    /// schedules for the same time do not fire all at once.
    #[must_use]
    pub fn jitter(mut self, most: Duration) -> Self {
        self.jitter = most;
        self
    }

    /// Checks the schedule, and draws its jitter.
    pub(crate) fn check(
        self,
        now: Timestamp,
        ids: &dyn Ids,
    ) -> Result<ScheduleAdded, ScheduleError> {
        let Self { id, trigger, zone, content: Content(content), missed, jitter } = self;
        let id = id.unwrap_or_else(|| ScheduleId::mint(ids));
        name_part(id.as_str(), "it")
            .map_err(|reason| ScheduleError::because(id.as_str(), "an id of a schedule", reason))?;
        match &trigger {
            Trigger::Every { millis } if u128::from(*millis) < MIN_PERIOD.as_millis() => {
                let value = format!("{millis} ms");
                return Err(ScheduleError::invalid(&value, "a period of at least one second"));
            }
            Trigger::EverySteps { steps: 0 } => {
                return Err(ScheduleError::invalid("0", "a number of steps above zero"));
            }
            _ => {}
        }
        if !content.iter().any(says_something) {
            return Err(ScheduleError::invalid("", "an input that says something"));
        }
        let most = u64::try_from(jitter.as_millis()).unwrap_or(u64::MAX);
        // The low bits of an id are random, or counted in tests.
        let drawn = (ids.next().as_u128() & u128::from(u64::MAX)) % (u128::from(most) + 1);
        let added = ScheduleAdded {
            schedule: id,
            trigger,
            zone,
            content,
            missed,
            jitter_ms: u64::try_from(drawn).unwrap_or(0),
            at: now,
        };
        let plan = Plan::of(&added)?;
        if !matches!(plan, Plan::Steps { .. }) && plan.after(now).is_none() {
            let shown = match &added.trigger {
                Trigger::Cron { pattern } => pattern.clone(),
                Trigger::Every { millis } => format!("{millis} ms"),
                other => format!("{other:?}"),
            };
            return Err(ScheduleError::invalid(&shown, "a time that ever comes"));
        }
        Ok(added)
    }
}

/// Returns whether a block is more than empty text.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        _ => true,
    }
}
