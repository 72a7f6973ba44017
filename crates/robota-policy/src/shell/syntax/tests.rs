use super::*;

#[test]
fn what_bash_accepts_is_accepted() {
    for text in [
        "",
        "a;",
        "a & b &",
        "a |& b",
        "f() { a; }; f",
        "function f { a; }",
        "x=(1 2 $(a)) y=z",
        "a[1]=2",
        "for ((i=0;i<3;i++)); do a; done",
        "for i\ndo a; done",
        "case $x in (a|b) c ;; d) ;; esac",
        "[[ $x =~ ^(a|b)$ && ! -f y ]]",
        "cat <<A <<-'B'\n$(a)\nA\n\tb\n\tB\nls",
        "echo \"$(echo \")\")\" `a` ${x:-$(b)} $((1+(2*3)))",
        "diff <(a; b) >(c)",
        "time -p { a; }",
        "! time ! a",
        "a 2>&1 >&- <>f",
        "echo a#b # c\nls",
    ] {
        assert!(parse(text).is_ok(), "{text:?}: {:?}", parse(text).err());
    }
}

#[test]
fn what_bash_refuses_is_refused() {
    for text in [
        "a ;; b",
        "a ; ; b",
        "ls (",
        "'",
        "\"",
        "`a",
        "$(a",
        "${a",
        "if a; fi",
        "for ; do a; done",
        "{ a",
        "( a",
        "a |",
        "a &&",
        "fi",
        "a > ",
        "cat <<E\nx",
        "()",
        "{ }",
        "case a in b) c",
    ] {
        assert_eq!(parse(text).err(), Some(Stop::Unparsable), "{text:?}");
    }
}

/// Bash joins a continued line before it splits words, so one that breaks a word may hide a
/// keyword, an operator or a substitution.
#[test]
fn a_line_continued_inside_a_word_is_refused() {
    for text in ["r\\\nm x", "\"$\\\n(rm x)\"", "i\\\nf a; then b; fi", "a &\\\n& b", "$\\\n(a)"] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn what_is_ambiguous_is_not_supported() {
    for text in ["((a); b)", "\"${x:-'}$(rm x)'}\"", "{fd}>x", "$(( ' ))$(rm x)' ))"] {
        assert!(matches!(parse(text), Err(Stop::Unsupported(_))), "{text:?}");
    }
}

#[test]
fn nesting_ends_before_the_stack() {
    for (open, close) in [("( ", ")"), ("{ ", "; }"), ("$(", ")"), ("${x:-", "}"), ("! ", "")] {
        let text = format!("{}a{}", open.repeat(20_000), close.repeat(20_000));
        let _ = parse(&text);
    }
}
