//! Renders event logs as text, for comparisons in tests.
//!
//! One line per event: its name, its ids by a short name (`call#1` is the first call of the log), a
//! short form of its content, then `key=value`. What differs from run to run (sequence numbers,
//! times, durations) is omitted, so that logs can be compared directly.

mod short_form;

use std::collections::HashMap;
use std::sync::Arc;

use robota_core::event::Envelope;
use serde_json::Value;

/// Renders the log as text, one line per event; events of a turn are indented.
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

/// Returns the events without chunks, whose content is repeated in complete messages. The number of
/// chunks depends on timing; nothing else does.
#[must_use]
pub fn without_chunks(events: &[Arc<Envelope>]) -> Vec<Arc<Envelope>> {
    events.iter().filter(|envelope| !envelope.event.is_chunk()).cloned().collect()
}

/// Returns the events without those of these names.
#[must_use]
pub fn without(events: &[Arc<Envelope>], kinds: &[&str]) -> Vec<Arc<Envelope>> {
    events.iter().filter(|envelope| !kinds.contains(&envelope.event.kind())).cloned().collect()
}

/// Returns the names of the events.
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
    // Reads the data from the encoded line, because that is what readers of a journal see.
    let line: Value = serde_json::from_str(&envelope.to_line()).unwrap_or_default();
    let Some(Value::Object(data)) = line.get("data") else { return };
    for (key, value) in data {
        if let Some(text) = short_form::field(kind, key, value, names) {
            log.push(' ');
            log.push_str(&text);
        }
    }
}

/// Assigns short names to ids, in order of appearance.
#[derive(Default)]
struct Names {
    short: HashMap<(&'static str, String), usize>,
    counts: HashMap<&'static str, usize>,
}

impl Names {
    fn short(&mut self, what: &'static str, id: &str) -> String {
        // The number is taken once per id, so that the same id has the same name in the whole log.
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
