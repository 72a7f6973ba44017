//! Commands that match.

use robota_sdk::CommandInfo;

use super::Entry;
use super::matching::Matching;

/// Returns the commands that match what follows the slash, the best first. After the name of a
/// command its subcommands match.
pub(super) fn find(commands: &[CommandInfo], query: &str) -> (Vec<Entry>, usize) {
    let mut parents = Vec::new();
    let mut commands: Vec<&CommandInfo> = commands.iter().collect();
    let mut rest = query;
    while let Some((name, after)) = rest.split_once(' ') {
        let Some(command) = commands.iter().find(|command| command.name == name) else {
            return (Vec::new(), 0);
        };
        parents.push(name);
        commands = command.subcommands.iter().collect();
        rest = after;
    }
    let mut before = String::from("/");
    for parent in &parents {
        before.push_str(parent);
        before.push(' ');
    }
    let mut matching = Matching::names(rest);
    let mut found: Vec<(u32, usize, &CommandInfo)> = commands
        .into_iter()
        .enumerate()
        .filter_map(|(index, command)| Some((rank(command, rest, &mut matching)?, index, command)))
        .collect();
    found.sort_by_key(|(rank, index, _)| (std::cmp::Reverse(*rank), *index));
    let entries: Vec<Entry> = found
        .into_iter()
        .map(|(_, _, command)| entry(command, &before, parents.is_empty(), rest, &mut matching))
        .collect();
    let total = entries.len();
    (entries, total)
}

/// Returns how well a command matches: by the beginning of its name, by its letters, or by its
/// description.
fn rank(command: &CommandInfo, query: &str, matching: &mut Matching) -> Option<u32> {
    if query.is_empty() {
        return Some(0);
    }
    let lower = query.to_lowercase();
    let prefix = command.name.to_lowercase().starts_with(&lower);
    if let Some(score) = matching.score(&command.name) {
        return Some(1_000 + score + if prefix { 100_000 } else { 0 });
    }
    // A single letter is in nearly every description.
    let described =
        query.chars().count() > 1 && command.description.to_lowercase().contains(&lower);
    described.then_some(1)
}

fn entry(
    command: &CommandInfo,
    before: &str,
    first: bool,
    query: &str,
    matching: &mut Matching,
) -> Entry {
    let takes_more = command.argument_hint.is_some() || !command.subcommands.is_empty();
    let name = if first { format!("/{}", command.name) } else { command.name.clone() };
    let moved = u32::from(first);
    let letters = if query.is_empty() {
        Vec::new()
    } else {
        matching.letters(&command.name).into_iter().map(|at| at + moved).collect()
    };
    let space = if takes_more { " " } else { "" };
    Entry {
        name,
        letters,
        hint: command.argument_hint.clone(),
        description: command.description.clone(),
        completion: format!("{before}{}{space}", command.name),
        complete: !takes_more,
    }
}
