use super::{Line, Role, break_anywhere, printable, truncate, width, wrap};

fn plain(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::plain).collect()
}

#[test]
fn lines_break_at_spaces_and_keep_their_indent() {
    let line = Line::new("- one two three four", Role::Text);
    assert_eq!(plain(&wrap(&line, 12, 2)), ["- one two", "  three four"]);
}

#[test]
fn paths_and_words_with_signs_stay_whole() {
    let line = Line::new("see crates/robota-cli/src.rs now", Role::Text);
    assert_eq!(plain(&wrap(&line, 26, 0)), ["see", "crates/robota-cli/src.rs", "now"]);
}

#[test]
fn long_words_and_wide_letters_break_anywhere() {
    let line = Line::new("你好世界你好世界", Role::Text);
    assert_eq!(plain(&wrap(&line, 7, 0)), ["你好世", "界你好", "世界"]);
    let line = Line::new("abcdefghij", Role::Text);
    assert_eq!(plain(&wrap(&line, 4, 0)), ["abcd", "efgh", "ij"]);
}

#[test]
fn styles_survive_a_break() {
    let line =
        Line::new("one ", Role::Text).with("two three", Role::Code).with(" four", Role::Text);
    let rows = wrap(&line, 9, 0);
    assert_eq!(plain(&rows), ["one two", "three", "four"]);
    assert_eq!(rows[0].0[1].style.role, Role::Code);
    assert_eq!(rows[1].0[0].style.role, Role::Code);
    assert_eq!(rows[2].0[0].style.role, Role::Text);
}

#[test]
fn no_part_is_wider_than_the_screen_and_nothing_but_spaces_is_lost() {
    let text = "a 👩‍👩‍👧‍👦 family, 世界 and a_very_long_identifier_that_does_not_fit anywhere e\u{301}e ";
    let letters = |text: &str| text.replace(' ', "");
    for columns in 2..90 {
        let line = Line::new(text, Role::Text);
        for rows in [wrap(&line, columns, 4), break_anywhere(&line, columns)] {
            for row in &rows {
                assert!(row.width() <= columns, "{columns}: {:?}", row.plain());
            }
            assert_eq!(letters(&plain(&rows).concat()), letters(text), "{columns}");
        }
    }
}

#[test]
fn code_keeps_its_spaces_where_it_breaks() {
    let line = Line::new("if  a {   b }", Role::Text);
    assert_eq!(plain(&break_anywhere(&line, 4)), ["if  ", "a { ", "  b ", "}"]);
}

#[test]
fn a_cut_line_says_so() {
    assert_eq!(truncate(&Line::new("abcdef", Role::Text), 4).plain(), "abc…");
    assert_eq!(truncate(&Line::new("你好世界", Role::Text), 4).plain(), "你…");
    assert_eq!(truncate(&Line::new("abc", Role::Text), 4).plain(), "abc");
    assert_eq!(truncate(&Line::new("abc", Role::Text), 0).plain(), "");
}

#[test]
fn escapes_of_a_hostile_text_do_not_reach_the_terminal() {
    assert_eq!(printable("a\u{1b}[2Jb\u{7}\tc\u{202e}d\u{2028}"), "a␛[2Jb    cd");
    assert_eq!(printable("\u{9b}31mred"), "31mred");
}

#[test]
fn a_grapheme_has_one_width() {
    for (text, columns) in [("👩‍👩‍👧‍👦", 2), ("e\u{301}", 1), ("🇩🇪", 2), ("世", 2), ("❤\u{fe0f}", 2)]
    {
        assert_eq!(width(text), columns, "{text}");
    }
}
