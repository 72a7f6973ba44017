use super::*;

fn paths(text: &str) -> Vec<String> {
    mentions(text).into_iter().map(|mention| mention.path).collect()
}

#[test]
fn mentions_are_found_outside_code() {
    for (text, expected) in [
        ("@a.md", &["a.md"][..]),
        ("See @docs/a.md, @~/b.md and @/etc/c.", &["docs/a.md", "~/b.md", "/etc/c"]),
        ("- @./x.md#part", &["./x.md"]),
        ("mail@example.org (@inner)", &[]),
        ("`@a.md` and ``x ` @b.md`` and @c.md", &["c.md"]),
        ("`open @d.md", &["d.md"]),
        ("```\n@a.md\n```\n@b.md", &["b.md"]),
        ("~~~~ md\n@a.md\n~~~\n@a2.md\n~~~~\n@b.md", &["b.md"]),
        ("```x``` @a.md", &["a.md"]),
        ("```never closed\n@a.md", &[]),
        ("@\"with space.md\" @with\\ space2.md", &["with space.md", "with space2.md"]),
        ("@ x @, @\" @", &[]),
        ("@$1 @$ARGUMENTS.", &["$1", "$ARGUMENTS"]),
    ] {
        assert_eq!(paths(text), expected, "{text}");
    }
}

#[test]
fn the_range_covers_the_mention() {
    let text = "See @a.md.\nAnd @\"b c\"!";
    let shown: Vec<_> = mentions(text).into_iter().map(|found| &text[found.range]).collect();
    assert_eq!(shown, ["@a.md", "@\"b c\""]);
}

#[test]
fn lines_follow_the_path() {
    let lines = |text: &str| {
        let found = mentions(text).pop().unwrap();
        (found.path, found.lines.map(|lines| (lines.first, lines.last)), text[found.range].len())
    };
    for (text, path, expected, length) in [
        ("@a.rs#L10-20", "a.rs", Some((10, 20)), 12),
        ("@a.rs#L10-L20,", "a.rs", Some((10, 20)), 13),
        ("@a.rs#L7.", "a.rs", Some((7, 7)), 8),
        ("@a.rs#L20-10", "a.rs", None, 12),
        ("@a.rs#L0", "a.rs", None, 8),
        ("@a.rs#part", "a.rs", None, 10),
        ("@\"a b.rs\"#L3-4 x", "a b.rs", Some((3, 4)), 14),
        ("@\"a b.rs\"# x", "a b.rs", None, 9),
    ] {
        assert_eq!(lines(text), (path.to_owned(), expected, length), "{text}");
    }
}

#[test]
fn the_number_of_mentions_is_limited() {
    assert_eq!(mentions(&"@a ".repeat(10_000)).len(), MAX_MENTIONS);
}

#[test]
fn a_path_is_written_as_it_is_read() {
    let lines = Some(LineRange { first: 7, last: 9 });
    for (path, lines, text) in [
        ("/w/a.rs", None, Some("@/w/a.rs")),
        ("/w/a.rs", lines, Some("@/w/a.rs#L7-9")),
        ("/w/My File.rs", None, Some("@\"/w/My File.rs\"")),
        ("/w/My File.rs", lines, Some("@\"/w/My File.rs\"#L7-9")),
        ("/w/größe.rs", None, Some("@/w/größe.rs")),
        ("/w/c#.txt", None, Some("@\"/w/c#.txt\"")),
        ("/w/what?", None, Some("@\"/w/what?\"")),
        ("/w/a`b", None, Some("@\"/w/a`b\"")),
        ("/w/a\"b.rs", None, Some("@/w/a\"b.rs")),
        ("/w/a\" @.env", None, None),
        ("/w/a\n@.env", None, None),
        ("", None, None),
    ] {
        assert_eq!(mention_of(path, lines).as_deref(), text, "{path}");
    }
}

proptest::proptest! {
    #[test]
    fn a_written_path_is_one_mention(path in "[@`~ \"\\\\a-c/.#ü\n]{0,20}") {
        if let Some(text) = mention_of(&path, None) {
            proptest::prop_assert_eq!(paths(&text), [path]);
        }
    }

    #[test]
    fn ranges_are_inside_the_text(text in "[@`~ \"\\\\a-c/.#ü\n]{0,60}") {
        for found in mentions(&text) {
            proptest::prop_assert!(text[found.range].starts_with('@'));
        }
    }
}
