//! The text as it streams.

use std::borrow::Cow;

use crate::event::Event;

/// What to do with the text on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextUpdate<'a> {
    /// Print this.
    Append(Cow<'a, str>),
    /// The text since the last committed answer is void: its model call failed and is tried
    /// again. Remove it, or print [`TextUpdate::RESET_NOTICE`].
    Reset,
}

impl TextUpdate<'_> {
    /// What to print in place of a reset where text cannot be removed.
    pub const RESET_NOTICE: &'static str = "\n\n[the answer was cut off and starts again]\n\n";

    /// The text to print, with the notice in place of a reset.
    #[must_use]
    pub fn printed(&self) -> &str {
        match self {
            Self::Append(text) => text,
            Self::Reset => Self::RESET_NOTICE,
        }
    }
}

/// Follows a run and says what to print (CORE-19): the text as it comes, a blank line between
/// the text of two rounds.
#[derive(Debug, Clone, Default)]
pub struct StreamText {
    /// The round whose text was printed last.
    printed: Option<u32>,
    /// Whether text of the answer that streams was printed.
    open: bool,
}

impl StreamText {
    /// What to do for this event, if anything.
    pub fn push<'a>(&mut self, event: &'a Event) -> Option<TextUpdate<'a>> {
        match event {
            Event::TurnStarted(_) => {
                *self = Self::default();
                None
            }
            Event::AssistantMessage(_) => {
                self.open = false;
                None
            }
            Event::StreamReset(_) => std::mem::take(&mut self.open).then_some(TextUpdate::Reset),
            Event::TextChunk(chunk) => {
                let separate = self.printed.is_some_and(|round| round != chunk.round);
                self.printed = Some(chunk.round);
                self.open = true;
                Some(TextUpdate::Append(if separate {
                    Cow::Owned(format!("\n\n{}", chunk.text))
                } else {
                    Cow::Borrowed(&chunk.text)
                }))
            }
            _ => None,
        }
    }
}
