//! Screens as a terminal shows them, at three sizes.

mod scenarios;

use robota_core::context::ContextState;
use robota_core::event::TurnEnd;
use robota_core::ids::{CallId, InputId};
use robota_sdk::{InteractiveEvent, ToolEnd};

use crate::terminal::event::Event;
use crate::terminal::testing::{Harness, command_question, edit_question, ended, opened};
use crate::terminal::theme::Colours;

const SIZES: [(usize, usize); 3] = [(80, 24), (120, 40), (40, 15)];

/// Shows the same story at each size, one snapshot each.
fn snapshots(name: &str, story: impl Fn(&mut Harness)) {
    for (columns, rows) in SIZES {
        let mut program = Harness::open(columns, rows);
        story(&mut program);
        insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), program.shown());
    }
}

#[test]
fn cli_01_first_screen() {
    snapshots("first", |_| {});
}

#[test]
fn cli_01_the_status_line_has_the_model_the_mode_and_the_context() {
    let mut program = Harness::open(80, 24);
    let context =
        ContextState { max_tokens: 1000, used_tokens: 850, used_percentage: 85.0, exact: true };
    program.session(InteractiveEvent::ContextUpdate(context));
    let shown = program.shown();
    let line = shown.lines().last().unwrap();
    for part in ["ctx 85%", "ask", "model-x"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn cli_01_streaming_markdown() {
    snapshots("streaming", |program| {
        program.prompt("explain greet");
        program.text(
            "## Greeting\n\nThe function `greet` joins **two** strings:\n\n```python\ndef gr",
        );
        program.text("eet(name):\n    return \"你好, \" + name\n```\n\n- one\n- two 👩‍👩‍👧\n\nAnd");
        program.wait(3_000);
        program.text(" then");
    });
}

#[test]
fn cli_01_tool_rows() {
    snapshots("tools", |program| {
        program.prompt("test it");
        program.start_tool("r", "Read", "src/app.py");
        program.state.now += std::time::Duration::from_millis(120);
        program.end_tool(ended("r", "Read", "src/app.py", ToolEnd::Success));
        program.start_tool("b", "Bash", "cargo test");
        program.wait(2_500);
        for number in 1..=10 {
            program.tool_output("b", &format!("test number {number} ... ok\n"));
        }
    });
}

#[test]
fn cli_01_a_failed_command_shows_its_exit_code() {
    snapshots("failed", |program| {
        program.prompt("test it");
        program.start_tool("b", "Bash", "cargo test");
        program.state.now += std::time::Duration::from_millis(1_500);
        let mut state = ended("b", "Bash", "cargo test", ToolEnd::Success);
        state.exit_code = Some(101);
        state.output = Some("running 2 tests\na\nb\nc\ntest result: FAILED\n".to_owned());
        program.end_tool(state);
        program.text("One test fails.\n");
        program.end_turn(TurnEnd::Complete);
    });
}

#[test]
fn cli_01_approval_with_the_whole_diff() {
    snapshots("approval", |program| {
        program.prompt("fix the greeting");
        program.send(Event::Asked(Box::new(edit_question("c1"))));
        program.wait(12_000);
    });
}

#[test]
fn cli_01_three_approvals_at_once() {
    snapshots("three_approvals", |program| {
        program.prompt("build it");
        program.start_tool("r", "Read", "Makefile");
        program.end_tool(ended("r", "Read", "Makefile", ToolEnd::Success));
        for (call, command) in [("c1", "make"), ("c2", "make test"), ("c3", "rm -rf build")] {
            let rule = format!("Bash({command})");
            let rules: Vec<&str> = if call == "c3" { Vec::new() } else { vec![&rule] };
            program.send(Event::Asked(Box::new(command_question(call, command, &rules))));
        }
        program.wait(400);
    });
}

#[test]
fn cli_01_the_queue_is_visible() {
    snapshots("queue", |program| {
        program.prompt("first");
        program.text("Working on it");
        for (input, text) in [("q1", "then the tests"), ("q2", "and the docs")] {
            let (input, text) = (InputId::from(input), text.to_owned());
            program.session(InteractiveEvent::PromptAccepted { input, text });
        }
    });
}

#[test]
fn cli_01_trust_comes_first() {
    for (columns, rows) in SIZES {
        let mut program = Harness::starting(columns, rows);
        program.send(Event::TrustNeeded(vec![
            ".claude/settings.json: `hooks.PreToolUse` = ./check.sh".to_owned(),
            ".claude/skills/deploy/SKILL.md: allowed-tools".to_owned(),
        ]));
        program.wait(400);
        insta::assert_snapshot!(format!("trust_{columns}x{rows}"), program.shown());
    }
}

#[test]
fn cli_01_commands_are_completed() {
    snapshots("commands", |program| {
        program.type_text("/co");
    });
}

#[test]
fn a_resize_in_mid_stream_keeps_every_line_once() {
    let mut program = Harness::open(120, 40);
    program.prompt("count");
    for number in 1..=12 {
        program.text(&format!("Paragraph number {number} of the answer.\n\n"));
        match number {
            4 => program.resize(60, 40),
            8 => program.resize(120, 40),
            _ => {}
        }
    }
    program.text("The end");
    let shown = program.shown();
    for number in 1..=12 {
        let line = format!("Paragraph number {number} of the answer.");
        assert_eq!(shown.matches(&line).count(), 1, "{line}\n{shown}");
    }
    assert_eq!(shown.matches("› count").count(), 1, "{shown}");
    assert_eq!(shown.matches("writing").count(), 1, "{shown}");
}

#[test]
fn no_color_writes_no_colours() {
    let mut program = Harness::with_theme(80, 24, Colours::None);
    program.send(Event::Opened(Box::new(opened())));
    program.prompt("fix the greeting");
    program.text("Some `code` and **bold**.\n\n");
    program.send(Event::Asked(Box::new(edit_question("c1"))));
    program.wait(400);
    let text = String::from_utf8_lossy(&program.bytes).into_owned();
    for part in text.split("\u{1b}[").skip(1) {
        let end = part.find(|letter: char| letter.is_ascii_alphabetic()).unwrap();
        if part[end..].starts_with('m') {
            let codes: Vec<u16> = part[..end].split(';').filter_map(|it| it.parse().ok()).collect();
            assert!(codes.iter().all(|code| *code < 30), "{:?}", &part[..end + 1]);
        }
    }
    assert!(program.shown().contains("Wants to edit src/app.py"), "{}", program.shown());
}

#[test]
fn a_long_stream_costs_the_same_at_its_end() {
    let mut program = Harness::open(100, 30);
    program.prompt("write a book");
    let before = program.bytes.len();
    for number in 0..1_000 {
        program.text(&format!("word{number} "));
        if number % 20 == 19 {
            program.text("\n\n");
        }
    }
    let written = program.bytes.len() - before;
    // Each word is drawn with its line and a cursor move, never the whole screen.
    assert!(written < 1_000 * 400, "{written} bytes");
}

#[test]
fn a_finished_answer_is_in_the_scrollback_and_not_drawn_again() {
    let mut program = Harness::open(80, 24);
    program.prompt("hello");
    program.text("Done with it.\n");
    program.end_turn(TurnEnd::Complete);
    let before = program.bytes.len();
    program.type_text("x");
    let written = String::from_utf8_lossy(&program.bytes[before..]).into_owned();
    assert!(!written.contains("Done"), "{written:?}");
    assert!(written.len() < 200, "{written:?}");
}

#[test]
fn the_prompt_of_a_running_turn_is_in_the_rule_once_its_row_has_left_the_screen() {
    let mut program = Harness::open(40, 12);
    program.prompt("fix the greeting\nplease");
    let rule = "── fix the greeting ────────────────────";
    program.text("One.\n\nTwo.\n\n");
    assert!(!program.shown().contains(rule), "{}", program.shown());
    program.text(&"More.\n\n".repeat(12));
    let shown = program.shown();
    assert!(shown.contains(rule) && !shown.contains("› fix"), "{shown}");
    program.end_turn(TurnEnd::Complete);
    assert!(!program.shown().contains(rule), "{}", program.shown());
}

#[test]
fn escape_sequences_of_a_command_do_not_reach_the_terminal() {
    let mut program = Harness::open(80, 24);
    program.prompt("run it");
    program.start_tool("b", "Bash", "evil\u{1b}[2J");
    program.tool_output("b", "\u{1b}[2J\u{1b}]0;title\u{7}visible\n");
    let text = String::from_utf8_lossy(&program.bytes).into_owned();
    assert!(!text.contains("\u{1b}[2J") && !text.contains("\u{1b}]0;"), "{text:?}");
    assert!(program.shown().contains("visible"), "{}", program.shown());
    program.session(InteractiveEvent::ApprovalDecided { call: CallId::from("none") });
}
