//! The terminal program: what `robota` without arguments starts.
//!
//! [`state`] is everything the program knows, [`update`] changes it by an [`event`] and returns
//! [`effect`]s, [`view`] shows it as lines; all of them are pure. [`run`] connects them: a thread that
//! reads keys and draws, and the session on the runtime. Finished lines go to the terminal's own
//! scrollback once, and only the live region below them is drawn again ([`screen`]).

mod ansi;
mod background;
mod choice;
mod composer;
mod conversation;
mod diff;
mod effect;
mod event;
mod highlight;
mod keys;
mod markdown;
mod notify;
mod output_tail;
mod plain;
pub(crate) mod popup;
mod question;
mod run;
mod screen;
mod screens;
mod state;
mod text;
mod theme;
mod update;
mod view;
mod widgets;

use std::io::IsTerminal as _;

use crate::args::{InputFormat, OutputFormat, PrintArgs};

pub(crate) use run::{restore, run};
pub(crate) use text::printable;

/// Returns whether the arguments ask for the terminal program: no `-p`, no format for programs, and a
/// terminal on both sides.
#[expect(clippy::disallowed_methods, reason = "the terminal is standard output")]
pub(crate) fn is_wanted(args: &PrintArgs) -> bool {
    args.print.is_none()
        && !args.init_only
        && args.output_format == OutputFormat::Text
        && args.input_format == InputFormat::Text
        && args.json_schema.is_none()
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod pure_tests;
#[cfg(test)]
mod testing;
