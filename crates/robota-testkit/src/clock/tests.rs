use super::*;

#[test]
fn a_fixed_clock_does_not_advance_until_it_is_set() {
    let clock = FakeClock::fixed();
    let twin = clock.clone();
    assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(clock.now(), FakeClock::START);
    clock.advance(Duration::from_secs(90));
    assert_eq!(twin.now().to_string(), "2026-01-01T00:01:30Z");
    twin.set(FakeClock::START);
    assert_eq!(clock.now(), FakeClock::START);
}

#[test]
fn a_stepping_clock_advances_at_each_reading() {
    let clock = FakeClock::stepping(Duration::from_millis(250));
    let readings: Vec<String> = (0..3).map(|_| clock.now().to_string()).collect();
    assert_eq!(
        readings,
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:00.5Z"]
    );
}

#[test]
fn advancing_saturates_at_the_largest_timestamp() {
    let clock = FakeClock::stepping(Duration::MAX);
    clock.now();
    assert_eq!(clock.now(), Timestamp::MAX);
}
