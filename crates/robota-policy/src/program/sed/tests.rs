use super::is_harmless;

#[test]
fn scripts_that_only_print_pass() {
    for script in [
        "1,5p",
        "$p",
        "s/a/b/",
        "s/a/b/g",
        "/x/p",
        "/a/,/b/p",
        "s|a|b|gi",
        "1d",
        "1,5p;7p",
        "10,$p",
        "5{p;q}",
        "5{p;q;}",
        "y/abc/xyz/",
        "$!d",
        "/a/!d",
        "1~2p",
        "/a/,+3p",
        "/a/I p",
        "s,/,:,g",
        ":a;N;$!ba;s/\\n/ /g",
        "1i hello; w out",
        "a\\\n text",
        "n;d",
        "/[^/]*$/p",
        "\\,a,p",
        "s/[[:space:]]*$//",
        "# comment\np",
        "1!G;h;$!d",
        "s/\\(a\\)/\\1/2p",
        "=",
        "l 80",
        "b;p",
    ] {
        let slash_in_bracket = script == "/[^/]*$/p";
        assert_eq!(is_harmless(script), !slash_in_bracket, "{script}");
    }
}

#[test]
fn scripts_that_reach_out_do_not() {
    for script in [
        "1e",
        "s/a/b/e",
        "s/a/b/w out",
        "w out",
        "r /etc/passwd",
        "1!e ls",
        "e",
        "s/a/b",
        "R x",
        "1,5{p;e ls}",
        "W out",
        "s/a/b/ge",
        "/x/{s/a/b/;w out\n}",
        "1 e rm x",
        "p;1e rm x",
        "$!{$!e ls\n}",
        "s/[/]/e rm x;s/]/b/e",
        "5{p;q",
        "p}",
        "v",
        "y/a/b/;w x",
        "}",
        "s/a/b/ e",
        ":a;ba",
        ":a;$!N;ba",
        ":a;s/a/a/;ta",
        "\\xax e rm",
        "s/[]/]/b/w x/",
    ] {
        assert!(!is_harmless(script), "{script}");
    }
}

/// `D` starts again with the rest of the text, without reading a line, for as long as there is one.
#[test]
fn a_script_that_adds_lines_before_it_starts_again_does_not_pass() {
    for script in [
        "G;D",
        "x;G;D",
        "H;x;D",
        "H;g;D",
        "D;G",
        "s/^/\\n/;D",
        "s/x/\\\n/;D",
        "$!N;s/.*/&&/;D",
        "s/\\(a\\)/\\1\\1/;D",
        "s/c/bc/;y/b/\\n/;D",
        "/a/{G\nD\n}",
        "1!G;$!{h;D\n}",
    ] {
        assert!(!is_harmless(script), "{script}");
    }
    for script in [
        "$!N;P;D",
        "$!N;/^\\(.*\\)\\n\\1$/!P;D",
        "$!N;s/\\n/ /;P;D",
        "N;D",
        "y/a/b/;D",
        "H;D",
        "G;d",
    ] {
        assert!(is_harmless(script), "{script}");
    }
}
