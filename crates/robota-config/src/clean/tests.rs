use super::*;

#[test]
fn terminal_escapes_and_hidden_characters_are_removed() {
    for (text, expected) in [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\u{feff}bom", "bom"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("nul\0here", "nulhere"),
        ("\u{1b}[8mhidden\u{1b}[0m", "hidden"),
        ("\u{1b}[38;5;1mred", "red"),
        ("\u{9b}31mred", "red"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}]0;never ends\nnext", "0;never ends\nnext"),
        ("\u{1b}cafter reset", "after reset"),
        ("a\u{202e}b\u{2066}c\u{200b}d", "abcd"),
        ("tags\u{e0041}\u{e0042}", "tags"),
        ("vs\u{e0100}", "vs"),
        ("👩\u{200d}💻 می\u{200c}خواهم", "👩\u{200d}💻 می\u{200c}خواهم"),
        ("❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}", "❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}"),
        ("a\u{fe00}b\u{fe0f}c\u{200d}d", "abcd"),
        ("☺\u{fe0f}\u{fe01}\u{fe02}\u{fe03}", "☺\u{fe0f}"),
        ("☺\u{200d}\u{200c}\u{200d}\u{200c}", "☺\u{200d}"),
        ("a\u{3164}b\u{ffa0}c\u{115f}d\u{34f}", "abcd"),
        ("\u{1b}", ""),
        ("\u{1b}[", ""),
    ] {
        assert_eq!(clean(text), expected, "{text:?}");
    }
}

#[test]
fn names_are_shown_without_control_characters() {
    assert_eq!(shown(Path::new("a\u{1b}[31m\nb")), "a\u{fffd}[31m\u{fffd}b");
    assert_eq!(one_line(" a\n b\u{1b}[1m  c "), "a b c");
}

proptest::proptest! {
    #[test]
    fn cleaned_text_has_nothing_to_clean(text in proptest::collection::vec(proptest::char::any(), 0..80)) {
        let text: String = text.into_iter().collect();
        let once = clean(&text).into_owned();
        proptest::prop_assert!(!once.chars().any(|c| is_hidden(c) || c == '\r'));
        let twice = clean(&once);
        proptest::prop_assert_eq!(twice.as_ref(), once.as_str());
    }
}
