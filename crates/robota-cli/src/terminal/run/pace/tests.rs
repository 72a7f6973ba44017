use super::*;

/// Draws the frames that are due, for changes every millisecond of a second.
fn frames(mut at: impl FnMut(&mut Pace, u64)) -> usize {
    let mut pace = Pace::new(Duration::ZERO);
    let mut frames = 0;
    for millisecond in 1..=1_000 {
        at(&mut pace, millisecond);
        let now = Duration::from_millis(millisecond);
        if pace.is_due(now) {
            pace.drawn(now);
            frames += 1;
        }
    }
    frames
}

#[test]
fn the_session_causes_at_most_60_frames_a_second() {
    let count = frames(|pace, _| pace.changed());
    assert!((50..=60).contains(&count), "{count}");
}

#[test]
fn nothing_is_drawn_and_no_timer_runs_while_nothing_changes() {
    assert_eq!(frames(|_, _| {}), 0);
    assert_eq!(Pace::new(Duration::ZERO).next_frame(), None);
}

#[test]
fn a_key_is_shown_at_once() {
    let mut pace = Pace::new(Duration::ZERO);
    pace.changed();
    let now = Duration::from_millis(1);
    assert!(!pace.is_due(now));
    pace.typed();
    pace.changed();
    assert!(pace.is_due(now));
    pace.drawn(now);
    assert!(!pace.is_due(now));
    assert_eq!(pace.next_frame(), None);
}
