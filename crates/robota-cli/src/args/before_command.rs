//! Options before a command: `robota --settings FILE config list`. Clap would take everything that
//! follows such an option as words of a prompt, and send them to a model.

use std::ffi::OsString;

use clap::{ArgAction, Args as _, Command, CommandFactory as _};

use super::{Cli, PrintArgs, SettingsArgs};
use crate::Usage;

/// Moves the options of [`SettingsArgs`] that precede a command behind its name. Returns other
/// arguments unchanged.
pub(crate) fn move_behind(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let settings = SettingsArgs::augment_args(Command::new("settings"));
    let mut start = 1;
    while let Some(length) = arguments.get(start).and_then(|option| taken(&settings, option)) {
        start += length;
    }
    // Nothing to move, or an option without its value.
    if start == 1 || start >= arguments.len() {
        return arguments;
    }
    let cli = Cli::command();
    let (mut command, mut end) = (&cli, start);
    while let Some(found) = arguments.get(end).and_then(|name| command.find_subcommand(name)) {
        command = found;
        end += 1;
    }
    if let Some(moved) = arguments.get_mut(1..end) {
        moved.rotate_left(start - 1);
    }
    arguments
}

/// Returns how many arguments an option of the settings takes, itself included. An option that
/// takes all values that follow, and does not name its value after `=`, is not one of these: its
/// values could have the name of a command.
fn taken(settings: &Command, option: &OsString) -> Option<usize> {
    let name = option.to_str()?.strip_prefix("--")?;
    let (name, has_value) = match name.split_once('=') {
        Some((name, _)) => (name, true),
        None => (name, false),
    };
    let found = settings.get_arguments().find(|argument| {
        argument.get_long() == Some(name)
            || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })?;
    match found.get_action() {
        // Such an option takes all values that follow, so the command would be one of them.
        ArgAction::Append if !has_value => None,
        ArgAction::Set if !has_value => Some(2),
        _ => Some(1),
    }
}

/// Returns the error about a command that follows other options: without it, the name of the
/// command would be the prompt.
pub(crate) fn misplaced(args: &PrintArgs) -> Option<Usage> {
    let [name, rest @ ..] = args.words.as_slice() else { return None };
    let cli = Cli::command();
    let command = cli.find_subcommand(name).filter(|_| args.print.is_none())?;
    let path = match rest {
        [] => name.clone(),
        [next, ..] if command.find_subcommand(next).is_some() => format!("{name} {next}"),
        // A sentence that starts with the name of a command.
        _ => return None,
    };
    Some(Usage(format!(
        "`{name}` is a command, and its options follow it: robota {path} --help shows them. To send \
         it as a prompt, use -p"
    )))
}

#[cfg(test)]
mod tests;
