//! Exports a session as Markdown.

use std::fmt::Write as _;

use robota_core::event::{DecidedBy, TurnEnd};
use robota_core::permission::Verdict;
use robota_core::redact::Redactor;

use super::transcript::{CallView, Transcript, TranscriptEntry, TranscriptStep, TurnView, cause};

/// Longer results are cut, in characters; the journal has the whole text.
const MAX_RESULT: usize = 2_000;

/// Converts a transcript to Markdown, without the redactor's secrets.
#[must_use]
pub fn markdown(transcript: &Transcript, redactor: &Redactor) -> String {
    let mut text = String::new();
    let title = transcript.name.as_deref().unwrap_or("Session");
    line(&mut text, format_args!("# {title}\n"));
    line(&mut text, format_args!("| | |\n|---|---|"));
    row(&mut text, "session", transcript.session.as_str());
    if let Some(parent) = &transcript.parent {
        row(&mut text, "forked from", &format!("{} at {}", parent.session, parent.at));
    }
    row(&mut text, "folder", transcript.cwd.as_deref().unwrap_or("-"));
    if let Some(created) = transcript.created {
        row(&mut text, "began", &created.strftime("%Y-%m-%d %H:%M:%SZ").to_string());
    }
    if let Some(model) = &transcript.model {
        row(&mut text, "model", model);
    }
    let usage = transcript.usage;
    if !usage.is_zero() {
        let tokens = format!("{} in, {} out", usage.input_tokens, usage.output_tokens);
        row(&mut text, "tokens", &tokens);
    }
    for entry in &transcript.entries {
        match entry {
            TranscriptEntry::Turn(view) => turn(&mut text, view),
            TranscriptEntry::Note { text: note, .. } => line(&mut text, format_args!("\n*{note}*")),
        }
    }
    redactor.text(&text).into_owned()
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{what}");
}

fn row(text: &mut String, name: &str, value: &str) {
    line(text, format_args!("| {name} | {} |", value.replace('|', "\\|")));
}

fn turn(text: &mut String, turn: &TurnView) {
    line(text, format_args!("\n## Turn {}", turn.number));
    for step in &turn.steps {
        match step {
            TranscriptStep::User { text: said } => line(text, format_args!("\n{}", quote(said))),
            TranscriptStep::Answer { text: said, interrupted_by } => {
                if !said.trim().is_empty() {
                    line(text, format_args!("\n{}", said.trim_end()));
                }
                if let Some(by) = interrupted_by {
                    line(text, format_args!("\n*interrupted {}*", cause(*by)));
                }
            }
            TranscriptStep::Call(view) => call(text, view),
            TranscriptStep::Note { text: note } => line(text, format_args!("\n*{note}*")),
        }
    }
    match turn.end {
        Some(TurnEnd::Complete | TurnEnd::Interrupted) => {}
        Some(end) => line(text, format_args!("\n*the turn ended: {}*", word(end))),
        None => line(text, format_args!("\n*the turn has no end*")),
    }
    if let Some(error) = &turn.error {
        line(text, format_args!("\n*{error}*"));
    }
}

/// Returns how a turn ended, as text.
fn word(end: TurnEnd) -> String {
    serde_json::to_value(end)
        .ok()
        .and_then(|value| value.as_str().map(|word| word.replace('_', " ")))
        .unwrap_or_default()
}

fn call(text: &mut String, call: &CallView) {
    let mut facts = vec![call.outcome().to_owned()];
    if let Some(decision) = &call.decision {
        let verdict = match decision.verdict {
            Verdict::Allow => "allowed",
            Verdict::Ask => "asked",
            Verdict::Deny => "denied",
        };
        let by = match decision.by {
            DecidedBy::Gate => "by the rules",
            DecidedBy::Hook => "by a hook",
            // It may have been denied because there was no user to ask.
            DecidedBy::User => "when asked",
        };
        // Do not say the same twice.
        facts.retain(|fact| fact != verdict);
        facts.push(format!("{verdict} {by}"));
    }
    line(text, format_args!("\n**{}** — {}\n", call.name, facts.join(", ")));
    let arguments = serde_json::to_string_pretty(&call.input).unwrap_or_default();
    fence(text, "json", &arguments);
    if let Some(result) = call.result.as_ref().filter(|result| !result.trim().is_empty()) {
        line(text, format_args!(""));
        let cut: String = result.chars().take(MAX_RESULT).collect();
        let more = result.chars().count() - cut.chars().count();
        fence(text, "text", cut.trim_end());
        if more > 0 {
            line(text, format_args!("\n*and {more} more characters*"));
        }
    }
}

/// Writes a code block with a fence that is longer than any in the code.
fn fence(text: &mut String, language: &str, code: &str) {
    let mut ticks = 3;
    while code.contains(&"`".repeat(ticks)) {
        ticks += 1;
    }
    let fence = "`".repeat(ticks);
    line(text, format_args!("{fence}{language}\n{code}\n{fence}"));
}

fn quote(said: &str) -> String {
    let lines: Vec<_> = said.trim_end().lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}
