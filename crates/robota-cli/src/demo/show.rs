//! Prints the demo.

use robota_core::event::{DecidedBy, Event};
use robota_core::message::ToolUse;
use robota_core::tool::ToolOutcome;

use crate::{colour, output};

/// Prints the demo, in colour if standard output is a terminal and `NO_COLOR` is not set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Show {
    colour: bool,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const CYAN: &str = "36";

impl Show {
    pub(super) fn new(forced: bool) -> Self {
        Self { colour: forced || colour::on_stdout() }
    }

    pub(super) fn colour(self) -> bool {
        self.colour
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn heading(self, text: &str) {
        output::line("");
        output::line(&self.paint(BOLD, text));
    }

    pub(super) fn plain(self, text: &str) {
        output::line(text);
    }

    pub(super) fn dim(self, text: &str) {
        output::line(&self.paint(DIM, text));
    }

    /// Shows one event of the run.
    pub(super) fn event(self, event: &Event, calls: &mut Vec<ToolUse>) {
        for line in self.lines(event, calls) {
            output::line(&line);
        }
    }

    fn lines(self, event: &Event, calls: &mut Vec<ToolUse>) -> Vec<String> {
        match event {
            Event::ToolCalled(data) => {
                calls.push(data.tool_use.clone());
                Vec::new()
            }
            Event::AssistantMessage(data) => {
                vec![String::new(), format!("  {}", data.message.text())]
            }
            Event::PermissionAsked(data) => {
                vec![self.paint(DIM, &format!("    needs approval: {}", data.reason))]
            }
            Event::PermissionDecided(data) if data.by == DecidedBy::User => {
                vec![self.paint(DIM, &format!("    {}", data.reason))]
            }
            Event::ToolFinished(data) => {
                let call = calls.iter().find(|call| call.call == data.call);
                call.map(|call| self.outcome(call, &data.outcome)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    fn outcome(self, call: &ToolUse, outcome: &ToolOutcome) -> Vec<String> {
        let mark = if outcome.ok { self.paint(GREEN, "✓") } else { self.paint(RED, "✗") };
        let name = self.paint(CYAN, &call.name);
        let mut lines = vec![format!("    {mark} {name} {}", target(call))];
        let diff = outcome.metadata.get("diff").and_then(|diff| diff.as_str());
        let body = diff.map_or_else(|| outcome.text(), str::to_owned);
        lines.extend(body.lines().map(|line| {
            let code = match line.as_bytes().first() {
                Some(b'+') if diff.is_some() => GREEN,
                Some(b'-') if diff.is_some() => RED,
                _ => DIM,
            };
            self.paint(code, &format!("      {}", line.replace('\t', "  ")))
        }));
        lines
    }
}

/// Returns the file or command of a call.
fn target(call: &ToolUse) -> String {
    let input = call.input.json();
    ["file_path", "command"]
        .iter()
        .find_map(|key| input?.get(key)?.as_str())
        .unwrap_or_default()
        .to_owned()
}

/// Cuts a line that is longer than `width` characters.
pub(super) fn truncate(line: &str, width: usize) -> String {
    match line.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
