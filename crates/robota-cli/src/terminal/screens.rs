//! Pages: views that fill the terminal on its alternate screen, such as the help.
//!
//! A page takes keys, returns what others must do, and renders lines. To add one, copy `help.rs` and
//! add a function below. Work that takes time or does I/O is an [`Effect::Work`]: a function that
//! gets the open session and returns any value, which comes back in [`Page::answer`].

mod agents;
mod background;
mod changes;
mod confirm;
mod context;
mod cost;
mod details;
mod doctor;
mod export;
mod help;
mod hooks;
mod list;
mod memory;
mod models;
mod palette;
mod permissions;
mod report;
mod rewind;
mod sessions;
mod text;
mod todos;
mod transcript;

use std::any::Any;

use crossterm::event::KeyEvent;
use robota_core::ids::SessionId;
use robota_sdk::CommandInfo;

use super::conversation::Entry;
use super::effect::Effect;
use super::event::Size;
use super::keys::{Action, KeyMap};
use super::run::WorkContext;
use super::screen::Cursor;
use super::state::{Facts, State};
use super::text::Line;

/// A view that fills the terminal.
pub(crate) trait Page: Send {
    /// Takes a key, with the action that it is bound to on pages.
    fn key(
        &mut self,
        key: &KeyEvent,
        action: Option<Action>,
        context: &PageContext<'_>,
    ) -> PageOutcome;

    /// Takes pasted text.
    fn paste(&mut self, _text: &str) {}

    /// Returns whether the page waits for what it shows. Until then keys that search, scroll or accept
    /// are kept for it; a key that ends or removes something is not.
    fn is_loading(&self) -> bool {
        false
    }

    /// Takes the result of work that the page asked for.
    fn answer(&mut self, _reply: Box<dyn Any + Send>, _context: &PageContext<'_>) -> PageOutcome {
        PageOutcome::Ignored
    }

    /// Renders the page: at most `size.rows` lines, and the cursor.
    fn view(&mut self, size: Size, context: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>);
}

/// What the program does after a page took a key or a reply.
pub(crate) enum PageOutcome {
    /// The page does not use the key. Esc and Ctrl+C then close it.
    Ignored,
    /// The page stays, and asks for these effects.
    Stay(Vec<Effect>),
    /// The page closes, and asks for these effects.
    Close(Vec<Effect>),
    /// The page closes, and another session is opened, or a fork of it.
    Switch {
        /// The session to open.
        session: SessionId,
        /// Whether to fork it.
        fork: bool,
    },
    /// The page closes, and this text is entered as if the user had typed it.
    Enter(String),
    /// The page closes, and this text is put into the composer.
    Compose(String),
    /// Another page takes its place.
    Open(OpenPage),
    /// The page closes, and this message says why.
    Fail(String),
}

/// What pages may see of the state.
pub(crate) struct PageContext<'a> {
    pub(crate) size: Size,
    pub(crate) keys: &'a KeyMap,
    pub(crate) facts: &'a Facts,
    pub(crate) entries: &'a [Entry],
    pub(crate) commands: &'a [CommandInfo],
    /// Whether a turn runs.
    pub(crate) busy: bool,
}

impl<'a> PageContext<'a> {
    /// Takes what pages may see.
    pub(crate) fn of(state: &'a State) -> Self {
        Self {
            size: state.size,
            keys: &state.keys,
            facts: &state.facts,
            entries: state.conversation.entries(),
            commands: &state.commands,
            busy: state.turn.is_some(),
        }
    }
}

/// The user's editor was closed, after [`Effect::EditFile`].
pub(crate) struct FileEdited;

/// A page with what it asks for first, or why it cannot be opened.
pub(crate) type Opening = Result<(Box<dyn Page>, Vec<Effect>), String>;

/// Opens a page.
pub(crate) type OpenPage = Box<dyn FnOnce(&PageContext<'_>) -> Opening + Send>;

/// Shows the keys.
pub(crate) fn help() -> OpenPage {
    Box::new(|context| Ok((Box::new(help::Help::new(context.keys)), Vec::new())))
}

/// Shows the whole conversation.
pub(crate) fn transcript() -> OpenPage {
    Box::new(transcript::open)
}

/// Shows the commands and agents in the background.
pub(crate) fn background() -> OpenPage {
    Box::new(|_| background::open())
}

/// Shows all commands.
pub(crate) fn palette() -> OpenPage {
    Box::new(|context| Ok((Box::new(palette::Palette::new(context)), Vec::new())))
}

/// Shows the models.
pub(crate) fn models() -> OpenPage {
    Box::new(|_| models::open())
}

/// Shows the checkpoints.
pub(crate) fn rewind() -> OpenPage {
    Box::new(rewind::open)
}

/// Shows the sessions.
pub(crate) fn sessions() -> OpenPage {
    Box::new(|_| sessions::open())
}

/// The commands that open a page when they have no arguments, and what the palette says of them.
const PAGES: &[(&str, &str)] = &[
    ("agents", "Shows the agents"),
    ("background", "Shows the commands and agents in the background"),
    ("context", "Shows what fills the context window"),
    ("cost", "Shows tokens and price by model"),
    ("diff", "Shows the changed files"),
    ("doctor", "Checks everything that a run needs"),
    ("export", "Saves or copies the conversation"),
    ("hooks", "Shows the hooks"),
    ("keys", "Shows the keys"),
    ("memory", "Shows the instruction files and the memory"),
    ("model", "Chooses the model"),
    ("permissions", "Shows and changes the permission rules"),
    ("reset", "Deletes your settings, after a question"),
    ("resume", "Chooses another session"),
    ("rewind", "Goes back to before a prompt"),
    ("todos", "Shows the to-do list of the model"),
    ("transcript", "Shows the whole conversation"),
];

/// Returns the page of a command without arguments, such as that of `/rewind`.
pub(crate) fn by_command(name: &str) -> Option<OpenPage> {
    Some(match name {
        "agents" => Box::new(|_| agents::open()),
        "background" => background(),
        "cost" => Box::new(|_| cost::open()),
        "diff" => Box::new(|_| changes::open()),
        "export" => Box::new(|_| export::open()),
        "hooks" => Box::new(|_| hooks::open()),
        "memory" => Box::new(|_| memory::open()),
        "reset" => Box::new(|_| confirm::reset()),
        "todos" => Box::new(|_| todos::open()),
        "context" => Box::new(|_| context::open()),
        "doctor" => Box::new(|_| doctor::open()),
        "model" => models(),
        "permissions" => Box::new(|_| permissions::open()),
        "resume" => sessions(),
        "rewind" => rewind(),
        "transcript" => transcript(),
        _ => return None,
    })
}

/// Asks for work whose result comes back in [`Page::answer`].
fn work<T, F>(work: impl FnOnce(WorkContext) -> F + Send + 'static) -> Effect
where
    T: Any + Send,
    F: Future<Output = T> + Send + 'static,
{
    Effect::Work(Box::new(move |context| {
        let future = work(context);
        Box::pin(async move { Box::new(future.await) as Box<dyn Any + Send> })
    }))
}
