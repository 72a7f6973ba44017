use super::*;

const ONE: &[Generated] = &[("docs/x.md", |_| Ok("first\nsecond\n".to_owned()))];

#[test]
fn an_edited_file_is_out_of_date_and_the_diff_says_where() {
    let tree = Tree::of(&[("docs/x.md", "first\nedited\n")]);
    let stale = stale(&tree, ONE).unwrap();
    assert_eq!(stale.len(), 1);
    assert!(stale[0].1.contains("-edited\n+second\n"), "{}", stale[0].1);
}

#[test]
fn a_missing_file_is_out_of_date() {
    assert_eq!(stale(&Tree::default(), ONE).unwrap().len(), 1);
    let empty: &[Generated] = &[("docs/x.md", |_| Ok(String::new()))];
    assert_eq!(stale(&Tree::default(), empty).unwrap().len(), 1);
}

#[test]
fn an_equal_file_is_up_to_date() {
    let tree = Tree::of(&[("docs/x.md", "first\nsecond\n")]);
    assert_eq!(stale(&tree, ONE).unwrap(), []);
}

#[test]
fn a_maker_that_fails_is_an_error_with_the_path() {
    let broken: &[Generated] = &[("docs/x.md", |_| bail!("no ids"))];
    let error = stale(&Tree::default(), broken).unwrap_err();
    assert_eq!(format!("{error:#}"), "cannot make docs/x.md: no ids");
}
