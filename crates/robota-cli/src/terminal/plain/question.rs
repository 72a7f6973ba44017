//! Questions as numbered lines.

use robota_core::approve::Scope;
use robota_core::permission::Mode;

use crate::terminal::choice::Choice as ModelQuestion;
use crate::terminal::diff::DiffLine;
use crate::terminal::effect::Decided;
use crate::terminal::event::{Asked, Preview};
use crate::terminal::text::printable;
use crate::terminal::widgets::tool_row::wants;

/// How questions are answered. It is written as soon as a question takes answers.
pub(super) const NUMBER: &str = "Type a number and press Enter.";
/// The same, where a note is possible.
pub(super) const NUMBER_AND_NOTE: &str =
    "Type a number and press Enter. A note may follow the number.";

/// The answer that a number selects.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Choice {
    /// An answer.
    Decide(Decided),
    /// No answer: the turn stops.
    Stop,
}

impl Choice {
    /// Returns whether the answer gives a rule that allows other commands too.
    pub(super) fn is_wide(&self, asked: &Asked) -> bool {
        match self {
            Self::Decide(Decided::Allow(Scope::Session | Scope::Always)) => {
                asked.rules.iter().any(|rule| robota_policy::allows_other_commands(rule))
            }
            Self::Decide(_) | Self::Stop => false,
        }
    }
}

/// Returns the answers to a question, each with its words.
pub(super) fn choices(asked: &Asked) -> Vec<(String, Choice)> {
    let choice = |text: &str, answer: Decided| (text.to_owned(), Choice::Decide(answer));
    let mut choices = Vec::new();
    if let Preview::Plan(_) = asked.preview {
        choices.push(choice("Approve, ask before edits", Decided::Plan(Mode::Default)));
        choices.push(choice("Approve, accept edits", Decided::Plan(Mode::AcceptEdits)));
        choices.push(choice("Keep planning", Decided::Deny));
    } else {
        choices.push(choice("Yes, once", Decided::Allow(Scope::Once)));
        if !asked.rules.is_empty() {
            let rules = asked.rules.join(", ");
            let session = format!("Yes, in this session: {rules}");
            choices.push(choice(&session, Decided::Allow(Scope::Session)));
            let always = format!("Yes, always: {rules}, saved for this folder");
            choices.push(choice(&always, Decided::Allow(Scope::Always)));
        }
        choices.push(choice("No", Decided::Deny));
    }
    choices.push(("Stop the turn".to_owned(), Choice::Stop));
    choices
}

/// Reads a number, and the note after it: `4 use the other file`.
pub(super) fn parse(line: &str) -> Option<(usize, Option<String>)> {
    let (number, note) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let number = number.trim_end_matches('.').parse().ok()?;
    let note = note.trim();
    Some((number, (!note.is_empty()).then(|| note.to_owned())))
}

/// Writes a question with everything that the call would do.
pub(super) fn lines(asked: &Asked, (number, count): (usize, usize), out: &mut Vec<String>) {
    let counter = if count > 1 { format!(" {number} of {count}") } else { String::new() };
    let agent = asked.agent.as_deref().map(|agent| format!("{agent}: ")).unwrap_or_default();
    let title = format!("Question{counter}: {agent}{}", wants(&asked.tool, &asked.argument));
    out.push(printable(&title).into_owned());
    if !asked.reason.is_empty() {
        out.push(format!("Reason: {}", printable(&asked.reason)));
    }
    match &asked.preview {
        Preview::Diff { lines, .. } => out.extend(lines.iter().filter_map(changed)),
        Preview::Command { command, tree } => {
            out.extend(command.lines().chain(tree.iter().map(String::as_str)).map(clean));
        }
        Preview::Input(text) => out.extend(text.lines().map(clean)),
        // It was written before.
        Preview::Plan(_) => {}
    }
    for (at, (text, _)) in choices(asked).iter().enumerate() {
        out.push(format!("{}. {}", at + 1, printable(text)));
    }
}

/// Writes a question of the model.
pub(super) fn choice(choice: &ModelQuestion, out: &mut Vec<String>) {
    out.push(format!("Question: {}", printable(&choice.question)));
    for (at, option) in choice.options.iter().enumerate() {
        let text = match option.description.as_str() {
            "" => option.label.clone(),
            description => format!("{}: {description}", option.label),
        };
        out.push(format!("{}. {}", at + 1, printable(&text)));
    }
}

/// Returns how a question of the model is answered.
pub(super) fn invite(choice: &ModelQuestion) -> &'static str {
    match (choice.options.is_empty(), choice.several) {
        (true, _) => "Type an answer and press Enter; an empty line gives none.",
        (false, false) => "Type a number or another answer, and press Enter.",
        (false, true) => "Type numbers or another answer, and press Enter.",
    }
}

/// Returns the answer that a line gives: the options of its numbers, or the line itself.
pub(super) fn chosen(choice: &ModelQuestion, line: &str) -> Option<String> {
    if line.is_empty() {
        return None;
    }
    let words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let option = |word: &str| {
        let at = word.parse::<usize>().ok()?.checked_sub(1)?;
        choice.options.get(at).map(|option| option.label.as_str())
    };
    let labels: Option<Vec<_>> = words.map(option).collect();
    match labels {
        Some(labels) if choice.several || labels.len() == 1 => Some(labels.join(", ")),
        _ => Some(line.to_owned()),
    }
}

/// Writes the question about the settings of the folder.
pub(super) fn trust(items: &[String], folder: &str, out: &mut Vec<String>) {
    out.push(format!(
        "Question: {folder} has settings that can run commands, widen permissions or redirect requests:"
    ));
    out.extend(items.iter().map(|item| clean(item)));
    out.push("1. Trust them".to_owned());
    out.push("2. Continue without them".to_owned());
    out.push("3. Quit".to_owned());
}

fn clean(text: &str) -> String {
    printable(text).into_owned()
}

/// Returns a line of a change in words; none for lines that stay.
pub(super) fn changed(line: &DiffLine) -> Option<String> {
    match line {
        DiffLine::Add { line, text } => Some(format!("Adds line {line}: {}", printable(text))),
        DiffLine::Remove { line, text } => {
            Some(format!("Removes line {line}: {}", printable(text)))
        }
        _ => None,
    }
}
