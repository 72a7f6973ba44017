//! Schedules of sessions, under paused time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{TokioClock, builder, crash, crash_after, events, said, time};
use robota_core::clock::Clock;
use robota_core::event::{Envelope, Event, InputSource, MissedRuns};
use robota_core::ids::{CountingIds, ScheduleId, SessionId};
use robota_core::journal::{JournalStore, MemoryStore};
use robota_runtime::{
    NewSchedule, ScheduleChange, ScheduleError, SessionSchedules as _, change_stored_schedule,
    stored_schedules,
};
use robota_session::{Resume, Session};

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);

fn id() -> SessionId {
    SessionId::from("agent:dev/session:main")
}

/// Returns the times at which a schedule fired, and how many earlier ones it accounts for.
fn fired(events: &[Envelope], schedule: &str) -> Vec<(String, u64, bool)> {
    let fired = events.iter().filter_map(|envelope| match &envelope.event {
        Event::InputAccepted(data) => match &data.source {
            Some(InputSource::Schedule { schedule: id, due, missed })
                if id.as_str() == schedule =>
            {
                Some((due.map_or_else(String::new, |due| due.to_string()), *missed, true))
            }
            _ => None,
        },
        Event::ScheduleSkipped(data) if data.schedule.as_str() == schedule => {
            Some((data.due.to_string(), data.times, false))
        }
        _ => None,
    });
    fired.collect()
}

/// Returns the times at which a schedule sent an input.
fn runs(events: &[Envelope], schedule: &str) -> Vec<String> {
    let fired = fired(events, schedule).into_iter().filter(|(_, _, ran)| *ran);
    fired.map(|(due, _, _)| due).collect()
}

async fn create(clock: TokioClock) -> (Arc<MemoryStore>, Session) {
    let store = Arc::new(MemoryStore::new());
    let session = builder(clock).create(store.clone(), Some(id())).await.unwrap();
    (store, session)
}

async fn idle(session: &Session) {
    while session.status().await.unwrap().queued > 0 || session.is_running() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn kode_08_a_week_over_a_change_of_the_clocks_fires_exactly_the_expected_list() {
    // Stockholm changes to summer time on Sunday 29 March 2026, 02:00 -> 03:00.
    let clock = TokioClock::starting("2026-03-26T10:00:00Z");
    let (mut store, session) = create(clock).await;
    let zone = "Europe/Stockholm";
    let schedules = session.schedule();
    let daily = NewSchedule::daily("02:30", "daily").id("daily").zone(zone);
    schedules.add(daily.missed(MissedRuns::All)).await.unwrap();
    let weekly = NewSchedule::weekly("Mon 09:00", "weekly").id("weekly").zone(zone);
    schedules.add(weekly).await.unwrap();
    let cron = NewSchedule::cron("*/30 1-3 * * sun", "cron").id("cron").zone(zone);
    schedules.add(cron.missed(MissedRuns::All)).await.unwrap();
    schedules.add(NewSchedule::every(36 * HOUR, "every").id("every")).await.unwrap();
    let skip = NewSchedule::cron("0 */6 * * *", "skip").id("skip").missed(MissedRuns::Skip);
    schedules.add(skip).await.unwrap();
    schedules.start();
    drop(schedules);
    let mut session = session;

    // The process crashes after these hours, and the next one starts that many minutes later.
    let processes = [(16, 0), (1, 45), (30, 5), (23, 300), (9, 0), (1, 1), (40, 600), (20, 0)];
    let mut alive = Vec::new();
    for (hours, minutes) in processes {
        let from = clock.now();
        tokio::time::sleep(HOUR * hours).await;
        idle(&session).await;
        alive.push((from, clock.now()));
        store = crash(&*store, &[&id()]).await;
        // The crashed process must not write to the new store.
        session.shutdown("the test ends this process").await.unwrap();
        tokio::time::sleep(MINUTE * minutes).await;
        let resumed = builder(clock).resume(store.clone(), &id(), Resume::default()).await;
        session = resumed.unwrap();
        session.schedule().start();
    }
    let end = time("2026-04-02T10:00:00Z");
    let left = end.duration_since(clock.now()).unsigned_abs();
    tokio::time::sleep(left + MINUTE).await;
    idle(&session).await;

    let events = events(&*store, &id()).await;
    assert_eq!(
        runs(&events, "daily"),
        [
            "2026-03-27T01:30:00Z",
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z",
            "2026-03-31T00:30:00Z",
            "2026-04-01T00:30:00Z",
            "2026-04-02T00:30:00Z"
        ]
    );
    assert_eq!(runs(&events, "weekly"), ["2026-03-30T07:00:00Z"]);
    assert_eq!(
        runs(&events, "cron"),
        [
            "2026-03-29T00:00:00Z",
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z"
        ]
    );
    assert_eq!(
        runs(&events, "every"),
        [
            "2026-03-27T22:00:00Z",
            "2026-03-29T10:00:00Z",
            "2026-03-30T22:00:00Z",
            "2026-04-01T10:00:00Z"
        ]
    );
    // Skipped times are those at which no process ran, and every time is accounted for.
    let mut due = time("2026-03-26T12:00:00Z");
    let mut expected = Vec::new();
    let mut times = 0;
    while due <= end {
        let down = alive.windows(2).any(|pair| {
            let (crashed, restarted) = (pair[0].1, pair[1].0);
            due > crashed && due < restarted && restarted.duration_since(due).as_secs() > 60
        });
        if !down {
            expected.push(due.to_string());
        }
        times += 1;
        due = due.checked_add(6 * HOUR).unwrap();
    }
    assert!((expected.len() as u64) < times, "some times were missed");
    assert_eq!(runs(&events, "skip"), expected);
    let accounted: u64 =
        fired(&events, "skip").iter().map(|(_, missed, ran)| missed + u64::from(*ran)).sum();
    assert_eq!(accounted, times);
    // Each trigger is an input like any other, delivered once.
    for name in ["daily", "weekly", "cron", "every", "skip"] {
        assert_eq!(said(&events, name).len(), runs(&events, name).len(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn kode_08_whichever_event_is_the_last_no_due_time_is_lost_or_doubled() {
    let clock = TokioClock::starting("2026-01-01T08:59:00Z");
    let (store, session) = create(clock).await;
    let schedules = session.schedule();
    let report = NewSchedule::daily("09:00", "report").id("report").missed(MissedRuns::All);
    schedules.add(report).await.unwrap();
    schedules.add(NewSchedule::every_steps(2, "remind").id("remind")).await.unwrap();
    schedules.start();
    tokio::time::sleep(2 * MINUTE).await;
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    idle(&session).await;
    tokio::time::sleep(24 * HOUR).await;
    idle(&session).await;
    let whole = events(&*store, &id()).await;
    assert_eq!(runs(&whole, "report"), ["2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z"]);
    assert_eq!(runs(&whole, "remind").len(), 1);
    let complete = said(&whole, "report");
    // The schedules exist from here on.
    let is_last_added = |it: &Envelope| match &it.event {
        Event::ScheduleAdded(data) => data.schedule.as_str() == "remind",
        _ => false,
    };
    let first = whole.iter().position(is_last_added).unwrap() + 1;
    for count in first..=whole.len() {
        let left = crash_after(&*store, &[(&id(), count)]).await;
        let resumed = builder(clock).resume(left.clone(), &id(), Resume::default()).await;
        let resumed = resumed.unwrap();
        assert_eq!(resumed.schedule().list().await.unwrap().len(), 2, "after event {count}");
        resumed.schedule().start();
        tokio::time::sleep(MINUTE).await;
        idle(&resumed).await;
        let events = events(&*left, &id()).await;
        assert_eq!(
            runs(&events, "report")[..2],
            ["2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z"],
            "after event {count}"
        );
        let inputs = said(&events, "report").len();
        let not_delivered = events.iter().filter(|it| matches!(it.event, Event::Recovered(_)));
        assert!(
            inputs == complete.len() || not_delivered.count() > 0,
            "after event {count}: {inputs} {:?} {:?}",
            fired(&events, "report"),
            said(&events, "")
        );
        assert_eq!(runs(&events, "report").len(), inputs, "after event {count}");
        drop(resumed);
    }
}

#[tokio::test(start_paused = true)]
async fn kode_08_steps_are_counted_over_restarts_and_a_schedule_does_not_trigger_itself() {
    let clock = TokioClock::starting("2026-01-01T00:00:00Z");
    let (store, session) = create(clock).await;
    session.schedule().every_steps(2, "remind").await.unwrap();
    session.schedule().start();
    for _ in 0..3 {
        session.run("work").await.unwrap();
        idle(&session).await;
    }
    assert_eq!(said(&events(&*store, &id()).await, "remind").len(), 1);
    let store = crash(&*store, &[&id()]).await;
    let session = builder(clock).resume(store.clone(), &id(), Resume::default()).await.unwrap();
    session.schedule().start();
    session.run("work").await.unwrap();
    tokio::time::sleep(MINUTE).await;
    idle(&session).await;
    let steps = |count: usize| vec!["remind".to_owned(); count];
    assert_eq!(said(&events(&*store, &id()).await, "remind"), steps(2));
    // A schedule for every step would never end if its own answers counted.
    session.schedule().every_steps(1, "again").await.unwrap();
    session.run("work").await.unwrap();
    tokio::time::sleep(MINUTE).await;
    idle(&session).await;
    assert_eq!(said(&events(&*store, &id()).await, "again").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn kode_08_missed_times_follow_the_policy() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (store, session) = create(clock).await;
    let add = |name: &str, missed| {
        NewSchedule::cron("0 * * * *", name.to_owned()).id(name).missed(missed)
    };
    for (name, missed) in
        [("skip", MissedRuns::Skip), ("once", MissedRuns::Once), ("all", MissedRuns::All)]
    {
        session.schedule().add(add(name, missed)).await.unwrap();
    }
    session.shutdown("closed for a while").await.unwrap();
    tokio::time::sleep(30 * HOUR).await;
    let session = builder(clock).resume(store.clone(), &id(), Resume::default()).await.unwrap();
    session.schedule().start();
    tokio::time::sleep(MINUTE).await;
    idle(&session).await;
    let events = events(&*store, &id()).await;
    let last = "2026-01-02T06:00:00Z".to_owned();
    assert_eq!(fired(&events, "skip"), [(last.clone(), 30, false)]);
    assert_eq!(fired(&events, "once"), [(last.clone(), 29, true)]);
    let note = "[schedule once: 29 earlier times were missed]";
    assert_eq!(said(&events, "once"), [format!("once{note}")]);
    let all = fired(&events, "all");
    assert_eq!(all.len(), 24, "at most the last 24");
    assert_eq!(all[0], ("2026-01-01T07:00:00Z".to_owned(), 6, true));
    assert_eq!(all[23], (last, 0, true));
}

#[tokio::test(start_paused = true)]
async fn kode_08_pause_resume_remove_and_replace() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (store, session) = create(clock).await;
    let schedules = session.schedule();
    let hourly = schedules.add(NewSchedule::cron("0 * * * *", "hourly").id("h")).await.unwrap();
    schedules.start();
    let listed = schedules.list().await.unwrap();
    let next: Vec<String> = listed[0].next.iter().map(ToString::to_string).collect();
    assert_eq!(next, ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z"]);
    schedules.pause(&hourly).await.unwrap();
    assert!(schedules.list().await.unwrap()[0].paused);
    tokio::time::sleep(5 * HOUR).await;
    schedules.resume(&hourly).await.unwrap();
    tokio::time::sleep(HOUR).await;
    idle(&session).await;
    let so_far = events(&*store, &id()).await;
    assert_eq!(fired(&so_far, "h"), [("2026-01-01T06:00:00Z".to_owned(), 0, true)]);
    // The same id replaces the schedule.
    schedules.add(NewSchedule::daily("12:00", "noon").id("h")).await.unwrap();
    assert_eq!(schedules.list().await.unwrap().len(), 1);
    schedules.remove(&hourly).await.unwrap();
    let gone = schedules.remove(&hourly).await.unwrap_err();
    assert_eq!(gone, ScheduleError::NotFound(ScheduleId::from("h")));
    tokio::time::sleep(48 * HOUR).await;
    assert_eq!(runs(&events(&*store, &id()).await, "h").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn jitter_is_drawn_once_and_delays_every_run() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let store = Arc::new(MemoryStore::new());
    let ids = CountingIds::default();
    let session = builder(clock).ids(ids).create(store.clone(), Some(id())).await.unwrap();
    let late = NewSchedule::cron("0 * * * *", "late").id("late").jitter(10 * MINUTE);
    session.schedule().add(late).await.unwrap();
    session.schedule().start();
    let info = session.schedule().list().await.unwrap().remove(0);
    let jitter = info.spec.jitter_ms;
    assert!(jitter > 0 && jitter <= 600_000, "{jitter}");
    tokio::time::sleep(3 * HOUR).await;
    idle(&session).await;
    let events = events(&*store, &id()).await;
    let fired: Vec<_> = events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::InputAccepted(data) => match &data.source {
                Some(InputSource::Schedule { due, .. }) => Some((due.unwrap(), envelope.ts)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(fired.len(), 3);
    for (due, at) in fired {
        let late = at.duration_since(due).as_millis();
        assert!(late >= i128::from(jitter) && late < i128::from(jitter) + 100, "{late}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_or_forward_fires_nothing_twice() {
    let clock = robota_testkit::FakeClock::fixed();
    let store = Arc::new(MemoryStore::new());
    let session = builder(clock.clone()).create(store.clone(), Some(id())).await.unwrap();
    session.schedule().add(NewSchedule::cron("0 * * * *", "hourly").id("h")).await.unwrap();
    session.schedule().start();
    let start = clock.now();
    for (minutes, runs_so_far) in [(61, 1), (-60, 1), (62, 1), (121, 2), (3 * 24 * 60 + 121, 3)] {
        clock.set(start.checked_add(jiff::SignedDuration::from_mins(minutes)).unwrap());
        tokio::time::sleep(3 * MINUTE).await;
        idle(&session).await;
        let events = events(&*store, &id()).await;
        assert_eq!(runs(&events, "h").len(), runs_so_far, "at minute {minutes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_no_schedules() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (_store, session) = create(clock).await;
    session.schedule().daily("09:00", "report").await.unwrap();
    session.run("hi").await.unwrap();
    let fork = session.fork(&robota_session::Selector::Latest, None).await.unwrap();
    assert!(fork.schedule().list().await.unwrap().is_empty());
    assert_eq!(session.schedule().list().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_with_schedules_ends_when_its_last_handle_is_dropped() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (store, session) = create(clock).await;
    session.schedule().every(HOUR, "hourly").await.unwrap();
    session.schedule().start();
    let weak = robota_session::WeakSession::from(&session);
    drop(session);
    weak.ended().await;
    assert!(weak.upgrade().is_none());
    // The journal is free again.
    store.open(&id()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn kode_08_schedules_of_a_closed_session_are_listed_and_changed() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (store, session) = create(clock).await;
    let (shared, ids) = (Arc::new(clock) as Arc<dyn Clock>, CountingIds::default());
    let add = || ScheduleChange::Add(NewSchedule::daily("09:00", "report").id("report"));
    let busy = change_stored_schedule(&*store, &id(), add(), (shared.clone(), &ids)).await;
    assert!(matches!(busy, Err(ScheduleError::Session(_))), "the session is open: {busy:?}");
    session.shutdown("done").await.unwrap();
    let main = id();
    let change = |change| change_stored_schedule(&*store, &main, change, (shared.clone(), &ids));
    assert_eq!(change(add()).await.unwrap().len(), 1);
    let report = ScheduleId::from("report");
    assert!(change(ScheduleChange::Pause(report.clone())).await.unwrap()[0].paused);
    assert!(!change(ScheduleChange::Resume(report.clone())).await.unwrap()[0].paused);
    let listed = stored_schedules(&*store, &id(), &clock).await.unwrap();
    assert_eq!(listed[0].next[0], time("2026-01-01T09:00:00Z"));
    // The session fires it once it is open.
    let session = builder(clock).resume(store.clone(), &id(), Resume::default()).await.unwrap();
    session.schedule().start();
    tokio::time::sleep(9 * HOUR).await;
    idle(&session).await;
    assert_eq!(runs(&events(&*store, &id()).await, "report"), ["2026-01-01T09:00:00Z"]);
    session.shutdown("done").await.unwrap();
    assert!(change(ScheduleChange::Remove(report)).await.unwrap().is_empty());
}

/// The process that resumes the session cleans up after the crash only if the journal has no end.
#[tokio::test(start_paused = true)]
async fn a_stored_change_does_not_close_a_session_that_crashed() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (store, session) = create(clock).await;
    session.run("hi").await.unwrap();
    let store = crash(&*store, &[&id()]).await;
    let (shared, ids) = (Arc::new(clock) as Arc<dyn Clock>, CountingIds::default());
    let add = ScheduleChange::Add(NewSchedule::daily("09:00", "report").id("report"));
    change_stored_schedule(&*store, &id(), add, (shared, &ids)).await.unwrap();
    let state = robota_core::resume::load(&*store, &id()).await.unwrap();
    assert!(state.turn.is_none() && !state.closed);
}

#[tokio::test(start_paused = true)]
async fn kode_08_an_input_that_says_nothing_is_refused() {
    let clock = TokioClock::starting("2026-01-01T00:30:00Z");
    let (_store, session) = create(clock).await;
    for empty in ["", " \n"] {
        let refused = session.schedule().every(HOUR, empty).await.unwrap_err();
        assert!(matches!(refused, ScheduleError::Invalid { .. }), "{refused}");
    }
    assert!(session.schedule().list().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn kode_08_a_schedule_that_can_never_fire_is_refused() {
    let (_, session) = create(TokioClock::starting("2026-03-26T10:00:00Z")).await;
    for never in ["0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
        let refused =
            session.schedule().add(NewSchedule::cron(never, "Report.")).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("`{never}` is not a time that ever comes"));
    }
    let refused = session.schedule().every(Duration::MAX, "Report.").await.unwrap_err();
    assert!(refused.to_string().ends_with("ms` is not a time that ever comes"), "{refused}");
    // A day that comes every four years is due.
    session.schedule().add(NewSchedule::cron("0 0 29 2 *", "Leap.")).await.unwrap();
    assert_eq!(session.schedule().list().await.unwrap().len(), 1);
}
