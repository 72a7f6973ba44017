use super::*;

#[test]
fn answers_that_last_name_the_rules() {
    let rules = ["Bash(git log *)".to_owned(), "Bash(wc *)".to_owned()];
    let names: Vec<_> = options(&rules).into_iter().map(|option| option.name).collect();
    let expected = [
        "Allow",
        "Allow in this session: Bash(git log *), Bash(wc *)",
        "Always allow: Bash(git log *), Bash(wc *)",
        "Reject",
    ];
    assert_eq!(names, expected);
    assert_eq!(options(&[]).len(), 2, "without a rule nothing can be remembered");
}
