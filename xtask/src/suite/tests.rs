use super::*;

#[test]
fn the_first_failing_step_stops_the_rest() {
    let steps: [Step<'_>; 3] = [
        ("one", &|| Ok(())),
        ("two", &|| Err(anyhow!("a tab"))),
        ("three", &|| panic!("it must not run")),
    ];
    let error = run_all(&steps).unwrap_err();
    assert_eq!(error.to_string(), "test: step 2 of 3, two, FAILED: a tab");
}

#[test]
fn skipped_tests_are_summed_up_by_what_is_missing() {
    let log = "PostgreSQL\tb\tInstall it.\nPostgreSQL\ta\tInstall it.\nbubblewrap\tc\tToo.\n";
    assert_eq!(
        summary(log),
        "SKIPPED without PostgreSQL: 2 tests (a, b). Install it.\n\
         SKIPPED without bubblewrap: 1 tests (c). Too.\n"
    );
    assert_eq!(summary(""), "");
}
