use super::*;

#[test]
fn a_skipped_test_is_recorded_with_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("skipped.txt");
    for _ in 0..2 {
        skip(Part::Postgres, false, log.to_str());
    }
    let line = "PostgreSQL\trequires::tests::a_skipped_test_is_recorded_with_what_it_needs\t\
                `cargo xtask setup` installs it\n";
    assert_eq!(std::fs::read_to_string(log).unwrap(), line.repeat(2));
}

#[test]
#[should_panic(expected = "bubblewrap is missing")]
fn where_nothing_may_be_skipped_a_missing_part_is_a_failure() {
    skip(Part::Bubblewrap, true, None);
}

#[test]
fn what_is_there_is_returned() {
    assert_eq!(requires(Part::Sandbox, Some(3)), Some(3));
}
