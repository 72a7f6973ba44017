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
    for (open, close) in [
        ("( ", ")"),
        ("{ ", "; }"),
        ("$(", ")"),
        ("${x:-", "}"),
        ("! ", ""),
        ("$((1+", "))"),
        ("$[", "]"),
        ("${x:-$[", "]}"),
    ] {
        let text = format!("{}a{}", open.repeat(20_000), close.repeat(20_000));
        let _ = parse(&text);
    }
}

/// A bracket behind a name is first read as an index. What is inside must not be read twice at
/// every level: that doubles the work from level to level.
#[test]
fn an_index_that_does_not_end_is_read_with_bounded_work() {
    for open in ["a[$(\\); ", "a[ $(", "a[\"$(')'; ", "a[`a[$(", "a[${x:-$(", "a[$(a b[$(\")\"; "] {
        for times in [18, 200, 5_000] {
            assert!(parse(&open.repeat(times)).is_err(), "{open:?}, {times} times");
        }
    }
    for text in ["a[$(b[$(c)]d)]e", "a[$(b)]=c", "a[b", "ls a[bc]* d[$(e)]", "a[1]=$(b[2]=3; c[)"] {
        assert!(parse(text).is_ok(), "{text:?}");
    }
}

/// The longest index may end inside of a letter.
#[test]
fn an_index_of_long_letters_is_cut_between_letters() {
    for open in ["'", "\"", "$'", "`", "$(", "${", ""] {
        for shift in ["", "x", "xx"] {
            let text = format!("A[{open}{shift}{}", "\u{fffd}".repeat(200));
            // What it is does not matter: it is read without a panic.
            let _ = parse(&text);
            assert!(parse(&format!("ls; {text}]=1; ls")).is_err() || open.is_empty(), "{text}");
        }
    }
}

/// The attempt to read an index leaves nothing behind.
#[test]
fn a_word_that_is_no_assignment_is_read_once() {
    let long = "x".repeat(300);
    for word in [format!("a[$(b {long})]c"), "a[$(b <<F\nF\n)]c".to_owned(), "a[$(b)]c".to_owned()]
    {
        let text = format!("cat <<E; {word}\n$(d)\nE\nls\n");
        let parsed = parse(&text).unwrap();
        let inner = parsed.documents.first().map(|document| document.inner.len());
        assert_eq!(inner, Some(1), "{text}");
        let mut commands = parsed.spans.commands;
        let all = commands.len();
        commands.sort_unstable();
        commands.dedup();
        assert_eq!(commands.len(), all, "{text}");
        let documents = 1 + text.matches("<<F").count();
        assert_eq!(parsed.documents.len(), documents, "{text}");
    }
}
