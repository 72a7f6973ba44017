//! An event log as text, for comparing what happened with what should have.
//!
//! One line per event: its name, the ids in it by a short name (`call#1` is the first call of
//! the log), what it carries in few words, then `key=value`. What differs from run to run
//! (numbers of events, times, durations) is left out, so that logs can be compared as they are.

mod shape;

use std::collections::HashMap;
use std::sync::Arc;

use robota_core::event::Envelope;
use serde_json::Value;

/// The log as text, a line per event; events of a turn are indented.
#[must_use]
pub fn render(events: &[Arc<Envelope>]) -> String {
    let mut names = Names::default();
    let mut log = String::new();
    for envelope in events {
        line(envelope, &mut names, &mut log);
        log.push('\n');
    }
    log
}

/// The events without the pieces that are told whole elsewhere. How many pieces there are
/// depends on timing; everything else does not.
#[must_use]
pub fn without_chunks(events: &[Arc<Envelope>]) -> Vec<Arc<Envelope>> {
    events.iter().filter(|envelope| !envelope.event.is_chunk()).cloned().collect()
}

/// The events without those of these names, for logs that are not about them.
#[must_use]
pub fn without(events: &[Arc<Envelope>], kinds: &[&str]) -> Vec<Arc<Envelope>> {
    events.iter().filter(|envelope| !kinds.contains(&envelope.event.kind())).cloned().collect()
}

/// The names of the events.
#[must_use]
pub fn kinds(events: &[Arc<Envelope>]) -> Vec<&str> {
    events.iter().map(|envelope| envelope.event.kind()).collect()
}

fn line(envelope: &Envelope, names: &mut Names, log: &mut String) {
    let kind = envelope.event.kind();
    if let Some(turn) = &envelope.turn {
        let turn = names.short("turn", turn.as_str());
        if kind == "turn_started" {
            log.push_str(&format!("{turn} "));
        } else {
            log.push_str("  ");
        }
    }
    log.push_str(kind);
    // The data is reached through the line, which is what readers of a journal see.
    let line: Value = serde_json::from_str(&envelope.to_line()).unwrap_or_default();
    let Some(Value::Object(data)) = line.get("data") else { return };
    for (key, value) in data {
        if let Some(text) = shape::field(kind, key, value, names) {
            log.push(' ');
            log.push_str(&text);
        }
    }
}

/// Short names for ids, by order of appearance.
#[derive(Default)]
struct Names {
    short: HashMap<(&'static str, String), usize>,
    counts: HashMap<&'static str, usize>,
}

impl Names {
    fn short(&mut self, what: &'static str, id: &str) -> String {
        let count = self.counts.entry(what).or_default();
        let number = self.short.entry((what, id.to_owned())).or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{what}#{number}")
    }
}

#[cfg(test)]
mod tests;
