//! Keys in questions.

use crossterm::event::{KeyCode, KeyEvent};
use robota_core::approve::Scope;
use robota_core::permission::Mode;
use robota_sdk::ToolState;

use crate::terminal::composer::Composer;
use crate::terminal::conversation::{Entry, NoteKind, RowState, ToolRow};
use crate::terminal::effect::{Decided, Effect};
use crate::terminal::event::{Asked, Preview, RuleTest};
use crate::terminal::keys::Action;
use crate::terminal::question::{Field, FieldKind, answers};
use crate::terminal::state::State;
use crate::terminal::widgets::tool_row::wants;

/// Takes a question.
pub(super) fn asked(state: &mut State, asked: Asked) -> Vec<Effect> {
    if let Preview::Plan(plan) = &asked.preview {
        // The complete plan stays in the scrollback, after any answer.
        state.conversation.push(Entry::Note(NoteKind::Plain, "Plan".to_owned()));
        state.conversation.text(plan);
        state.conversation.finish_text();
    }
    if asked.agent.is_some() {
        // Its calls are not part of this conversation.
    } else if let Some(row) = state.conversation.row(&asked.call) {
        row.state = RowState::Asking;
    } else {
        let mut details = ToolState::new(asked.call.clone(), &*asked.tool, &*asked.argument);
        if let Preview::Diff { path, lines } = &asked.preview {
            (details.diff, details.diff_file) = (lines.clone(), Some(path.clone()));
        }
        let row = ToolRow::new(details, RowState::Asking, state.now);
        state.conversation.push(Entry::Tool(Box::new(row)));
    }
    // One notification for several questions: the user who comes back finds all of them.
    let first = state.questions.shown().is_none();
    let text = format!("{} in {}", wants(&asked.tool, &asked.argument), state.facts.folder);
    state.questions.push(asked, state.now);
    let report = first.then(|| state.notifier.report(&text, state.now)).flatten();
    report.map(Effect::Write).into_iter().collect()
}

/// Takes an answer to the question about the folder's settings.
pub(super) fn trust_key(state: &mut State, key: &KeyEvent, action: Option<Action>) -> Vec<Effect> {
    let answer = match (key.code, action) {
        (_, Some(Action::Yes)) | (KeyCode::Char('t'), _) => true,
        (_, Some(Action::No | Action::Cancel)) | (KeyCode::Char('c'), _) => false,
        (KeyCode::Char('q'), _) => return super::quit(state),
        _ => return Vec::new(),
    };
    state.trust = None;
    vec![Effect::Trust(answer)]
}

/// Takes an answer, or a step towards it.
pub(super) fn key(state: &mut State, action: Option<Action>) -> Vec<Effect> {
    let Some(asked) = state.questions.shown() else { return Vec::new() };
    let rules = asked.rules.clone();
    let of_agent = asked.agent.is_some();
    match action {
        Some(Action::PreviousAnswer) => return select(state, -1),
        Some(Action::NextAnswer) => return select(state, 1),
        Some(Action::Accept) => {
            let selected = state.questions.form.selected;
            let Some(answer) = selected.and_then(|at| answers(asked).get(at).copied()) else {
                state.hint("↑ ↓ select an answer, Enter confirms it");
                return Vec::new();
            };
            return key(state, Some(answer.action));
        }
        _ => {}
    }
    if matches!(asked.preview, Preview::Plan(_)) {
        return plan_key(state, action);
    }
    let form = &mut state.questions.form;
    match action {
        Some(Action::Yes) => decide(state, Decided::Allow(Scope::Once)),
        Some(Action::YesSession | Action::YesAlways | Action::EditRule)
            // A rule reaches further than this call, so the user must have seen all of what it
            // stands for.
            if !rules.is_empty() && !form.seen =>
        {
            state.hint("first look at the whole change (PgDn)");
            Vec::new()
        }
        Some(Action::YesSession) if !rules.is_empty() => allow(state, Scope::Session, &rules),
        Some(Action::YesAlways) if !rules.is_empty() => allow(state, Scope::Always, &rules),
        Some(Action::EditRule) if !rules.is_empty() => edit_rule(state, Scope::Always, &rules),
        Some(Action::YesSession | Action::YesAlways | Action::EditRule) => {
            state.hint("this call can only be allowed once");
            Vec::new()
        }
        Some(Action::No) => decide(state, Decided::Deny),
        Some(Action::Note) => {
            let note = form.note.take().unwrap_or_default();
            form.field = Some(field(FieldKind::Note, &note));
            Vec::new()
        }
        // An agent may work in the background: no turn is stopped for its call.
        Some(Action::Cancel) if of_agent => decide(state, Decided::Deny),
        // Esc denies the call and stops the turn.
        Some(Action::Cancel) => {
            super::chat::interrupt(state);
            vec![Effect::Interrupt]
        }
        Some(Action::ScrollUp) => scroll(state, -1),
        Some(Action::ScrollDown) => scroll(state, 1),
        Some(Action::PageUp) => page(state, -1),
        Some(Action::PageDown) => page(state, 1),
        Some(Action::Top) => scroll(state, isize::MIN),
        Some(Action::Bottom) => scroll(state, isize::MAX),
        _ => Vec::new(),
    }
}

/// Selects the next answer or the one before. The first arrow upwards selects the last answer, which
/// allows nothing: an arrow that was meant for the composer's history does not lead to consent.
fn select(state: &mut State, by: isize) -> Vec<Effect> {
    let Some((asked, form)) = state.questions.shown_with_form() else { return Vec::new() };
    let last = answers(asked).len().saturating_sub(1);
    form.selected = Some(match form.selected {
        None if by < 0 => last,
        None => 0,
        Some(at) => at.saturating_add_signed(by).min(last),
    });
    Vec::new()
}

/// Allows the call by the rules that are shown. Rules that allow other commands too are shown once
/// more first, with what else they allow.
fn allow(state: &mut State, scope: Scope, rules: &[String]) -> Vec<Effect> {
    if rules.iter().any(|rule| robota_policy::allows_other_commands(rule)) {
        return edit_rule(state, scope, rules);
    }
    decide(state, Decided::Allow(scope))
}

/// Opens the editor of the rule.
fn edit_rule(state: &mut State, scope: Scope, rules: &[String]) -> Vec<Effect> {
    let Some((asked, form)) = state.questions.shown_with_form() else { return Vec::new() };
    let (call, rule) = (asked.call.clone(), rules.join(", "));
    form.field = Some(field(FieldKind::Rule(scope), &rule));
    vec![Effect::TestRule { call, rule }]
}

/// Takes an answer about a plan.
fn plan_key(state: &mut State, action: Option<Action>) -> Vec<Effect> {
    match action {
        Some(Action::Yes) => decide(state, Decided::Plan(Mode::Default)),
        Some(Action::YesAlways) => decide(state, Decided::Plan(Mode::AcceptEdits)),
        Some(Action::No) => {
            let note = state.questions.form.note.take().unwrap_or_default();
            state.questions.form.field = Some(field(FieldKind::Change, &note));
            Vec::new()
        }
        Some(Action::Cancel) => {
            super::chat::interrupt(state);
            vec![Effect::Interrupt]
        }
        _ => Vec::new(),
    }
}

/// Takes a key in the rule or the note.
pub(super) fn field_key(state: &mut State, key: &KeyEvent, action: Option<Action>) -> Vec<Effect> {
    let form = &mut state.questions.form;
    let Some(field) = &mut form.field else { return Vec::new() };
    let text = field.composer.text().trim().to_owned();
    match (action, field.kind) {
        (Some(Action::Cancel), _) => {
            form.field = None;
            Vec::new()
        }
        (Some(Action::Accept), FieldKind::Note) => {
            form.note = (!text.is_empty()).then_some(text);
            form.field = None;
            Vec::new()
        }
        (Some(Action::Accept), FieldKind::Change) => {
            form.note = (!text.is_empty()).then_some(text);
            form.field = None;
            decide(state, Decided::Deny)
        }
        (Some(action @ (Action::Accept | Action::AcceptSession)), FieldKind::Rule(scope)) => {
            let scope = if action == Action::Accept { scope } else { Scope::Session };
            // Only a rule that was tested, and covers the call, is saved.
            let tested = field.test.as_ref().filter(|test| test.rule == text);
            let covers = tested
                .and_then(|test| test.outcome.as_ref().ok())
                .is_some_and(|meaning| meaning.covers);
            if !covers {
                state.hint("this rule would not allow the call");
                return Vec::new();
            }
            decide(state, Decided::AllowRules(scope, split_rules(&text)))
        }
        _ => {
            state.keys.edit(key, &mut field.composer);
            field_changed(state)
        }
    }
}

/// Tests the rule after a change.
pub(super) fn field_changed(state: &mut State) -> Vec<Effect> {
    let Some(call) = state.questions.shown().map(|asked| asked.call.clone()) else {
        return Vec::new();
    };
    match &state.questions.form.field {
        Some(field) if matches!(field.kind, FieldKind::Rule(_)) => {
            let rule = field.composer.text().trim().to_owned();
            let known = field.test.as_ref().is_some_and(|test| test.rule == rule);
            if known { Vec::new() } else { vec![Effect::TestRule { call, rule }] }
        }
        _ => Vec::new(),
    }
}

/// Takes the result of a test.
pub(super) fn tested(state: &mut State, test: RuleTest) -> Vec<Effect> {
    let shown = state.questions.shown().is_some_and(|asked| asked.call == test.call);
    if let (true, Some(field)) = (shown, &mut state.questions.form.field)
        // The text may have changed since this test began; then the test of the new text follows.
        && field.composer.text().trim() == test.rule
    {
        field.test = Some(test);
    }
    Vec::new()
}

/// Answers the question that is shown, with a note.
pub(crate) fn answer(state: &mut State, answer: Decided, note: Option<String>) -> Vec<Effect> {
    state.questions.form.note = note;
    decide(state, answer)
}

/// Answers the question that is shown.
fn decide(state: &mut State, answer: Decided) -> Vec<Effect> {
    let Some(asked) = state.questions.shown().cloned() else { return Vec::new() };
    let note = state.questions.form.note.take();
    let how = match &answer {
        Decided::Allow(Scope::Once) => Some("you allowed it once".to_owned()),
        Decided::Allow(scope) => Some(allowed(*scope, &asked.rules)),
        Decided::AllowRules(scope, rules) => Some(allowed(*scope, rules)),
        Decided::Plan(Mode::AcceptEdits) => Some("you approved it, with edits".to_owned()),
        Decided::Plan(_) => Some("you approved it".to_owned()),
        Decided::Deny => None,
    };
    if let Some(agent) = &asked.agent {
        let how = how.unwrap_or_else(|| "you refused it".to_owned());
        let what = wants(&asked.tool, &asked.argument);
        super::note(state, NoteKind::Plain, format!("{agent}: {what}: {how}"));
    } else if let Some(row) = state.conversation.row(&asked.call) {
        row.approved = how;
    }
    // At once, not when the session confirms it: the next key must not answer the same call again.
    state.questions.remove(&asked.call, state.now);
    vec![Effect::Decide { call: asked.call, answer, note }]
}

fn allowed(scope: Scope, rules: &[String]) -> String {
    let lifetime = if scope == Scope::Always { "always" } else { "in this session" };
    format!("you allowed {} {lifetime}", rules.join(", "))
}

fn field(kind: FieldKind, text: &str) -> Field {
    let mut composer = Composer::default();
    composer.set_text(text);
    Field { kind, composer, test: None }
}

/// Splits rules at commas outside of parentheses.
pub(crate) fn split_rules(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn page(state: &mut State, direction: isize) -> Vec<Effect> {
    let rows = state.questions.form.rows.saturating_sub(1).max(1);
    scroll(state, direction * isize::try_from(rows).unwrap_or(1))
}

fn scroll(state: &mut State, by: isize) -> Vec<Effect> {
    let form = &mut state.questions.form;
    let at = form.scroll.unwrap_or(0);
    form.scroll = Some(at.saturating_add_signed(by).min(form.last_scroll));
    Vec::new()
}
