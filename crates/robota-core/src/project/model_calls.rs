//! The model calls of a session and what they used.

use crate::event::Event;
use crate::usage::Usage;

/// A model call that has ended, and was paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCallUsage {
    /// The id of the model, as the session requested it.
    pub model: String,
    /// The tokens of the call; `None` if the provider reports none.
    pub usage: Option<Usage>,
    /// Whether it is a call of a turn for the next answer of the conversation. Others are compactions,
    /// answers that were discarded, and calls outside the conversation.
    pub is_answer: bool,
}

/// Finds the model calls in the events of a session: each call once, also a call that failed or was
/// interrupted after the service had counted tokens.
///
/// ```
/// use robota_core::event::ModelAsked;
/// use robota_core::project::ModelCalls;
/// use robota_core::usage::Usage;
///
/// let (model, usage) = ("a-model".to_owned(), Some(Usage::new(100, 5)));
/// let event = ModelAsked { model, usage, error: None }.into();
/// let call = ModelCalls::default().push(&event).map(|call| (call.model, call.usage));
/// assert_eq!(call, Some(("a-model".to_owned(), usage)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelCalls {
    model: String,
    /// Whether an answer was requested and has not ended.
    answering: bool,
}

impl ModelCalls {
    /// Takes an event; returns the call that it ends.
    pub fn push(&mut self, event: &Event) -> Option<ModelCallUsage> {
        match event {
            Event::TurnStarted(data) => {
                self.model.clone_from(&data.model);
                self.answering = false;
                None
            }
            Event::ModelRequested(_) => {
                self.answering = true;
                None
            }
            Event::ModelResponded(data) => {
                self.answering = false;
                Some(self.call(data.usage, true))
            }
            // An answer that was cut short has no `model_responded`; its message has the tokens that the
            // service had counted.
            Event::AssistantMessage(data) => {
                let cut_short = std::mem::take(&mut self.answering);
                let usage = data.message.usage.filter(|_| cut_short)?;
                Some(self.call(Some(usage), true))
            }
            Event::CompactionFinished(data) => Some(self.call(data.summary.usage, false)),
            Event::ModelAsked(data) => {
                let (model, usage) = (data.model.clone(), data.usage);
                Some(ModelCallUsage { model, usage, is_answer: false })
            }
            _ => None,
        }
    }

    /// Returns the model of the last turn; empty before the first.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    fn call(&self, usage: Option<Usage>, is_answer: bool) -> ModelCallUsage {
        ModelCallUsage { model: self.model.clone(), usage, is_answer }
    }
}
