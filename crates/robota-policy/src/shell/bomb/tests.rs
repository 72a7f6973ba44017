use super::{count, narrow, short_count, short_sleep};
use crate::shell::Word;

fn words(text: &str) -> Vec<Word> {
    text.split_whitespace().map(Word::parse).collect()
}

#[test]
fn braces_are_counted() {
    for (text, at_least) in
        [("a", 1), ("{a,b}", 2), ("a{1..10}", 10), ("{a,b}{c,d}", 4), ("{1..9}{1..9}", 81)]
    {
        let n = count(&Word::parse(text));
        assert!(n >= at_least && n <= at_least * 4, "{text}: {n}");
    }
    assert!(count(&Word::parse("a{1..9999999999}")) > super::MAX_WORDS);
    assert!(count(&Word::parse("{a..zzzz}")) > super::MAX_WORDS);
    assert!(count(&Word::parse(&"{a,b}".repeat(40))) > super::MAX_WORDS);
    assert_eq!(count(&Word::parse("'{1..99999999}'")), 1);
}

#[test]
fn waits_and_counts_have_an_end() {
    assert!(short_sleep(&words("1")) && short_sleep(&words("0.5 2s")));
    assert!(!short_sleep(&words("99999")) && !short_sleep(&words("1h")));
    assert!(!short_sleep(&words("infinity")) && !short_sleep(&words("1e9")));
    assert!(short_count(&words("1 10")) && short_count(&words("5")));
    assert!(!short_count(&words("1 99999999999")) && !short_count(&words("1 0 2")));
    assert!(narrow("%5s|%-10d") && !narrow("%999999999d"));
}
