use super::*;

#[test]
fn rules_in_one_argument_are_split_outside_parentheses() {
    assert_eq!(
        split_rules("Bash(git log *),Edit  Read(./a b/**), "),
        ["Bash(git log *)", "Edit", "Read(./a b/**)"]
    );
    assert!(split_rules(" , ").is_empty());
}

#[test]
fn a_rule_that_cannot_be_read_says_why() {
    assert_eq!(check_rule(RuleList::Allow, "Bash(git *)"), Ok(()));
    assert!(check_rule(RuleList::Allow, "Bash(git *").is_err());
}
