//! The output of a command as rows show it: its end, and how many lines there are.

use std::collections::VecDeque;

/// How many lines are kept.
const KEPT: usize = 2_000;

/// The last lines of an output.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputTail {
    lines: VecDeque<String>,
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
            let line = visible(&self.open[..end]);
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
    pub(crate) fn last(&self, limit: usize) -> (usize, Vec<String>) {
        let open = (!self.open.is_empty()).then(|| visible(&self.open));
        let all = self.lines.iter().cloned().chain(open);
        let shown = limit.min(self.count() - self.dropped);
        let skipped = self.count() - self.dropped - shown;
        (self.count() - shown, all.skip(skipped).collect())
    }
}

/// Returns what a terminal would show of a line: without escape sequences, and only what follows
/// the last carriage return.
fn visible(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    if !line.contains('\u{1b}') {
        return line.to_owned();
    }
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            // A control sequence ends with a letter or one of a few signs.
            Some('[') => {
                letters.by_ref().find(|letter| ('\u{40}'..='\u{7e}').contains(letter));
            }
            // A command for the terminal ends with BEL or ESC \.
            Some(']') => {
                let ended = letters.by_ref().find(|letter| matches!(letter, '\u{7}' | '\u{1b}'));
                if ended == Some('\u{1b}') {
                    letters.next();
                }
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests;
