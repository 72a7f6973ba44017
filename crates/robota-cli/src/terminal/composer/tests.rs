use super::{Action, Composer, Image};
use crate::terminal::screen::Cursor;
use crate::terminal::text::Line;

fn typed(text: &str) -> Composer {
    let mut composer = Composer::new(Vec::new());
    for letter in text.chars() {
        if letter == '\n' {
            composer.apply(Action::Newline);
        } else {
            composer.insert_char(letter);
        }
    }
    composer
}

fn rows(composer: &mut Composer, width: usize) -> Vec<String> {
    composer.view(width, 1000).lines.iter().map(Line::plain).collect()
}

/// Returns the text with `|` at the cursor.
fn shown(composer: &Composer) -> String {
    let before = composer.before_cursor().len();
    let text = composer.text();
    format!("{}|{}", &text[..before], &text[before..])
}

fn apply(composer: &mut Composer, actions: &[Action]) {
    for action in actions {
        composer.apply(*action);
    }
}

#[test]
fn graphemes_are_edited_as_one_letter() {
    let mut composer = typed("a👩‍👩‍👧‍👦e\u{301}世");
    apply(&mut composer, &[Action::Left, Action::DeleteLeft]);
    assert_eq!(shown(&composer), "a👩‍👩‍👧‍👦|世");
    composer.apply(Action::DeleteLeft);
    assert_eq!(shown(&composer), "a|世");
    composer.apply(Action::DeleteRight);
    assert_eq!(shown(&composer), "a|");
    assert!(!composer.apply(Action::DeleteRight));
}

#[test]
fn words_and_lines_are_killed_and_yanked() {
    let mut composer = typed("one two-three four");
    apply(&mut composer, &[Action::WordLeft, Action::KillWord]);
    assert_eq!(shown(&composer), "one |four");
    apply(&mut composer, &[Action::LineEnd, Action::Yank]);
    assert_eq!(shown(&composer), "one fourtwo-three |");
    composer.apply(Action::DeleteWordLeft);
    assert_eq!(shown(&composer), "one fourtwo-|");
    apply(&mut composer, &[Action::KillToLineStart]);
    assert_eq!(shown(&composer), "|");
    let mut composer = typed("first\nsecond");
    apply(&mut composer, &[Action::TextStart, Action::KillToLineEnd, Action::KillToLineEnd]);
    assert_eq!(shown(&composer), "|second");
    apply(&mut composer, &[Action::WordRight]);
    assert_eq!(shown(&composer), "second|");
}

#[test]
fn undo_takes_back_words_and_redo_returns_them() {
    let mut composer = typed("one two");
    composer.apply(Action::Undo);
    assert_eq!(composer.text(), "one ");
    composer.apply(Action::Redo);
    assert_eq!(composer.text(), "one two");
    composer.apply(Action::Clear);
    assert!(composer.is_empty());
    composer.apply(Action::Undo);
    assert_eq!(shown(&composer), "one two|");
    apply(&mut composer, &[Action::Undo, Action::Undo]);
    assert_eq!(composer.text(), "");
    assert!(!composer.apply(Action::Undo));
    apply(&mut composer, &[Action::Redo, Action::Redo]);
    composer.insert_char('!');
    assert!(!composer.apply(Action::Redo));
    assert_eq!(composer.text(), "one two!");
}

#[test]
fn up_and_down_move_over_the_rows_that_are_shown() {
    let mut composer = typed("a long first line\nb");
    assert_eq!(rows(&mut composer, 8), ["a long ", "first ", "line", "b"]);
    apply(&mut composer, &[Action::Up, Action::LineEnd]);
    assert_eq!(shown(&composer), "a long first line|\nb");
    composer.apply(Action::Up);
    assert_eq!(shown(&composer), "a long firs|t line\nb");
    apply(&mut composer, &[Action::Down, Action::Down]);
    assert_eq!(shown(&composer), "a long first line\nb|");
    apply(&mut composer, &[Action::Up, Action::Up, Action::Up, Action::Up]);
    assert_eq!(shown(&composer), "|a long first line\nb");
    assert!(!composer.apply(Action::Up));
}

#[test]
fn the_cursor_is_where_the_next_letter_goes() {
    let mut composer = typed("你好");
    assert_eq!(composer.view(10, 5).cursor, Cursor { row: 0, column: 4 });
    assert_eq!(composer.view(4, 5).cursor, Cursor { row: 1, column: 0 });
    composer.apply(Action::Left);
    assert_eq!(composer.view(4, 5).cursor, Cursor { row: 0, column: 2 });
    let mut composer = typed("ab\n");
    assert_eq!(composer.view(10, 5).cursor, Cursor { row: 1, column: 0 });
}

#[test]
fn a_long_text_scrolls_with_the_cursor() {
    let text: Vec<String> = (0..20).map(|at| at.to_string()).collect();
    let mut composer = typed(&text.join("\n"));
    let view = composer.view(10, 5);
    assert_eq!((view.above, view.below, view.cursor.row), (15, 0, 4));
    composer.apply(Action::TextStart);
    let view = composer.view(10, 5);
    assert_eq!((view.above, view.below, view.cursor.row), (0, 15, 0));
    for _ in 0..10 {
        composer.apply(Action::Down);
    }
    let view = composer.view(10, 5);
    assert_eq!(view.lines[view.cursor.row].plain(), "10");
    assert_eq!(view.lines.len(), 5);
}

#[test]
fn a_long_paste_is_one_letter_until_it_is_opened() {
    let pasted: String = (0..300).map(|at| format!("line {at}\r\n")).collect();
    let mut composer = typed("see ");
    composer.paste(&pasted);
    composer.insert_char('!');
    assert_eq!(rows(&mut composer, 80), ["see [Pasted text #1, 300 lines]!"]);
    assert_eq!(composer.view(80, 5).cursor.column, 32);
    apply(&mut composer, &[Action::Left, Action::Left]);
    assert_eq!(composer.view(80, 5).cursor.column, 4);
    assert!(composer.apply(Action::Expand));
    assert_eq!(rows(&mut composer, 80).len(), 301);
    composer.apply(Action::Undo);
    let draft = composer.submit();
    assert_eq!(draft.text, format!("see {}!", pasted.replace('\r', "")));
    assert!(composer.is_empty());
}

#[test]
fn pasting_again_opens_the_placeholder() {
    let mut composer = typed("");
    let pasted = "x\n".repeat(6);
    composer.paste(&pasted);
    assert_eq!(rows(&mut composer, 80), ["[Pasted text #1, 6 lines]"]);
    composer.paste(&pasted);
    assert_eq!(composer.text(), pasted);
    assert_eq!(rows(&mut composer, 80).len(), 7);
    composer.paste("short");
    assert_eq!(composer.text(), format!("{pasted}short"));
    composer.paste(&"y".repeat(1001));
    assert_eq!(rows(&mut composer, 80)[6], "short[Pasted text #2, 1001 characters]");
    composer.apply(Action::DeleteLeft);
    assert_eq!(composer.text(), format!("{pasted}short"));
}

#[test]
fn images_are_sent_with_their_numbers() {
    let mut composer = typed("compare ");
    composer.attach(Image::File("a.png".into()));
    composer.insert(" with ");
    composer.attach(Image::File("wrong.png".into()));
    composer.apply(Action::DeleteLeft);
    composer.attach(Image::File("b.png".into()));
    let draft = composer.submit();
    assert_eq!(draft.text, "compare [Image #1] with [Image #3]");
    assert_eq!(draft.images[0], (1, Image::File("a.png".into())));
    assert_eq!(draft.images[1], (3, Image::File("b.png".into())));
}

#[test]
fn the_history_gives_back_what_was_typed() {
    let mut composer = Composer::new(vec!["first".to_owned(), "second\nline".to_owned()]);
    composer.insert("draft");
    composer.view(40, 5);
    composer.apply(Action::Up);
    assert_eq!(shown(&composer), "second\nline|");
    apply(&mut composer, &[Action::Up, Action::Up]);
    assert_eq!(composer.text(), "first");
    assert!(composer.apply(Action::Up), "to the beginning of the text");
    assert!(!composer.apply(Action::Up));
    apply(&mut composer, &[Action::Down, Action::Down]);
    assert_eq!(composer.text(), "draft");
    composer.submit();
    composer.apply(Action::HistoryPrevious);
    assert_eq!(composer.text(), "draft");
}

#[test]
fn the_history_is_searched_while_one_types() {
    let entries = ["fix the parser", "run tests", "Fix the Lexer", "run tests"];
    let mut composer = Composer::new(entries.map(str::to_owned).to_vec());
    composer.insert("typed");
    composer.apply(Action::SearchHistory);
    composer.insert("fix");
    assert_eq!(rows(&mut composer, 40), ["search: fix", "Fix the Lexer"]);
    assert_eq!(composer.view(40, 5).cursor, Cursor { row: 0, column: 11 });
    composer.apply(Action::SearchHistory);
    assert_eq!(rows(&mut composer, 40)[1], "fix the parser");
    composer.insert("zzz");
    assert_eq!(rows(&mut composer, 40), ["search: fixzzz   nothing found"]);
    apply(&mut composer, &[Action::DeleteLeft; 3]);
    assert_eq!(rows(&mut composer, 40)[1], "Fix the Lexer");
    composer.apply(Action::AcceptSearch);
    assert_eq!(shown(&composer), "Fix the Lexer|");
    composer.apply(Action::Undo);
    assert_eq!(composer.text(), "typed");
    composer.apply(Action::SearchHistory);
    composer.insert("run");
    composer.apply(Action::CancelSearch);
    assert_eq!(composer.text(), "typed");
}

#[test]
fn a_popup_replaces_the_word_before_the_cursor() {
    let mut composer = typed("see @sr now");
    for _ in 0..4 {
        composer.apply(Action::Left);
    }
    assert_eq!(composer.before_cursor(), "see @sr");
    composer.replace_before_cursor(3, "@src/main.rs ");
    assert_eq!(shown(&composer), "see @src/main.rs | now");
}

#[test]
fn control_characters_are_not_inserted() {
    let mut composer = typed("");
    composer.paste("a\x1b[31m\u{7}b\r\nc\u{f0000}");
    assert_eq!(composer.text(), "a[31mb\nc");
}

#[test]
fn keys_edit_as_in_a_shell() {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let mut composer = typed("one two");
    let mut press = |code, modifiers| composer.key(&KeyEvent::new(code, modifiers));
    assert!(press(KeyCode::Char('w'), KeyModifiers::CONTROL));
    assert!(press(KeyCode::Char('A'), KeyModifiers::SHIFT));
    assert!(press(KeyCode::Enter, KeyModifiers::SHIFT));
    assert!(press(KeyCode::Char('é'), KeyModifiers::NONE));
    assert!(press(KeyCode::Char('@'), KeyModifiers::CONTROL | KeyModifiers::ALT));
    assert!(press(KeyCode::Char('b'), KeyModifiers::ALT));
    assert!(!press(KeyCode::Char('x'), KeyModifiers::CONTROL));
    assert!(!press(KeyCode::Enter, KeyModifiers::NONE));
    assert_eq!(shown(&composer), "one A\n|é@");
    composer.key(&KeyEvent::new(KeyCode::Char('_'), KeyModifiers::CONTROL));
    assert_eq!(composer.text(), "one A\n");
}

#[test]
fn a_backslash_before_enter_makes_a_line() {
    let mut composer = typed("one\\");
    assert!(composer.continues_line());
    assert!(!composer.continues_line());
    assert_eq!(shown(&composer), "one\n|");
}
