//! Runs the terminal program: a thread that reads keys and draws, and the session on the runtime.
//!
//! The thread owns the state. It sends effects to the session's side, which never waits for it: what
//! happens in the session goes into a [`mailbox`] that joins pieces of text, so that a slow terminal
//! costs memory for one frame and no time of the agent.

mod approver;
mod branch;
mod choices;
mod clipboard;
mod editor;
mod enter;
mod first_prompt;
mod first_run;
mod flags;
mod guard;
pub(crate) mod history;
mod images;
mod mailbox;
mod model;
mod open;
mod pace;
mod plain;
mod preview;
mod prompts;
mod rules;
mod status_line;
mod trust;
mod ui;
mod wait;
mod worker;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use robota_core::journal::JournalStore;
use robota_sdk::InteractiveSession;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::composer::Draft;
use super::event::Size;
use super::keys::KeyMap;
use super::notify::{Notifier, TerminalKind};
use super::screen::{Narrowing, Screen};
use super::state::{Facts, State};
use super::theme::{self, Theme};
use crate::Exit;
use crate::args::PrintArgs;
use crate::headless::RunOptions;
use crate::setup::Setup;

pub(crate) use enter::write_new;
pub(crate) use guard::restore;
pub(crate) use mailbox::Mailbox;
pub(crate) use open::short;

/// What the work of a page may use.
#[derive(Clone)]
pub(crate) struct WorkContext {
    pub(crate) session: InteractiveSession,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) mailbox: Mailbox,
    /// The user's status line, which some changes concern.
    status: status_line::StatusLine,
    choices: choices::UserQuestions,
    /// The shell command of the user that runs.
    shell: RunningShell,
    /// The provider of the arguments.
    pub(crate) provider: Option<String>,
}

/// The shell command of the user that runs, so that a key can end it. Clones are the same.
#[derive(Clone, Default)]
struct RunningShell(Arc<Mutex<CancellationToken>>);

impl RunningShell {
    fn started(&self, cancel: &CancellationToken) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
    }

    /// Ends it, if it still runs.
    fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}

/// Starts the terminal program. The composer is there before anything is loaded.
pub(crate) async fn run(mut args: PrintArgs) -> anyhow::Result<Exit> {
    let words = first_prompt::take(&mut args)?;
    // What is wrong with the arguments is said before the terminal changes.
    RunOptions::from_args(&args)?;
    let started = Instant::now();
    let environment = robota_config::ProgramEnvironment::of_process();
    let get = |name| environment.get(name);
    let theme = Theme::detect(&theme::Environment {
        term: get("TERM"),
        colorterm: get("COLORTERM"),
        no_color: get("NO_COLOR"),
        colorfgbg: get("COLORFGBG"),
        term_program: get("TERM_PROGRAM"),
        vte_version: get("VTE_VERSION"),
        wt_session: get("WT_SESSION"),
        setting: None,
    });
    let narrowing = Narrowing::detect(|name| environment.get(name));
    let size = terminal_size();
    let home = environment.home();
    let folder = robota_sdk::working_directory(args.settings.cwd.as_deref())?;
    let facts = Facts {
        folder: open::short(&folder, home.as_deref()),
        root: folder.display().to_string(),
        ..Facts::default()
    };
    let (keys, problems) = key_map(home.as_deref());
    let mut state = State::new(size, keys, facts);
    state.notifier = Notifier::new(TerminalKind::detect(|name| environment.get(name)));
    for problem in problems {
        let entry =
            super::conversation::Entry::Note(super::conversation::NoteKind::Warning, problem);
        state.conversation.push(entry);
    }
    let screen = Screen::new(theme, narrowing, size.columns, size.rows);
    let mailbox = Mailbox::new()?;
    // Unbounded, because the thread that draws must never wait for the session's side.
    let (effects, received) = mpsc::unbounded_channel();
    if !words.is_empty() {
        // Entered like what the user types before the session is open.
        state.early.push(Draft { text: words, ..Draft::default() });
    }
    let (ended, end) = tokio::sync::watch::channel(None);
    // A terminal without any capability can only write lines.
    let dumb = environment.get("TERM") == Some("dumb");
    if args.screen_reader || dumb || wants_lines(home.as_deref()) {
        let plain = super::plain::Plain::new(state);
        let ui = plain::PlainUi { plain, mailbox: mailbox.clone(), effects, started };
        std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            let result = ui.run().map_err(|error| error.to_string());
            ended.send_replace(Some(result));
        })?;
        return worker::run(args, mailbox, received, worker::UiEnd(end)).await;
    }
    let ui = ui::Ui::new(state, screen, mailbox.clone(), effects, started, folder);
    guard::install_panic_hook();
    // Also if the runtime ends by an error or a panic: a shell in raw mode cannot be used.
    let _restore = guard::RestoreAtEnd;
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        let result = ui.run().map_err(|error| error.to_string());
        ended.send_replace(Some(result));
    })?;
    worker::run(args, mailbox, received, worker::UiEnd(end)).await
}

/// Returns whether the user's settings ask for plain lines. They are read before the others, because
/// nothing may be drawn then.
fn wants_lines(home: Option<&std::path::Path>) -> bool {
    // The own file first: the first one that has the setting decides.
    let wanted = [".robota", ".claude"].into_iter().find_map(|folder| {
        let text = std::fs::read_to_string(home?.join(folder).join("settings.json")).ok()?;
        let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
        settings.get("screenReader")?.as_bool()
    });
    wanted.unwrap_or(false)
}

/// Returns the key map with the bindings of the user's files, and what is wrong with them.
fn key_map(home: Option<&std::path::Path>) -> (KeyMap, Vec<String>) {
    let mut keys = KeyMap::default();
    let mut problems = Vec::new();
    // The own file last, so that its bindings replace those of the other.
    for folder in [".claude", ".robota"] {
        let Some(file) = home.map(|home| home.join(folder).join("keybindings.json")) else {
            continue;
        };
        if let Ok(text) = std::fs::read_to_string(&file) {
            let found = keys.apply(&text);
            problems.extend(found.into_iter().map(|why| format!("{}: {why}", file.display())));
        }
    }
    (keys, problems)
}

/// Returns the size of the terminal.
pub(crate) fn terminal_size() -> Size {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    // A pseudo terminal to which no size was given reports 0.
    let or = |value: u16, default: usize| if value == 0 { default } else { usize::from(value) };
    Size { columns: or(columns, 80), rows: or(rows, 24) }
}
