//! The first prompt, from the arguments of the command line.

use clap::CommandFactory as _;

use crate::Usage;
use crate::args::{Cli, PrintArgs};

/// Joins the arguments of the command line to the first prompt.
///
/// # Errors
/// If they are one word that looks like a command with a typing error.
pub(super) fn take(args: &mut PrintArgs) -> Result<String, Usage> {
    let words = std::mem::take(&mut args.words).join(" ");
    if words.contains(char::is_whitespace) {
        return Ok(words);
    }
    let cli = Cli::command();
    let names = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let similar = names.map(clap::Command::get_name).find(|name| looks_like(&words, name));
    match similar {
        Some(name) => Err(Usage(format!(
            "unknown command `{words}`; similar: robota {name}. To send it as a prompt, start \
             robota and type it, or use robota -p {words}"
        ))),
        None => Ok(words),
    }
}

/// Returns whether a word is the beginning of a name, or a name with one typing error.
fn looks_like(word: &str, name: &str) -> bool {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Shorter words resemble too many names.
    word.len() >= 3 && (name.starts_with(&word) || one_error(&word, &name))
}

/// Returns whether at most one letter is too much, missing or another one, or two neighbours are
/// exchanged.
fn one_error(mut word: &[char], mut name: &[char]) -> bool {
    while let ([left, word_rest @ ..], [right, name_rest @ ..]) = (word, name)
        && left == right
    {
        (word, name) = (word_rest, name_rest);
    }
    while let ([word_rest @ .., left], [name_rest @ .., right]) = (word, name)
        && left == right
    {
        (word, name) = (word_rest, name_rest);
    }
    match (word, name) {
        ([] | [_], [] | [_]) => true,
        ([first, second], [third, fourth]) => first == fourth && second == third,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
