//! Computes the due times of a schedule.

use croner::Cron;
use croner::parser::{CronParser, Seconds};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use robota_core::event::{ScheduleAdded, Trigger};

use super::error::ScheduleError;

/// How many due times of a pattern are counted one by one. After that, half of the remaining time is
/// left out, so that a long pause of a frequent schedule costs little.
const COUNTED: u64 = 2_000;

/// The longest time, in hours, from a due time to the end of a gap of a day after it.
const LONGEST_GAP_HOURS: i64 = 49;

/// How many due times are listed at most.
pub(super) const MAX_LISTED: usize = 24;

const DAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// The due times of a schedule.
#[derive(Debug)]
pub(super) enum Plan {
    /// A fixed period from a time on.
    Period { from: Timestamp, millis: i64 },
    /// A pattern of local times. Times that a change of the clocks skips are due when the clocks
    /// have changed, and times that it repeats are due once; a pattern with `*` or steps in its
    /// minutes or hours skips what does not exist and repeats what does.
    Pattern { cron: Box<Cron>, zone: TimeZone },
    /// Nothing is due by time.
    Steps { steps: u32 },
}

/// Due times that have passed and are not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    /// The last of them, at most [`MAX_LISTED`], oldest first.
    pub(super) listed: Vec<Timestamp>,
    /// How many there are; after a long time of a frequent schedule, at least how many.
    pub(super) count: u64,
}

impl Plan {
    /// Makes the plan of a schedule.
    pub(super) fn of(spec: &ScheduleAdded) -> Result<Self, ScheduleError> {
        let pattern = match &spec.trigger {
            Trigger::Every { millis } => {
                let millis = i64::try_from(*millis).unwrap_or(i64::MAX).max(1);
                return Ok(Self::Period { from: spec.at, millis });
            }
            Trigger::EverySteps { steps } => return Ok(Self::Steps { steps: (*steps).max(1) }),
            Trigger::Daily { time } => {
                let (hour, minute) = clock_time(time)?;
                format!("{minute} {hour} * * *")
            }
            Trigger::Weekly { day, time } => {
                let (hour, minute) = clock_time(time)?;
                let name = day.to_ascii_lowercase();
                let number = DAYS.iter().position(|day| *day == name || day[..3] == name);
                let expected = "a day of the week and a time such as `Mon 09:00`";
                let day = number.ok_or_else(|| ScheduleError::invalid(day, expected))?;
                format!("{minute} {hour} * * {day}")
            }
            Trigger::Cron { pattern } => pattern.clone(),
        };
        let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
        let cron = parser
            .parse(&pattern)
            .map_err(|error| ScheduleError::because(&pattern, "a cron pattern", error))?;
        let zone = match spec.zone.as_deref() {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| {
                ScheduleError::invalid(name, "a time zone; use a name such as `Europe/Stockholm`")
            })?,
        };
        Ok(Self::Pattern { cron: Box::new(cron), zone })
    }

    /// Returns the first due time after `after`; none if there is none.
    pub(super) fn after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Period { from, millis } => {
                let periods = (after.as_millisecond() - from.as_millisecond()).div_euclid(*millis);
                // Due times keep the fraction of the beginning below a millisecond.
                let mut next = periods.max(0);
                loop {
                    let offset = SignedDuration::from_millis(next.checked_mul(*millis)?);
                    let due = from.checked_add(offset).ok()?;
                    if next > 0 && due > after {
                        return Some(due);
                    }
                    next += 1;
                }
            }
            Self::Pattern { cron, zone } => {
                let find = |from: Timestamp, inclusive| {
                    let local = from.to_zoned(zone.clone());
                    let next = cron.find_next_occurrence(&local, inclusive).ok()?.timestamp();
                    // Due times of a pattern always increase, also when clocks are set back.
                    (next > after).then_some(next)
                };
                // The search stops at a gap of a whole day, so it begins again behind it.
                find(after, false).or_else(|| {
                    let later = (1..=LONGEST_GAP_HOURS).map(SignedDuration::from_hours);
                    later.filter_map(|by| after.checked_add(by).ok()).find_map(|at| find(at, true))
                })
            }
            Self::Steps { .. } => None,
        }
    }

    /// Returns the due times after `settled` and not after `now`; none if there are none.
    pub(super) fn passed(&self, settled: Timestamp, now: Timestamp) -> Option<Passed> {
        let mut passed = Passed { listed: Vec::new(), count: 0 };
        let mut at = settled;
        if let Self::Period { millis, .. } = self {
            // All but the last ones are counted without listing them.
            let span = (now.as_millisecond() - at.as_millisecond()) / millis;
            let skip = (span - MAX_LISTED as i64 - 2).max(0);
            passed.count = skip.unsigned_abs();
            at = at.checked_add(SignedDuration::from_millis(skip * millis)).ok()?;
        }
        let mut counted = 0;
        while let Some(due) = self.after(at).filter(|due| *due <= now) {
            passed.count += 1;
            passed.listed.push(due);
            if passed.listed.len() > MAX_LISTED {
                passed.listed.remove(0);
            }
            at = due;
            counted += 1;
            if counted % COUNTED == 0 {
                let half = now.duration_since(at) / 2;
                at = at.checked_add(half).unwrap_or(at);
            }
        }
        (!passed.listed.is_empty()).then_some(passed)
    }
}

/// Reads a time such as `09:00`.
fn clock_time(text: &str) -> Result<(u8, u8), ScheduleError> {
    let invalid = || ScheduleError::invalid(text, "a time such as `09:00`");
    let (hour, minute) = text.split_once(':').ok_or_else(invalid)?;
    let digits = |part: &str| part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hour) || !digits(minute) || minute.len() != 2 {
        return Err(invalid());
    }
    let number = |part: &str| part.parse::<u8>().map_err(|_| invalid());
    let (hour, minute) = (number(hour)?, number(minute)?);
    if hour > 23 || minute > 59 {
        return Err(invalid());
    }
    Ok((hour, minute))
}

#[cfg(test)]
mod tests;
