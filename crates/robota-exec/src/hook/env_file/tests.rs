use proptest::prelude::*;

use super::*;

fn read(text: &str) -> (Vec<(String, String)>, Vec<usize>) {
    let variables = SessionVariables::default();
    let env = Environment::new().with("PATH", "/bin").with("HOME", "/home/ada");
    let ignored = variables.read(text, &env);
    let set = variables.apply(Environment::new());
    let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
    (set.iter().map(|(name, value)| (text(name), text(value))).collect(), ignored)
}

fn one(text: &str) -> Option<String> {
    let (set, _) = read(text);
    set.into_iter().find(|(name, _)| name == "A").map(|(_, value)| value)
}

#[test]
fn assignments_are_read_as_a_shell_reads_them() {
    for (text, expected) in [
        ("export A=b", "b"),
        ("A=b", "b"),
        ("declare -x A=\"b c\"", "b c"),
        ("export A='b $HOME `x`'", "b $HOME `x`"),
        ("export A=\"$PATH:/x\"", "/bin:/x"),
        ("export A=${HOME}/bin", "/home/ada/bin"),
        ("export A=$UNSET.", "."),
        ("export A=b\\ c\"d\"'e'", "b cde"),
        ("export A=\"a\\\"b\\\\\\n\"", "a\"b\\\\n"),
        ("export A='two\nlines'", "two\nlines"),
        ("export B=1 A=2", "2"),
        ("export B=1; export A=2", "2"),
        ("  # comment\n\n export A=b # why\r\n", "b"),
        ("export A=", ""),
        ("export A=1\nexport A=$A:2", "1:2"),
    ] {
        assert_eq!(one(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn nothing_is_run_and_other_lines_are_reported() {
    for text in [
        "export A=$(touch x)",
        "export A=`touch x`",
        "export A=\"$(x)\"",
        "export A=${B:-c}",
        "export A=$'x'",
        "A=1 touch x",
        "touch x",
        "export A=1 && touch x",
        "export A=1 > x",
        "source x",
        "export A",
        "export A='open",
        "exportA=1 x",
    ] {
        let (set, ignored) = read(&format!("export OK=1\n{text}\n"));
        assert_eq!(set, [("OK".to_owned(), "1".to_owned())], "{text}");
        assert_eq!(ignored, [2], "{text}");
    }
    let (set, ignored) = read("touch x\nexport A=1\nnope\n");
    assert_eq!((set.len(), ignored), (1, vec![1, 3]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_any_value_can_be_quoted(text in "\\PC{0,80}|[ -~\n]{0,80}") {
        let _ = read(&text);
        let quoted = format!("export A='{}'", text.replace('\'', r"'\''"));
        prop_assert_eq!(one(&quoted), Some(text));
    }
}
