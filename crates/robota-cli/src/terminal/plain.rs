//! The terminal for screen readers: every line is written once, the cursor never moves back, and
//! questions are numbered lines. The state and its changes are those of the ordinary terminal.

mod question;
mod speech;

use std::collections::HashSet;
use std::time::Duration;

use robota_core::ids::CallId;

use super::conversation::Entry;
use super::effect::Effect;
use super::event::Event;
use super::state::{Phase, State};
use super::update::{self, update};
use question::Choice;

/// The program without drawing.
pub(crate) struct Plain {
    pub(crate) state: State,
    /// The calls whose start was written.
    started: HashSet<CallId>,
    /// The question that was written last.
    asked: Option<CallId>,
    /// The question of the model that was written last.
    choice: Option<u64>,
    trust_asked: bool,
    phase: Phase,
    busy: bool,
    /// What the user entered last: the terminal shows it already.
    typed: Option<String>,
    hint: Option<String>,
    queued: usize,
    /// How to answer the question that was written, until it takes answers.
    invite: Option<&'static str>,
    /// The answer that is given when the user types its number again.
    confirming: Option<(CallId, usize)>,
    /// The question that the user answered by stopping the turn.
    stopped: Option<CallId>,
    /// The lines that were not written because a question is open. They follow its answer.
    held: Vec<String>,
}

impl Plain {
    /// Takes over a state.
    pub(crate) fn new(mut state: State) -> Self {
        // A page redraws the whole screen, which a screen reader would read again and again.
        state.pages = false;
        Self {
            state,
            started: HashSet::new(),
            asked: None,
            choice: None,
            trust_asked: false,
            phase: Phase::Starting,
            busy: false,
            typed: None,
            hint: None,
            queued: 0,
            invite: None,
            confirming: None,
            stopped: None,
            held: Vec::new(),
        }
    }

    /// Returns when a question takes answers, if that is in the future, or when hooks are notified.
    pub(crate) fn next_change(&self) -> Option<Duration> {
        let state = &self.state;
        let trust = state.trust.as_ref().map(|trust| trust.armed_at);
        let questions = [
            trust.filter(|at| *at > state.now),
            state.questions.arms_at(state.now),
            state.choices.arms_at(state.now),
        ];
        let armed = questions.into_iter().flatten().min().filter(|_| self.invite.is_some());
        armed.into_iter().chain(state.idle_at).min()
    }

    /// Returns whether a line of the user is expected.
    pub(crate) fn wants_line(&self) -> bool {
        match self.state.phase {
            Phase::Starting => self.state.trust.is_some(),
            Phase::Ready | Phase::Following | Phase::Failed => true,
            Phase::Ending => false,
        }
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        self.state.now = now;
        update(&mut self.state, event)
    }

    /// Takes a line of the user; none at the end of the input.
    pub(crate) fn line(&mut self, line: Option<&str>, now: Duration) -> Vec<Effect> {
        self.state.now = now;
        // A line is what a key is elsewhere: the user is here, so no hook is notified.
        self.state.idle_at = None;
        // Ctrl+D ends the input, and with it the program.
        let Some(line) = line else { return self.enter("/exit") };
        let text = line.trim();
        if let Some(trust) = &self.state.trust
            && now >= trust.armed_at
        {
            return self.answer_trust(text);
        }
        // As with keys: what was typed before the question could be read is no answer to it.
        if self.state.questions.is_armed(now)
            && let Some(asked) = self.state.questions.shown()
            && let Some((number, note)) = question::parse(text)
        {
            let choices = question::choices(asked);
            let again = Some((asked.call.clone(), number));
            return match choices.get(number.wrapping_sub(1)) {
                // A rule for more commands than this one is never given by a single number.
                Some((_, choice)) if choice.is_wide(asked) && self.confirming != again => {
                    let text = format!(
                        "This rule allows other commands too: {}. Type {number} again to allow them.",
                        asked.rules.join(", ")
                    );
                    self.confirming = again;
                    self.state.hint(text);
                    Vec::new()
                }
                Some((_, choice)) => self.choose(choice.clone(), note),
                None => {
                    self.state.hint(format!("Type a number from 1 to {}.", choices.len()));
                    Vec::new()
                }
            };
        }
        if self.state.questions.shown().is_none()
            && self.state.choices.is_armed(now)
            && let Some(choice) = self.state.choices.shown()
        {
            let answer = question::chosen(choice, text);
            return update::answer_user(&mut self.state, answer);
        }
        self.enter(text)
    }

    fn answer_trust(&mut self, text: &str) -> Vec<Effect> {
        let answer = match text {
            "1" => true,
            "2" => false,
            "3" => return self.enter("/exit"),
            _ => {
                self.state.hint("Type a number from 1 to 3.");
                return Vec::new();
            }
        };
        (self.state.trust, self.trust_asked) = (None, false);
        vec![Effect::Trust(answer)]
    }

    fn choose(&mut self, choice: Choice, note: Option<String>) -> Vec<Effect> {
        match choice {
            Choice::Decide(answer) => update::answer(&mut self.state, answer, note),
            Choice::Stop => {
                // The question is withdrawn only when the turn has ended.
                self.stopped.clone_from(&self.asked);
                // The answer may come before the invitation to it was written.
                self.invite = None;
                update::stop(&mut self.state)
            }
        }
    }

    fn enter(&mut self, text: &str) -> Vec<Effect> {
        if text == "/stop" {
            return update::stop(&mut self.state);
        }
        // Elsewhere a page asks before the settings are deleted. There are no pages here.
        if text == "/reset" && self.typed.as_deref() != Some("/reset") {
            self.state.hint(
                "This deletes your settings of Robota and ends the program. Enter /reset again to do it.",
            );
            self.typed = Some(text.to_owned());
            return Vec::new();
        }
        self.typed = Some(text.to_owned());
        update::enter(&mut self.state, text)
    }

    /// Returns the lines to write: what is new since the last call. While a question is open, these are
    /// only the answers to what the user enters. The other lines would separate the question from its
    /// answer; they are written after it.
    pub(crate) fn speak(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.speak_state(&mut lines);
        let asking = self.is_asking();
        let mut held = std::mem::take(&mut self.held);
        self.speak_entries(&mut held, asking.then_some(&mut lines));
        self.speak_end(&mut held);
        match asking {
            true => self.held = held,
            false => lines.append(&mut held),
        }
        self.speak_questions(&mut lines);
        lines
    }

    /// Returns the last lines of the session, also those that an open question holds back.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut lines = self.speak();
        lines.append(&mut self.held);
        lines
    }

    /// Returns whether a question that was written waits for its answer.
    fn is_asking(&self) -> bool {
        let call = self.state.questions.shown().map(|asked| &asked.call);
        let choice = self.state.choices.shown().map(|choice| choice.id);
        let asks_call = call.is_some() && call == self.asked.as_ref();
        self.trust_asked && self.state.trust.is_some()
            || choice.is_some() && choice == self.choice
            || asks_call && self.stopped != self.asked
    }

    /// Writes what is new in the conversation; the result of a command that the user has entered to
    /// `replies`, if there are any.
    fn speak_entries(&mut self, news: &mut Vec<String>, mut replies: Option<&mut Vec<String>>) {
        let typed = self.typed.clone();
        let columns = self.state.size.columns;
        let mut echoed = false;
        for (_, entry) in self.state.conversation.commit() {
            match entry {
                Entry::Prompt(text) if Some(text.trim()) == typed.as_deref() => echoed = true,
                Entry::Output { typed: command, text, .. }
                    if Some(command.trim()) == typed.as_deref() =>
                {
                    let lines = text.lines().map(str::to_owned);
                    replies.as_deref_mut().unwrap_or(&mut *news).extend(lines);
                }
                entry => speech::entry(entry, columns, news),
            }
        }
        if echoed {
            self.typed = None;
        }
        for entry in self.state.conversation.live() {
            if let Entry::Tool(row) = entry
                && row.state == super::conversation::RowState::Running
                && self.started.insert(row.call.clone())
            {
                news.push(speech::running(row));
            }
        }
    }

    fn speak_state(&mut self, lines: &mut Vec<String>) {
        let hint = self.state.hint.as_ref().map(|hint| hint.text.clone());
        if hint != self.hint {
            lines.extend(hint.clone());
            self.hint = hint;
        }
        let queued = self.state.queue.len();
        if queued > self.queued && self.state.turn.is_some() {
            let last = self.state.queue.back().map(|queued| queued.text.as_str());
            lines.push(format!("Waits for its turn: {}", last.unwrap_or_default()));
        }
        self.queued = queued;
        if self.phase != self.state.phase {
            self.phase = self.state.phase;
            let folder = &self.state.facts.folder;
            match self.phase {
                Phase::Ready => lines.push(format!(
                    "Ready in {folder}. Type a prompt and press Enter; /help lists commands, /stop stops \
                     a turn, /exit ends."
                )),
                Phase::Following => lines.push("Read-only: another process writes.".to_owned()),
                Phase::Starting | Phase::Failed | Phase::Ending => {}
            }
        }
    }

    fn speak_questions(&mut self, lines: &mut Vec<String>) {
        if let Some(trust) = &self.state.trust
            && !std::mem::replace(&mut self.trust_asked, true)
        {
            question::trust(&trust.items, &self.state.facts.folder, lines);
            self.invite = Some(question::NUMBER);
        }
        let choice = self.state.choices.shown().map(|choice| choice.id);
        if choice != self.choice {
            if let Some(choice) = self.state.choices.shown() {
                question::choice(choice, lines);
                self.invite = Some(question::invite(choice));
            }
            self.choice = choice;
        }
        let shown = self.state.questions.shown();
        let call = shown.map(|asked| asked.call.clone());
        if call != self.asked {
            if let Some(asked) = shown {
                question::lines(asked, self.state.questions.count(), lines);
                self.invite = Some(question::NUMBER_AND_NOTE);
            }
            self.asked = call;
        }
        let now = self.state.now;
        let trusts = self.state.trust.as_ref().is_some_and(|trust| now >= trust.armed_at);
        if trusts || self.state.questions.is_armed(now) || self.state.choices.is_armed(now) {
            lines.extend(self.invite.take().map(str::to_owned));
        }
    }

    fn speak_end(&mut self, lines: &mut Vec<String>) {
        let busy = self.state.turn.is_some();
        if self.busy && !busy && self.state.queue.is_empty() {
            lines.push("Ready.".to_owned());
        }
        self.busy = busy;
    }
}

#[cfg(test)]
mod tests;
