//! Cuts Markdown that arrives in pieces into blocks. Only whole lines decide, so that the blocks do
//! not depend on the pieces.

use super::lines::{
    Fence, Marker, behind_marker, closes, indent, interrupts, is_blank, is_heading, is_quote,
    is_table_rule, is_underline, marker, opened_fence, rule,
};
use super::open::{OpenBlock, Rendered};
use super::render::render_block;
use crate::terminal::text::Line;

/// A part of a Markdown text that no longer changes: a paragraph, a code block, an item of
/// a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The Markdown.
    pub(crate) source: String,
    /// Whether no blank line comes between it and the block before: the next item of a list.
    pub(crate) continues: bool,
    /// The number of its list item, if it continues a numbered list.
    pub(crate) number: Option<u64>,
    /// The lines of a code block that was shown while it grew.
    rendered: Rendered,
}

impl Block {
    /// Renders the block, without the blank line that separates it from the block before.
    pub(crate) fn render(&self, width: usize) -> Vec<Line> {
        match self.rendered.take(width) {
            Some(lines) => lines,
            None => render_block(&self.source, width, self.number),
        }
    }

    /// Renders the block behind the blocks before it.
    #[cfg(test)]
    pub(crate) fn append_to(&self, lines: &mut Vec<Line>, width: usize) {
        if !self.continues && !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(self.render(width));
    }
}

/// What the open block is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Nothing,
    /// A paragraph, a quote, a table, HTML: ends at a blank line.
    Text,
    Code(Fence),
    IndentedCode,
    Item(Marker),
}

/// Cuts Markdown that arrives in pieces into blocks.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    /// The open block, with the line that is not complete.
    buffer: String,
    /// Where the incomplete line begins.
    line: usize,
    kind: Kind,
    /// The fence that is open inside of the item.
    item_fence: Option<Fence>,
    /// Whether the last line of the item is the text of a paragraph.
    item_text: bool,
    /// Whether a blank line came before the open block, and before the incomplete line.
    gap: bool,
    blank: bool,
    /// The last item of the list that the open block can continue.
    last_item: Option<(Marker, u64)>,
    /// Whether the block before was a paragraph or a similar text block.
    after_text: bool,
    continues: bool,
    number: Option<u64>,
    finished: Vec<Block>,
    open: OpenBlock,
}

impl MarkdownStream {
    /// Creates an empty stream.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        // Line by line, so that a finished block is cut off a short rest.
        for line in text.split_inclusive('\n') {
            self.buffer.push_str(line);
            if line.ends_with('\n') {
                self.complete_line(self.buffer.len());
            }
        }
    }

    /// Returns the blocks that were finished since the last call.
    pub(crate) fn take_finished(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.finished)
    }

    /// Finishes the rest, and returns the blocks that were finished since the last call. The stream
    /// is empty then.
    pub(crate) fn finish(&mut self) -> Vec<Block> {
        if self.line < self.buffer.len() {
            self.complete_line(self.buffer.len());
        }
        self.cut(self.buffer.len());
        let finished = self.take_finished();
        *self = Self::default();
        finished
    }

    /// Returns the source of what is not finished.
    pub(crate) fn open(&self) -> &str {
        &self.buffer
    }

    /// Returns whether no blank line comes between the open block and the block before.
    pub(crate) fn open_continues(&self) -> bool {
        match self.kind {
            Kind::Nothing if self.gap || marker(&self.buffer).is_none() => false,
            Kind::Nothing => self.after_text || self.last_item.is_some(),
            _ => self.continues,
        }
    }

    /// Returns the number of the item that the open block is, if it continues a numbered list.
    fn open_number(&self) -> Option<u64> {
        if self.kind != Kind::Nothing {
            return self.number;
        }
        let (last, number) = self.last_item?;
        let item = marker(&self.buffer)?;
        (item.sign == last.sign && item.number.is_some()).then_some(number + 1)
    }

    /// Renders what is not finished. The cost does not grow with the length of the block.
    pub(crate) fn open_lines(&mut self, width: usize) -> &[Line] {
        let code = matches!(self.kind, Kind::Code(_));
        let number = self.open_number();
        self.open.lines(&self.buffer, code, width, number)
    }

    /// Takes the line that ends at `end` into the open block, or begins a new one with it.
    fn complete_line(&mut self, end: usize) {
        let start = self.line;
        let text = &self.buffer[start..end];
        let blank = is_blank(text);
        match self.kind {
            // However many blank lines are between two blocks, one is shown.
            Kind::Nothing if blank => {
                self.buffer.drain(..end);
                self.line = 0;
                self.gap = true;
                return;
            }
            Kind::Nothing => self.begin(start, end),
            Kind::Code(fence) => {
                // An indent of four makes a fence a line of the code (CommonMark).
                let closed = closes(text, fence) && indent(text) < 4;
                self.line = end;
                if closed {
                    self.cut(end);
                }
            }
            Kind::Text if blank => {
                self.cut(start);
                // The blank line belongs to no block: it is taken again as a gap.
                self.complete_line(end - start);
                return;
            }
            Kind::Text if self.ends_text(text) => self.cut_and_begin(start, end),
            Kind::Text if self.makes_heading(text) => {
                self.cut(end);
                self.after_text = false;
            }
            Kind::Item(item)
                if blank && item.empty && is_blank(behind_marker(&self.buffer[..start])) =>
            {
                // Nothing follows a marker that a blank line follows (CommonMark).
                self.cut(start);
                self.complete_line(end - start);
                return;
            }
            Kind::IndentedCode if !blank && indent(text) < 4 => self.cut_and_begin(start, end),
            Kind::Item(item) if self.leaves_item(text, item) => self.cut_and_begin(start, end),
            Kind::Text | Kind::IndentedCode | Kind::Item(_) => {
                self.follow_item(start, end);
                self.line = end;
            }
        }
        self.blank = blank;
    }

    /// Returns whether a line ends the text before it and begins something else.
    fn ends_text(&self, text: &str) -> bool {
        if is_quote(text) {
            return !is_quote(&self.buffer);
        }
        // A marker that cannot begin a list in the middle of a paragraph can below a quote or table.
        let paragraph = !is_quote(&self.buffer) && !self.is_table();
        interrupts(text) || (!paragraph && marker(text).is_some())
    }

    /// Returns whether a line makes the paragraph before it a heading.
    fn makes_heading(&self, text: &str) -> bool {
        is_underline(text) && !is_quote(&self.buffer) && !self.is_table()
    }

    /// Returns whether the open text is a table.
    fn is_table(&self) -> bool {
        self.buffer.lines().nth(1).is_some_and(is_table_rule)
    }

    /// Returns whether a line does not belong to an item of a list.
    fn leaves_item(&self, text: &str, item: Marker) -> bool {
        if is_blank(text) || indent(text) >= item.content {
            return false;
        }
        // Only the text of a paragraph may continue without its indent.
        !self.item_text
            || is_quote(text)
            || marker(text).is_some()
            || interrupts(text)
            || rule(text).is_some()
    }

    /// Notes what a line of an item leaves open: a code block, or a paragraph.
    fn follow_item(&mut self, start: usize, end: usize) {
        if !matches!(self.kind, Kind::Item(_)) {
            return;
        }
        let text = &self.buffer[start..end];
        (self.item_fence, self.item_text) = match self.item_fence {
            Some(fence) => ((!closes(text, fence)).then_some(fence), false),
            None => left_open(text),
        };
    }

    fn cut_and_begin(&mut self, start: usize, end: usize) {
        self.gap = self.blank;
        self.cut(start);
        self.begin(0, end - start);
    }

    /// Begins a block with a line.
    fn begin(&mut self, start: usize, end: usize) {
        let text = &self.buffer[start..end];
        let near = !std::mem::take(&mut self.gap);
        let last = self.last_item.take();
        (self.continues, self.number) = (false, None);
        self.line = end;
        if indent(text) > 3 {
            self.kind = Kind::IndentedCode;
        } else if let Some((fence, _)) = opened_fence(text) {
            self.kind = Kind::Code(fence);
        } else if is_heading(text) || rule(text).is_some() {
            self.kind = Kind::Text;
            self.cut(end);
            // A list below a heading is no part of it, so a blank line separates the two.
            self.after_text = false;
        } else if let Some(item) = marker(text) {
            let after = last.filter(|(before, _)| before.sign == item.sign);
            // Models often write `1.` for every item. Each item is rendered alone, so the number of
            // the list is counted here.
            let number = match (after, item.number) {
                (Some((_, before)), Some(_)) => {
                    self.number = Some(before + 1);
                    before + 1
                }
                (_, number) => number.unwrap_or(0),
            };
            self.continues = near && (after.is_some() || self.after_text);
            self.last_item = Some((item, number));
            (self.item_fence, self.item_text) = left_open(text);
            self.kind = Kind::Item(item);
        } else {
            self.kind = Kind::Text;
        }
    }

    /// Finishes the open block, which ends at `end`.
    fn cut(&mut self, end: usize) {
        let rest = self.buffer.split_off(end);
        let mut source = std::mem::replace(&mut self.buffer, rest);
        source.truncate(source.trim_end().len());
        self.line = self.line.saturating_sub(end);
        self.after_text = self.kind == Kind::Text;
        if !matches!(self.kind, Kind::Item(_)) {
            self.last_item = None;
        }
        let open = std::mem::take(&mut self.open);
        let rendered = match std::mem::take(&mut self.kind) {
            Kind::Code(fence) => open.finish_code(&source, fence),
            _ => Rendered::default(),
        };
        (self.item_fence, self.item_text) = (None, false);
        if !source.is_empty() {
            let (continues, number) = (self.continues, self.number);
            self.finished.push(Block { source, continues, number, rendered });
        }
        (self.continues, self.number) = (false, None);
    }
}

/// Returns the code block that a line of an item leaves open, and whether it leaves a paragraph open.
fn left_open(line: &str) -> (Option<Fence>, bool) {
    let mut text = line;
    let mut in_quote = false;
    loop {
        let quoted = text.trim_start().strip_prefix('>');
        text = match (marker(text), quoted) {
            (Some(_), _) => behind_marker(text),
            (None, Some(rest)) => rest,
            (None, None) => break,
        };
        in_quote |= quoted.is_some();
    }
    match opened_fence(text) {
        // A code block in a quote ends with the quote, at the next line without its sign.
        Some((fence, _)) => ((!in_quote).then_some(fence), false),
        None => (None, !is_blank(text) && !is_heading(text) && rule(text).is_none()),
    }
}
