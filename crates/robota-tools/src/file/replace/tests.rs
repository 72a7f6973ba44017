use proptest::prelude::*;

use super::*;

fn one(content: &str, old: &str, new: &str) -> Result<String, ReplaceError> {
    let replaced = replace(content.as_bytes(), Replacement { old, new, all: false })?;
    Ok(String::from_utf8(replaced.content).unwrap())
}

fn all(content: &str, old: &str, new: &str) -> (String, u64) {
    let replaced = replace(content.as_bytes(), Replacement { old, new, all: true }).unwrap();
    (String::from_utf8(replaced.content).unwrap(), replaced.count)
}

#[test]
fn a_single_occurrence_is_replaced_and_its_line_reported() {
    let replaced =
        replace(b"a\nb\nc\n", Replacement { old: "b\n", new: "B\nBB\n", all: false }).unwrap();
    assert_eq!(replaced.content, b"a\nB\nBB\nc\n");
    assert_eq!((replaced.start_line, replaced.count), (2, 1));
    assert_eq!(one("abc", "abc", "").unwrap(), "");
}

#[test]
fn each_mistake_has_its_own_error() {
    assert_eq!(one("abc", "", "x"), Err(ReplaceError::NothingToFind));
    assert_eq!(one("abc", "b", "b"), Err(ReplaceError::NoChange));
    assert_eq!(one("a\r\nb", "a\r\nb", "a\nb"), Err(ReplaceError::NoChange));
    assert_eq!(one("abc", "x", "y"), Err(ReplaceError::Absent));
    assert_eq!(one("", "x", "y"), Err(ReplaceError::Absent));
}

#[test]
fn overlapping_occurrences_are_counted() {
    assert_eq!(one("aaa", "aa", "b"), Err(ReplaceError::Ambiguous { count: 2, lines: vec![1, 1] }));
    let text = "x\n".repeat(20) + "y";
    let Err(ReplaceError::Ambiguous { count, lines }) = one(&text, "x", "z") else { panic!() };
    assert_eq!((count, lines), (20, (1..=10).collect()));
    assert_eq!(all("aaaaa", "aa", "b"), ("bba".to_owned(), 2));
    assert_eq!(all("ababa", "aba", "x"), ("xba".to_owned(), 1));
}

#[test]
fn the_file_keeps_its_line_endings() {
    assert_eq!(one("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz").unwrap(), "x\r\ny\r\nz\r\nc\r\n");
    assert_eq!(one("a\nb\n", "a\r\nb", "x\r\ny").unwrap(), "x\ny\n");
    assert_eq!(one("a\r\nb\r\n", "b", "b\nc").unwrap(), "a\r\nb\r\nc\r\n");
    // At the boundaries of a line ending.
    assert_eq!(one("a\r\nb", "a", "x").unwrap(), "x\r\nb");
    assert_eq!(one("a\r\nb", "\nb", "!").unwrap(), "a!");
    assert_eq!(one("a\r\nb", "a\n", "").unwrap(), "b");
    // If the file has both, the replaced text decides.
    assert_eq!(one("a\nb\nc\r\nd\r\n", "c\nd", "x\ny").unwrap(), "a\nb\nx\r\ny\r\n");
    assert_eq!(one("a\r\nb\r\nc\nd\n", "c\nd", "x\ny").unwrap(), "a\r\nb\r\nx\ny\n");
    // If the file has none, the text is used as given.
    assert_eq!(one("ab", "b", "\r\nc").unwrap(), "a\r\nc");
    // A lone CR is a character like any other.
    assert_eq!(one("a\rb\r\n", "a\rb", "x\ry").unwrap(), "x\ry\r\n");
}

#[test]
fn the_byte_order_mark_stays_first() {
    assert_eq!(one("\u{feff}a b", "a", "x").unwrap(), "\u{feff}x b");
    assert_eq!(one("\u{feff}a b", "\u{feff}a", "\u{feff}x").unwrap(), "\u{feff}x b");
    assert_eq!(one("\u{feff}a", "a", "").unwrap(), "\u{feff}");
}

#[test]
fn bytes_that_are_not_utf_8_are_kept() {
    let replaced =
        replace(b"caf\xe9 old\xff", Replacement { old: "old", new: "new", all: false }).unwrap();
    assert_eq!(replaced.content, b"caf\xe9 new\xff");
}

#[test]
fn a_repetitive_text_is_searched_in_linear_time() {
    // A naive search would compare 4 * 10^11 bytes.
    let text = "a".repeat(1_000_000);
    let old = "a".repeat(400_000);
    let Err(ReplaceError::Ambiguous { count, .. }) = one(&text, &old, "b") else { panic!() };
    assert_eq!(count, 600_001);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"a"[..]),
        Just(&b"b"[..]),
        Just("ä".as_bytes()),
        Just(&b"\n"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\r"[..]),
        Just(&b"\xff"[..]),
        Just(BOM),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn matches_are_those_of_a_naive_search(text in "[ab]{0,30}", word in "[ab]{1,5}") {
        let plain: Vec<_> =
            (0..text.len()).filter(|at| text[*at..].starts_with(&word)).collect();
        let found: Vec<_> = Matches::new(text.as_bytes(), word.as_bytes()).collect();
        prop_assert_eq!(found, plain);
    }

    /// The bytes before and after a single replacement are those of the file, and the replaced bytes
    /// are the given text with any line endings.
    #[test]
    fn everything_outside_the_edit_is_untouched(
        before in pieces(), after in pieces(), old in "[ab\n]{1,6}", crlf: bool,
    ) {
        let there = if crlf { old.replace('\n', "\r\n") } else { old.clone() };
        let content = [&before[..], there.as_bytes(), &after[..]].concat();
        let replacement = Replacement { old: &old, new: "<NEW>", all: false };
        match replace(&content, replacement) {
            Ok(replaced) => {
                let at = replaced.content.windows(5).position(|w| w == b"<NEW>").unwrap();
                let (head, tail) = (&replaced.content[..at], &replaced.content[at + 5..]);
                prop_assert!(content.starts_with(head) && content.ends_with(tail));
                let gone = &content[head.len()..content.len() - tail.len()];
                let gone = String::from_utf8(gone.to_vec()).unwrap();
                prop_assert_eq!(gone.replace("\r\n", "\n"), old);
            }
            // The random text around it contains the same text, or changes it: a CR before a
            // leading LF is part of that line ending.
            Err(ReplaceError::Ambiguous { count, .. }) => prop_assert!(count > 1),
            Err(other) => prop_assert!(false, "{other:?} in {content:?}"),
        }
    }
}
