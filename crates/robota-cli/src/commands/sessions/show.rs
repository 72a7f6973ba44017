//! `robota sessions show`: what happened in a session, turn by turn.

use robota_core::catalogue::{Catalogue, format_tokens};
use robota_core::event::{DecidedBy, TurnEnd};
use robota_core::journal::read_all;
use robota_core::permission::Verdict;
use robota_core::usage::Usage;
use robota_session::replay::{CallView, Entry, Step, Transcript, TurnView, transcript};
use serde_json::{Value, json};

use super::args::ShowArgs;
use super::find::find;
use super::{Place, text, time};
use crate::{Exit, output};

/// How wide an argument may be.
const ARGUMENT: usize = 72;

/// Tells it.
pub(super) async fn run(args: ShowArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.store).await?;
    let session = find(&*place.store, &args.session).await?;
    let events = read_all(&*place.store, &session, 0).await?;
    if args.events {
        for event in &events {
            output::line(&event.to_line());
        }
        return Ok(Exit::Ok);
    }
    let told = transcript(&session, &events);
    if args.store.json {
        let mut value = serde_json::to_value(&told)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("cost_usd".to_owned(), json!(cost(&told)));
        }
        output::line(&value.to_string());
    } else {
        output::line(&report(&told));
    }
    Ok(Exit::Ok)
}

/// What it cost in dollars, where the prices of its model are known.
fn cost(told: &Transcript) -> Option<f64> {
    Catalogue::builtin().cost(told.model.as_deref()?, told.usage)
}

fn report(told: &Transcript) -> String {
    let mut lines = head(told);
    for entry in &told.entries {
        lines.push(String::new());
        match entry {
            Entry::Turn(view) => turn(told, view, &mut lines),
            Entry::Note { at, text: note } => {
                lines.push(format!("{} · {}", time::second(*at), text::short(note, 160)));
            }
        }
    }
    lines.join("\n")
}

fn head(told: &Transcript) -> Vec<String> {
    let name = told.name.as_deref().map(|name| format!(" · {}", text::short(name, 80)));
    let mut lines = vec![format!("Session {}{}", told.session, name.unwrap_or_default())];
    let mut row = |name: &str, value: String| lines.push(format!("  {name:<8} {value}"));
    if let Some(cwd) = &told.cwd {
        row("folder", text::short(cwd, 200));
    }
    if let (Some(created), Some(updated)) = (told.created, told.updated) {
        row("began", format!("{}, last changed {}", time::second(created), time::second(updated)));
    }
    if let Some(parent) = &told.parent {
        row("fork of", format!("{} at {}", parent.session, parent.at));
    }
    if let (Some(provider), Some(model)) = (&told.provider, &told.model) {
        row("model", format!("{model} ({provider}), mode {}", told.mode));
    }
    let last = told.last.map(|last| format!(", last {last}")).unwrap_or_default();
    row("turns", format!("{}, {} events{last}", told.turns, told.events));
    let changed = changed(told);
    if !changed.is_empty() {
        row("changed", text::short(&changed.join(", "), 400));
    }
    if !told.usage.is_zero() {
        let cost = cost(told).map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
        row("tokens", format!("{}{cost}", tokens(told.usage)));
    }
    lines
}

/// The files that calls changed, by tools that say so: each once, as seen from the session's folder.
fn changed(told: &Transcript) -> Vec<String> {
    let turns = told.entries.iter().filter_map(|entry| match entry {
        Entry::Turn(turn) => Some(turn),
        Entry::Note { .. } => None,
    });
    let calls = turns.flat_map(|turn| &turn.steps).filter_map(|step| match step {
        Step::Call(call) if call.ok == Some(true) => Some(call),
        _ => None,
    });
    let mut files: Vec<String> = Vec::new();
    for path in calls.flat_map(|call| &call.files) {
        let path = seen_from(told, path);
        if !files.contains(&path) {
            files.push(path);
        }
    }
    files
}

fn seen_from(told: &Transcript, path: &str) -> String {
    let inside = told.cwd.as_deref().and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

fn tokens(usage: Usage) -> String {
    let (sent, made) = (format_tokens(usage.input_tokens), format_tokens(usage.output_tokens));
    format!("{sent} in, {made} out")
}

fn turn(told: &Transcript, turn: &TurnView, lines: &mut Vec<String>) {
    let mut facts = vec![format!("Turn {}", turn.number), time::second(turn.started)];
    if let Some(finished) = turn.finished {
        let millis = finished.as_millisecond() - turn.started.as_millisecond();
        facts.push(time::took(u64::try_from(millis).unwrap_or(0)));
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
            Step::User { text: said } => lines.push(text::indent(said, "  › ")),
            Step::Answer { text: said, interrupted_by } => {
                if !said.trim().is_empty() {
                    lines.push(text::indent(said, "  "));
                }
                if interrupted_by.is_some() {
                    lines.push("  … cut short".to_owned());
                }
            }
            Step::Call(view) => lines.push(format!("  {}", call(told, view))),
            Step::Note { text: note } => lines.push(format!("  · {}", text::short(note, 160))),
        }
    }
    match turn.end {
        Some(TurnEnd::Complete) => {}
        Some(end) => lines.push(format!("  = {}", ended(end))),
        None => lines.push("  = it has no end: somebody works on it, or it was cut off".to_owned()),
    }
    if let Some(error) = &turn.error {
        lines.push(text::indent(error, "  ! "));
    }
}

fn call(told: &Transcript, call: &CallView) -> String {
    let outcome = call.outcome();
    let mark = if outcome == "ok" { "✓" } else { "✗" };
    let argument = text::short(&call.argument(), ARGUMENT);
    let mut facts = vec![text::short(&format!("{} {argument}", call.name), 2 * ARGUMENT)];
    if outcome != "ok" {
        let code = call.error_code.as_deref().filter(|code| *code != outcome);
        let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
        facts.push(format!("{outcome}{code}"));
    }
    facts.extend(call.duration_ms.map(time::took));
    // What a call that went well changed stands at the top, and is its argument.
    if outcome != "ok" && !call.files.is_empty() {
        let files: Vec<_> = call.files.iter().map(|path| seen_from(told, path)).collect();
        facts.push(text::short(&format!("was about to change {}", files.join(", ")), 2 * ARGUMENT));
    }
    if let Some(decision) = &call.decision {
        let by = match decision.by {
            DecidedBy::Gate => "by the rules",
            DecidedBy::Hook => "by a hook",
            // Nobody may have been there to answer.
            DecidedBy::User => "when asked",
        };
        // One word for it is enough.
        facts.retain(|fact| fact != "denied");
        facts.push(match decision.verdict {
            Verdict::Allow => format!("allowed {by}"),
            Verdict::Ask => format!("left open {by}"),
            Verdict::Deny => format!("denied {by}: {}", text::short(&decision.reason, ARGUMENT)),
        });
    }
    format!("{mark} {}", facts.join(" · "))
}

fn ended(end: TurnEnd) -> &'static str {
    match end {
        TurnEnd::Complete => "done",
        TurnEnd::RoundLimit => "stopped at the round limit; the answer is a summary",
        TurnEnd::UnknownTools => "the model kept asking for tools that do not exist",
        TurnEnd::ContextFull => "the conversation does not fit into the context window",
        TurnEnd::Blocked => "a hook refused the prompt",
        TurnEnd::Stopped => "a hook ended it",
        TurnEnd::Interrupted => "interrupted",
        TurnEnd::ProviderFailed => "the model could not answer",
        TurnEnd::StoreFailed => "the journal could not be written",
    }
}
