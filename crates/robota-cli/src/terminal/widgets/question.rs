//! A question about a call: all that it would do, which rule asked, and the answers with their
//! scope.

use robota_core::approve::Scope;

use super::tool_row::{wants, with_right};
use crate::terminal::diff::{self, DiffRows};
use crate::terminal::event::{Asked, Preview, RuleTest};
use crate::terminal::question::{Field, FieldKind, Form, answers};
use crate::terminal::screen::Cursor;
use crate::terminal::state::State;
use crate::terminal::text::{Ground, Line, Role, Style, truncate, wrap};

/// Renders the question in at most `rows` rows. Returns the cursor in a text that is edited, relative
/// to the first row.
pub(crate) fn lines(
    state: &mut State,
    width: usize,
    rows: usize,
    out: &mut Vec<Line>,
) -> Option<Cursor> {
    let armed = state.questions.is_armed(state.now);
    let (number, count) = state.questions.count();
    let next = state.questions.next_agent().map(str::to_owned);
    let (asked, form) = state.questions.shown_with_form()?;
    head(asked, (number, count), next.as_deref(), width, out);
    let mut below = Vec::new();
    let cursor = match &mut form.field {
        Some(field) => Some(field_lines(field, width, &mut below)),
        None => {
            answer_lines(asked, form, armed, width, &mut below);
            None
        }
    };
    below.push(Line::default());
    let room = rows.saturating_sub(out.len() + below.len()).max(1);
    preview(form, &asked.preview, width, room, out);
    let above = out.len();
    out.extend(below);
    cursor.map(|cursor| Cursor { row: cursor.row + above, ..cursor })
}

fn head(
    asked: &Asked,
    (number, count): (usize, usize),
    next: Option<&str>,
    width: usize,
    out: &mut Vec<Line>,
) {
    let mut line = Line::new("? ", Role::Warn);
    if let Some(agent) = &asked.agent {
        line.push(format!("{agent}: "), Role::Accent);
    }
    line.push(wants(&asked.tool, &asked.argument), Role::Warn);
    if let Preview::Diff { lines, .. } = &asked.preview {
        let (added, removed) = diff::counts(lines);
        line.push(format!("  +{added}"), Role::Added);
        line.push(format!(" -{removed}"), Role::Removed);
    }
    let counter = match next {
        _ if count < 2 => String::new(),
        Some(agent) => format!("question {number}/{count}, next: {agent}"),
        None => format!("question {number}/{count}"),
    };
    out.push(with_right(&line, &counter, width));
    if !asked.reason.is_empty() {
        out.extend(wrap(&Line::new(format!("  {}", asked.reason), Role::Dim), width, 2));
    }
}

/// Renders what the call would do: whole, or the part around the first change with a count of the
/// changed lines that are below.
fn preview(form: &mut Form, preview: &Preview, width: usize, room: usize, out: &mut Vec<Line>) {
    let inner = width.saturating_sub(2);
    if matches!(preview, Preview::Plan(_)) {
        // It is above the question already.
        form.seen = true;
        return;
    }
    // A long change is rendered once, not in every frame.
    let rows = match form.rendered.take() {
        Some((columns, rows)) if columns == inner => rows,
        _ => render(preview, inner),
    };
    let all = rows.lines().len();
    let fits = all <= room;
    let shown = if fits { all } else { room.saturating_sub(1).max(1) };
    form.rows = shown;
    form.last_scroll = all.saturating_sub(shown);
    // One row of context is shown above the first change.
    let opening = rows.first_change().saturating_sub(1);
    let start = form.scroll.unwrap_or(opening).min(form.last_scroll);
    form.scroll = (!fits).then_some(start);
    // Scrolling back does not make it unseen.
    form.seen = form.seen || start >= form.last_scroll;
    for line in rows.lines().iter().skip(start).take(shown) {
        let mut indented = Line::new("  ", Role::Text);
        indented.extend(line.clone());
        out.push(truncate(&indented, width));
    }
    if !fits {
        let (below, above) = (rows.changes_from(start + shown), rows.changes_above(start));
        let mut text = String::from("  ");
        if below > 0 {
            let lines = if below == 1 { "line" } else { "lines" };
            text.push_str(&format!("{below} more changed {lines} ↓  "));
        }
        if above > 0 {
            text.push_str(&format!("{above} above ↑  "));
        }
        out.push(truncate(&Line::new(format!("{text}(PgDn, PgUp)"), Role::Warn), width));
    }
    form.rendered = Some((inner, rows));
}

/// Renders a preview.
fn render(preview: &Preview, inner: usize) -> Rows {
    match preview {
        Preview::Diff { path, lines } => Rows::Diff(diff::rows(lines, Some(path), inner)),
        Preview::Command { command, tree } => {
            let command = command.lines().map(|line| Line::new(line, Role::Code));
            let tree = tree.iter().map(|line| Line::new(line, Role::Dim));
            Rows::Plain(command.chain(tree).flat_map(|line| wrap(&line, inner, 4)).collect())
        }
        Preview::Input(text) | Preview::Plan(text) => {
            let lines = text.lines().map(|line| Line::new(line, Role::Text));
            Rows::Plain(lines.flat_map(|line| wrap(&line, inner, 2)).collect())
        }
    }
}

/// The rows of a preview. Outside of a diff every row counts as a change.
#[derive(Debug)]
pub(crate) enum Rows {
    Diff(DiffRows),
    Plain(Vec<Line>),
}

impl Rows {
    fn lines(&self) -> &[Line] {
        match self {
            Self::Diff(rows) => &rows.lines,
            Self::Plain(lines) => lines,
        }
    }

    fn first_change(&self) -> usize {
        match self {
            Self::Diff(rows) => rows.first_change(),
            Self::Plain(_) => 0,
        }
    }

    fn changes_from(&self, row: usize) -> usize {
        match self {
            Self::Diff(rows) => rows.changes_from(row),
            Self::Plain(lines) => lines.len().saturating_sub(row),
        }
    }

    fn changes_above(&self, row: usize) -> usize {
        match self {
            Self::Diff(rows) => rows.changes_above(row),
            Self::Plain(lines) => row.min(lines.len()),
        }
    }
}

/// Renders the answers with their keys, and the rule that two of them save.
fn answer_lines(asked: &Asked, form: &Form, armed: bool, width: usize, out: &mut Vec<Line>) {
    if let Some(note) = &form.note {
        out.push(truncate(&Line::new(format!("  note: {note}"), Role::User), width));
    }
    let key = if armed { Role::Accent } else { Role::Dim };
    let mut row = Line::default();
    for (at, answer) in answers(asked).iter().enumerate() {
        let on = |role: Role| match form.selected == Some(at) {
            true => Style::from(role).on(Ground::Selected),
            false => Style::from(role),
        };
        let shown =
            Line::new(answer.key, on(key)).with(format!(" {}", answer.text), on(Role::Text));
        // An answer is not broken between its key and its text.
        if row.width() > 0 && row.width() + 3 + shown.width() > width {
            out.push(std::mem::take(&mut row));
        }
        row.push(if row.width() == 0 { "  " } else { "   " }, Role::Text);
        row.extend(shown);
    }
    out.push(row);
    if !asked.rules.is_empty() {
        let line = Line::new("  session and always allow: ", Role::Dim);
        let line = line.with(asked.rules.join(", "), Role::Code);
        out.extend(wrap(&line.with("  (always is saved for this folder)", Role::Dim), width, 4));
    }
}

/// Renders the rule or the note that is edited. Returns the cursor.
fn field_lines(field: &mut Field, width: usize, out: &mut Vec<Line>) -> Cursor {
    let label = match field.kind {
        FieldKind::Rule(_) => "  rule: ",
        FieldKind::Note => "  note: ",
        FieldKind::Change => "  what to change: ",
    };
    let view = field.composer.view(width.saturating_sub(label.len()).max(1), 3);
    for (row, line) in view.lines.into_iter().enumerate() {
        let label = if row == 0 { label.to_owned() } else { " ".repeat(label.len()) };
        let mut shown = Line::new(label, Role::Accent);
        shown.extend(line);
        out.push(shown);
    }
    let cursor = Cursor { row: view.cursor.row, column: view.cursor.column + label.len() };
    match field.kind {
        FieldKind::Change => {
            let keys = "  Enter sends it and keeps planning   Esc back";
            out.extend(wrap(&Line::new(keys, Role::Dim), width, 2));
        }
        FieldKind::Note => {
            let keys = "  Enter keeps the note: then y or n   Esc back";
            out.extend(wrap(&Line::new(keys, Role::Dim), width, 2));
        }
        FieldKind::Rule(scope) => {
            rule_test(field.test.as_ref(), &field.composer.text(), width, out);
            let keys = match scope {
                Scope::Always => "  Enter allow always   Tab allow in this session   Esc back",
                Scope::Once | Scope::Session => "  Enter allow in this session   Esc back",
            };
            out.extend(wrap(&Line::new(keys, Role::Dim), width, 2));
        }
    }
    cursor
}

/// Renders what the policy says about the rule.
fn rule_test(test: Option<&RuleTest>, rule: &str, width: usize, out: &mut Vec<Line>) {
    // The test runs in the background; one of an earlier text says nothing about this text.
    let Some(test) = test.filter(|test| test.rule == rule.trim()) else {
        out.push(Line::new("  …", Role::Dim));
        return;
    };
    match &test.outcome {
        Err(why) => out.extend(wrap(&Line::new(format!("  {why}"), Role::Bad), width, 2)),
        Ok(meaning) => {
            let (text, role) = match meaning.covers {
                true => ("  allows this call", Role::Good),
                false => ("  does not allow this call", Role::Bad),
            };
            out.push(Line::new(text, role));
            let also = match meaning.also.as_slice() {
                [] => "  would also allow: nothing else".to_owned(),
                also => format!("  would also allow: {}", also.join(" · ")),
            };
            out.extend(wrap(&Line::new(also, Role::Warn), width, 4));
        }
    }
}
