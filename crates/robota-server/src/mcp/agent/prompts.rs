//! The prompts that hosts sent to an agent: how many are open, and how the last one ended.

use super::Finished;

/// The prompts of an agent.
#[derive(Default)]
pub(super) struct Prompts {
    sent: u64,
    /// How many wait or are answered.
    open: usize,
    /// The last prompt that had a turn, and the end of that turn.
    last: Option<(u64, Finished)>,
}

impl Prompts {
    /// Counts a prompt that was sent. Returns its number.
    pub(super) fn begin(&mut self) -> u64 {
        if self.open == 0 {
            self.last = None;
        }
        self.open += 1;
        self.sent += 1;
        self.sent
    }

    /// Notes the end of a prompt; none if it was cancelled before its turn. Returns the end of the agent's
    /// work if no prompt is left.
    pub(super) fn end(&mut self, number: u64, end: Option<Finished>) -> Option<Finished> {
        self.open = self.open.saturating_sub(1);
        let is_last = self.last.as_ref().is_none_or(|(last, _)| *last < number);
        if let Some(end) = end.filter(|_| is_last) {
            self.last = Some((number, end));
        }
        let last = || self.last.clone().map_or_else(Finished::cancelled, |(_, end)| end);
        (self.open == 0).then(last)
    }
}
