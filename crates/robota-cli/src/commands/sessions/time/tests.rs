use super::*;

#[test]
fn times_ages_and_sizes_are_parsed() {
    let now: Timestamp = "2026-01-31T09:30:00Z".parse().unwrap();
    let at = |text: &str| when(text, now).unwrap().to_string();
    assert_eq!(at("2d"), "2026-01-29T09:30:00Z");
    assert_eq!(at("2026-01-01"), "2026-01-01T00:00:00Z");
    assert_eq!(at("2026-01-01T10:00:00+01:00"), "2026-01-01T09:00:00Z");
    assert_eq!(age("2w").unwrap(), SignedDuration::from_hours(14 * 24));
    assert_eq!((size("7").unwrap(), size("2K").unwrap(), size("1G").unwrap()), (7, 2_048, 1 << 30));
    for wrong in ["", "d", "-1d", "3y", "soon", "9999999999999999w", "é"] {
        assert!(when(wrong, now).is_err(), "{wrong}");
        assert!(size(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn times_and_sizes_are_formatted() {
    let at: Timestamp = "2026-01-31T09:30:05.678Z".parse().unwrap();
    assert_eq!(
        (minute(at).as_str(), second(at).as_str()),
        ("2026-01-31 09:30Z", "2026-01-31 09:30:05Z")
    );
    assert_eq!(
        ["7 ms", "1.5 s", "2 min 5 s"],
        [duration(7), duration(1_530), duration(125_000)].each_ref().map(String::as_str)
    );
    assert_eq!([bytes(7), bytes(2_048), bytes(3 << 20)], ["7 B", "2 KiB", "3 MiB"]);
}
