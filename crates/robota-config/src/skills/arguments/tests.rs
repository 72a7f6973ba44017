use super::*;

fn expand(text: &str, all: &str) -> (String, bool) {
    let names = ["file".to_owned(), "file_name".to_owned(), "two-words".to_owned()];
    let variables = [("CLAUDE_SESSION_ID", "s1"), ("CLAUDE_SKILL_DIR", "/d $0")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let mut arguments = Arguments::new(all, &names, variables);
    let text = arguments.substitute(text);
    let unused = arguments.unused().is_some();
    (text, unused)
}

#[test]
fn placeholders_are_replaced() {
    for (text, expected) in [
        ("$ARGUMENTS", "a 'b c' d"),
        ("$ARGUMENTS[1].", "b c."),
        ("$0 $1 $2", "a b c d"),
        ("$0,$1!", "a,b c!"),
        ("$file_name $file $two-words", "b c a d"),
        ("$3 $ARGUMENTS[9] $10", "$3 $ARGUMENTS[9] $10"),
        ("\\$0 \\$ARGUMENTS \\$file \\$x", "$0 $ARGUMENTS $file \\$x"),
        ("${CLAUDE_SESSION_ID} ${CLAUDE_SKILL_DIR}", "s1 /d $0"),
        (
            "${CLAUDE_EFFORT} ${2:-x} ${0} $(cmd) $HOME $",
            "${CLAUDE_EFFORT} ${2:-x} ${0} $(cmd) $HOME $",
        ),
        ("$0th $ARGUMENTS_X $filed", "$0th $ARGUMENTS_X $filed"),
        ("$1.50 costs", "b c.50 costs"),
        ("ü$0ü", "ü$0ü"),
    ] {
        assert_eq!(expand(text, "a 'b c' d").0, expected, "{text}");
    }
}

#[test]
fn values_are_not_searched_again() {
    assert_eq!(expand("$0 $1", "'$1' $ARGUMENTS").0, "$1 $ARGUMENTS");
}

#[test]
fn unused_arguments_are_known() {
    assert!(expand("text", "a").1);
    assert!(expand("$5 \\$0 ${CLAUDE_SESSION_ID}", "a").1);
    assert!(!expand("$0", "a").1);
    assert!(!expand("text", "  ").1);
    assert!(!expand("$ARGUMENTS", "a").1);
}

#[test]
fn arguments_are_split_as_a_shell_splits() {
    for (text, expected) in [
        ("a  b", &["a", "b"][..]),
        ("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
        ("\"a \\\" b\" 'c\\d'", &["a \" b", "c\\d"]),
        ("'' x", &["", "x"]),
        ("it's open", &["it's", "open"]),
        ("a'b'c", &["abc"]),
        ("", &[]),
        ("x\\", &["x"]),
    ] {
        assert_eq!(split(text), expected, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken(text in "[$\\\\{}A-Z0-2a\\[\\] '\"ü]{0,60}", all in "[$'\"\\\\ a-bü]{0,20}") {
        let _ = expand(&text, &all);
    }
}
