//! What fills the context window, as a bar and a list.

use std::any::Any;

use crossterm::event::KeyEvent;
use robota_core::catalogue::format_tokens;
use robota_core::context::ContextState;
use robota_sdk::SdkError;

use super::text::Scroll;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, truncate};

/// The page of the context window.
struct Context {
    found: Option<(ContextState, Vec<Part>)>,
    scroll: Scroll,
    lines: Vec<Line>,
}

/// A part of the prompt.
struct Part {
    name: String,
    tokens: u64,
}

struct LoadedContext(Result<(ContextState, Vec<Part>), SdkError>);

/// Opens the page and asks for the parts.
pub(super) fn open() -> Opening {
    let find = work(|context| async move {
        let parts = context.session.conversation().loaded().parts.iter();
        let parts =
            parts.map(|part| Part { name: part.name.clone(), tokens: part.tokens }).collect();
        LoadedContext(
            context.session.conversation().context_state().await.map(|state| (state, parts)),
        )
    });
    let page = Context { found: None, scroll: Scroll::default(), lines: Vec::new() };
    Ok((Box::new(page), vec![find]))
}

/// Renders the bar: a cell for each share of the window.
fn render(state: &ContextState, parts: &[Part], columns: usize) -> Vec<Line> {
    let window = state.max_tokens.max(1);
    let cells = columns.saturating_sub(2).clamp(10, 100) as u64;
    let cells_of = |tokens: u64| (tokens.saturating_mul(cells) / window).min(cells);
    let known: u64 = parts.iter().map(|part| part.tokens).sum();
    // Before the first answer, and with services that count less, the parts are more.
    let total = state.used_tokens.max(known);
    let talk = total - known;
    let repeat = |sign: &str, count: u64| sign.repeat(usize::try_from(count).unwrap_or(0));
    // One cell at least, so that a small part of a large window is visible.
    let used = cells_of(total).max(u64::from(total > 0));
    let fixed = cells_of(known).min(used);
    let bar = Line::new(repeat("█", fixed), Role::Accent)
        .with(repeat("█", used - fixed), Role::User)
        .with(repeat("░", cells - used), Role::Dim);
    let percent = format!("{:.1} %", total as f64 * 100.0 / window as f64);
    let title = format!(
        "Context: {} of {} tokens ({percent})",
        format_tokens(total),
        format_tokens(state.max_tokens)
    );
    let mut lines = vec![Line::new(title, Role::Accent), Line::default(), bar, Line::default()];
    let row = |name: &str, tokens: u64, role: Role| {
        let share = tokens as f64 * 100.0 / window as f64;
        let text = format!("  {:>8}  {share:>5.1} %  ", format_tokens(tokens));
        truncate(&Line::new("■", role).with(text, Role::Text).with(name, Role::Text), columns)
    };
    for part in parts {
        lines.push(row(&part.name, part.tokens, Role::Accent));
    }
    lines.push(row("conversation and tools", talk, Role::User));
    let free = state.max_tokens.saturating_sub(total);
    lines.push(row("free", free, Role::Dim));
    lines
}

impl Page for Context {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        match self.scroll.key(key, action, &self.lines) {
            true => PageOutcome::Stay(Vec::new()),
            false => PageOutcome::Ignored,
        }
    }

    fn is_loading(&self) -> bool {
        self.found.is_none()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        match reply.downcast::<LoadedContext>().map(|found| found.0) {
            Ok(Ok(found)) => self.found = Some(found),
            Ok(Err(error)) => return PageOutcome::Fail(error.to_string()),
            Err(_) => {}
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if let Some((state, parts)) = &self.found {
            self.lines = render(state, parts, size.columns);
        }
        self.scroll.view(&self.lines, size, "/compact makes room · Esc closes")
    }
}
