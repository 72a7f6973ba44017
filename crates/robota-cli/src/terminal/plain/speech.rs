//! Entries of the conversation as plain lines, without signs that a screen reader would spell out.

use robota_sdk::ToolEnd;

use super::question::changed;
use crate::terminal::conversation::{Entry, NoteKind, RowState, ToolRow};
use crate::terminal::text::printable;
use crate::terminal::widgets::tool_row;

/// How many lines of the output of a call are written.
const OUTPUT: usize = 20;

/// Writes an entry that is finished.
pub(super) fn entry(entry: &Entry, columns: usize, out: &mut Vec<String>) {
    match entry {
        Entry::Prompt(text) => out.push(format!("You: {}", printable(text))),
        Entry::Text(block) => {
            let lines = block.render(columns);
            out.extend(lines.iter().map(|line| line.plain().trim_end().to_owned()));
        }
        Entry::Tool(row) => ended(row, out),
        Entry::Note(kind, text) => {
            let word = match kind {
                NoteKind::Plain => "",
                NoteKind::Warning => "Warning: ",
                NoteKind::Error => "Error: ",
            };
            out.push(format!("{word}{}", printable(text)));
        }
        Entry::Output { typed, text, ok } => {
            let word = if *ok { "" } else { " failed" };
            out.push(format!("{}{word}:", printable(typed)));
            out.extend(text.lines().map(|line| printable(line).into_owned()));
        }
    }
}

/// Returns the line of a call that starts.
pub(super) fn running(row: &ToolRow) -> String {
    let words = tool_row::running_words(row);
    let mut letters = words.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

fn ended(row: &ToolRow, out: &mut Vec<String>) {
    out.push(printable(&tool_row::words(row)).into_owned());
    if let Some(how) = &row.approved {
        out.push(printable(how).into_owned());
    }
    if !row.details.diff.is_empty() {
        out.extend(row.details.diff.iter().filter_map(changed));
        return;
    }
    // What other tools return is long, and the line above names the file or the pattern.
    // A failure is written in any case: its text is the reason.
    let failed = matches!(row.state, RowState::Ended(ToolEnd::Error | ToolEnd::Denied));
    if !failed && !matches!(row.tool.as_str(), "Bash" | "BashOutput") {
        return;
    }
    let (hidden, lines) = row.output.last(OUTPUT);
    if hidden > 0 {
        out.push(format!("{hidden} lines of output are left out. The last ones:"));
    }
    out.extend(lines.iter().map(|line| line.plain().trim_end().to_owned()));
}
