//! The parts of a skill's text: plain text, commands to run, and files to attach.

use std::ops::Range;

use serde::Serialize;

use super::arguments::Arguments;
use crate::mentions::mentions;

/// The most commands of one skill.
const MAX_COMMANDS: usize = 100;

/// Holds a part of an expanded skill. The text for the model is the parts in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SkillPart {
    /// Text. It is not searched for commands or files again.
    Text(String),
    /// A command whose output takes its place. The caller judges it by the permissions, runs it, and
    /// does not search its output. If it is not allowed or fails, the invocation ends.
    Command {
        /// The command, with the arguments in it.
        command: String,
    },
    /// A file to attach. Without such a file the text stays as it is.
    File {
        /// The path, relative to the working folder.
        path: String,
        /// The text of the mention, which stays if there is no such file.
        text: String,
    },
}

/// Splits a template and replaces the placeholders in each part. Parts are found in the template
/// only, so that no argument can add one.
pub(super) fn parts(template: &str, arguments: &mut Arguments<'_>) -> Vec<SkillPart> {
    let mut parts = Vec::new();
    let mut at = 0;
    for (range, special) in specials(template) {
        push_text(&mut parts, arguments.substitute(&template[at..range.start]));
        at = range.end;
        parts.push(match special {
            Special::Command(command) => {
                SkillPart::Command { command: arguments.substitute(&template[command]) }
            }
            Special::File(path) => SkillPart::File {
                path: arguments.substitute(&path),
                text: arguments.substitute(&template[range]),
            },
        });
    }
    push_text(&mut parts, arguments.substitute(&template[at..]));
    if let Some(unused) = arguments.unused() {
        push_text(&mut parts, format!("\n\nARGUMENTS: {unused}"));
    }
    parts
}

/// Returns the commands of a template, before the arguments are known.
pub(super) fn commands(template: &str) -> Vec<&str> {
    command_ranges(template).into_iter().map(|(_, command)| &template[command]).collect()
}

fn push_text(parts: &mut Vec<SkillPart>, text: String) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(SkillPart::Text(before)) => before.push_str(&text),
        Some(SkillPart::Command { .. } | SkillPart::File { .. }) | None => {
            parts.push(SkillPart::Text(text));
        }
    }
}

enum Special {
    Command(Range<usize>),
    File(String),
}

/// Returns the commands and mentions of a template in order.
fn specials(template: &str) -> Vec<(Range<usize>, Special)> {
    let commands = command_ranges(template);
    // A mention inside of a command is an argument of it.
    let inside = |at: usize| commands.iter().any(|(range, _)| range.contains(&at));
    let files: Vec<_> = mentions(template)
        .into_iter()
        .filter(|mention| !inside(mention.range.start))
        .map(|mention| (mention.range, Special::File(mention.path)))
        .collect();
    let commands = commands.into_iter().map(|(range, command)| (range, Special::Command(command)));
    let mut all: Vec<_> = commands.chain(files).collect();
    all.sort_by_key(|(range, _)| range.start);
    all
}

/// Returns the range of each command with its marks, and of the command itself.
fn command_ranges(text: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    // A block after this does not end; without it, each block would be searched to the end.
    let last_fence = text.rfind("\n```").unwrap_or(0);
    while let Some(rest) = text.get(at..).filter(|_| found.len() < MAX_COMMANDS) {
        let Some(mark) = rest.find('!').map(|mark| at + mark) else { break };
        let (before, after) = (&text[..mark], &text[mark + 1..]);
        at = mark + 1;
        if before.ends_with("```") && is_line_start(&before[..before.len() - 3]) {
            if mark >= last_fence {
                continue;
            }
            let Some(close) = after.find("\n```") else { continue };
            let command = trimmed(text, mark + 1..mark + 1 + close);
            at = mark + 1 + close + "\n```".len();
            if !command.is_empty() {
                found.push((mark - 3..at, command));
            }
        } else if let Some(quoted) = after.strip_prefix('`')
            // Only after a space, so that text such as `a!`b`` is no command.
            && before.chars().next_back().is_none_or(char::is_whitespace)
        {
            // Two marks without text between them are no command.
            let Some(close) = quoted.find('`').filter(|close| *close > 0) else { continue };
            let command = mark + 2..mark + 2 + close;
            at = command.end + 1;
            found.push((mark..at, command));
        }
    }
    found
}

fn is_line_start(before: &str) -> bool {
    before.trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|letter| letter == '\n')
}

/// Returns the range without the white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inner = &text[range.clone()];
    let start = range.start + (inner.len() - inner.trim_start().len());
    start..start + inner.trim().len()
}

#[cfg(test)]
mod tests;
