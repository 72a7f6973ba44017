//! Lines of a journal.

use robota_core::event::{Cursor, Envelope};
use robota_core::project::{ReplayProjection, StreamText, history};
use robota_core::state::State;

/// Lines of a journal, torn and damaged ones too: whatever decodes is written and read back as
/// it was, and folds, as numbered and in the order it came. Returns what decoded.
pub fn events(data: &[u8]) -> Vec<Envelope> {
    let mut decoded = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        decoded.extend(read(line));
        // Nobody guesses a checksum: the line counts once more, with the right one.
        decoded.extend(read(&sealed(line)));
    }
    fold(&decoded);
    for (seq, envelope) in (1..).zip(&mut decoded) {
        (envelope.seq, envelope.epoch) = (seq, 1);
    }
    let state = fold(&decoded);
    let folded = state.cursor.map_or(0, |cursor| cursor.seq);
    assert_eq!(folded, decoded.len() as u64, "events that follow on each other all fold");
    decoded
}

/// Reads a line and checks that what was read can be written.
fn read(line: &[u8]) -> Option<Envelope> {
    let envelope = Envelope::decode(line).ok()?;
    let mut written = Vec::new();
    envelope.encode(&mut written).expect("what was read can be written");
    assert_eq!(written.last(), Some(&b'\n'));
    let body = written.strip_suffix(b"\n").unwrap_or_default();
    assert!(!body.contains(&b'\n'), "a line is one line");
    let again = Envelope::decode(&written).expect("what was written can be read");
    assert_eq!(again, envelope);
    let cursor: Cursor = envelope.cursor().to_string().parse().expect("a cursor reads back");
    assert_eq!(cursor, envelope.cursor());
    Some(envelope)
}

/// The line with the checksum of what it says; one that has none gets one.
fn sealed(line: &[u8]) -> Vec<u8> {
    let open = line.strip_suffix(b"}").unwrap_or(line);
    let crc = b",\"crc\":\"";
    let body = open
        .len()
        .checked_sub(crc.len() + 9)
        .filter(|at| open[*at..].starts_with(crc))
        .map_or(open, |at| &open[..at]);
    let tail = format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body));
    [body, tail.as_bytes()].concat()
}

/// Folds what follows, in every way there is.
fn fold(envelopes: &[Envelope]) -> State {
    let mut state = State::default();
    let (mut replay, mut text) = (ReplayProjection::default(), StreamText::default());
    for envelope in envelopes {
        let before = state.cursor;
        if state.apply(envelope).is_err() {
            assert_eq!(state.cursor, before, "an event that does not follow changes nothing");
        }
        // Any of these may refuse; none may panic.
        let _ = replay.push(envelope);
        text.push(&envelope.event);
    }
    let _ = history(envelopes);
    let _ = state.context(1000);
    let written = serde_json::to_string(&state).expect("a state can be written");
    // One nested deeper than the parser goes is folded again instead.
    if let Ok(again) = serde_json::from_str::<State>(&written) {
        assert_eq!(again, state);
    }
    state
}
