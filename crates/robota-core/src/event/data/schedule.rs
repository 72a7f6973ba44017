//! Data of the events of schedules: inputs that a session gets at certain times.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::ids::ScheduleId;
use crate::message::Block;

/// What makes a schedule fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Trigger {
    /// A fixed period, counted from the time at which the schedule was added.
    Every {
        /// The period in milliseconds.
        millis: u64,
    },
    /// A number of complete answers of the model, in turns that no schedule started.
    EverySteps {
        /// The number of answers.
        steps: u32,
    },
    /// A time of every day.
    Daily {
        /// The time as `hh:mm`, in the schedule's time zone.
        time: String,
    },
    /// A time of one day of the week.
    Weekly {
        /// The day, from `mon` to `sun`.
        day: String,
        /// The time as `hh:mm`, in the schedule's time zone.
        time: String,
    },
    /// The times that match a cron pattern.
    Cron {
        /// The pattern: minute, hour, day of the month, month, day of the week.
        pattern: String,
    },
}

/// What happens with times at which nothing could fire, for example because no process ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissedRuns {
    /// They are skipped: the schedule waits for its next time.
    Skip,
    /// The schedule fires once for all of them.
    #[default]
    Once,
    /// The schedule fires for each of them, at most for the last 24.
    All,
}

data! {
    /// A schedule was added, or replaced one with the same id.
    ScheduleAdded {
        /// The id of the schedule, by which it is paused, resumed and removed.
        schedule: ScheduleId,
        /// What makes it fire.
        trigger: Trigger,
        /// The IANA name of the time zone of the trigger; absent for UTC.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// The content of the input that it sends.
        content: Vec<Block>,
        /// What happens with times that passed while nothing could fire.
        #[serde(default)]
        missed: MissedRuns,
        /// How much later than its times it fires, in milliseconds. Drawn once, when it is added.
        #[serde(default)]
        jitter_ms: u64,
        /// When it was added. Earlier times do not count.
        #[schemars(with = "String")]
        at: Timestamp,
    }

    /// Times of a schedule came, and it sent no input: they were missed, or its last input still
    /// waits.
    ScheduleSkipped {
        /// The schedule, by the id of its `schedule_added`.
        schedule: ScheduleId,
        /// The last of the times.
        #[schemars(with = "String")]
        due: Timestamp,
        /// How many of its times passed without an input.
        times: u64,
    }

    /// A schedule was paused. It does not fire until it is resumed.
    SchedulePaused {
        /// The schedule, by the id of its `schedule_added`.
        schedule: ScheduleId,
    }

    /// A schedule that was paused fires again.
    ScheduleResumed {
        /// The schedule, by the id of its `schedule_added`.
        schedule: ScheduleId,
        /// When it was resumed. Times during the pause do not count as missed.
        #[schemars(with = "String")]
        at: Timestamp,
    }

    /// A schedule was removed and does not fire again.
    ScheduleRemoved {
        /// The schedule, by the id of its `schedule_added`.
        schedule: ScheduleId,
    }
}
