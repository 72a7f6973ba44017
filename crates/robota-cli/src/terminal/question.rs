//! The calls that wait for the user's answer.

use std::collections::VecDeque;
use std::time::Duration;

use robota_core::approve::Scope;

use super::composer::Composer;
use super::event::{Asked, Preview, RuleTest};
use super::keys::Action;
use super::widgets::question::Rows;

/// Keys that are typed so soon after a question appeared, or after each other since then, were not
/// typed as its answer.
pub(crate) const QUIET: Duration = Duration::from_millis(300);

/// The questions, of which the first is shown.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    waiting: VecDeque<Asked>,
    /// How many of this group were answered.
    answered: usize,
    pub(crate) form: Form,
}

/// What the user did with the question that is shown.
#[derive(Debug, Default)]
pub(crate) struct Form {
    /// Keys count from this time on.
    armed_at: Duration,
    pub(crate) note: Option<String>,
    pub(crate) field: Option<Field>,
    /// The answer that Enter confirms. At first there is none: an Enter that was meant for the
    /// composer answers nothing.
    pub(crate) selected: Option<usize>,
    /// The first line of the preview that is shown; none before the user scrolled.
    pub(crate) scroll: Option<usize>,
    /// Whether the end of the preview was shown.
    pub(crate) seen: bool,
    /// The number of rows of the preview in the last frame, for scrolling by pages.
    pub(crate) rows: usize,
    /// The last first line to which the preview can be scrolled.
    pub(crate) last_scroll: usize,
    /// The rows of the preview, for this many columns.
    pub(crate) rendered: Option<(usize, Rows)>,
}

/// A text of the form that is edited.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) kind: FieldKind,
    pub(crate) composer: Composer,
    pub(crate) test: Option<RuleTest>,
}

/// Which text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// The rule of "always" or "session", whichever Enter gives.
    Rule(Scope),
    /// A note for the model.
    Note,
    /// The changes to a plan that the user asks for.
    Change,
}

/// An answer that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The key that gives it.
    pub(crate) key: &'static str,
    pub(crate) text: &'static str,
    pub(crate) action: Action,
}

/// Returns the answers to a question, in the order in which arrow keys select them.
pub(crate) fn answers(asked: &Asked) -> Vec<Answer> {
    let answer = |key, text, action| Answer { key, text, action };
    // An agent may work in the background: Esc then denies its call and stops no turn.
    let stop = answer("Esc", if asked.agent.is_some() { "no" } else { "stop" }, Action::Cancel);
    if let Preview::Plan(_) = asked.preview {
        return vec![
            answer("y", "approve, ask before edits", Action::Yes),
            answer("a", "approve, accept edits", Action::YesAlways),
            answer("n", "keep planning, with a note", Action::No),
            stop,
        ];
    }
    let mut answers = vec![answer("y", "once", Action::Yes)];
    if !asked.rules.is_empty() {
        answers.push(answer("s", "session", Action::YesSession));
        answers.push(answer("a", "always", Action::YesAlways));
        answers.push(answer("e", "edit the rule", Action::EditRule));
    }
    answers.push(answer("n", "no", Action::No));
    answers.push(answer("Tab", "add a note", Action::Note));
    answers.push(stop);
    answers
}

impl Questions {
    /// Adds a question.
    pub(crate) fn push(&mut self, asked: Asked, now: Duration) {
        if self.waiting.iter().any(|waiting| waiting.call == asked.call) {
            return;
        }
        self.waiting.push_back(asked);
        if self.waiting.len() == 1 {
            self.show(now);
        }
    }

    /// Removes a question that was answered, here or by another client. Returns whether it was
    /// shown.
    pub(crate) fn remove(&mut self, call: &robota_core::ids::CallId, now: Duration) -> bool {
        let Some(at) = self.waiting.iter().position(|asked| asked.call == *call) else {
            return false;
        };
        self.waiting.remove(at);
        self.answered += 1;
        if self.waiting.is_empty() {
            self.answered = 0;
        }
        if at == 0 {
            self.show(now);
        }
        at == 0
    }

    /// Removes all questions.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.answered = 0;
    }

    /// Removes the questions of a turn that ended. Those of agents in the background stay.
    pub(crate) fn end_turn(&mut self, now: Duration) {
        let shown = self.shown().map(|asked| asked.call.clone());
        // Agents in the background still wait when the turn has ended.
        self.waiting.retain(|asked| asked.agent.is_some());
        self.answered = 0;
        if self.shown().map(|asked| &asked.call) != shown.as_ref() {
            self.show(now);
        }
    }

    /// Returns the agent of the question that follows the one that is shown; none if the session
    /// itself asks it, or there is none.
    pub(crate) fn next_agent(&self) -> Option<&str> {
        self.waiting.get(1)?.agent.as_deref()
    }

    /// Returns the question that is shown.
    pub(crate) fn shown(&self) -> Option<&Asked> {
        self.waiting.front()
    }

    /// Returns the question that is shown, with what the user did with it.
    pub(crate) fn shown_with_form(&mut self) -> Option<(&Asked, &mut Form)> {
        Some((self.waiting.front()?, &mut self.form))
    }

    /// Returns the number of the question that is shown, and how many there are.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.answered + 1, self.answered + self.waiting.len())
    }

    /// Returns whether keys are answers.
    pub(crate) fn is_armed(&self, now: Duration) -> bool {
        !self.waiting.is_empty() && now >= self.form.armed_at
    }

    /// Notes a key that was typed too early to be an answer.
    pub(crate) fn type_ahead(&mut self, now: Duration) {
        self.form.armed_at = now + QUIET;
    }

    /// Returns when keys become answers, if that is in the future.
    pub(crate) fn arms_at(&self, now: Duration) -> Option<Duration> {
        (!self.waiting.is_empty() && now < self.form.armed_at).then_some(self.form.armed_at)
    }

    fn show(&mut self, now: Duration) {
        self.form = Form { armed_at: now + QUIET, ..Form::default() };
    }
}
