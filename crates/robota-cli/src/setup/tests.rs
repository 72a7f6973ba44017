use super::*;

#[test]
fn rules_in_one_argument_are_split_outside_parentheses() {
    assert_eq!(
        split_rules("Bash(git log *),Edit  Read(./a b/**), "),
        ["Bash(git log *)", "Edit", "Read(./a b/**)"]
    );
    assert!(split_rules(" , ").is_empty());
}
