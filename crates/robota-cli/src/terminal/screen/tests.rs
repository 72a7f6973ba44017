mod random;
mod stream;
mod terminal;

use super::{Cursor, Narrowing, Screen};
use crate::terminal::text::{Line, Role};
use crate::terminal::theme::{Colours, Theme};
use terminal::Terminal;

fn lines(texts: &[&str]) -> Vec<Line> {
    texts.iter().map(|text| Line::new(text, Role::Text)).collect()
}

fn screen(columns: usize, rows: usize) -> Screen {
    Screen::new(Theme::new(Colours::Dark, true), Narrowing::Breaks, columns, rows)
}

/// A screen and the terminal that it writes to.
struct Pair {
    screen: Screen,
    terminal: Terminal,
    last: Vec<u8>,
}

impl Pair {
    fn new(columns: usize, rows: usize) -> Self {
        let terminal = Terminal::new(columns, rows, Narrowing::Breaks);
        Self { screen: screen(columns, rows), terminal, last: Vec::new() }
    }

    fn draw(&mut self, live: &[&str], cursor: Option<(usize, usize)>) {
        self.last.clear();
        let cursor = cursor.map(|(row, column)| Cursor { row, column });
        self.screen.draw(&lines(live), cursor, &mut self.last).unwrap();
        self.terminal.process(&self.last);
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.resize(columns, rows);
        self.screen.resize(columns, rows);
    }

    fn written(&self) -> String {
        String::from_utf8(self.last.clone()).unwrap()
    }
}

#[test]
fn finished_lines_go_above_the_live_region() {
    let mut pair = Pair::new(20, 6);
    pair.draw(&["writing", "> "], Some((1, 2)));
    pair.screen.commit(lines(&["one", "two"]));
    pair.draw(&["> "], Some((0, 2)));
    assert_eq!(pair.terminal.text(), ["one", "two", ">"]);
    assert_eq!(pair.terminal.cursor(), (2, 2));
    for at in 0..20 {
        pair.screen.commit(lines(&[&format!("line {at}")]));
        pair.draw(&["> "], Some((0, 2)));
    }
    let text = pair.terminal.text();
    assert_eq!(text.len(), 23);
    assert_eq!(text[2..5], ["line 0", "line 1", "line 2"]);
    assert_eq!(pair.terminal.cursor(), (5, 2));
}

#[test]
fn what_did_not_change_is_not_written() {
    let mut pair = Pair::new(40, 10);
    pair.draw(&["writing", "an answer", "> text"], Some((2, 6)));
    pair.draw(&["writing", "an answer", "> text"], Some((2, 6)));
    assert_eq!(pair.written(), "");
    pair.draw(&["writing", "an answer", "> text"], Some((2, 3)));
    assert_eq!(pair.written(), "\x1b[4G");
    pair.draw(&["writing", "an answer that", "> text"], Some((2, 3)));
    assert!(
        pair.written().contains("\x1b[A\x1b[10G that\x1b[?7h\n\x1b[4G"),
        "{:?}",
        pair.written()
    );
    assert!(!pair.written().contains("text"));
    pair.draw(&["writing", "an answer that", "> text"], None);
    assert_eq!(pair.written(), "\r\x1b[?25l");
}

#[test]
fn a_line_that_is_finished_as_it_was_drawn_is_not_written_again() {
    let mut pair = Pair::new(40, 10);
    pair.draw(&["a finished answer", "> text"], Some((1, 6)));
    pair.screen.commit(lines(&["a finished answer"]));
    pair.draw(&["> text"], Some((0, 6)));
    assert!(
        pair.written().is_empty() || !pair.written().contains("answer"),
        "{:?}",
        pair.written()
    );
    assert_eq!(pair.terminal.text(), ["a finished answer", "> text"]);
    assert_eq!(pair.terminal.cursor(), (1, 6));
}

#[test]
fn a_live_region_that_shrinks_leaves_nothing() {
    let mut pair = Pair::new(20, 8);
    pair.draw(&["1", "2", "3", "4", "5"], Some((0, 0)));
    pair.draw(&["1", "22"], Some((1, 2)));
    assert_eq!(pair.terminal.text(), ["1", "22"]);
    pair.draw(&["a long line", "x"], Some((1, 1)));
    pair.draw(&["a", "x"], Some((1, 1)));
    assert_eq!(pair.terminal.text(), ["a", "x"]);
    pair.last.clear();
    pair.screen.commit(lines(&["end"]));
    pair.screen.clear_live(&mut pair.last).unwrap();
    pair.terminal.process(&pair.last);
    assert_eq!(pair.terminal.text(), ["end"]);
    assert_eq!(pair.terminal.cursor(), (1, 0));
    assert!(!pair.terminal.parser.screen().hide_cursor());
}

#[test]
fn a_long_line_of_code_is_one_line_for_the_terminal() {
    let mut pair = Pair::new(20, 6);
    let code = "let result = compute(first_argument, second_argument);";
    let parts = crate::terminal::text::break_anywhere(&Line::new(code, Role::Code), 20);
    pair.screen.draw(&parts, None, &mut pair.last).unwrap();
    pair.terminal.process(&pair.last);
    pair.screen.commit(parts);
    pair.screen.commit(lines(&["next"]));
    pair.draw(&["> "], Some((0, 2)));
    assert_eq!(pair.terminal.lines(), [code, "next", ">"]);
    assert_eq!(pair.terminal.text().len(), 5);
    assert_eq!(pair.terminal.cursor(), (4, 2));
    pair.resize(80, 6);
    pair.draw(&["> "], Some((0, 2)));
    assert_eq!(pair.terminal.text(), [code, "next", ">"]);
}

#[test]
fn rows_that_move_up_are_not_written_again() {
    let mut pair = Pair::new(40, 12);
    let rows = |from: usize| -> Vec<String> {
        let mut rows: Vec<String> =
            (from..from + 8).map(|row| format!("code line {row}")).collect();
        rows.extend(["> typed".to_owned(), format!("status {from}")]);
        rows
    };
    for from in [0, 1, 3, 4, 7] {
        let rows = rows(from);
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        pair.draw(&rows, Some((8, 7)));
        assert_eq!(pair.terminal.text(), rows);
        assert_eq!(pair.terminal.cursor(), (8, 7));
        assert!(from == 0 || !pair.written().contains(&format!("line {}", from + 1)));
    }
}

#[test]
fn rows_that_the_terminal_broke_are_replaced() {
    let mut pair = Pair::new(40, 12);
    pair.screen.commit(lines(&["history of thirty letters....."]));
    let rule = "-".repeat(40);
    pair.draw(&[&rule, "> some text of the user", &rule, "status"], Some((1, 23)));
    pair.resize(16, 12);
    let rule = "-".repeat(16);
    pair.draw(&[&rule, "> some text of", "the user", &rule, "status"], Some((2, 8)));
    let history =
        ["history of thirty letters.....", &rule, "> some text of", "the user", &rule, "status"];
    assert_eq!(pair.terminal.lines(), history);
    pair.resize(40, 12);
    let rule = "=".repeat(40);
    pair.draw(&[&rule, "> some text of the user", &rule, "status"], Some((1, 23)));
    let history =
        ["history of thirty letters.....", &rule, "> some text of the user", &rule, "status"];
    assert_eq!(pair.terminal.lines(), history);
}

#[test]
fn letters_that_the_terminal_measures_differently_move_nothing_else() {
    // This terminal gives the family eight columns; the program counts two.
    let mut pair = Pair::new(40, 8);
    for step in 1..6 {
        let text = format!("👩‍👩‍👧‍👦 family {}", "x".repeat(step));
        pair.draw(&[&text, "> "], Some((1, 2)));
    }
    let text = pair.terminal.text();
    assert_eq!(text.len(), 2, "{text:?}");
    assert!(text[0].ends_with(" family xxxxx"), "{text:?}");
    assert_eq!(pair.terminal.cursor(), (1, 2));
    pair.draw(&["你好 世界", "> 你"], Some((1, 4)));
    assert_eq!(pair.terminal.text(), ["你好 世界", "> 你"]);
    assert_eq!(pair.terminal.cursor(), (1, 4));
}

#[test]
fn a_live_region_that_is_too_tall_shows_its_end_or_the_cursor() {
    let mut pair = Pair::new(20, 4);
    let rows: Vec<String> = (0..9).map(|row| format!("row {row}")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    pair.draw(&rows, None);
    assert_eq!(pair.terminal.text(), ["row 5", "row 6", "row 7", "row 8"]);
    pair.draw(&rows, Some((2, 1)));
    assert_eq!(pair.terminal.text(), ["row 2", "row 3", "row 4", "row 5"]);
    assert_eq!(pair.terminal.cursor(), (0, 1));
}

#[test]
fn the_alternate_screen_keeps_the_conversation() {
    let mut pair = Pair::new(30, 6);
    pair.screen.commit(lines(&["said"]));
    pair.draw(&["> "], Some((0, 2)));
    let mut bytes = Vec::new();
    pair.screen.enter_full(&mut bytes).unwrap();
    pair.screen.draw_full(&lines(&["title", "", "entry 1", "entry 2"]), None, &mut bytes).unwrap();
    pair.terminal.process(&bytes);
    assert_eq!(pair.terminal.text(), ["title", "", "entry 1", "entry 2"]);
    bytes.clear();
    pair.screen.draw_full(&lines(&["title", "", "entry 1", "entry 2"]), None, &mut bytes).unwrap();
    assert_eq!(bytes, b"");
    pair.screen.draw_full(&lines(&["title", "", "entry 3"]), None, &mut bytes).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("title"));
    pair.terminal.process(&bytes);
    assert_eq!(pair.terminal.text(), ["title", "", "entry 3"]);
    // Finished lines wait until the conversation is shown again.
    pair.screen.commit(lines(&["finished"]));
    pair.draw(&["> x"], Some((0, 3)));
    assert_eq!(pair.written(), "");
    bytes.clear();
    pair.screen.leave_full(&mut bytes).unwrap();
    pair.terminal.process(&bytes);
    pair.draw(&["> x"], Some((0, 3)));
    assert_eq!(pair.terminal.text(), ["said", "finished", "> x"]);
    assert_eq!(pair.terminal.cursor(), (2, 3));
}

#[test]
fn the_kind_of_terminal_is_known_by_its_name() {
    let kind = |variables: &[(&str, &'static str)]| {
        let variables = variables.to_vec();
        Narrowing::detect(move |name| variables.iter().find(|it| it.0 == name).map(|it| it.1))
    };
    assert_eq!(kind(&[("TERM", "tmux-256color")]), Narrowing::BreaksLate);
    assert_eq!(kind(&[("TERM", "xterm-256color"), ("TMUX", "/tmp/x")]), Narrowing::BreaksLate);
    assert_eq!(kind(&[("TERM", "xterm-256color")]), Narrowing::Breaks);
    assert_eq!(kind(&[("TERM", "linux")]), Narrowing::Cuts);
    assert_eq!(kind(&[("TERM", "screen"), ("STY", "1.pts")]), Narrowing::Cuts);
    let xterm = [("TERM", "xterm-256color"), ("XTERM_VERSION", "XTerm(390)")];
    assert_eq!(kind(&xterm), Narrowing::Cuts);
}

#[test]
fn a_terminal_that_had_other_sizes_in_between_is_drawn_again() {
    let mut pair = Pair::new(40, 20);
    pair.screen = Screen::new(Theme::new(Colours::Dark, true), Narrowing::BreaksLate, 40, 20);
    assert!(pair.screen.unsure_after_resize().is_some());
    let rule = "-".repeat(40);
    pair.screen.commit(lines(&["finished"]));
    pair.draw(&["text", &rule, "> "], Some((2, 2)));
    // The program is not asked to draw while the size is not sure.
    for columns in [20, 33, 15, 40] {
        pair.terminal.resize(columns, 20);
    }
    pair.screen.resize(40, 20);
    pair.draw(&["text", &rule, "> "], Some((2, 2)));
    assert!(pair.written().contains("text"), "everything is written again");
    assert_eq!(pair.terminal.text(), ["finished", "text", &rule, ">"]);
}

#[test]
fn links_and_styles_end_where_they_should() {
    let mut screen = screen(40, 5);
    let mut line = Line::new("see ", Role::Text).with("here", Role::Link);
    line.0[1].link = Some("https://a.example/ü b".to_owned());
    let mut bytes = Vec::new();
    screen.draw(&[line], None, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let link = "\x1b]8;;https://a.example/%C3%BC%20b\x1b\\here\x1b]8;;\x1b\\";
    assert!(text.contains(&format!("\r\x1b[2Ksee \x1b[0;38;5;75m{link}\x1b[0m")), "{text:?}");
}

#[test]
fn a_reset_screen_is_empty() {
    let mut pair = Pair::new(30, 4);
    pair.screen.commit((0..20).map(|at| Line::new(format!("line {at}"), Role::Text)));
    pair.draw(&["> "], Some((0, 2)));
    let mut bytes = Vec::new();
    pair.screen.reset(&mut bytes).unwrap();
    pair.terminal.process(&bytes);
    pair.screen.commit(lines(&["again"]));
    pair.draw(&["> "], Some((0, 2)));
    let text = pair.terminal.text();
    assert_eq!(text[text.len() - 2..], ["again", ">"]);
}

#[test]
fn parts_of_an_emoji_that_the_terminal_draws_apart_do_not_stay_behind_the_text() {
    // The parser draws the three parts in six columns, where the program counts two.
    let mut parser = vt100::Parser::default();
    let mut screen = screen(80, 24);
    let mut bytes = Vec::new();
    screen.draw(&lines(&["👩‍👩‍👧 x"]), None, &mut bytes).unwrap();
    parser.process(&bytes);
    let row = parser.screen().rows(0, 80).next().unwrap();
    assert!(row.trim_end().ends_with(" x"), "{row}");
}
