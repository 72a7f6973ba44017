//! Texts from outside, of any kind: nothing panics, no control character reaches the terminal, no
//! line is too wide.

use proptest::prelude::*;

use super::ansi;
use super::composer::{Action, Composer};
use super::diff;
use super::markdown::{MarkdownStream, render};
use super::text::{Line, Role, break_anywhere, printable, truncate, wrap};

/// Letters with a meaning for one of the parts, and letters of many kinds.
const PARTS: [&str; 48] = [
    "a",
    "word",
    " ",
    "  ",
    "    ",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\t",
    "\u{1b}",
    "\u{1b}[31m",
    "\u{1b}[2J",
    "\u{1b}]8;;x\u{7}",
    "\u{9b}",
    "\u{7}",
    "\0",
    "\u{202e}",
    "\u{2066}",
    "\u{200d}",
    "\u{301}",
    "\u{fe0f}",
    "你",
    "世界",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "e\u{301}",
    "ﷺ",
    "\u{f0000}",
    "*",
    "**",
    "_",
    "~~",
    "`",
    "```",
    "~~~",
    "# ",
    "- ",
    "1. ",
    "> ",
    "| ",
    "|--|--|",
    "[x](y)",
    "<b>",
    "&amp;",
    "\\",
    "---",
    "http://a.b/c?d",
];

fn text() -> impl Strategy<Value = String> {
    let parts = proptest::collection::vec(0..PARTS.len(), 0..40);
    parts.prop_map(|at| at.into_iter().map(|at| PARTS[at]).collect())
}

fn is_clean(lines: &[Line]) -> bool {
    lines.iter().flat_map(|line| &line.0).all(|span| {
        !span
            .text
            .chars()
            .any(|letter| letter.is_control() || ('\u{202a}'..='\u{202e}').contains(&letter))
    })
}

fn fits(lines: &[Line], width: usize) -> bool {
    lines.iter().all(|line| line.width() <= width)
}

const ACTIONS: [Action; 29] = [
    Action::Left,
    Action::Right,
    Action::Up,
    Action::Down,
    Action::WordLeft,
    Action::WordRight,
    Action::LineStart,
    Action::LineEnd,
    Action::TextStart,
    Action::TextEnd,
    Action::Newline,
    Action::DeleteLeft,
    Action::DeleteRight,
    Action::DeleteWordLeft,
    Action::DeleteWordRight,
    Action::KillWord,
    Action::KillToLineEnd,
    Action::KillToLineStart,
    Action::Yank,
    Action::Undo,
    Action::Redo,
    Action::Clear,
    Action::HistoryPrevious,
    Action::HistoryNext,
    Action::SearchHistory,
    Action::AcceptSearch,
    Action::CancelSearch,
    Action::Expand,
    Action::Left,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_are_clean_and_fit(text in text(), width in 2..50usize) {
        let line = Line::new(&text, Role::Text);
        for lines in [wrap(&line, width, 3), break_anywhere(&line, width), vec![truncate(&line, width)]] {
            prop_assert!(is_clean(&lines) && fits(&lines, width), "{lines:?}");
        }
        let letters = |text: &str| printable(text).replace(' ', "");
        let wrapped: String = wrap(&line, width, 3).iter().map(Line::plain).collect();
        prop_assert_eq!(letters(&wrapped), letters(&text));
    }

    #[test]
    fn markdown_is_clean_and_fits(text in text(), width in 8..50usize, size in 1..9usize) {
        let lines = render(&text, width);
        prop_assert!(is_clean(&lines) && fits(&lines, width), "{lines:?}");
        let mut stream = MarkdownStream::new();
        let mut streamed = Vec::new();
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            let open = stream.open_lines(width);
            prop_assert!(is_clean(open) && fits(open, width), "{open:?}");
            for block in stream.take_finished() {
                block.append_to(&mut streamed, width);
            }
        }
        for block in stream.finish() {
            block.append_to(&mut streamed, width);
        }
        prop_assert_eq!(streamed, lines);
    }

    #[test]
    fn output_and_diffs_are_clean(old in text(), new in text(), width in 20..50usize) {
        let mut output = ansi::Output::default();
        prop_assert!(new.lines().all(|line| is_clean(&[output.line(line)])));
        let lines = diff::between(&old, &new);
        let rows = diff::rows(&lines, Some("a.rs"), width);
        prop_assert!(is_clean(&rows.lines) && fits(&rows.lines, width), "{rows:?}");
        prop_assert_eq!(rows.changes_from(0), diff::counts(&lines).0 + diff::counts(&lines).1);
    }

    #[test]
    fn the_composer_survives_every_sequence_of_keys(
        texts in proptest::collection::vec(text(), 1..4),
        actions in proptest::collection::vec((0..ACTIONS.len(), 0..6usize), 0..60),
        width in 4..40usize,
    ) {
        let mut composer = Composer::new(vec!["old prompt".to_owned(), "世界\nsecond".to_owned()]);
        for (action, kind) in actions {
            match kind {
                0 => composer.insert(&texts[action % texts.len()]),
                1 => composer.paste(&texts[action % texts.len()].repeat(4)),
                _ => {
                    composer.apply(ACTIONS[action]);
                }
            }
            let view = composer.view(width, 5);
            prop_assert!(view.lines.len() <= 5 && is_clean(&view.lines));
            prop_assert!(fits(&view.lines, width), "{view:?}");
            prop_assert!(view.cursor.row < view.lines.len());
            prop_assert!(view.cursor.column <= width, "{view:?}");
        }
        composer.apply(Action::CancelSearch);
        let text = composer.text();
        prop_assert_eq!(composer.submit().text, text);
        prop_assert!(composer.is_empty());
    }
}
