//! However a text is split into pieces, it becomes the same blocks.

use proptest::prelude::*;

use crate::terminal::markdown::{MarkdownStream, render};
use crate::terminal::text::Line;

/// Lines from which texts are made: beginnings, ends and insides of every kind of block.
const LINES: [&str; 40] = [
    "",
    "",
    "",
    "text",
    "more *text* here",
    "# Heading",
    "## Second `x`",
    "- item",
    "- [x] done",
    "* other",
    "  inside",
    "    deep",
    "1. one",
    "1. two",
    "   under",
    "```",
    "```rust",
    "~~~",
    "fn main() {}",
    "> quote",
    "> - in quote",
    "---",
    "***",
    "===",
    "| a | b |",
    "|--|--|",
    "| 1 | 你好 |",
    "\ttab",
    "  - nested",
    "     - deeper",
    "  ```",
    "`code",
    "**bold",
    "👩‍👩‍👧‍👦",
    "line\\",
    "- # Deep",
    "  # Inside",
    "- ```",
    "   > quote",
    "1. > quote",
];

/// Texts of few different lines: what goes wrong needs the same lines to meet again and again.
fn text() -> impl Strategy<Value = String> {
    proptest::sample::subsequence(LINES.to_vec(), 6)
        .prop_flat_map(|lines| proptest::collection::vec(proptest::sample::select(lines), 0..25))
        .prop_map(|lines| lines.join("\n"))
}

/// Lines of a stream that gets the text in pieces, and looks at the open block in between.
fn in_pieces(text: &str, sizes: &[usize]) -> Vec<Line> {
    let mut stream = MarkdownStream::new();
    let mut lines = Vec::new();
    let mut rest = text;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let mut size = (*sizes.next().unwrap()).min(rest.len());
        while !rest.is_char_boundary(size) {
            size += 1;
        }
        stream.push(&rest[..size]);
        rest = &rest[size..];
        stream.open_lines(40);
        for block in stream.take_finished() {
            block.append_to(&mut lines, 40);
        }
    }
    for block in stream.finish() {
        block.append_to(&mut lines, 40);
    }
    lines
}

/// Returns the letters that a reader sees, as the parser understands the whole text.
fn letters(source: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser};
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut text = String::new();
    for event in Parser::new_ext(source, options) {
        if let Event::Text(part) | Event::Code(part) | Event::InlineHtml(part) = event {
            text.push_str(&part);
        }
    }
    text.retain(char::is_alphanumeric);
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_do_not_matter(text in text(), sizes in proptest::collection::vec(1..20usize, 1..8)) {
        prop_assert_eq!(in_pieces(&text, &sizes), render(&text, 40));
    }

    #[test]
    fn cut_blocks_have_the_letters_of_the_whole_text(text in text()) {
        let mut stream = MarkdownStream::new();
        stream.push(&text);
        let blocks = stream.finish();
        let cut: String = blocks.iter().map(|block| letters(&block.source)).collect();
        prop_assert_eq!(cut, letters(&text));
    }
}
