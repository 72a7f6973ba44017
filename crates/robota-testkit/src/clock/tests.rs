use super::*;

#[test]
fn it_stands_still_until_it_is_turned() {
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
fn it_goes_on_by_its_step_at_each_reading() {
    let clock = FakeClock::stepping(Duration::from_millis(250));
    let readings: Vec<String> = (0..3).map(|_| clock.now().to_string()).collect();
    assert_eq!(
        readings,
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:00.5Z"]
    );
}

#[test]
fn the_end_of_time_is_no_panic() {
    let clock = FakeClock::stepping(Duration::MAX);
    clock.now();
    assert_eq!(clock.now(), Timestamp::MAX);
}
