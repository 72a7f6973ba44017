//! The command that a mistyped word is similar to.

use clap::CommandFactory as _;

use super::Cli;

/// Returns the command whose name a word begins, or misses by one typing error.
pub(crate) fn similar_command(word: &str) -> Option<String> {
    let cli = Cli::command();
    let names = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let similar = names.map(clap::Command::get_name).find(|name| looks_like(word, name));
    similar.map(str::to_owned)
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
