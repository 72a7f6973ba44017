//! The text of an answer while it streams.

use std::borrow::Cow;

use crate::event::Event;

/// Says what a client changes in the text that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextUpdate<'a> {
    /// Print this text after what is already shown.
    Append(Cow<'a, str>),
    /// The text since the last committed answer is void: its model call failed and is retried.
    /// Remove the text, or print [`TextUpdate::RESET_NOTICE`].
    Reset,
}

impl TextUpdate<'_> {
    /// The text to print instead of a reset, where text cannot be removed.
    pub const RESET_NOTICE: &'static str = "\n\n[the answer was cut off and starts again]\n\n";

    /// Returns the text to print; for a reset, the notice.
    #[must_use]
    pub fn printed(&self) -> &str {
        match self {
            Self::Append(text) => text,
            Self::Reset => Self::RESET_NOTICE,
        }
    }
}

/// Converts events to the text to print (CORE-19): the streamed text, with a blank line between the
/// text of two rounds.
#[derive(Debug, Clone, Default)]
pub struct StreamText {
    /// The round whose text was printed last.
    printed: Option<u32>,
    /// Whether text of an uncommitted answer was printed.
    open: bool,
}

impl StreamText {
    /// Returns how the display changes with this event, if it does.
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
