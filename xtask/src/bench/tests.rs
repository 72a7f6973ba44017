use super::*;

#[test]
fn the_median_is_the_middle() {
    let ms = |times: &[u64]| median(times.iter().map(|ms| Duration::from_millis(*ms)).collect());
    assert!((ms(&[9, 1, 5]) - 0.005).abs() < 1e-9);
    assert!((ms(&[9, 1, 5, 7]) - 0.006).abs() < 1e-9);
    assert!(ms(&[]).is_nan());
}

#[test]
fn benches_are_the_files_of_benches_folders() {
    let tree = Tree::of(&[
        ("crates/robota-core/benches/fold.rs", ""),
        ("crates/robota-core/benches/shared/mod.rs", ""),
        ("crates/robota-core/src/benches.rs", ""),
    ]);
    assert_eq!(benches(&tree), [("robota-core", "fold")]);
}
