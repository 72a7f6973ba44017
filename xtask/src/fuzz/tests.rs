use super::*;

#[test]
fn seconds_are_demanded_and_a_target_may_be_named() {
    let plan = |secs, target: Option<&str>| Some(Plan { secs, target: target.map(str::to_owned) });
    assert_eq!(parse(&["--secs", "30"]), plan(30, None));
    assert_eq!(parse(&["--secs", "30", "mode"]), plan(30, Some("mode")));
    assert_eq!(parse(&["mode", "--secs", "30"]), plan(30, Some("mode")));
    for wrong in [&[][..], &["--secs"], &["--secs", "0"], &["--secs", "-1"], &["--secs", "5", "-x"]]
    {
        assert_eq!(parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn an_unknown_target_is_an_error_that_lists_the_others() {
    let all = || vec!["events".to_owned(), "mode".to_owned()];
    assert_eq!(chosen(all(), None).unwrap(), all());
    assert_eq!(chosen(all(), Some("mode")).unwrap(), ["mode"]);
    let error = chosen(all(), Some("modes")).unwrap_err().to_string();
    assert_eq!(error, "no fuzz target `modes`; there are: events, mode");
}

#[test]
fn targets_are_the_files_of_the_folder() {
    assert!(targets(&crate::tree::root()).unwrap().contains(&"mode".to_owned()));
}
