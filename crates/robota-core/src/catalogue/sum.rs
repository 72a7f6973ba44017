//! The cost of several calls of one model.

use serde::{Deserialize, Serialize};

use super::Catalogue;
use crate::event::Event;
use crate::usage::Usage;

/// Adds up the cost of each call of one model, such as those of a turn. The cost of their summed
/// usage would be wrong, because whether a prompt is long depends on the call.
///
/// ```
/// use robota_core::catalogue::{Catalogue, CostSum};
/// use robota_core::usage::Usage;
///
/// let (model, usage) = ("gemini-2.5-pro", Usage::new(150_000, 10));
/// let mut sum = CostSum::new(model);
/// sum.add(usage);
/// sum.add(usage);
/// let one = Catalogue::builtin().cost(model, usage).unwrap_or_default();
/// assert_eq!(sum.dollars(), Some(one + one));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CostSum {
    model: String,
    dollars: Option<f64>,
}

impl CostSum {
    /// Creates the sum for a model, before its first call.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        // Nothing costs nothing, unless the model has no known price.
        let dollars = Catalogue::builtin().cost(&model, Usage::default());
        Self { model, dollars }
    }

    /// Adds what one call used, at the price of a prompt of that length.
    pub fn add(&mut self, usage: Usage) {
        let call = Catalogue::builtin().cost(&self.model, usage);
        self.dollars = self.dollars.zip(call).map(|(sum, call)| sum + call);
    }

    /// Adds the call that an event of a turn ends: an answer, a summary of the conversation, or an attempt
    /// that failed.
    pub fn add_event(&mut self, event: &Event) {
        let message = match event {
            Event::AssistantMessage(data) => &data.message,
            Event::CompactionFinished(data) => &data.summary,
            Event::ModelAsked(data) => {
                let usage = data.usage.unwrap_or_default();
                let call = Catalogue::builtin().cost(&data.model, usage);
                self.dollars = self.dollars.zip(call).map(|(sum, call)| sum + call);
                return;
            }
            _ => return,
        };
        if let Some(usage) = message.usage {
            self.add(usage);
        }
    }

    /// Returns the model of the calls.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the cost of all calls in dollars; none if a price is not known.
    #[must_use]
    pub fn dollars(&self) -> Option<f64> {
        self.dollars
    }
}
