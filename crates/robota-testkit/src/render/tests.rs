use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{Envelope, Event, Failed, PromptSet, Recovered, Renamed, ToolFinished};
use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::tool::ToolOutcome;

use super::*;
use crate::FakeClock;

fn log(events: Vec<Event>) -> String {
    let envelopes: Vec<Arc<Envelope>> = (1..)
        .zip(events)
        .map(|(seq, event)| {
            let ts = FakeClock::START;
            Arc::new(Envelope { seq, epoch: 1, ts, turn: None, event, min_reader: None })
        })
        .collect();
    render(&envelopes)
}

fn finished(call: &str, outcome: ToolOutcome) -> Event {
    let call = CallId::from(call);
    ToolFinished { call, class: Some(Class::Modify), outcome: outcome.into(), duration_ms: 17 }
        .into()
}

#[test]
fn ids_are_numbered_in_order_of_appearance() {
    let sealed = vec![CallId::from("b"), CallId::from("c"), CallId::from("a")];
    assert_eq!(
        log(vec![
            finished("a", ToolOutcome::ok("fine")),
            finished("b", ToolOutcome::failed("timeout", "too slow")),
            Recovered { sealed }.into(),
            finished("c", ToolOutcome::not_run("denied", "")),
        ]),
        "tool_finished call#1 class=modify ok \"fine\"\n\
         tool_finished call#2 class=modify failed(timeout) \"too slow\"\n\
         recovered [call#2 call#3 call#1]\n\
         tool_finished call#3 class=modify failed(denied) ran=no \"\"\n"
    );
}

#[test]
fn long_texts_are_shortened_and_hashes_named() {
    let long = "word ".repeat(100);
    assert_eq!(
        log(vec![
            Renamed { name: "two words".to_owned() }.into(),
            Renamed { name: "one".to_owned() }.into(),
            PromptSet { sha256: "0a".repeat(32), text: long }.into(),
            Failed { error: ErrorData::new(ErrorKind::Storage, "disk full") }.into(),
        ]),
        format!(
            "renamed name=\"two words\"\n\
             renamed name=one\n\
             prompt_set sha256=sha#1 text=\"{}\"…+420\n\
             failed storage retryable \"disk full\"\n",
            "word ".repeat(16)
        )
    );
}

#[test]
fn an_unknown_event_is_shown_unchanged() {
    let ts = FakeClock::START;
    let known = Arc::new(Envelope {
        seq: 1,
        epoch: 1,
        ts,
        turn: None,
        event: Renamed { name: "x".to_owned() }.into(),
        min_reader: None,
    });
    // Written by a newer version: another name, other data, and their checksum.
    let line = known
        .to_line()
        .replace("renamed", "painted")
        .replace("\"name\":\"x\"", "\"hue\":{\"r\":1}");
    let body = &line[..line.rfind(",\"crc\"").unwrap()];
    let line = format!("{body},\"crc\":\"{:08x}\"}}", crc(body.as_bytes()));
    let envelope = Arc::new(Envelope::decode(line.as_bytes()).unwrap());
    assert_eq!(render(&[envelope]), "painted hue={\"r\":1}\n");
}

/// CRC-32 as in zip, bit by bit, so that the test needs no extra crate.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}
