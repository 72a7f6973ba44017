//! Decides from the state which schedules fire now. Pure.

use jiff::{SignedDuration, Timestamp};
use robota_core::event::{
    Delivery, Event, InputAccepted, InputSource, MissedRuns, ScheduleAdded, ScheduleSkipped,
};
use robota_core::ids::{Ids, InputId};
use robota_core::message::Block;
use robota_core::state::{Schedule, State};
use serde_json::Map;

use super::due::Plan;

/// A due time is on time if it is not older than this; otherwise it was missed.
const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// Returns the events of all schedules that fire at `now`, and when the next one is due.
pub(super) fn fire(
    state: &State,
    ids: &dyn Ids,
    now: Timestamp,
) -> (Vec<Event>, Option<Timestamp>) {
    let mut events = Vec::new();
    for schedule in state.schedules.values().filter(|schedule| !schedule.progress.paused) {
        match Plan::of(&schedule.spec) {
            Ok(Plan::Steps { steps }) => {
                if schedule.progress.steps >= steps && !waits(state, schedule) {
                    // A reminder joins the turn that runs.
                    let delivery = match state.turn {
                        Some(_) => Delivery::NextRound,
                        None => Delivery::AfterTurn,
                    };
                    events.push(run(schedule, ids, None, 0, delivery));
                }
            }
            Ok(plan) => events.extend(by_time(state, schedule, &plan, ids, now)),
            Err(error) => {
                tracing::warn!(schedule = %schedule.spec.schedule, %error, "cannot fire");
            }
        }
    }
    (events, next_due(state, now))
}

/// Returns when the first schedule of a session fires that no process has open; the past if one was
/// missed, or enough steps were counted.
pub(crate) fn first_due(state: &State) -> Option<Timestamp> {
    let schedules = state.schedules.values().filter(|schedule| !schedule.progress.paused);
    let first = schedules.filter_map(|schedule| match Plan::of(&schedule.spec).ok()? {
        Plan::Steps { steps } => (schedule.progress.steps >= steps).then_some(Timestamp::MIN),
        plan => {
            let due = plan.after(schedule.progress.settled)?;
            Some(with_jitter(due, &schedule.spec))
        }
    });
    first.min()
}

/// Returns when the next schedule fires after `now`.
fn next_due(state: &State, now: Timestamp) -> Option<Timestamp> {
    let schedules = state.schedules.values().filter(|schedule| !schedule.progress.paused);
    let next = schedules.filter_map(|schedule| {
        // At the time without jitter, as the due times are computed.
        let due = Plan::of(&schedule.spec).ok()?.after(settled_by(schedule, now))?;
        Some(with_jitter(due, &schedule.spec))
    });
    next.min()
}

/// Returns the time up to which everything is settled once the schedule has fired at `now`.
pub(super) fn settled_by(schedule: &Schedule, now: Timestamp) -> Timestamp {
    schedule.progress.settled.max(without_jitter(now, &schedule.spec))
}

pub(super) fn with_jitter(due: Timestamp, spec: &ScheduleAdded) -> Timestamp {
    due.checked_add(jitter(spec)).unwrap_or(Timestamp::MAX)
}

fn without_jitter(now: Timestamp, spec: &ScheduleAdded) -> Timestamp {
    now.checked_sub(jitter(spec)).unwrap_or(Timestamp::MIN)
}

fn jitter(spec: &ScheduleAdded) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(spec.jitter_ms).unwrap_or(i64::MAX))
}

/// Returns whether the last input of the schedule still waits for its turn.
fn waits(state: &State, schedule: &Schedule) -> bool {
    schedule.progress.input.as_ref().is_some_and(|input| state.inputs.contains_key(input))
}

/// Returns the events of a schedule that fires by time.
fn by_time(
    state: &State,
    schedule: &Schedule,
    plan: &Plan,
    ids: &dyn Ids,
    now: Timestamp,
) -> Vec<Event> {
    let now = without_jitter(now, &schedule.spec);
    let Some(passed) = plan.passed(schedule.progress.settled, now) else { return Vec::new() };
    let Some((last, earlier)) = passed.listed.split_last() else { return Vec::new() };
    let others = passed.count - 1;
    let skipped = |times| {
        let schedule = schedule.spec.schedule.clone();
        vec![ScheduleSkipped { schedule, due: *last, times }.into()]
    };
    let on_time = now.duration_since(*last) <= GRACE;
    let delivery = Delivery::AfterTurn;
    match schedule.spec.missed {
        MissedRuns::Skip if !on_time => skipped(passed.count),
        MissedRuns::Skip | MissedRuns::Once if waits(state, schedule) => skipped(passed.count),
        MissedRuns::Skip | MissedRuns::Once => {
            vec![run(schedule, ids, Some(*last), others, delivery)]
        }
        MissedRuns::All => {
            let mut missed = others - earlier.len() as u64;
            let mut events = Vec::new();
            for due in &passed.listed {
                events.push(run(schedule, ids, Some(*due), missed, delivery));
                missed = 0;
            }
            events
        }
    }
}

/// Returns the input of one run. The fold takes from its source what the schedule has done.
fn run(
    schedule: &Schedule,
    ids: &dyn Ids,
    due: Option<Timestamp>,
    missed: u64,
    delivery: Delivery,
) -> Event {
    let spec = &schedule.spec;
    let input = InputId::mint(ids);
    let mut content = spec.content.clone();
    if missed > 0 {
        let times = if missed == 1 { "time was" } else { "times were" };
        let note = format!("[schedule {}: {missed} earlier {times} missed]", spec.schedule);
        content.push(Block::text(note));
    }
    let source = Some(InputSource::Schedule { schedule: spec.schedule.clone(), due, missed });
    InputAccepted { input, delivery, content, metadata: Map::new(), source }.into()
}
