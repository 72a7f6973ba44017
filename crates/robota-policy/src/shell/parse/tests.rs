mod shapes;

use super::*;

fn script(text: &str) -> Script {
    Script::parse(text, Path::new("/w"), Path::new("/home/u"))
}

fn commands(text: &str) -> Vec<String> {
    script(text).parts.iter().map(Part::shown).filter(|s| !s.is_empty()).collect()
}

#[test]
fn every_simple_command_is_found() {
    for (text, want) in [
        ("git commit -m \"a && b\"", vec!["git commit -m \"a && b\""]),
        ("a; b && c || d | e & f", vec!["a", "b", "c", "d", "e", "f"]),
        ("ls\nrm x", vec!["ls", "rm x"]),
        ("(cd x; ls)", vec!["cd x", "ls"]),
        ("{ a; b; }", vec!["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("while a; do b; done", vec!["a", "b"]),
        ("case x in a) b;; c|d) e;; esac", vec!["b", "e"]),
        ("! a", vec!["a"]),
        ("cat x >out y", vec!["cat x y"]),
        (">out", vec![]),
        ("FOO=bar ls", vec!["FOO=bar ls"]),
        ("cat <<'E' | wc -l\nrm x\nE\n", vec!["cat", "wc -l"]),
        ("x=# rm y", vec!["x=# rm y"]),
        ("git log --format='%h %s' | head -n 5", vec!["git log --format='%h %s'", "head -n 5"]),
    ] {
        assert_eq!(commands(text), want, "{text}");
        assert_eq!(script(text).doubts, [], "{text}");
    }
}

#[test]
fn substitutions_are_searched_and_marked() {
    for text in [
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "echo \"a$(rm x)b\"",
        "x=$(rm x)",
        "cat <<E\n$(rm x)\nE\n",
        "echo ${y:-$(rm x)}",
        "[[ -f $(rm x) ]]",
        "[ -f \"$(rm x)\" ]",
        "for i in $(rm x); do ls; done",
        "case $(rm x) in a) ls;; esac",
        "ls > $(rm x)",
        "a=(1 $(rm x))",
        "echo $(ls; (cd y && { rm x; }))",
    ] {
        let script = script(text);
        let found = script.parts.iter().find(|part| part.shown() == "rm x");
        assert!(found.is_some_and(|part| part.substituted && !part.hidden), "{text}: {script:?}");
        assert_eq!(script.doubts, [], "{text}");
    }
}

#[test]
fn what_is_not_proven_leaves_a_doubt_and_is_still_searched() {
    for (text, inside) in [
        ("f() { rm x; }; f", "rm x"),
        ("echo $((1 + $(rm x)))", "rm x"),
        ("for ((i=0;i<3;i++)); do rm x; done", "rm x"),
        ("echo ${!x} $(rm x)", "rm x"),
    ] {
        assert!(commands(text).iter().any(|c| c == inside), "{text}: {:?}", commands(text));
        assert!(!script(text).doubts.is_empty(), "{text}");
    }
}

/// Names in a computation are evaluated like the computation itself, and an index in their value
/// runs a command.
#[test]
fn computations_are_free_with_numbers_only() {
    for text in [
        "echo $((1+2))",
        "i=0; echo $((i+1))",
        "i=0; ((i++)); echo $i",
        "for i in 1 2 {3..9}; do echo $((i*2)); done",
        "echo ${#x} ${x:0:3} ${x%.rs} ${x:-y} \"${x[@]}\" ${x[0]}",
        "[ -v x ]",
        "[[ 1 -lt 2 ]]",
        "x=$((1)); echo $[x]",
    ] {
        assert_eq!(script(text).doubts, [], "{text}");
        assert!(!script(text).computes, "{text}");
    }
    for text in [
        "x='a[$(rm x)]'; echo $((x))",
        "x='a[$(rm x)]'; ((x))",
        "x='$(rm x)'; echo ${x@P}",
        "x='a[$(rm x)]'; echo ${!x}",
        "x='a[$(rm x)]'; echo ${y:x}",
        "x='a[$(rm x)]'; echo ${y[x]}",
        "x='a[$(rm x)]'; [[ x -eq 1 ]]",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[$(rm x)]' ]",
        "[[ -v 'a[$(rm x)]' ]]",
        "let 'a[$(rm x)]'",
        "printf -v 'a[$(rm x)]' y",
        "read 'a[$(rm x)]' < y",
        "unset 'a[$(rm x)]'",
        "declare -i y='a[$(rm x)]'",
        "for x in 'a[$(rm x)]'; do echo $((x)); done",
        "read x; y='a[`rm x`]'; echo $((x))",
    ] {
        let script = script(text);
        assert!(script.computes && !script.doubts.is_empty(), "{text}");
        assert!(script.substitutions.iter().any(|inner| inner == "rm x"), "{text}: {script:?}");
    }
}

#[test]
fn broken_text_is_a_hard_doubt() {
    for text in
        ["ls (", "a ; ; b", "echo 'x", "if a", "ls\u{0}", "ls\r\nrm x", "ls \\ rm", "ls\u{a0}x"]
    {
        let script = script(text);
        assert!(script.doubts.iter().any(|d| d.hard) || text == "ls \\ rm", "{text:?} {script:?}");
    }
}

#[test]
fn folders_are_followed() {
    let at = |text: &str| script(text).parts.last().unwrap().cwd.clone();
    assert_eq!(at("cd sub && ls").dirs, [Path::new("/w/sub")]);
    assert_eq!(at("cd sub; ls").dirs, [Path::new("/w"), Path::new("/w/sub")]);
    assert_eq!(at("(cd sub); ls").dirs, [Path::new("/w")]);
    assert_eq!(at("cd / && ls").dirs, [Path::new("/")]);
    assert_eq!(at("cd && ls").dirs, [Path::new("/home/u")]);
    assert_eq!(at("cd ~/x && ls").dirs, [Path::new("/home/u/x")]);
    assert!(at("cd $X && ls").lost);
    assert!(at("cd - && ls").lost);
}

#[test]
fn deep_nesting_does_not_overflow() {
    let text = format!("{}ls{}", "(".repeat(5000), ")".repeat(5000));
    let _ = script(&text);
    let text = format!("{}ls{}", "$(".repeat(5000), ")".repeat(5000));
    let _ = script(&text);
}
