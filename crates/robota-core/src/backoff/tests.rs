use std::time::Duration;

use super::Backoff;

#[test]
fn waits_double_up_to_the_limit_and_never_overflow() {
    let second = Duration::from_secs(1);
    let backoff = Backoff::new(second, 30 * second);
    let waits: Vec<_> = (0..=7).map(|failures| backoff.after(failures).as_secs()).collect();
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 30, 30]);
    assert_eq!(backoff.after(u32::MAX), 30 * second);
    assert_eq!(Backoff::new(Duration::MAX, Duration::ZERO).after(9), Duration::MAX);
}
