use super::*;

#[test]
fn a_file_that_is_missing_or_edited_is_out_of_date() {
    let one: &[Generated] = &[("docs/x.md", |_| Ok("first\n".to_owned()))];
    let stale = |files: &str| stale(&Tree::parse(files), one).unwrap().len();
    assert_eq!(stale("-- docs/x.md\nfirst"), 0);
    assert_eq!(stale("-- docs/x.md\nedited") + stale(""), 2);
}

#[test]
fn a_maker_that_fails_is_an_error_with_the_path() {
    let broken: &[Generated] = &[("docs/x.md", |_| anyhow::bail!("no ids"))];
    let error = stale(&Tree::default(), broken).unwrap_err();
    assert_eq!(format!("{error:#}"), "cannot make docs/x.md: no ids");
}

#[test]
fn the_generated_files_are_up_to_date() {
    check(&crate::tree::root()).unwrap();
}
