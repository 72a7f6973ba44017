//! Renders Markdown for the terminal, whole or as it arrives.

mod lines;
mod open;
mod render;
mod stream;
mod table;
mod unclosed;

pub(crate) use stream::{Block, MarkdownStream};

#[cfg(test)]
use super::text::Line;

/// Renders Markdown to lines that are not wider than `width`.
#[cfg(test)]
pub(crate) fn render(source: &str, width: usize) -> Vec<Line> {
    let mut stream = MarkdownStream::new();
    stream.push(source);
    let mut lines = Vec::new();
    for block in stream.finish() {
        block.append_to(&mut lines, width);
    }
    lines
}

#[cfg(test)]
mod tests;
