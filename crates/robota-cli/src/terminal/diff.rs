//! Renders the changes of a file: line numbers, changed words, colours of the language. Nothing is
//! cut: long lines take several rows.

mod words;

use similar::{ChangeTag, TextDiff};

pub(crate) use robota_sdk::DiffLine;

use super::highlight::{Highlighter, language_of_path};
use super::text::{Ground, Line, Role, Span, Style, break_anywhere};
use words::{Marks, changed_words};

/// How many lines around a change are shown.
const CONTEXT: usize = 3;

/// The rows of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiffRows {
    pub(crate) lines: Vec<Line>,
    /// The rows in which changed lines begin.
    changed: Vec<usize>,
}

impl DiffRows {
    /// Returns the row of the first change.
    pub(crate) fn first_change(&self) -> usize {
        self.changed.first().copied().unwrap_or(0)
    }

    /// Returns how many changed lines begin in a row or below it: those that a view hides whose
    /// last row is the one above.
    pub(crate) fn changes_from(&self, row: usize) -> usize {
        self.changed.len() - self.changed.partition_point(|changed| *changed < row)
    }

    /// Returns how many changed lines begin above a row.
    pub(crate) fn changes_above(&self, row: usize) -> usize {
        self.changed.partition_point(|changed| *changed < row)
    }
}

/// Renders a diff to lines that are not wider than `width`.
pub(crate) fn render(lines: &[DiffLine], path: Option<&str>, width: usize) -> Vec<Line> {
    rows(lines, path, width).lines
}

/// Renders a diff, and says in which rows the changes are.
pub(crate) fn rows(lines: &[DiffLine], path: Option<&str>, width: usize) -> DiffRows {
    let language = path.and_then(language_of_path);
    let marks = changed_words(lines);
    let digits = lines.iter().map(number).max().unwrap_or(0).to_string().len();
    let mut colours = Colours::new(language);
    let mut rows = DiffRows::default();
    for (line, marks) in lines.iter().zip(&marks) {
        if let DiffLine::Hunk { .. } = line {
            if !rows.lines.is_empty() {
                rows.lines.push(Line::new(format!("{:>digits$} ⋮", ""), Role::Dim));
            }
            // The lines between two hunks are not known: a comment that is open above may have
            // ended there.
            colours = Colours::new(language);
            continue;
        }
        if matches!(line, DiffLine::Add { .. } | DiffLine::Remove { .. }) {
            rows.changed.push(rows.lines.len());
        }
        row(line, marks, digits, width, &mut colours, &mut rows.lines);
    }
    rows
}

/// The colours of the old and the new file, which continue from line to line.
struct Colours {
    old: Option<Highlighter>,
    new: Option<Highlighter>,
}

impl Colours {
    fn new(language: Option<&str>) -> Self {
        let highlighter = language.and_then(Highlighter::new);
        Self { old: highlighter.clone(), new: highlighter }
    }

    fn line(&mut self, line: &DiffLine, text: &str) -> Line {
        let plain = || Line::new(text, Role::Text);
        let colour = |highlighter: &mut Option<Highlighter>| {
            highlighter.as_mut().map_or_else(plain, |highlighter| highlighter.line(text))
        };
        match line {
            DiffLine::Add { .. } => colour(&mut self.new),
            DiffLine::Remove { .. } => colour(&mut self.old),
            DiffLine::Context { .. } | DiffLine::Hunk { .. } => {
                // Both files have the line, and the lines behind it continue from its colours.
                colour(&mut self.old);
                colour(&mut self.new)
            }
        }
    }
}

fn number(line: &DiffLine) -> u32 {
    match line {
        DiffLine::Hunk { .. } => 0,
        DiffLine::Context { line, .. }
        | DiffLine::Add { line, .. }
        | DiffLine::Remove { line, .. } => *line,
    }
}

/// Renders a line into one or more rows.
fn row(
    line: &DiffLine,
    marks: &Marks,
    digits: usize,
    width: usize,
    colours: &mut Colours,
    out: &mut Vec<Line>,
) {
    let (sign, role, ground, word, text) = match line {
        DiffLine::Hunk { .. } => return,
        DiffLine::Context { text, .. } => (" ", Role::Dim, Ground::Plain, Ground::Plain, text),
        DiffLine::Add { text, .. } => ("+", Role::Added, Ground::Added, Ground::AddedWord, text),
        DiffLine::Remove { text, .. } => {
            ("-", Role::Removed, Ground::Removed, Ground::RemovedWord, text)
        }
    };
    let text = text.trim_end_matches(['\n', '\r']);
    // Tabs would make the marks and the columns differ.
    let (text, marks) = words::expand_tabs(text, marks);
    let coloured = colours.line(line, &text);
    let gutter = digits + 3;
    let room = width.saturating_sub(gutter).max(8);
    let content = on_ground(&coloured, ground, word, &marks);
    for (index, part) in break_anywhere(&content, room).into_iter().enumerate() {
        let mut shown = match index {
            0 => Line::new(format!("{:>digits$} ", number(line)), role)
                .with(format!("{sign} "), Style::from(role).on(ground)),
            _ => Line::new(format!("{:>digits$}   ", ""), Role::Dim),
        };
        shown.extend(part);
        if ground != Ground::Plain {
            shown = shown.pad(width, Style::default().on(ground));
        }
        out.push(shown);
    }
}

/// Puts a line on a ground, and its changed words on another.
fn on_ground(line: &Line, ground: Ground, word: Ground, marks: &Marks) -> Line {
    let mut out = Line::default();
    let mut offset = 0;
    for span in &line.0 {
        let mut start = 0;
        while start < span.text.len() {
            let at = offset + start;
            let (marked, end) = marks.at(at);
            let mut end = end.saturating_sub(offset).min(span.text.len());
            while !span.text.is_char_boundary(end) {
                end += 1;
            }
            let style = span.style.on(if marked { word } else { ground });
            out.append(Span { text: span.text[start..end].to_owned(), style, link: None });
            start = end;
        }
        offset += span.text.len();
    }
    out
}

/// Counts the added and the removed lines.
pub(crate) fn counts(lines: &[DiffLine]) -> (usize, usize) {
    let added = lines.iter().filter(|line| matches!(line, DiffLine::Add { .. })).count();
    let removed = lines.iter().filter(|line| matches!(line, DiffLine::Remove { .. })).count();
    (added, removed)
}

/// Returns the changes from one text to another, with three lines around them.
pub(crate) fn between(old: &str, new: &str) -> Vec<DiffLine> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let part = |start: usize, end: usize| format!("{},{}", start + 1, end - start);
        lines.push(DiffLine::Hunk {
            text: format!(
                "-{} +{}",
                part(first.old_range().start, last.old_range().end),
                part(first.new_range().start, last.new_range().end)
            ),
        });
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().trim_end_matches(['\n', '\r']).to_owned();
            let index = match change.tag() {
                ChangeTag::Delete => change.old_index(),
                ChangeTag::Insert | ChangeTag::Equal => change.new_index(),
            };
            let line = u32::try_from(index.unwrap_or(0) + 1).unwrap_or(u32::MAX);
            lines.push(match change.tag() {
                ChangeTag::Equal => DiffLine::Context { line, text },
                ChangeTag::Insert => DiffLine::Add { line, text },
                ChangeTag::Delete => DiffLine::Remove { line, text },
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests;
