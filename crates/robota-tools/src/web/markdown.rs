//! Converts HTML to Markdown for a model: headings, lists, links, tables, code and quotes. Its time
//! and memory are in proportion to the size of the page.

use super::html::{Token, Tokens, decode};

/// The most open elements that are followed. Deeper ones only contribute their text.
const MAX_DEPTH: usize = 64;
/// The most nested lists and quotes that are indented.
const MAX_INDENT: usize = 8;
/// The longest address of a link that is shown.
const MAX_LINK_BYTES: usize = 2_000;
/// How many tokens are converted between two checks whether the call was cancelled.
const TOKENS_PER_CHECK: usize = 1_024;

/// Converts a page. Returns `None` if `cancelled` returned true.
pub(super) fn to_markdown(html: &str, cancelled: &dyn Fn() -> bool) -> Option<String> {
    Some(convert(html, cancelled)?.0)
}

/// Converts a page and returns the text with the number of steps that it took.
fn convert(html: &str, cancelled: &dyn Fn() -> bool) -> Option<(String, usize)> {
    let mut tokens = Tokens::new(html);
    let mut page = Page::default();
    let mut until_check = 0;
    for token in tokens.by_ref() {
        if until_check == 0 {
            if cancelled() {
                return None;
            }
            until_check = TOKENS_PER_CHECK;
        }
        until_check -= 1;
        match token {
            Token::Text(text) => page.text(text),
            Token::Start { name, attributes } => {
                let get = |key| attributes.iter().find(|(name, _)| *name == key).map(|(_, v)| *v);
                page.start(&name, &get);
            }
            Token::End(name) => page.end_tag(&name),
        }
    }
    let work = tokens.work + page.work;
    Some((page.finish(), work))
}

/// What an element does. Elements that only separate paragraphs are not kept open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is left out with its content.
    Skipped,
    Heading(usize),
    /// Text between two marks, such as `**`.
    Marked(&'static str),
    Link,
    Pre,
    Quote,
    List,
    NumberedList,
    Item,
    Table,
    Row,
    Cell,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "script" | "style" | "title" | "noscript" | "svg" | "iframe" | "template"
            | "textarea" | "select" => Self::Skipped,
            "h1" => Self::Heading(1),
            "h2" => Self::Heading(2),
            "h3" => Self::Heading(3),
            "h4" => Self::Heading(4),
            "h5" => Self::Heading(5),
            "h6" => Self::Heading(6),
            "b" | "strong" => Self::Marked("**"),
            "i" | "em" => Self::Marked("_"),
            "del" | "s" => Self::Marked("~~"),
            "code" | "kbd" | "samp" | "tt" => Self::Marked("`"),
            "a" => Self::Link,
            "pre" => Self::Pre,
            "blockquote" => Self::Quote,
            "ul" | "menu" => Self::List,
            "ol" => Self::NumberedList,
            "li" => Self::Item,
            "table" => Self::Table,
            "tr" => Self::Row,
            "td" | "th" => Self::Cell,
            _ => return None,
        })
    }

    /// Returns whether an open element of this kind is not looked for beyond the other element: an
    /// item belongs to the innermost list, a row and a cell to the innermost table.
    fn stays_within(self, other: Self) -> bool {
        match self {
            Self::Item => matches!(other, Self::List | Self::NumberedList),
            Self::Row | Self::Cell => other == Self::Table,
            _ => false,
        }
    }
}

/// Returns whether an element separates paragraphs.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "main"
            | "header"
            | "footer"
            | "aside"
            | "nav"
            | "figure"
            | "figcaption"
            | "form"
            | "fieldset"
            | "address"
            | "details"
            | "summary"
            | "dl"
            | "dt"
            | "dd"
            | "body"
            | "caption"
    )
}

/// An element whose end tag has not come yet.
#[derive(Debug)]
struct Open {
    kind: Kind,
    /// The address of a link; empty for other elements.
    address: String,
    /// Whether its text has begun. The first mark is written then, so that an empty element leaves
    /// none.
    begun: bool,
    /// The number of the next item of a list.
    number: u32,
}

#[derive(Debug, Default)]
struct Page {
    out: String,
    open: Vec<Open>,
    /// How many open elements are left out.
    skipped: usize,
    /// How many open elements keep white space.
    pre: usize,
    /// The line ends to write before the next text.
    line_ends: usize,
    /// Whether a space is written before the next text.
    space: bool,
    /// The marks at the start of each line: quotes and the indentation of lists.
    indent: Vec<&'static str>,
    /// The cells of the current row.
    cells: usize,
    /// Whether the current table has a row already.
    has_row: bool,
    /// How many steps were made.
    work: usize,
}

impl Page {
    fn start<'a>(&mut self, name: &str, get: &dyn Fn(&'static str) -> Option<&'a str>) {
        self.work += 1;
        let kind = Kind::of(name);
        // Elements that are left out can be nested, so they are counted.
        if self.skipped > 0 && kind != Some(Kind::Skipped) {
            return;
        }
        let Some(kind) = kind else {
            match name {
                "br" => self.break_lines(1),
                "hr" => {
                    self.break_lines(2);
                    self.write("---");
                    self.break_lines(2);
                }
                "img" => self.image(get("alt"), get("src")),
                _ if is_block(name) => self.break_lines(2),
                _ => {}
            }
            return;
        };
        // Their end tags may be left out: the next one ends the one before.
        if matches!(kind, Kind::Item | Kind::Row | Kind::Cell) {
            self.end(kind);
        }
        // Each end tag searches the open elements, so their number must be limited.
        if self.open.len() >= MAX_DEPTH {
            return;
        }
        let address = match kind {
            Kind::Link => match get("href").and_then(address) {
                Some(address) => address,
                None => return,
            },
            // Code in a block is marked already.
            Kind::Marked("`") if self.pre > 0 => return,
            _ => String::new(),
        };
        self.enter(kind);
        self.open.push(Open { kind, address, begun: false, number: 1 });
    }

    fn enter(&mut self, kind: Kind) {
        match kind {
            Kind::Skipped => self.skipped += 1,
            Kind::Heading(level) => {
                self.break_lines(2);
                self.write(&"#".repeat(level));
                self.space = true;
            }
            Kind::Marked(_) | Kind::Link => {}
            Kind::Pre => {
                self.break_lines(2);
                self.write("```");
                self.break_lines(1);
                self.pre += 1;
            }
            Kind::Quote => {
                self.break_lines(2);
                self.indent.push("> ");
            }
            Kind::List | Kind::NumberedList => {
                self.break_lines(if self.indent.is_empty() { 2 } else { 1 });
            }
            Kind::Item => {
                self.break_lines(1);
                self.work += self.open.len();
                let list =
                    self.open.iter_mut().rev().find(|open| Kind::Item.stays_within(open.kind));
                match list {
                    Some(list) if list.kind == Kind::NumberedList => {
                        let number = format!("{}.", list.number);
                        list.number = list.number.saturating_add(1);
                        self.write(&number);
                    }
                    _ => self.write("-"),
                }
                self.space = true;
                self.indent.push("  ");
            }
            Kind::Table => {
                self.break_lines(2);
                self.has_row = false;
            }
            Kind::Row => {
                self.break_lines(1);
                self.cells = 0;
            }
            Kind::Cell => {
                self.space = self.cells > 0;
                self.write("|");
                self.space = true;
                self.cells += 1;
            }
        }
    }

    fn end_tag(&mut self, name: &str) {
        match Kind::of(name) {
            Some(kind) => self.end(kind),
            None if is_block(name) => self.break_lines(2),
            None => {}
        }
    }

    /// Closes the innermost element of this kind and everything in it.
    fn end(&mut self, kind: Kind) {
        self.work += self.open.len();
        let mut above = self.open.iter().enumerate().rev();
        // An end tag without a start closes nothing.
        let found = above.find(|(_, open)| open.kind == kind || kind.stays_within(open.kind));
        let Some((at, _)) = found.filter(|(_, open)| open.kind == kind) else { return };
        while self.open.len() > at {
            if let Some(open) = self.open.pop() {
                self.leave(&open);
            }
        }
    }

    fn leave(&mut self, open: &Open) {
        self.work += 1;
        match open.kind {
            Kind::Skipped => self.skipped -= 1,
            Kind::Heading(_) | Kind::Table => self.break_lines(2),
            // Written directly: a pending space belongs behind the mark.
            Kind::Marked(mark) if open.begun => self.out.push_str(mark),
            Kind::Link if open.begun => {
                self.out.push_str("](");
                self.out.push_str(&open.address);
                self.out.push(')');
            }
            Kind::Marked(_) | Kind::Link => {}
            Kind::Pre => {
                self.pre -= 1;
                self.line_ends = 0;
                self.break_lines(1);
                self.write("```");
                self.break_lines(2);
            }
            Kind::Quote => {
                self.indent.pop();
                self.break_lines(2);
            }
            Kind::List | Kind::NumberedList => {
                self.break_lines(if self.indent.is_empty() { 2 } else { 1 });
            }
            Kind::Item => {
                self.indent.pop();
                self.break_lines(1);
            }
            Kind::Row => {
                let cells = std::mem::take(&mut self.cells);
                if cells > 0 {
                    self.out.push_str(" |");
                    self.work += cells;
                    // Markdown has no table without a line of dashes below its first row.
                    if !std::mem::replace(&mut self.has_row, true) {
                        self.break_lines(1);
                        self.write(&format!("|{}", " --- |".repeat(cells)));
                    }
                }
                self.break_lines(1);
            }
            Kind::Cell => self.space = false,
        }
    }

    fn image(&mut self, alt: Option<&str>, src: Option<&str>) {
        let alt = decode(alt.unwrap_or_default());
        self.work += alt.len();
        // An image without a text is decoration.
        if let (false, Some(src)) = (alt.trim().is_empty(), src.and_then(address)) {
            self.write(&format!("![{}]({src})", alt.trim().replace(['\n', '\r'], " ")));
        }
    }

    fn text(&mut self, text: &str) {
        self.work += text.len();
        if self.skipped > 0 {
            return;
        }
        let text = decode(text);
        if self.pre > 0 {
            for (number, line) in text.split('\n').enumerate() {
                self.line_ends += usize::from(number > 0);
                if !line.is_empty() {
                    self.write(line);
                }
            }
            return;
        }
        self.space |= text.starts_with(char::is_whitespace);
        for (number, word) in text.split_whitespace().enumerate() {
            self.space |= number > 0;
            self.write(word);
        }
        self.space |= text.ends_with(char::is_whitespace);
    }

    /// Starts a new line; with 2, leaves an empty line. The text of a table row stays on one line.
    fn break_lines(&mut self, count: usize) {
        if self.cells > 0 && self.pre == 0 {
            self.space = true;
        } else if !self.out.is_empty() {
            self.line_ends = self.line_ends.max(count);
        }
    }

    /// Writes text, after the pending line ends, spaces and marks.
    fn write(&mut self, text: &str) {
        if self.skipped > 0 {
            return;
        }
        if self.line_ends > 0 || self.out.is_empty() {
            // Two spaces at the end of a line would be a line break in Markdown.
            let end = self.out.trim_end_matches(' ').len();
            self.out.truncate(end);
            self.work += self.line_ends + MAX_INDENT;
            for _ in 0..std::mem::take(&mut self.line_ends) {
                self.out.push('\n');
            }
            let indent = self.indent.iter().take(MAX_INDENT);
            indent.for_each(|mark| self.out.push_str(mark));
        } else if self.space && !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.space = false;
        // The innermost elements have not begun; they begin from the outside.
        let begun = self.open.iter().rposition(|open| open.begun).map_or(0, |at| at + 1);
        for open in &mut self.open[begun..] {
            self.work += 1;
            open.begun = true;
            match open.kind {
                Kind::Marked(mark) => self.out.push_str(mark),
                Kind::Link => self.out.push('['),
                _ => {}
            }
        }
        self.out.push_str(text);
    }

    fn finish(mut self) -> String {
        while let Some(open) = self.open.pop() {
            self.leave(&open);
        }
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

/// Returns the address of a link as it is shown; `None` if it leads to no other page.
fn address(text: &str) -> Option<String> {
    let text = decode(text.trim());
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    // Such links run code or contain the whole content.
    let hidden = matches!(scheme.as_deref(), Some("javascript" | "data" | "blob"));
    let short = !text.is_empty() && !text.starts_with('#') && text.len() <= MAX_LINK_BYTES;
    // Either would end the link in Markdown.
    let shown = || text.replace(char::is_whitespace, "%20").replace(')', "%29");
    (short && !hidden).then(shown)
}

#[cfg(test)]
mod tests;
