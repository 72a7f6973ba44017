//! Renders the block that still grows, at a cost that does not grow with it.

use std::cell::RefCell;

use super::lines::{Fence, closes, indent, is_blank, is_table_rule, opened_fence};
use super::render::render_block;
use super::unclosed::closing;
use crate::terminal::highlight::{Highlighter, is_loaded};
use crate::terminal::text::{Line, Role, break_anywhere};

/// The length of the part that is rendered again when the block grows.
const PART: usize = 1024;

/// Keeps the lines of a block that grows, so that each frame renders only its last part. The lines
/// of a very long paragraph can differ from those of the finished block where two parts meet.
#[derive(Debug, Default)]
pub(super) struct OpenBlock {
    lines: Vec<Line>,
    /// How many lines, and how much of the source, are not rendered again.
    settled: usize,
    start: usize,
    /// For which length and width the lines are.
    length: usize,
    width: usize,
    highlighter: Option<Highlighter>,
    /// Whether the colours wait for the grammars.
    waits: bool,
}

impl OpenBlock {
    /// Returns the lines of the source, which begins with the source of the last call.
    pub(super) fn lines(
        &mut self,
        source: &str,
        code: bool,
        width: usize,
        number: Option<u64>,
    ) -> &[Line] {
        if (self.length, self.width) == (source.len(), width) {
            return &self.lines;
        }
        // A shorter source is that of another block: nothing that was rendered can be kept.
        if source.len() < self.length || width != self.width {
            *self = Self::default();
        }
        (self.length, self.width) = (source.len(), width);
        if code {
            self.add_code(source, width);
        } else if source.len() > 2 * PART
            && let Some(table) = end_of_table(source)
        {
            self.lines = render_block(&table, width, number);
        } else {
            self.add_text(source, width, number);
        }
        &self.lines
    }

    /// Renders complete lines of code once. While the grammars are being loaded it has no colours.
    fn add_code(&mut self, source: &str, width: usize) {
        // The grammars have arrived: what was shown without colours is rendered once more.
        if self.waits && is_loaded("") {
            (self.start, self.settled) = (0, 0);
        }
        if self.start == 0 {
            let Some(end) = source.find('\n') else { return };
            self.start = end + 1;
            let language = opened_fence(&source[..end]).map_or("", |(_, language)| language);
            self.waits = !language.is_empty() && !is_loaded(language);
            if !self.waits {
                self.highlighter = Highlighter::new(language);
            }
        }
        self.lines.truncate(self.settled);
        while let Some(end) = source[self.start..].find('\n') {
            let text = source[self.start..self.start + end].trim_end_matches('\r');
            self.start += end + 1;
            self.add_code_line(text, width);
        }
        self.settled = self.lines.len();
        let rest = &source[self.start..];
        // The incomplete line may become the end of the block, which is not shown.
        if !rest.is_empty() && !rest.trim_start().starts_with("```") {
            let line = match &self.highlighter {
                // The state of the highlighter is kept for the complete line: the rest is rendered
                // with a copy, at each frame, so it must be short.
                Some(highlighter) if rest.len() < 500 => highlighter.clone().line(rest),
                _ => Line::new(rest, Role::Text),
            };
            self.lines.extend(break_anywhere(&line, width));
        }
    }

    fn add_code_line(&mut self, text: &str, width: usize) {
        let line = match &mut self.highlighter {
            Some(highlighter) => highlighter.line(text),
            None => Line::new(text, Role::Text),
        };
        self.lines.extend(break_anywhere(&line, width));
    }

    /// Renders the rest of a code block that is finished, so that its beginning is not rendered
    /// again.
    pub(super) fn finish_code(mut self, source: &str, fence: Fence) -> Rendered {
        // Behind an indented fence the lines lose their indent.
        if self.waits || self.start == 0 || self.start > source.len() || source.starts_with(' ') {
            return Rendered::default();
        }
        self.lines.truncate(self.settled);
        let rest = &source[self.start..];
        let mut lines = rest.lines().peekable();
        while let Some(text) = lines.next() {
            if lines.peek().is_some() || !closes(text, fence) {
                self.add_code_line(text, self.width);
            }
        }
        Rendered(RefCell::new(Some((self.width, self.lines))))
    }

    /// Renders the last part of a text.
    fn add_text(&mut self, source: &str, width: usize, number: Option<u64>) {
        self.lines.truncate(self.settled);
        while source.len() - self.start > 2 * PART {
            let mut end = self.start + part(&source[self.start..]);
            let first = self.lines.len();
            self.add_part(&source[self.start..end], width, number);
            // The next part begins with the row that is not full.
            if let Some(last) = self.lines.pop_if(|_| end > self.start + PART / 2) {
                match start_of_row(&source[self.start..end], &last) {
                    Some(start) if self.lines.len() > first => end = self.start + start,
                    _ => self.lines.push(last),
                }
            }
            (self.start, self.settled) = (end, self.lines.len());
        }
        let rest = &source[self.start..];
        let (dropped, closing) = closing(rest);
        let closed = format!("{}{closing}", &rest[..rest.len() - dropped]);
        self.add_part(&closed, width, number);
    }

    fn add_part(&mut self, part: &str, width: usize, number: Option<u64>) {
        if self.start == 0 {
            self.lines.extend(render_block(part, width, number));
            return;
        }
        // What follows the first part of an item is indented.
        let lines = part.lines().filter(|line| !is_blank(line));
        let margin = lines.map(indent).min().unwrap_or(0);
        if margin == 0 {
            self.lines.extend(render_block(part, width, None));
            return;
        }
        let text: Vec<&str> = part.lines().map(|line| line.get(margin..).unwrap_or("")).collect();
        for line in render_block(&text.join("\n"), width.saturating_sub(margin).max(8), None) {
            let mut indented = Line::new(" ".repeat(margin), Role::Text);
            indented.extend(line);
            self.lines.push(indented);
        }
    }
}

/// The lines of a finished block, until they are taken.
#[derive(Debug, Default)]
pub(super) struct Rendered(RefCell<Option<(usize, Vec<Line>)>>);

impl Rendered {
    /// Takes the lines, if they are for this width.
    pub(super) fn take(&self, width: usize) -> Option<Vec<Line>> {
        let (for_width, lines) = self.0.take()?;
        (for_width == width).then_some(lines)
    }
}

// Lines can be rendered again from the source, so a clone starts without them and all are equal.
impl Clone for Rendered {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Rendered {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Rendered {}

/// Returns the length of the first part of a text: up to a line break or a space.
fn part(text: &str) -> usize {
    let mut end = PART.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    let place = head.rfind('\n').filter(|at| *at > PART / 2).or_else(|| head.rfind(' '));
    place.map_or(end, |at| at + 1)
}

/// Finds where the last row of a rendered text begins in its source, if the row has no signs of
/// Markdown at its beginning.
fn start_of_row(source: &str, row: &Line) -> Option<usize> {
    let text = row.plain();
    let text = text.trim();
    let mut end = text.len().min(24);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = source.rfind(&text[..end]).filter(|_| end > 0)?;
    // Signs before it belong to the row, such as those of bold text.
    let before = source[..start].trim_end_matches(['*', '_', '`', '~', '[']).len();
    (source.len() - before <= 2 * row.width().max(end) + 40).then_some(before)
}

/// Returns the head of a long table and its last rows.
fn end_of_table(source: &str) -> Option<String> {
    let first = source.find('\n')? + 1;
    let second = first + source[first..].find('\n')? + 1;
    if !is_table_rule(&source[first..second]) {
        return None;
    }
    let mut from = source.len() - PART;
    while !source.is_char_boundary(from) {
        from += 1;
    }
    let from = from + source[from..].find('\n')? + 1;
    Some(format!("{}{}", &source[..second], &source[from..]))
}
