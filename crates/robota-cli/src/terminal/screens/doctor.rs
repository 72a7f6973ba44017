//! The checks of `robota doctor`.

use std::any::Any;

use crossterm::event::KeyEvent;

use super::text::TextPage;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::commands::doctor;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role};

/// Shown while the checks run.
struct Running;

struct Checked(Vec<String>);

/// Opens the page and starts the checks.
pub(super) fn open() -> Opening {
    let check = work(|context| async move {
        // The model of the session, not that of the settings.
        let model = context.session.session().info().await.map(|info| info.model).ok();
        let provider = context.provider.as_deref();
        Checked(doctor::report(&context.setup, provider, model.as_deref()).await)
    });
    Ok((Box::new(Running), vec![check]))
}

impl Page for Running {
    fn key(&mut self, _: &KeyEvent, _: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        PageOutcome::Ignored
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let Ok(checked) = reply.downcast::<Checked>() else { return PageOutcome::Ignored };
        let lines = checked.0.into_iter().map(|text| {
            let role = match text.get(..4) {
                Some("FAIL") => Role::Bad,
                Some("warn") => Role::Warn,
                _ => Role::Text,
            };
            Line::new(text, role)
        });
        let lines: Vec<Line> = lines.collect();
        PageOutcome::Open(Box::new(move |_| Ok((Box::new(TextPage::new(lines, 16)), Vec::new()))))
    }

    fn view(&mut self, _: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        (vec![Line::new("Checking …", Role::Dim)], None)
    }
}
