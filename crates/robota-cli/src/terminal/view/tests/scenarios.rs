//! Screens that are hard to draw: long pastes and changes, letters of all widths, sizes that change.

use robota_core::event::TurnEnd;
use robota_sdk::ToolEnd;

use super::{SIZES, snapshots};
use crate::terminal::diff;
use crate::terminal::event::{Event, Preview};
use crate::terminal::testing::{Harness, edit_question, ended};

#[test]
fn cli_01_a_resize_in_mid_stream() {
    for (columns, rows) in SIZES {
        let mut program = Harness::open(columns, rows);
        program.prompt("explain it");
        program
            .text("The first paragraph of an answer, which was finished before.\n\n```rust\nfn a");
        program.resize(columns / 2, rows);
        program.text("() {}\n```\n\n- an item that is longer than the half of the screen is");
        let name = format!("resized_narrow_{columns}x{rows}");
        insta::assert_snapshot!(name, program.shown());
        program.resize(columns, rows / 2);
        program.text(" wide\n- another\n\nThe last");
        let name = format!("resized_low_{columns}x{rows}");
        insta::assert_snapshot!(name, program.shown());
        program.resize(columns, rows);
        program.text(" paragraph.\n");
        program.end_turn(TurnEnd::Complete);
        let name = format!("resized_back_{columns}x{rows}");
        insta::assert_snapshot!(name, program.shown());
    }
}

#[test]
fn cli_01_a_paste_of_5000_lines() {
    let text: String = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    snapshots("paste", |program| {
        program.type_text("look at ");
        program.send(Event::Paste(text.clone()));
        program.type_text(" and say what it is");
    });
}

#[test]
fn cli_01_letters_of_all_widths() {
    snapshots("widths", |program| {
        program.prompt("说中文 👩‍👩‍👧 please");
        program
            .text("日本語のテキストは二つの列を使います。長い行は文字の間で折り返されます。\n\n");
        program.text("Family 👩‍👩‍👧, flag 🇩🇪, thumb 👍🏽, heart ❤️, e\u{301} and क्षि.\n\n");
        program.text("| 名前 | emoji |\n|---|---|\n| 世界 | 👨‍👩‍👧‍👦 |\n| abc | 🏳️‍🌈 |\n\n");
        program.text("שלום עולם is left as it is.\n\n");
        program.type_text("漢字 👩‍👩‍👧 x");
    });
}

/// Returns a change of 200 lines.
fn long_change() -> Vec<diff::DiffLine> {
    let old: String = (1..=200).map(|number| format!("value_{number} = {number}\n")).collect();
    let new: String =
        (1..=200).map(|number| format!("value_{number} = {}\n", number * 2)).collect();
    diff::between(&old, &new)
}

#[test]
fn cli_01_a_question_about_200_changed_lines() {
    snapshots("long_change", |program| {
        program.prompt("double them");
        let mut asked = edit_question("c1");
        asked.preview = Preview::Diff { path: "src/app.py".to_owned(), lines: long_change() };
        program.send(Event::Asked(Box::new(asked)));
        program.wait(400);
    });
    for (columns, rows) in SIZES {
        let mut program = Harness::open(columns, rows);
        program.prompt("double them");
        let mut asked = edit_question("c1");
        asked.preview = Preview::Diff { path: "src/app.py".to_owned(), lines: long_change() };
        program.send(Event::Asked(Box::new(asked)));
        program.wait(400);
        // "Always" has no effect before the end was shown.
        assert!(program.press("a").is_empty());
        while program.shown().contains("more changed") {
            program.press("pagedown");
        }
        let name = format!("long_change_end_{columns}x{rows}");
        insta::assert_snapshot!(name, program.shown());
        assert!(!program.press("a").is_empty());
    }
}

#[test]
fn cli_01_200_changed_lines_after_the_answer() {
    snapshots("long_change_done", |program| {
        program.prompt("double them");
        program.start_tool("c1", "Edit", "src/app.py");
        let mut state = ended("c1", "Edit", "src/app.py", ToolEnd::Success);
        state.diff = long_change();
        program.end_tool(state);
        program.text("All values are doubled.\n");
        program.end_turn(TurnEnd::Complete);
    });
}
