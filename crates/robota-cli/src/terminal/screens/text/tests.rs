use super::*;

fn lines() -> Vec<Line> {
    (1..=50).map(|number| Line::new(format!("line {number}"), Role::Text)).collect()
}

fn press(scroll: &mut Scroll, code: KeyCode, action: Option<Action>) -> bool {
    scroll.key(&KeyEvent::from(code), action, &lines())
}

fn top(scroll: &mut Scroll) -> String {
    let size = Size { columns: 40, rows: 11 };
    scroll.view(&lines(), size, "keys").0[0].plain()
}

#[test]
fn scrolling_stops_at_both_ends() {
    let mut scroll = Scroll::default();
    assert_eq!(top(&mut scroll), "line 1");
    press(&mut scroll, KeyCode::Null, Some(Action::PageDown));
    assert_eq!(top(&mut scroll), "line 10");
    press(&mut scroll, KeyCode::Null, Some(Action::Bottom));
    press(&mut scroll, KeyCode::Null, Some(Action::ScrollDown));
    assert_eq!(top(&mut scroll), "line 41");
    press(&mut scroll, KeyCode::Null, Some(Action::Top));
    press(&mut scroll, KeyCode::Null, Some(Action::ScrollUp));
    assert_eq!(top(&mut scroll), "line 1");
}

#[test]
fn a_search_goes_to_the_next_match_and_back() {
    let mut scroll = Scroll::default();
    top(&mut scroll);
    for letter in "/ne 2".chars() {
        press(&mut scroll, KeyCode::Char(letter), None);
    }
    press(&mut scroll, KeyCode::Enter, Some(Action::Accept));
    assert_eq!(top(&mut scroll), "line 2");
    press(&mut scroll, KeyCode::Char('n'), None);
    assert_eq!(top(&mut scroll), "line 20");
    press(&mut scroll, KeyCode::Char('N'), None);
    assert_eq!(top(&mut scroll), "line 2");
}

#[test]
fn a_search_that_is_left_searches_nothing() {
    let mut scroll = Scroll::default();
    top(&mut scroll);
    press(&mut scroll, KeyCode::Char('/'), None);
    press(&mut scroll, KeyCode::Char('5'), None);
    assert!(press(&mut scroll, KeyCode::Esc, Some(Action::Cancel)));
    assert!(!press(&mut scroll, KeyCode::Esc, Some(Action::Cancel)), "the second closes the page");
    assert_eq!(top(&mut scroll), "line 1");
}

#[test]
fn keys_that_are_too_long_for_a_row_are_broken_between_two_keys() {
    let keys = "Enter shows the log · Ctrl+S sends text · Ctrl+X ends it · Esc closes";
    let rows = |columns, rows| -> Vec<String> {
        key_rows(keys, Size { columns, rows }).iter().map(Line::plain).collect()
    };
    assert_eq!(rows(80, 24), [keys]);
    let narrow = rows(40, 15);
    assert_eq!(narrow, ["Enter shows the log · Ctrl+S sends text", "Ctrl+X ends it · Esc closes"]);
    assert_eq!(rows(40, 5), ["Enter shows the log · Ctrl+S sends text…"], "a low terminal");
}

#[test]
fn the_keys_of_a_text_take_no_more_rows_than_the_terminal_has() {
    for rows in 1..20 {
        let mut scroll = Scroll::default();
        let size = Size { columns: 20, rows };
        let shown = scroll.view(&lines(), size, "[ ] prompts · / finds · n next · q closes").0;
        assert!(shown.len() <= rows, "{} of {rows}", shown.len());
    }
}
