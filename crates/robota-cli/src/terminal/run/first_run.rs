//! The first run: no provider is configured yet. The steps of `robota setup` run in plain lines, while
//! the terminal's thread waits.

use robota_config::Environment;
use tokio::sync::oneshot;

use super::Mailbox;
use crate::args::{KeyPlaceArg, PrintArgs, SettingsArgs, SetupArgs};
use crate::terminal::event::Event;
use crate::{commands, output, prompt};

/// Asks whether to set up a provider, and does so. Returns whether a provider was set up.
pub(super) async fn offer(args: &PrintArgs, mailbox: &Mailbox) -> bool {
    let (done, result) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let cwd = args.settings.cwd.clone();
    let steps = move || {
        let _ = done.send(runtime.block_on(steps(cwd)));
    };
    mailbox.send(Event::Away(Box::new(steps)));
    result.await.unwrap_or(false)
}

async fn steps(cwd: Option<std::path::PathBuf>) -> bool {
    let home = Environment::of_process().get("HOME").is_some();
    output::note("No model provider is configured.");
    let answer = prompt::ask("Set one up now? (y, or n to see the other ways)", Some("y"));
    let yes = answer.is_ok_and(|answer| answer.to_lowercase().starts_with('y'));
    if !home || !yes {
        return false;
    }
    loop {
        match commands::setup::run(setup_args(cwd.clone())).await {
            Ok(_) => return true,
            Err(error) => output::error(&format!("{error:#}")),
        }
        let again = prompt::ask("Try again? (y or n)", Some("n"));
        if !again.is_ok_and(|answer| answer.to_lowercase().starts_with('y')) {
            return false;
        }
    }
}

fn setup_args(cwd: Option<std::path::PathBuf>) -> SetupArgs {
    SetupArgs {
        provider: None,
        model: None,
        base_url: None,
        key_env: None,
        key_stdin: false,
        key_in: KeyPlaceArg::File,
        no_probe: false,
        settings: SettingsArgs {
            cwd,
            settings: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            add_dir: Vec::new(),
            trust: false,
        },
    }
}
