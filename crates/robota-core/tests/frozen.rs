//! The frozen journals: every journal of format 1 is read by every later version, and comes
//! to the same state.
//!
//! A journal may be added to the folder, with its expectation and its line below. None may ever be
//! changed or removed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use robota_core::event::{Envelope, Event, TABLE};
use robota_core::message::{BlobRef, Message};
use robota_core::state::State;
use serde_json::{Value, json};

/// Every file of the folder and the SHA-256 of its bytes.
const FROZEN: &[(&str, &str)] = &[
    ("abort.json", "9dd027d9223f280ee90089327132a3e2a24ffe89e5c5b7fcdc1e833f54d12cfa"),
    ("abort.jsonl", "66fc06b497847aace1f3cad80dd50c6115446f9c3d4773303a8beefc5c7943ab"),
    ("checkpoints.json", "6c2d7da89f5ce4c371752ec35bdcf5b8f0f11707f8b44b40cf9c191cb0d43c33"),
    ("checkpoints.jsonl", "ccfda27d87b5bf4ff73e9deb30dbcfced9319385653ebaa0f10dfe5538c24afe"),
    ("compaction.json", "bf75de3f76c49469d93235ed99ad5a52eb93dcfa7d149e2fea8a60d197be44bf"),
    ("compaction.jsonl", "5b9a9c2696fbdbc78fb6f10dca784203c0469323df9b14d1db781d55785bb29c"),
    ("crashed.json", "9f6df97b3e0b8336fc08614d77e154cd6bcd6baacd5982bb7f9cbc79c260934b"),
    ("crashed.jsonl", "4c9283362341df0d4b8ad9a8da9ae0c6d8bf79b21b78f0268ac8fc47850a1432"),
    ("every-event.json", "b95f53c003cf147077ca4d5d771127551b738d5ca79b7087ed0a3c781f62a223"),
    ("every-event.jsonl", "35e10f6651d09a66f48d1a0b0f8738c9a87cad001f91b1fe8fbd1a6fcfcb23d2"),
    ("files.json", "e06927a2b9c1f5f741389c7e50c22179b6465b1d4b63deac5798581adf37968d"),
    ("files.jsonl", "26fd8ce81c8c2f48b86e9a00122ae5f06cddb3ca9e3b4768f3c62ece6d438417"),
    ("fork-child.json", "ed6096b9ee8239671ebff2a117b4ece50293705125e2ecf5cb11584f241e9c32"),
    ("fork-child.jsonl", "82e096c228cc803af31de453ef49caccc852227e939de163b3c4ae53c78877ed"),
    ("fork-parent.json", "322183c6d9090202c66293500db60ed7578ba6417f8868b658754287e1d4811a"),
    ("fork-parent.jsonl", "35f0b067da4074373810c443a1980e7b8aec58cac833d6de5c5d654958d02341"),
    ("interruption.json", "6fee0fec6b9d191cdd19c4b7808525d1ec450d6d0911afbd3af62c4b563c8223"),
    ("interruption.jsonl", "d7a0aae6bd5750231ac119ac354f7625df7f05d27e8fdc3973b7210f2a6a1adb"),
    ("left-out.json", "1b4e5f8c2ac33aa87703558ae56d3158794f0de88131f616eb4b9ed20ae9dda8"),
    ("left-out.jsonl", "6a3a4f4253b579bbd26b6a3eabb970a1b7f3b4547e9caea24a55c16aac249baa"),
    ("newer-writer.json", "e8d653fecd7de08b2f305b0252b7bdeba98f6d21690a4188d3a23fe704afde55"),
    ("newer-writer.jsonl", "9203c903cbdc07d49320f0dba88d01b3dad6dd4bf535fd2f6b54d09f2ec44bc5"),
    ("plain.json", "3557c3e4f430f784a089421c41d74a5098f5cfd643682d502d5806c5bbd1bbb4"),
    ("plain.jsonl", "39d68e72b531c86d00d771289d1d96065ab02b1c60d512d0475a675fdfe443d3"),
    ("process.json", "f7c3da6529bbb1f96bfc4eb7acbc969ac4f16215d08bda84e7bb687d2dc033be"),
    ("process.jsonl", "d6ede51d1bf280d4e6f76e808362095eaa7f4a7de9a67df4c307da903509aaa0"),
    ("queue.json", "fa80906050bdba381ef3bf6b766bfc69a6b70a7ca1eef63fbba9636d92228d5b"),
    ("queue.jsonl", "7635227db9e85cd4e3a6c4147c6d571c25d0b406a1d4875e5cbe063ca2bd0e88"),
    ("recovery.json", "833012634813a53651a86ed21e302530bd3ea178b9bf3923cafad833aaf578d4"),
    ("recovery.jsonl", "dcafc35ff357d79def6dd9808e9be38dd81838acabd084aa0211a145b5a64d4f"),
    ("room.json", "9f516d0115f5f82447a26a8b2ae73d51651bd4a5839666d617b845ec37a44c59"),
    ("room.jsonl", "67d5cdbe53a91f087ac83d3590d2500ed1e3581333bb5ee653efdd3e2c5360d9"),
    ("schedules.json", "dd914ae49693ff2869f398803a5ff9a2db08d1969104238211e8a6aa6bbd8fdf"),
    ("schedules.jsonl", "51a45e80239aae6c4b1aac6027ff5d5443bed137e3fdc2ba44e38415e38deb61"),
    ("spawned.json", "8819a6407975c63ecef8dcd3f287289cb4a2ab44659a8c91164724e1fd6678bf"),
    ("spawned.jsonl", "b8779df4ddfc181f78dc807093a46bf9139a8c6d1a4c4b268d140a4f0616a338"),
    ("tasks.json", "907fcb1c862861da17bae3291a198a88cfbfbcbff33e25ffef1458f85859fefc"),
    ("tasks.jsonl", "30b31f60ab318f7197b7d355fcf5e9935e3434df91281d78f0212762eb5f01ea"),
    ("tools.json", "64db96af28aa761e9d73754083b8cd0891d793e8025abe28c5f174734de7c0b6"),
    ("tools.jsonl", "71aaa6827e63633bb2fc8090c4cf30f2e8e815bce9f23389d52dd9e8d5a2950e"),
    ("turn-rules.json", "325261be246dd1b5d0e19f43c9a20c7716b59658a47c6728710cff135636ccd7"),
    ("turn-rules.jsonl", "656f884cb7ab7c7402b89facb841105a4ea5f3dfc159704c748287e6e6e621c6"),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal-v1")
}

fn read(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}; frozen: never change"))
}

/// Returns the journals by name, as bytes and as events.
fn journals() -> Vec<(&'static str, Vec<u8>, Vec<Envelope>)> {
    let names = FROZEN.iter().filter_map(|(name, _)| name.strip_suffix(".jsonl"));
    names
        .map(|name| {
            let bytes = read(&format!("{name}.jsonl"));
            let events = lines(&bytes)
                .map(|line| {
                    Envelope::decode(line).unwrap_or_else(|error| {
                        panic!("{name}: {error}\n{}", String::from_utf8_lossy(line))
                    })
                })
                .collect();
            (name, bytes, events)
        })
        .collect()
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn message(message: &Message) -> Value {
    let results: Vec<_> = message
        .tool_results()
        .map(|result| json!({ "call": result.call, "text": result.as_text(), "error": result.is_error }))
        .collect();
    let calls: Vec<_> = message
        .tool_uses()
        .map(|call| json!({ "call": call.call, "name": call.name, "input": call.input }))
        .collect();
    json!({
        "id": message.id,
        "role": message.role(),
        "text": message.text(),
        "calls": calls,
        "results": results,
    })
}

/// Returns a summary of a journal that does not change when the state gets new fields.
fn summary(events: &[Envelope], rewritten: &[u64]) -> Value {
    let state = State::fold(events).unwrap();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        *kinds.entry(event.event.kind()).or_default() += 1;
    }
    let unknown: BTreeSet<_> = events
        .iter()
        .filter(|event| matches!(event.event, Event::Unknown { .. }))
        .map(|event| event.event.kind())
        .collect();
    let tools = state
        .tools
        .as_ref()
        .map(|tools| tools.value.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
    json!({
        "events": kinds,
        "unknown": unknown,
        "rewritten": rewritten,
        "session": state.session,
        "parent": state.parent,
        "cwd": state.cwd,
        "name": state.name,
        "cursor": state.cursor.map(|cursor| cursor.to_string()),
        "mode": state.mode,
        "prompt": state.prompt.as_ref().map(|prompt| &prompt.value),
        "tools": tools,
        "messages": state.view.messages.iter().map(|one| message(one)).collect::<Vec<_>>(),
        "waiting": state.inputs.keys().collect::<Vec<_>>(),
        "open_turn": state.turn.is_some(),
        "compacting": state.compacting,
        "turns_completed": state.turns_completed,
        "usage": state.usage,
        "safe_points": {"count": state.safe_points.count, "last": state.safe_points.last},
        "labels": state.labels,
    })
}

/// Writes the events again, and returns the lines that differ.
fn rewritten(name: &str, bytes: &[u8], events: &[Envelope]) -> Vec<u64> {
    let mut changed = Vec::new();
    for (line, event) in lines(bytes).zip(events) {
        let mut again = Vec::new();
        event.encode(&mut again).unwrap();
        if again != line {
            changed.push(event.seq);
        }
        assert_eq!(Envelope::decode(&again).unwrap(), *event, "{name}: what is lost, is lost once");
    }
    changed
}

#[test]
fn core_20_frozen_files_are_never_changed() {
    let present: BTreeSet<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed: BTreeSet<_> = FROZEN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let hashes: Vec<_> =
        present.iter().map(|name| (name, BlobRef::of(&read(name)).sha256)).collect();
    assert_eq!(
        present, listed,
        "frozen: never change; a new file needs its line here: {hashes:#?}"
    );
    for (name, sha256) in FROZEN {
        assert_eq!(BlobRef::of(&read(name)).sha256, *sha256, "{name} is frozen: never change");
    }
}

#[test]
fn core_20_frozen_journals_fold_to_their_recorded_state() {
    for (name, bytes, events) in journals() {
        let expected: Value = serde_json::from_slice(&read(&format!("{name}.json"))).unwrap();
        let found = summary(&events, &rewritten(name, &bytes, &events));
        let text = serde_json::to_string_pretty(&found).unwrap();
        assert!(found == expected, "{name} folds to another state:\n{text}");
    }
}

#[test]
fn core_20_frozen_journals_hold_every_event_of_the_table() {
    let journals = journals();
    let seen: BTreeSet<_> =
        journals.iter().flat_map(|(_, _, events)| events).map(|event| event.event.kind()).collect();
    for info in TABLE {
        assert!(seen.contains(info.name), "no frozen journal has `{}`: add one", info.name);
    }
    let unknown = |event: &Envelope| matches!(event.event, Event::Unknown { .. });
    assert!(journals.iter().any(|(_, _, events)| events.iter().any(unknown)));
}

#[test]
fn core_20_only_fields_of_a_newer_writer_are_lost_when_written_again() {
    for (name, bytes, events) in journals() {
        let changed = rewritten(name, &bytes, &events);
        assert_eq!(changed.is_empty(), name != "newer-writer", "{name}: {changed:?}");
    }
}

#[test]
fn core_20_frozen_journals_fold_at_every_length() {
    for (name, _, events) in journals() {
        for length in 0..=events.len() {
            let state = State::fold(&events[..length]).unwrap();
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state, "{name} {length}");
        }
    }
}
