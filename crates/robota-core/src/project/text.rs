//! The text as it streams.

use std::borrow::Cow;

use crate::event::Event;

/// Follows a run and says what to print (CORE-19): the text as it comes, a blank line between
/// the text of two rounds.
#[derive(Debug, Clone, Default)]
pub struct StreamText {
    /// The round whose text was printed last.
    printed: Option<u32>,
}

impl StreamText {
    /// What to print for this event, if anything.
    pub fn push<'a>(&mut self, event: &'a Event) -> Option<Cow<'a, str>> {
        match event {
            Event::TurnStarted(_) => {
                self.printed = None;
                None
            }
            Event::TextChunk(chunk) => {
                let separate = self.printed.is_some_and(|round| round != chunk.round);
                self.printed = Some(chunk.round);
                Some(if separate {
                    Cow::Owned(format!("\n\n{}", chunk.text))
                } else {
                    Cow::Borrowed(&chunk.text)
                })
            }
            _ => None,
        }
    }
}
