//! Renders a block of Markdown.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::table::Table;
use crate::terminal::highlight::highlight;
use crate::terminal::text::{Line, Role, Span, Style, break_anywhere, width, wrap};

/// Renders a block. `number` replaces the number of its first list item.
pub(super) fn render_block(source: &str, width: usize, number: Option<u64>) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer::new(width, number);
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        renderer.after_blank = is_after_blank(source, range.start);
        renderer.event(event);
    }
    renderer.flush();
    renderer.lines
}

/// The block that contains lines: a quote or a list.
enum Container {
    Quote,
    /// An item, with its marker until a line has it.
    Item {
        marker: Option<String>,
        width: usize,
    },
}

struct Renderer {
    width: usize,
    number: Option<u64>,
    lines: Vec<Line>,
    containers: Vec<Container>,
    lists: Vec<Option<u64>>,
    /// The lines of the paragraph, before they are wrapped.
    inline: Vec<Line>,
    styles: Vec<Style>,
    link: Option<(String, usize)>,
    /// Whether the next block is not the first.
    gap: bool,
    /// Whether a blank line precedes the present event in the source. In lists it decides whether
    /// one is shown.
    after_blank: bool,
    /// A line break of the source, which is a space unless it is between wide letters.
    soft_break: bool,
    code: Option<(String, String)>,
    table: Option<Table>,
}

impl Renderer {
    fn new(width: usize, number: Option<u64>) -> Self {
        Self {
            width: width.max(4),
            number,
            lines: Vec::new(),
            containers: Vec::new(),
            lists: Vec::new(),
            inline: Vec::new(),
            styles: Vec::new(),
            link: None,
            gap: false,
            after_blank: false,
            soft_break: false,
            code: None,
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) => self.push(&text, self.style_with(Role::Code)),
            // The cell of a table has no other way to break a line.
            Event::InlineHtml(text) if is_line_break(&text) => self.break_line(),
            Event::Html(text) => {
                self.begin();
                for line in text.lines() {
                    let line = Line::new(line, Role::Dim);
                    self.emit(wrap(&line, self.room(), 0));
                }
                self.gap = true;
            }
            Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text, self.style());
            }
            Event::FootnoteReference(name) => self.push(&format!("[{name}]"), self.style()),
            Event::SoftBreak => self.soft_break = true,
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin();
                let rule = Line::new("─".repeat(self.room()), Role::Dim);
                self.emit(vec![rule]);
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                if let Some(Container::Item { marker, width }) = self.containers.last_mut() {
                    *marker = Some(if done { "☑ " } else { "☐ " }.to_owned());
                    *width = 2;
                }
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin(),
            Tag::Heading { level, .. } => {
                self.begin();
                let style = Style::from(Role::Accent).bold();
                let first = level == HeadingLevel::H1;
                self.styles.push(if first { style.underline() } else { style });
            }
            Tag::BlockQuote(_) => {
                self.begin();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin();
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or(""),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language.to_owned(), String::new()));
            }
            Tag::List(first) => {
                self.begin();
                self.lists.push(first.map(|first| self.number.take().unwrap_or(first)));
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.begin();
                self.table = Some(Table::new(&alignments));
            }
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.start_row();
                }
            }
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(Style { strike: true, ..self.style() }),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let length = self.inline.last().map_or(0, |line| line.plain().len());
                self.link = Some((dest_url.into_string(), length));
                self.styles.push(self.style_with(Role::Link));
            }
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.begin();
        // Two signs alternate, so that the levels of nested lists differ.
        let bullet = if self.lists.len().is_multiple_of(2) { "◦ " } else { "• " };
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => bullet.to_owned(),
        };
        let width = marker.chars().count();
        self.containers.push(Container::Item { marker: Some(marker), width });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                self.flush();
                self.gap = true;
                // An item without text has its marker alone.
                if let Some(Container::Item { marker: Some(_), .. }) = self.containers.last() {
                    self.emit(vec![Line::default()]);
                }
                self.containers.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.emit(table.render(self.room()));
                }
                self.gap = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let room = self.room();
        for line in highlight(&language, &code) {
            self.emit(break_anywhere(&line, room));
        }
        self.gap = true;
    }

    /// Shows where a link leads, unless its text says it.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, start)) = self.link.take() else { return };
        let line = self.inline.last().map(Line::plain).unwrap_or_default();
        let shown = line.get(start..).unwrap_or("").trim();
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        if shown != bare && !address.is_empty() && !address.starts_with('#') {
            let text = format!(" ({address})");
            let text = if shown.is_empty() { text.trim_start() } else { &text };
            self.push(text, self.style_with(Role::Dim));
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn style_with(&self, role: Role) -> Style {
        Style { role, ..self.style() }
    }

    /// Adds text, in which addresses become links.
    fn text(&mut self, text: &str) {
        let mut rest = text;
        while self.link.is_none()
            && let Some((start, end)) = find_address(rest)
        {
            self.push(&rest[..start], self.style());
            self.link = Some((rest[start..end].to_owned(), 0));
            self.push(&rest[start..end], self.style_with(Role::Link));
            self.link = None;
            rest = &rest[end..];
        }
        self.push(rest, self.style());
    }

    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.soft_break) && !(self.ends_wide() && starts_wide(text)) {
            let space = Span { link: self.address(), ..Span::new(" ", self.style()) };
            if let Some(line) = self.inline.last_mut() {
                line.append(space);
            }
        }
        let mut span = Span::new(text, style);
        span.link = self.address();
        if self.inline.is_empty() {
            self.inline.push(Line::default());
        }
        if let Some(line) = self.inline.last_mut() {
            line.append(span);
        }
    }

    fn address(&self) -> Option<String> {
        self.link.as_ref().map(|(address, _)| address.clone())
    }

    fn break_line(&mut self) {
        self.soft_break = false;
        self.inline.push(Line::default());
    }

    fn ends_wide(&self) -> bool {
        let span = self.inline.last().and_then(|line| line.0.last());
        span.and_then(|span| span.text.chars().next_back()).is_some_and(is_wide)
    }

    /// Begins a block: writes text that waits, and a blank line.
    fn begin(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && (self.lists.is_empty() || self.after_blank) {
            self.blank();
        }
    }

    fn blank(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let mut line = Line::default();
        for container in &self.containers {
            match container {
                Container::Quote => line.push("│ ", Role::Dim),
                Container::Item { width, .. } => line.push(" ".repeat(*width), Role::Text),
            }
        }
        let quoted = line.0.iter().any(|span| span.style.role == Role::Dim);
        self.lines.push(if quoted { line } else { Line::default() });
    }

    /// Wraps the text that waits.
    fn flush(&mut self) {
        self.soft_break = false;
        // The text of a cell is taken at the end of the cell.
        if self.table.is_some() {
            return;
        }
        let room = self.room();
        for line in std::mem::take(&mut self.inline) {
            self.emit(wrap(&line, room, 0));
        }
    }

    /// Returns the number of columns inside of the containers.
    fn room(&self) -> usize {
        self.width - self.margin()
    }

    /// Returns the number of columns that the containers take: at most half of the width.
    fn margin(&self) -> usize {
        let width = |container: &Container| match container {
            Container::Quote => 2,
            Container::Item { width, .. } => *width,
        };
        let all: usize = self.containers.iter().map(width).sum();
        all.min(self.width / 2)
    }

    /// Writes rows behind what the containers put before them.
    fn emit(&mut self, rows: Vec<Line>) {
        let limit = self.margin();
        for row in rows {
            let mut prefixes = Vec::new();
            for container in &mut self.containers {
                prefixes.push(match container {
                    Container::Quote => Span::new("│ ", Role::Dim),
                    Container::Item { marker, width } => match marker.take() {
                        Some(marker) => Span::new(marker, Role::Dim),
                        None => Span::new(" ".repeat(*width), Role::Text),
                    },
                });
            }
            // Too deep: only the innermost are shown.
            let mut used: usize = prefixes.iter().map(Span::width).sum();
            let mut line = Line::default();
            for prefix in prefixes {
                if used <= limit {
                    line.append(prefix);
                } else {
                    used -= prefix.width();
                }
            }
            line.extend(row);
            self.lines.push(line);
        }
    }
}

/// Returns whether the line before a position is blank, or has only the signs of quotes.
fn is_after_blank(source: &str, at: usize) -> bool {
    let Some((before, _)) = source[..at].rsplit_once('\n') else { return false };
    let line = before.rsplit('\n').next().unwrap_or("");
    line.chars().all(|letter| letter.is_whitespace() || letter == '>')
}

fn starts_wide(text: &str) -> bool {
    text.chars().next().is_some_and(is_wide)
}

/// Returns whether a letter is of a script that is written without spaces.
fn is_wide(letter: char) -> bool {
    letter.is_alphabetic() && width(letter.encode_utf8(&mut [0; 4])) == 2
        || "，。、；：！？）」』".contains(letter)
}

fn is_line_break(html: &str) -> bool {
    matches!(html, "<br>" | "<br/>" | "<br />")
}

/// Finds an address in a text.
fn find_address(text: &str) -> Option<(usize, usize)> {
    let start = ["https://", "http://"].iter().filter_map(|scheme| text.find(scheme)).min()?;
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | '"' | '`');
    let mut end = text[start..].find(ends).map_or(text.len(), |length| start + length);
    while let Some(last) = text[start..end].chars().last() {
        // A closing bracket belongs to the sentence unless the address has an opening one, as those
        // of Wikipedia do.
        let open = text[start..end].contains('(');
        if matches!(last, '.' | ',' | ';' | ':' | '!' | '?' | '\'' | ']' | '。' | '，')
            || (last == ')' && !open)
        {
            end -= last.len_utf8();
        } else {
            break;
        }
    }
    Some((start, end))
}
