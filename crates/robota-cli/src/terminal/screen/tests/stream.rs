//! What an answer of 20,000 pieces costs.

use std::time::{Duration, Instant};

use crate::terminal::markdown::MarkdownStream;
use crate::terminal::screen::{Cursor, Narrowing, Screen};
use crate::terminal::text::{Line, Role};
use crate::terminal::theme::{Colours, Theme};

/// At 1,000 pieces a second and 60 frames.
const PIECES_PER_FRAME: usize = 16;
const HEIGHT: usize = 40;

struct Cost {
    bytes: usize,
    /// The time of each frame, by quarter of the answer.
    quarters: [Vec<Duration>; 4],
}

/// Sends a text in pieces through Markdown and screen, as the program does.
fn stream(pieces: usize, mut piece: impl FnMut(usize) -> String) -> Cost {
    let mut screen = Screen::new(Theme::new(Colours::Dark, true), Narrowing::Breaks, 120, HEIGHT);
    let mut markdown = MarkdownStream::new();
    let mut cost = Cost { bytes: 0, quarters: Default::default() };
    let mut out = Vec::new();
    let mut frame = Duration::ZERO;
    for at in 0..pieces {
        let text = piece(at);
        let started = Instant::now();
        markdown.push(&text);
        let mut drawn = false;
        if at % PIECES_PER_FRAME == 0 || at + 1 == pieces {
            for block in markdown.take_finished() {
                if !block.continues {
                    screen.commit([Line::default()]);
                }
                screen.commit(block.render(120));
            }
            let open = markdown.open_lines(120);
            let mut live = open[open.len().saturating_sub(HEIGHT - 4)..].to_vec();
            live.push(Line::new("─".repeat(120), Role::Dim));
            live.push(Line::new("› typed", Role::Text));
            live.push(Line::new(format!("writing 0:{:02}", at / 1000), Role::Dim));
            let row = live.len() - 2;
            out.clear();
            screen.draw(&live, Some(Cursor { row, column: 7 }), &mut out).unwrap();
            cost.bytes += out.len();
            drawn = true;
        }
        frame += started.elapsed();
        if drawn {
            cost.quarters[at * 4 / pieces].push(std::mem::take(&mut frame));
        }
    }
    cost
}

/// Prints the cost, and checks that it does not grow with the length of the answer: by bytes
/// exactly, by time only roughly. The median of the frames counts: on a busy machine some frames
/// take much longer, but not half of them.
fn report(name: &str, cost: &Cost, most_bytes: usize) {
    let total: Duration = cost.quarters.iter().flatten().sum();
    let [first, second, third, last] = cost.quarters.each_ref().map(|frames| {
        let mut frames = frames.clone();
        frames.sort();
        frames[frames.len() / 2]
    });
    let frames = [first, second, third, last];
    eprintln!("{name}: {} bytes, {total:?}, a frame by quarter {frames:?}", cost.bytes);
    assert!(cost.bytes < most_bytes, "{name}: {} bytes", cost.bytes);
    assert!(last < first * 6 + Duration::from_millis(10), "{name}: {frames:?}");
}

/// Streams answers of each kind. The limits are bytes per piece.
fn all(pieces: usize) {
    // The grammars are loaded before the clock runs.
    crate::terminal::highlight::highlight("rs", "fn main() {}");
    let words = ["lorem ", "**ipsum** ", "dolor ", "`sit` ", "amet, ", "consectetur "];
    let paragraphs = |at: usize| match at % 60 {
        59 => "\n\n".to_owned(),
        other => words[other % words.len()].to_owned(),
    };
    report("paragraphs", &stream(pieces, paragraphs), 60 * pieces);
    let one = |at: usize| words[at % words.len()].to_owned();
    report("one paragraph", &stream(pieces, one), 60 * pieces);
    let code = |at: usize| match at {
        0 => "```rust\n".to_owned(),
        at if at % 8 == 7 => "\n".to_owned(),
        at => format!("let x{at} = {at}; "),
    };
    report("one code block", &stream(pieces, code), 120 * pieces);
    let items = |at: usize| {
        if at.is_multiple_of(10) { "\n1. item ".to_owned() } else { "word ".to_owned() }
    };
    report("one list", &stream(pieces, items), 60 * pieces);
    let table = |at: usize| match at {
        0 => "| a | b |\n|---|---|\n".to_owned(),
        at if at % 6 == 5 => " |\n".to_owned(),
        at if at % 6 == 0 => "| word ".to_owned(),
        at if at % 6 == 3 => "| other ".to_owned(),
        _ => "word ".to_owned(),
    };
    report("one table", &stream(pieces, table), 60 * pieces);
}

#[test]
fn a_piece_of_a_long_answer_costs_the_same_as_one_of_a_short_answer() {
    all(2_000);
}

#[test]
#[ignore = "measures; takes a minute without optimisation"]
fn twenty_thousand_pieces() {
    all(20_000);
}
