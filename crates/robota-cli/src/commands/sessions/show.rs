//! `robota sessions show`: prints the transcript of a session, turn by turn.

use robota_core::catalogue::{Catalogue, format_tokens};
use robota_core::event::{DecidedBy, TurnEnd};
use robota_core::journal::read_all;
use robota_core::permission::Verdict;
use robota_core::usage::Usage;
use robota_sdk::find_session;
use robota_session::replay::{
    CallView, Transcript, TranscriptEntry, TranscriptStep, TurnView, transcript,
};
use serde_json::{Value, json};

use super::args::ShowArgs;
use super::{Context, text, time};
use crate::{Exit, output};

/// The width of a call's argument, in characters.
const ARGUMENT_WIDTH: usize = 72;

/// Prints a transcript, or with `--events` the journal.
pub(super) async fn run(args: ShowArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let session = find_session(&*context.store, &args.session).await?;
    let events = read_all(&*context.store, &session, 0).await?;
    if args.events {
        for event in &events {
            output::line(&event.to_line());
        }
        return Ok(Exit::Ok);
    }
    let transcript = transcript(&session, &events);
    if args.store.json {
        let mut value = serde_json::to_value(&transcript)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("cost_usd".to_owned(), json!(cost(&transcript)));
        }
        output::line(&value.to_string());
    } else {
        output::line(&report(&transcript));
    }
    Ok(Exit::Ok)
}

/// Returns the cost in US dollars, if the prices of the model are known.
fn cost(transcript: &Transcript) -> Option<f64> {
    Catalogue::builtin().cost(transcript.model.as_deref()?, transcript.usage)
}

fn report(transcript: &Transcript) -> String {
    let mut lines = head(transcript);
    for entry in &transcript.entries {
        lines.push(String::new());
        match entry {
            TranscriptEntry::Turn(view) => turn(transcript, view, &mut lines),
            TranscriptEntry::Note { at, text: note } => {
                lines.push(format!("{} · {}", time::second(*at), text::short(note, 160)));
            }
        }
    }
    lines.join("\n")
}

fn head(transcript: &Transcript) -> Vec<String> {
    let name = transcript.name.as_deref().map(|name| format!(" · {}", text::short(name, 80)));
    let mut lines = vec![format!("Session {}{}", transcript.session, name.unwrap_or_default())];
    let mut row = |name: &str, value: String| lines.push(format!("  {name:<8} {value}"));
    if let Some(cwd) = &transcript.cwd {
        row("folder", text::short(cwd, 200));
    }
    if let (Some(created), Some(updated)) = (transcript.created, transcript.updated) {
        row(
            "created",
            format!("{}, last changed {}", time::second(created), time::second(updated)),
        );
    }
    if let Some(parent) = &transcript.parent {
        row("fork of", format!("{} at {}", parent.session, parent.at));
    }
    if let (Some(provider), Some(model)) = (&transcript.provider, &transcript.model) {
        row("model", format!("{model} ({provider}), mode {}", transcript.mode));
    }
    let last = transcript.last.map(|last| format!(", last {last}")).unwrap_or_default();
    row("turns", format!("{}, {} events{last}", transcript.turns, transcript.events));
    let changed = changed(transcript);
    if !changed.is_empty() {
        row("changed", text::short(&changed.join(", "), 400));
    }
    if !transcript.usage.is_zero() {
        let cost = cost(transcript).map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
        row("tokens", format!("{}{cost}", tokens(transcript.usage)));
    }
    lines
}

/// Returns the files that successful calls changed, as far as the tools report them: each once,
/// relative to the session's folder.
fn changed(transcript: &Transcript) -> Vec<String> {
    let turns = transcript.entries.iter().filter_map(|entry| match entry {
        TranscriptEntry::Turn(turn) => Some(turn),
        TranscriptEntry::Note { .. } => None,
    });
    let calls = turns.flat_map(|turn| &turn.steps).filter_map(|step| match step {
        TranscriptStep::Call(call) if call.ok == Some(true) => Some(call),
        _ => None,
    });
    let mut files: Vec<String> = Vec::new();
    for path in calls.flat_map(|call| &call.files) {
        let path = relative(transcript, path);
        if !files.contains(&path) {
            files.push(path);
        }
    }
    files
}

fn relative(transcript: &Transcript, path: &str) -> String {
    let inside =
        transcript.cwd.as_deref().and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

fn tokens(usage: Usage) -> String {
    let (sent, made) = (format_tokens(usage.input_tokens), format_tokens(usage.output_tokens));
    format!("{sent} in, {made} out")
}

fn turn(transcript: &Transcript, turn: &TurnView, lines: &mut Vec<String>) {
    let mut facts = vec![format!("Turn {}", turn.number), time::second(turn.started)];
    if let Some(finished) = turn.finished {
        let millis = finished.as_millisecond() - turn.started.as_millisecond();
        facts.push(time::duration(u64::try_from(millis).unwrap_or(0)));
    }
    if turn.rounds > 1 {
        facts.push(format!("{} rounds", turn.rounds));
    }
    if !turn.usage.is_zero() {
        facts.push(tokens(turn.usage));
    }
    lines.push(facts.join(" · "));
    for step in &turn.steps {
        match step {
            TranscriptStep::User { text: prompt } => lines.push(text::indent(prompt, "  › ")),
            TranscriptStep::Answer { text: answer, interrupted_by } => {
                if !answer.trim().is_empty() {
                    lines.push(text::indent(answer, "  "));
                }
                if interrupted_by.is_some() {
                    lines.push("  … interrupted".to_owned());
                }
            }
            TranscriptStep::Call(view) => lines.push(format!("  {}", call(transcript, view))),
            TranscriptStep::Note { text: note } => {
                lines.push(format!("  · {}", text::short(note, 160)));
            }
        }
    }
    match turn.end {
        Some(TurnEnd::Complete) => {}
        Some(end) => lines.push(format!("  = {}", end_text(end))),
        None => lines.push("  = not finished: still running, or interrupted by a crash".to_owned()),
    }
    if let Some(error) = &turn.error {
        lines.push(text::indent(error, "  ! "));
    }
}

fn call(transcript: &Transcript, call: &CallView) -> String {
    let outcome = call.outcome();
    let mark = if outcome == "ok" { "✓" } else { "✗" };
    let argument = text::short(&call.argument(), ARGUMENT_WIDTH);
    let mut facts = vec![text::short(&format!("{} {argument}", call.name), 2 * ARGUMENT_WIDTH)];
    if outcome != "ok" {
        let code = call.error_code.as_deref().filter(|code| *code != outcome);
        let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
        facts.push(format!("{outcome}{code}"));
    }
    facts.extend(call.duration_ms.map(time::duration));
    // For a successful call the head of the transcript lists the files.
    if outcome != "ok" && !call.files.is_empty() {
        let files: Vec<_> = call.files.iter().map(|path| relative(transcript, path)).collect();
        facts.push(text::short(
            &format!("was about to change {}", files.join(", ")),
            2 * ARGUMENT_WIDTH,
        ));
    }
    if let Some(decision) = &call.decision {
        // The decision below includes it.
        facts.retain(|fact| fact != "denied");
        let by = match decision.by {
            DecidedBy::Gate => Some("by the rules"),
            DecidedBy::Hook => Some("by a hook"),
            // The journal says "user" for a headless run as well, where no user can answer.
            DecidedBy::User => None,
        };
        let reason = text::short(&decision.reason, ARGUMENT_WIDTH);
        facts.push(match (decision.verdict, by) {
            (Verdict::Allow, Some(by)) => format!("allowed {by}"),
            (Verdict::Allow, None) => "approved".to_owned(),
            (Verdict::Ask, _) => "not decided".to_owned(),
            (Verdict::Deny, Some(by)) => format!("denied {by}: {reason}"),
            (Verdict::Deny, None) => format!("not approved: {reason}"),
        });
    }
    format!("{mark} {}", facts.join(" · "))
}

fn end_text(end: TurnEnd) -> &'static str {
    match end {
        TurnEnd::Complete => "done",
        TurnEnd::RoundLimit => "stopped at the round limit; the answer is a summary",
        TurnEnd::UnknownTools => "the model kept making calls that cannot succeed",
        TurnEnd::ContextFull => "the conversation exceeds the context window of the model",
        TurnEnd::Blocked => "a hook blocked the prompt",
        TurnEnd::Stopped => "a hook stopped the turn",
        TurnEnd::Interrupted => "interrupted",
        TurnEnd::ProviderFailed => "the model call failed",
        TurnEnd::StoreFailed => "the journal could not be written",
    }
}
