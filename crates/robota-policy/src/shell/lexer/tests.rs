use super::*;

fn split(text: &str) -> Option<Vec<String>> {
    Some(tokens(text)?.iter().map(|t| text[t.start..t.end].to_owned()).collect())
}

#[test]
fn words_and_operators() {
    let want = |text: &str, parts: &[&str]| {
        assert_eq!(split(text).unwrap(), parts, "{text}");
    };
    want("git commit -m \"a && b\"", &["git", "commit", "-m", "\"a && b\""]);
    want("a&&b||c;d|e|&f&", &["a", "&&", "b", "||", "c", ";", "d", "|", "e", "|&", "f", "&"]);
    want("cat<x 2>&1 >>y", &["cat", "<", "x", "2>&", "1", ">>", "y"]);
    want("echo \\ b", &["echo", "\\ b"]);
    want("x=# ls", &["x=#", "ls"]);
    want("ls # rm x", &["ls"]);
    want("cat <<'E'\nrm x\nE\nls", &["cat", "<<", "\n", "ls"]);
}

#[test]
fn what_it_does_not_know_it_refuses() {
    for text in [
        "echo $(x)",
        "echo `x`",
        "((1))",
        "f() { x; }",
        "cat <<E\nx",
        "'",
        "\"",
        "echo ${x:-y}",
        "a <> b",
        "{fd}>x",
        "cat <(x)",
    ] {
        assert!(tokens(text).is_none(), "{text}");
    }
}
