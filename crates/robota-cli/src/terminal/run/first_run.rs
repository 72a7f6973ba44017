//! The first run: no provider is configured yet. The steps of `robota setup` run in plain lines, while
//! the terminal's thread waits.

use tokio::sync::oneshot;

use super::Mailbox;
use crate::args::PrintArgs;
use crate::commands;
use crate::terminal::event::Event;

/// Asks whether to set up a provider, and does so. Returns whether a provider was set up.
pub(super) async fn offer(args: &PrintArgs, mailbox: &Mailbox) -> bool {
    let (done, result) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let cwd = args.settings.cwd.clone();
    let steps = move || {
        let _ = done.send(runtime.block_on(commands::setup::offer(cwd)));
    };
    mailbox.send(Event::Away(Box::new(steps)));
    result.await.unwrap_or(false)
}
