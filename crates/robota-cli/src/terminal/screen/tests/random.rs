//! For any sequence of commits, drawings and resizes, the history has each line once.

use proptest::prelude::*;

use super::terminal::Terminal;
use crate::terminal::screen::{Cursor, Narrowing, Screen};
use crate::terminal::text::{Line, Role};
use crate::terminal::theme::{Colours, Theme};

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<usize>),
    Draw(Vec<usize>, usize, usize),
    Resize(usize, usize),
    Full,
    /// The live region shows the end of a text that grows.
    Grow(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => proptest::collection::vec(4..60usize, 1..5).prop_map(Step::Commit),
        4 => (proptest::collection::vec(0..60usize, 0..5), 0..5usize, 0..60usize)
            .prop_map(|(rows, row, column)| Step::Draw(rows, row, column)),
        1 => (20..70usize, 16..30usize).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        1 => Just(Step::Full),
        2 => (1..4usize).prop_map(Step::Grow),
    ];
    proptest::collection::vec(step, 1..60)
}

fn row(name: &str, length: usize, columns: usize) -> Line {
    let text: String = format!("{name}{}", ".".repeat(length));
    Line::new(&text[..text.len().min(columns)], Role::Text)
}

fn run(steps: &[Step], narrowing: Narrowing) -> (Vec<String>, Vec<String>) {
    let (mut columns, mut rows) = (60, 20);
    let mut terminal = Terminal::new(columns, rows, narrowing);
    let mut screen = Screen::new(Theme::new(Colours::Dark, false), narrowing, columns, rows);
    let mut expected = Vec::new();
    let mut live: Vec<Line> = Vec::new();
    let mut bytes = Vec::new();
    let mut grown = 0;
    for (at, step) in steps.iter().chain([&Step::Draw(vec![5, 9], 1, 3)]).enumerate() {
        bytes.clear();
        match step {
            Step::Commit(lengths) => {
                for length in lengths {
                    let line = row(&format!("c{:04}", expected.len()), *length, columns);
                    expected.push(line.plain());
                    screen.commit([line]);
                }
            }
            Step::Draw(lengths, cursor_row, column) => {
                let name = |index| format!("live{at}.{index} ");
                let drawn = lengths.iter().enumerate();
                live = drawn.map(|(index, length)| row(&name(index), *length, columns)).collect();
                let cursor =
                    (*cursor_row < 4).then_some(Cursor { row: *cursor_row, column: *column });
                screen.draw(&live, cursor, &mut bytes).unwrap();
            }
            Step::Resize(new_columns, new_rows) => {
                (columns, rows) = (*new_columns, *new_rows);
                terminal.resize(columns, rows);
                screen.resize(columns, rows);
                // As the program does: the live region is drawn at the new size at once.
                live = live.iter().map(|line| row("again ", line.width() / 2, columns)).collect();
                screen.draw(&live, Some(Cursor { row: 0, column: 2 }), &mut bytes).unwrap();
            }
            Step::Grow(by) => {
                grown += by;
                let text =
                    (grown..grown + 5).map(|line| row(&format!("grow{line} "), line % 9, columns));
                live = text.chain([row("> ", 4, columns)]).collect();
                screen.draw(&live, Some(Cursor { row: 5, column: 1 }), &mut bytes).unwrap();
            }
            Step::Full => {
                screen.enter_full(&mut bytes).unwrap();
                screen.draw_full(&[row("full", 3, columns)], None, &mut bytes).unwrap();
                screen.leave_full(&mut bytes).unwrap();
            }
        }
        terminal.process(&bytes);
    }
    expected.extend(live.iter().map(Line::plain));
    (terminal.lines(), expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_finished_line_is_in_the_history_once(steps in steps()) {
        let (shown, expected) = run(&steps, Narrowing::Breaks);
        let expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn a_terminal_that_cuts_lines_keeps_each_once_too(steps in steps()) {
        let (shown, expected) = run(&steps, Narrowing::Cuts);
        let start = |line: &str| line.chars().take(5).collect::<String>();
        let begins = |line: &&String| !line.starts_with('.');
        let shown: Vec<String> = shown.iter().filter(begins).map(|line| start(line)).collect();
        let expected: Vec<String> = expected.iter().map(|line| start(line.trim_end())).collect();
        prop_assert_eq!(shown, expected);
    }
}
