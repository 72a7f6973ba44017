#![allow(clippy::unwrap_used)]

use jiff::Timestamp;
use proptest::prelude::*;
use robota_core::event::{MissedRuns, ScheduleAdded, Trigger};

use super::*;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn plan(trigger: Trigger, zone: &str, at: &str) -> Plan {
    Plan::of(&spec(trigger, zone, at)).unwrap()
}

fn spec(trigger: Trigger, zone: &str, at: &str) -> ScheduleAdded {
    ScheduleAdded {
        schedule: "s".into(),
        trigger,
        zone: Some(zone.to_owned()),
        content: Vec::new(),
        missed: MissedRuns::Once,
        jitter_ms: 0,
        at: time(at),
    }
}

fn cron(pattern: &str, zone: &str) -> Plan {
    plan(Trigger::Cron { pattern: pattern.to_owned() }, zone, "2026-01-01T00:00:00Z")
}

fn daily(at: &str, zone: &str) -> Plan {
    plan(Trigger::Daily { time: at.to_owned() }, zone, "2026-01-01T00:00:00Z")
}

/// Returns the first due times after a time, as text.
fn after(plan: &Plan, start: &str, count: usize) -> Vec<String> {
    let mut at = time(start);
    let mut found = Vec::new();
    for _ in 0..count {
        at = plan.after(at).unwrap();
        found.push(at.to_string());
    }
    found
}

#[test]
fn kode_08_a_time_in_the_gap_is_due_when_the_clocks_have_changed() {
    // On 29 March 2026 the clocks of Stockholm go from 02:00 to 03:00.
    let found = after(&daily("02:30", "Europe/Stockholm"), "2026-03-27T12:00:00Z", 3);
    assert_eq!(found, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
    let found = after(&daily("02:30", "America/New_York"), "2026-03-07T12:00:00Z", 2);
    assert_eq!(found, ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]);
}

#[test]
fn kode_08_a_time_in_the_repeated_hour_is_due_once() {
    // On 25 October 2026 the clocks of Stockholm go from 03:00 to 02:00.
    let found = after(&daily("02:30", "Europe/Stockholm"), "2026-10-24T12:00:00Z", 2);
    assert_eq!(found, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
}

#[test]
fn a_pattern_with_steps_runs_through_both_passes_of_a_repeated_hour_and_skips_a_gap() {
    let found = after(&cron("*/30 * * * *", "Europe/Stockholm"), "2026-10-25T00:00:00Z", 4);
    assert_eq!(
        found,
        [
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:00:00Z"
        ]
    );
    let found = after(&cron("*/30 * * * *", "Europe/Stockholm"), "2026-03-29T00:30:00Z", 2);
    assert_eq!(found, ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]);
}

#[test]
fn zones_with_unusual_changes_work() {
    // Lord Howe changes by half an hour: on 4 October 2026 from 02:00 to 02:30.
    let found = after(&daily("02:15", "Australia/Lord_Howe"), "2026-10-02T16:00:00Z", 2);
    assert_eq!(found, ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]);
}

#[test]
fn a_day_that_does_not_exist_is_left_out() {
    // Apia had no 30 December 2011.
    let found = after(&daily("09:00", "Pacific/Apia"), "2011-12-28T20:00:00Z", 2);
    assert_eq!(found, ["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z"]);
}

#[test]
fn leap_days_come_every_four_years() {
    let found = after(&cron("0 12 29 2 *", "UTC"), "2026-01-01T00:00:00Z", 2);
    assert_eq!(found, ["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"]);
}

#[test]
fn a_day_of_the_week_is_that_of_the_zone() {
    let weekly = Trigger::Weekly { day: "mon".to_owned(), time: "00:30".to_owned() };
    let plan = plan(weekly, "Europe/Stockholm", "2026-01-01T00:00:00Z");
    assert_eq!(after(&plan, "2026-06-01T12:00:00Z", 1), ["2026-06-07T22:30:00Z"]);
}

#[test]
fn a_period_counts_from_the_beginning() {
    let every = Trigger::Every { millis: 90_000 };
    let plan = plan(every, "UTC", "2026-01-01T00:00:10.5Z");
    let found = after(&plan, "2026-01-01T00:00:00Z", 2);
    assert_eq!(found, ["2026-01-01T00:01:40.5Z", "2026-01-01T00:03:10.5Z"]);
    assert_eq!(after(&plan, "2026-01-01T00:03:10.5Z", 1), ["2026-01-01T00:04:40.5Z"]);
}

#[test]
fn years_of_missed_times_cost_little_and_keep_the_last_ones() {
    let every = plan(Trigger::Every { millis: 1_000 }, "UTC", "2020-01-01T00:00:00Z");
    let passed = every.passed(time("2020-01-01T00:00:00Z"), time("2026-01-01T00:00:00Z")).unwrap();
    assert_eq!(passed.count, 189_388_800);
    assert_eq!(passed.listed.len(), MAX_LISTED);
    assert_eq!(passed.listed.last().unwrap().to_string(), "2026-01-01T00:00:00Z");
    let minutely = cron("* * * * *", "UTC");
    let passed =
        minutely.passed(time("2020-01-01T00:00:00Z"), time("2026-01-01T00:00:00Z")).unwrap();
    assert!(passed.count > 2_000);
    assert_eq!(passed.listed.last().unwrap().to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(passed.listed.len(), MAX_LISTED);
}

#[test]
fn what_is_not_valid_is_refused_with_a_reason() {
    let refused = |trigger, zone: &str| {
        Plan::of(&spec(trigger, zone, "2026-01-01T00:00:00Z")).unwrap_err().to_string()
    };
    let daily = |time: &str| Trigger::Daily { time: time.to_owned() };
    assert_eq!(refused(daily("9 o'clock"), "UTC"), "`9 o'clock` is not a time such as `09:00`");
    assert_eq!(refused(daily("24:00"), "UTC"), "`24:00` is not a time such as `09:00`");
    assert_eq!(
        refused(daily("09:00"), "Mars/Olympus"),
        "`Mars/Olympus` is not a time zone; use a name such as `Europe/Stockholm`"
    );
    let weekly = Trigger::Weekly { day: "noday".to_owned(), time: "09:00".to_owned() };
    assert_eq!(
        refused(weekly, "UTC"),
        "`noday` is not a day of the week and a time such as `Mon 09:00`"
    );
    // Only the whole name and its first three letters name a day.
    for (day, known) in [("Sat", true), ("saturday", true), ("satur", false), ("monkey", false)] {
        let weekly = Trigger::Weekly { day: day.to_owned(), time: "09:00".to_owned() };
        let plan = Plan::of(&spec(weekly, "UTC", "2026-01-01T00:00:00Z"));
        assert_eq!(plan.is_ok(), known, "{day}");
    }
    let cron = |pattern: &str| Trigger::Cron { pattern: pattern.to_owned() };
    assert!(refused(cron("61 * * * *"), "UTC").starts_with("`61 * * * *` is not a cron pattern: "));
    assert!(refused(cron("* * * * * *"), "UTC").contains("is not a cron pattern: "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the time between two looks at the clock is cut, the same due times are found, each
    /// once.
    #[test]
    fn the_due_times_do_not_depend_on_when_the_clock_is_read(
        looks in proptest::collection::vec(1..20_000_i64, 1..30),
        kind in 0..4_u8,
    ) {
        let zone = "Europe/Stockholm";
        let plan = match kind {
            0 => daily("02:30", zone),
            1 => cron("*/20 1-3 * * *", zone),
            2 => cron("15 2 * * sun,mon", zone),
            _ => plan(Trigger::Every { millis: 1_234_567 }, zone, "2026-03-28T00:00:00Z"),
        };
        let start = time("2026-03-28T18:00:00Z");
        let (mut now, mut settled, mut found) = (start, start, Vec::new());
        for look in looks {
            now = now.checked_add(SignedDuration::from_secs(look / 4)).unwrap();
            if let Some(passed) = plan.passed(settled, now) {
                prop_assert_eq!(passed.count, passed.listed.len() as u64);
                settled = *passed.listed.last().unwrap();
                found.extend(passed.listed);
            }
        }
        let mut expected = Vec::new();
        let mut at = start;
        while let Some(due) = plan.after(at).filter(|due| *due <= now) {
            expected.push(due);
            at = due;
        }
        prop_assert_eq!(found, expected);
    }
}
