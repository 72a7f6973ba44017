//! Questions of the model to the user (AskUserQuestion): answers to choose from, or a text.

use std::collections::VecDeque;
use std::time::Duration;

use robota_tools::UserQuestion;

use super::composer::Composer;
use super::question::QUIET;

/// A question that waits for the user.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Names the question in the answer.
    pub(crate) id: u64,
    pub(crate) question: String,
    pub(crate) header: Option<String>,
    pub(crate) options: Vec<Answer>,
    /// Whether several answers may be chosen.
    pub(crate) several: bool,
    pub(crate) selected: usize,
    /// Another answer, while the user types it.
    pub(crate) text: Option<Composer>,
    armed_at: Duration,
}

/// An answer to choose.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) label: String,
    pub(crate) description: String,
    pub(crate) marked: bool,
}

/// The questions, of which the first is shown.
#[derive(Debug, Default)]
pub(crate) struct Choices(VecDeque<Choice>);

impl Choices {
    /// Adds a question.
    pub(crate) fn push(&mut self, id: u64, question: UserQuestion, now: Duration) {
        let options = question.options.unwrap_or_default();
        let answer = |option: &robota_tools::AnswerOption| Answer {
            label: option.label().to_owned(),
            description: option.description().to_owned(),
            marked: false,
        };
        let options: Vec<_> = options.iter().map(answer).collect();
        // Without answers to choose from there is only the text.
        let text = options.is_empty().then(Composer::default);
        self.0.push_back(Choice {
            id,
            question: question.question,
            header: question.header,
            options,
            several: question.multi_select.unwrap_or(false),
            selected: 0,
            text,
            armed_at: now + QUIET,
        });
    }

    /// Removes a question that was withdrawn.
    pub(crate) fn remove(&mut self, id: u64, now: Duration) {
        self.0.retain(|choice| choice.id != id);
        self.arm(now);
    }

    /// Removes all questions.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the question that is shown.
    pub(crate) fn shown(&self) -> Option<&Choice> {
        self.0.front()
    }

    /// Returns the question that is shown, to change it.
    pub(crate) fn shown_mut(&mut self) -> Option<&mut Choice> {
        self.0.front_mut()
    }

    /// Takes the question that is shown away.
    pub(crate) fn take(&mut self, now: Duration) -> Option<Choice> {
        let taken = self.0.pop_front();
        self.arm(now);
        taken
    }

    /// Returns whether keys are answers.
    pub(crate) fn is_armed(&self, now: Duration) -> bool {
        self.shown().is_some_and(|choice| now >= choice.armed_at)
    }

    /// Returns when keys become answers, if that is in the future.
    pub(crate) fn arms_at(&self, now: Duration) -> Option<Duration> {
        self.shown().map(|choice| choice.armed_at).filter(|at| now < *at)
    }

    /// Notes a key that was typed too early to be an answer.
    // The user is still typing something else, so the question waits once more before it takes
    // keys.
    pub(crate) fn type_ahead(&mut self, now: Duration) {
        self.arm(now);
    }

    fn arm(&mut self, now: Duration) {
        if let Some(choice) = self.shown_mut() {
            // The question may have appeared this moment: what is being typed is no answer to it.
            choice.armed_at = now + QUIET;
        }
    }
}

impl Choice {
    /// Returns the answer for the model: what is marked, or the selected one.
    pub(crate) fn answer(&self) -> Option<String> {
        let marked: Vec<_> = self
            .options
            .iter()
            .filter(|option| option.marked)
            .map(|option| option.label.as_str())
            .collect();
        match marked.is_empty() {
            false => Some(marked.join(", ")),
            true => self.options.get(self.selected).map(|option| option.label.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
