//! The text of the last answer of a turn.

use crate::event::Event;

/// Collects the text of the last answer of a turn, with the parts of it that further model calls
/// continued because the answer was cut short or paused.
///
/// ```
/// use robota_core::project::AnswerText;
///
/// let mut answer = AnswerText::default();
/// # let events: Vec<robota_core::event::Event> = Vec::new();
/// for event in &events {
///     answer.push(event);
/// }
/// assert_eq!(answer.text, "");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerText {
    /// The text so far; empty when a turn starts.
    pub text: String,
    /// Whether the next message continues the text.
    continues: bool,
}

impl AnswerText {
    /// Takes an event of the turn.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::TurnStarted(_) => *self = Self::default(),
            Event::ModelRequested(data) => self.continues = data.continues,
            Event::AssistantMessage(data) => {
                if !std::mem::take(&mut self.continues) {
                    self.text.clear();
                }
                self.text.push_str(&data.message.text());
            }
            _ => {}
        }
    }
}

impl From<String> for AnswerText {
    fn from(text: String) -> Self {
        Self { text, continues: false }
    }
}
