use super::*;

#[test]
fn hidden_characters_are_removed() {
    let text = "a\u{200b}b\u{202e}c\u{e0041}\u{1b}[31md\u{7}\r\n\te\u{feff}";
    assert_eq!(clean(text, 100), "abc[31md\n\te");
    assert_eq!(clean_line(text, 100), "abc[31md e");
}

#[test]
fn long_texts_are_cut_at_a_character() {
    assert_eq!(clean("äää", 4), "ää…");
}
