//! The output of a command as rows show it: its end, and how many lines there are.

use std::collections::VecDeque;

use super::ansi;
use super::text::{Line, Role, Style};

/// How many lines are kept.
const KEPT: usize = 2_000;

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
        self.open.push_str(text);
        while let Some(end) = self.open.find('\n') {
            let line = dim(self.colours.line(self.open[..end].trim_end_matches('\r')));
            self.open.drain(..=end);
            self.lines.push_back(line);
            if self.lines.len() > KEPT {
                self.lines.pop_front();
                self.dropped += 1;
            }
        }
    }

    /// Returns how many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.dropped + self.lines.len() + usize::from(!self.open.is_empty())
    }

    /// Returns the last lines, at most `limit`, and how many are before them.
    pub(crate) fn last(&self, limit: usize) -> (usize, Vec<Line>) {
        let open = (!self.open.is_empty()).then(|| dim(self.colours.clone().line(&self.open)));
        let all = self.lines.iter().cloned().chain(open);
        let shown = limit.min(self.count() - self.dropped);
        let skipped = self.count() - self.dropped - shown;
        (self.count() - shown, all.skip(skipped).collect())
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
