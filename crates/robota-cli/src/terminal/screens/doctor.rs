//! The checks of `robota doctor`.

use super::report::{self, Report};
use super::{Opening, work};
use crate::commands::doctor;
use crate::terminal::text::{Line, Role};

/// The column of the text of a check.
const INDENT: usize = 16;

/// Opens the page and starts the checks.
pub(super) fn open() -> Opening {
    let check = work(|context| async move {
        // The model of the session, not that of the settings.
        let model = context.session.session().info().await.map(|info| info.model).ok();
        let provider = context.provider.as_deref();
        let checked = doctor::report(&context.setup, provider, model.as_deref()).await;
        Report(Ok(checked.into_iter().map(line).collect()))
    });
    report::open_with("Checking …", INDENT, check)
}

fn line(text: String) -> Line {
    let role = match text.get(..4) {
        Some("FAIL") => Role::Bad,
        Some("warn") => Role::Warn,
        _ => Role::Text,
    };
    Line::new(text, role)
}
