//! The output of a command as rows show it: its end, and how many lines there are.

use std::collections::VecDeque;

use super::ansi;
use super::text::{Line, Role, Style};

/// How many lines are kept.
const KEPT: usize = 2_000;

/// How many bytes of a line that does not end are kept.
const LONGEST: usize = 16 * 1024;

/// The last lines of an output.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputTail {
    lines: VecDeque<Line>,
    /// The colours that go on in the next line.
    colours: ansi::Output,
    /// How many lines there were before those that are kept.
    dropped: usize,
    /// The line that is not finished, as it was written.
    open: String,
}

impl OutputTail {
    /// Takes a whole output.
    pub(crate) fn whole(text: &str) -> Self {
        let mut tail = Self::default();
        tail.push(text);
        tail
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, text: &str) {
        let mut pieces = text.split('\n');
        self.push_open(pieces.next().unwrap_or_default());
        for piece in pieces {
            let line = dim(self.colours.line(self.open.trim_end_matches('\r')));
            self.open.clear();
            self.lines.push_back(line);
            if self.lines.len() > KEPT {
                self.lines.pop_front();
                self.dropped += 1;
            }
            self.push_open(piece);
        }
    }

    /// Adds to the line that is not finished. Of a very long one, the end is kept.
    fn push_open(&mut self, piece: &str) {
        self.open.push_str(piece);
        // Twice the limit, so that a progress bar without line breaks is not moved in memory for
        // each piece.
        if self.open.len() > 2 * LONGEST {
            let from = self.open.len() - LONGEST;
            let from = (from..self.open.len()).find(|at| self.open.is_char_boundary(*at));
            self.open.drain(..from.unwrap_or(0));
        }
    }

    /// Returns how many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.dropped + self.lines.len() + usize::from(!self.open.is_empty())
    }

    /// Returns the last lines, at most `limit`, and how many are before them.
    pub(crate) fn last(&self, limit: usize) -> (usize, Vec<Line>) {
        // A copy of the colours, because the line is read again when it is complete.
        let open = (!self.open.is_empty()).then(|| dim(self.colours.clone().line(&self.open)));
        let shown = limit.min(self.count() - self.dropped);
        let skipped = self.count() - self.dropped - shown;
        let lines = self.lines.iter().skip(skipped).cloned();
        let open = open.filter(|_| shown > 0);
        (self.count() - shown, lines.chain(open).collect())
    }
}

/// Makes plain text dim: the output is less important than what the model says of it.
fn dim(line: Line) -> Line {
    let plain = Style::default();
    let spans = line.0.into_iter().map(|mut span| {
        if span.style == plain {
            span.style = Role::Dim.into();
        }
        span
    });
    Line(spans.collect())
}

#[cfg(test)]
mod tests;
