//! The schedules of a session.

use indexmap::IndexMap;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, InputAccepted, InputSource, ScheduleAdded, Trigger};
use crate::ids::{InputId, ScheduleId};
use crate::message::MessageState;

/// A schedule of a session, with what has happened to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// When it fires, what it sends, and what happens with missed times.
    pub spec: ScheduleAdded,
    /// What has happened since it was added.
    pub progress: ScheduleProgress,
    /// The sequence number of its `schedule_added`.
    pub seq: u64,
}

/// What has happened to a schedule since it was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleProgress {
    /// Whether it is paused: due times that pass meanwhile do not count.
    #[serde(default)]
    pub paused: bool,
    /// The time up to which all due times are settled: fired, skipped, or before it began.
    #[schemars(with = "String")]
    pub settled: Timestamp,
    /// How often it sent an input.
    #[serde(default)]
    pub runs: u64,
    /// The number of due times that were missed or skipped.
    #[serde(default)]
    pub missed: u64,
    /// The last input that it sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputId>,
    /// The number of steps since it fired, for a schedule that counts steps.
    #[serde(default)]
    pub steps: u32,
}

impl Schedule {
    fn new(spec: &ScheduleAdded, seq: u64) -> Self {
        let progress = ScheduleProgress {
            paused: false,
            settled: spec.at,
            runs: 0,
            missed: 0,
            input: None,
            steps: 0,
        };
        Self { spec: spec.clone(), progress, seq }
    }
}

/// Folds one event. `turn_input` is the input of the running turn.
pub(super) fn fold(
    schedules: &mut IndexMap<ScheduleId, Schedule>,
    event: &Event,
    seq: u64,
    turn_input: Option<&InputId>,
) {
    match event {
        // A fork has the schedules of its parent in its journal, but the parent fires them.
        Event::SessionCreated(_) => schedules.clear(),
        Event::ScheduleAdded(data) => {
            schedules.insert(data.schedule.clone(), Schedule::new(data, seq));
        }
        Event::InputAccepted(InputAccepted {
            input,
            source: Some(InputSource::Schedule { schedule, due, missed }),
            ..
        }) => {
            let Some(schedule) = schedules.get_mut(schedule) else { return };
            let progress = &mut schedule.progress;
            // Never back: a clock that was set back must not make times due again.
            if let Some(due) = due {
                progress.settled = progress.settled.max(*due);
            }
            progress.steps = 0;
            progress.missed += missed;
            progress.runs += 1;
            progress.input = Some(input.clone());
        }
        Event::ScheduleSkipped(data) => {
            let Some(schedule) = schedules.get_mut(&data.schedule) else { return };
            let progress = &mut schedule.progress;
            progress.settled = progress.settled.max(data.due);
            progress.missed += data.times;
        }
        Event::SchedulePaused(data) => {
            if let Some(schedule) = schedules.get_mut(&data.schedule) {
                schedule.progress.paused = true;
            }
        }
        Event::ScheduleResumed(data) => {
            if let Some(schedule) = schedules.get_mut(&data.schedule) {
                schedule.progress.paused = false;
                schedule.progress.settled = schedule.progress.settled.max(data.at);
            }
        }
        Event::ScheduleRemoved(data) => {
            schedules.shift_remove(&data.schedule);
        }
        Event::AssistantMessage(data) if data.message.state() == MessageState::Complete => {
            // A turn that a schedule started does not count: otherwise a schedule could trigger
            // itself without end.
            let scheduled = turn_input.is_some_and(|input| {
                schedules.values().any(|schedule| schedule.progress.input.as_ref() == Some(input))
            });
            if scheduled {
                return;
            }
            for schedule in schedules.values_mut() {
                if let Trigger::EverySteps { .. } = schedule.spec.trigger
                    && !schedule.progress.paused
                {
                    schedule.progress.steps = schedule.progress.steps.saturating_add(1);
                }
            }
        }
        _ => {}
    }
}
