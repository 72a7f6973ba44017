//! Fuzzes the lines of a journal.

use robota_core::event::{Cursor, Envelope};
use robota_core::project::{ReplayProjection, StreamText, history};
use robota_core::state::State;

/// Reads the bytes as lines of a journal, including torn and damaged ones. Every line that decodes
/// must survive encoding and decoding, and must fold, both with its own sequence number and
/// renumbered. Returns the decoded events.
pub fn events(data: &[u8]) -> Vec<Envelope> {
    let mut decoded = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        decoded.extend(read(line));
        // Random bytes never have a valid checksum, so the line is also tried with a correct one.
        decoded.extend(read(&with_checksum(line)));
    }
    fold(&decoded);
    // Renumbered, because events from random lines are hardly ever consecutive, and most would be
    // refused.
    for (seq, envelope) in (1..).zip(&mut decoded) {
        (envelope.seq, envelope.epoch) = (seq, 1);
    }
    let state = fold(&decoded);
    let folded = state.cursor.map_or(0, |cursor| cursor.seq);
    assert_eq!(folded, decoded.len() as u64, "consecutive events all fold");
    decoded
}

/// Decodes a line and checks that the event can be encoded again.
fn read(line: &[u8]) -> Option<Envelope> {
    let envelope = Envelope::decode(line).ok()?;
    let mut encoded = Vec::new();
    envelope.encode(&mut encoded).expect("a decoded event can be encoded");
    assert_eq!(encoded.last(), Some(&b'\n'));
    let body = encoded.strip_suffix(b"\n").unwrap_or_default();
    assert!(!body.contains(&b'\n'), "a line is one line");
    let decoded_again = Envelope::decode(&encoded).expect("an encoded event can be decoded");
    assert_eq!(decoded_again, envelope);
    let cursor: Cursor = envelope.cursor().to_string().parse().expect("a cursor can be parsed");
    assert_eq!(cursor, envelope.cursor());
    Some(envelope)
}

/// Replaces or adds the checksum of a line.
fn with_checksum(line: &[u8]) -> Vec<u8> {
    let open = line.strip_suffix(b"}").unwrap_or(line);
    let crc = b",\"crc\":\"";
    let body = open
        .len()
        // Eight digits and the closing quote.
        .checked_sub(crc.len() + 9)
        .filter(|at| open[*at..].starts_with(crc))
        .map_or(open, |at| &open[..at]);
    let tail = format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body));
    [body, tail.as_bytes()].concat()
}

/// Folds the events in every available way.
fn fold(envelopes: &[Envelope]) -> State {
    let mut state = State::default();
    let (mut replay, mut text) = (ReplayProjection::default(), StreamText::default());
    for envelope in envelopes {
        let before = state.cursor;
        if state.apply(envelope).is_err() {
            assert_eq!(state.cursor, before, "an event out of order changes nothing");
        }
        // Each of these may fail; none may panic.
        let _ = replay.push(envelope);
        text.push(&envelope.event);
    }
    let _ = history(envelopes);
    let _ = state.context(1000);
    let encoded = serde_json::to_string(&state).expect("a state can be serialised");
    // A state that is nested too deeply for the parser is skipped.
    if let Ok(decoded_again) = serde_json::from_str::<State>(&encoded) {
        assert_eq!(decoded_again, state);
    }
    state
}
