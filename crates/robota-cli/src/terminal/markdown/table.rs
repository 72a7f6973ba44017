//! Renders tables: as a grid, or in narrow terminals as records.

use pulldown_cmark::Alignment;

use crate::terminal::text::{Line, Role, Span, wrap};

/// Below this width rows become records.
const NARROW: usize = 50;
/// The least width of a column whose text does not fit.
const LEAST: usize = 6;

/// A table. A cell has several lines if its text has line breaks.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<Line>>>,
}

impl Table {
    pub(super) fn new(alignments: &[Alignment]) -> Self {
        Self { alignments: alignments.to_vec(), rows: Vec::new() }
    }

    pub(super) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, lines: Vec<Line>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(lines);
        }
    }

    pub(super) fn render(self, width: usize) -> Vec<Line> {
        let natural = self.natural_widths();
        let borders = 3 * natural.len() + 1;
        let least: usize = natural.iter().map(|columns| (*columns).min(LEAST)).sum();
        let whole: usize = natural.iter().sum::<usize>() + borders;
        // Columns of a few letters would break every word.
        if whole > width && (width < NARROW || borders + least > width) {
            return self.records(width);
        }
        self.grid(&shrink(natural, width - borders))
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths = vec![1; self.alignments.len()];
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate().take(widths.len()) {
                let widest = cell.iter().map(Line::width).max().unwrap_or(0);
                widths[column] = widths[column].max(widest);
            }
        }
        widths
    }

    fn grid(&self, widths: &[usize]) -> Vec<Line> {
        let border = |left: &str, middle: &str, right: &str| {
            let parts: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            Line::new(format!("{left}{}{right}", parts.join(middle)), Role::Dim)
        };
        let mut lines = vec![border("┌", "┬", "┐")];
        // Rows of several lines need borders between them.
        let several = self.rows.iter().skip(1).any(|row| Self::height(row, widths) > 1);
        for (index, row) in self.rows.iter().enumerate() {
            if index == 1 || (index > 1 && several) {
                lines.push(border("├", "┼", "┤"));
            }
            self.grid_row(row, widths, index == 0, &mut lines);
        }
        lines.push(border("└", "┴", "┘"));
        lines
    }

    fn height(row: &[Vec<Line>], widths: &[usize]) -> usize {
        let cells = row.iter().zip(widths);
        cells.map(|(cell, width)| wrapped(cell, *width).len()).max().unwrap_or(1)
    }

    fn grid_row(&self, row: &[Vec<Line>], widths: &[usize], head: bool, lines: &mut Vec<Line>) {
        let cells: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrapped(row.get(column).map_or(&[], Vec::as_slice), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for at in 0..height {
            let mut line = Line::default();
            for (column, width) in widths.iter().enumerate() {
                line.push(if column == 0 { "│ " } else { " │ " }, Role::Dim);
                let mut text = cells[column].get(at).cloned().unwrap_or_default();
                if head {
                    text.0.iter_mut().for_each(|span| span.style.bold = true);
                }
                let missing = width.saturating_sub(text.width());
                let left = match self.alignments[column] {
                    Alignment::Right => missing,
                    Alignment::Center => missing / 2,
                    Alignment::Left | Alignment::None => 0,
                };
                line.push(" ".repeat(left), Role::Text);
                line.extend(text);
                line.push(" ".repeat(missing - left), Role::Text);
            }
            line.push(" │", Role::Dim);
            line.0.retain(|span| !span.text.is_empty());
            lines.push(line);
        }
    }

    /// Each row as lines of `name: value`.
    fn records(self, width: usize) -> Vec<Line> {
        let mut rows = self.rows.into_iter();
        let names = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for (index, row) in rows.enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            for (column, cell) in row.into_iter().enumerate() {
                let mut line = Line::default();
                for span in names.get(column).into_iter().flatten().flat_map(|name| &name.0) {
                    line.append(Span { style: span.style.bold(), ..span.clone() });
                }
                if !line.is_empty() {
                    line.push(": ", Role::Dim);
                }
                for (part, text) in cell.into_iter().enumerate() {
                    if part > 0 {
                        line.push(" ", Role::Text);
                    }
                    line.extend(text);
                }
                lines.extend(wrap(&line, width, 2));
            }
        }
        if lines.is_empty() {
            // A table without rows: its head.
            let texts: Vec<String> = names.iter().flatten().map(Line::plain).collect();
            lines.extend(wrap(&Line::new(texts.join(" · "), Role::Text), width, 2));
        }
        lines
    }
}

fn wrapped(cell: &[Line], width: usize) -> Vec<Line> {
    cell.iter().flat_map(|line| wrap(line, width, 0)).collect()
}

/// Makes the widest columns narrower until all fit.
fn shrink(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    let mut total: usize = widths.iter().sum();
    while total > room {
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width) else { break };
        // A letter of a wide script does not fit into one column.
        if *widest <= 2 {
            break;
        }
        *widest -= 1;
        total -= 1;
    }
    widths
}
