//! Golden journals: what this version writes. What every later one must still read is frozen in
//! `fixtures/journal-v1` (see `tests/frozen.rs`).

use std::path::PathBuf;

use serde_json::json;

use super::harness::{Run, config};
use crate::approve::Answer;
use crate::event::Envelope;
use crate::permission::Verdict;
use crate::state::State;
use crate::tool::ToolOutcome;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal")
}

fn plain() -> Run {
    let mut run = Run::new(config());
    run.delta(crate::provider::Delta::Thinking("a greeting".to_owned()));
    run.text("Hello, ");
    run.text("world. \u{1F980}");
    run.usage(12, 5);
    run.end();
    run
}

/// Two parallel reads, a denied edit, a command that needs approval, an unknown tool.
fn tools() -> Run {
    let mut run = Run::new(config());
    run.text("I look first.");
    run.call("call_0", "read", json!({ "path": "a.txt" }));
    run.call("call_1", "grep", json!({ "pattern": "b", "max": 0.5 }));
    run.judge(Verdict::Allow);
    run.call("call_2", "edit", json!({ "path": "a.txt" }));
    run.judge(Verdict::Deny);
    run.call("call_3", "bash", json!({ "command": "make" }));
    run.judge(Verdict::Ask);
    run.call("call_4", "agent", json!({}));
    run.end();
    run.finish("grep", ToolOutcome::ok("b"));
    run.finish("read", ToolOutcome::failed("not_found", "no such file"));
    run.reply(Answer::Allow { note: None });
    let built = ToolOutcome::ok("built").with_metadata("exit_code", 0);
    run.finish("bash", built);
    run.answer("Done.");
    run
}

fn abort() -> Run {
    let mut run = Run::new(config());
    run.text("I start");
    run.call("call_0", "read", json!({}));
    run.judge(Verdict::Allow);
    run.call("call_1", "edit", json!({}));
    run.send("input-2", "never mind");
    run.abort();
    run.finish("read", ToolOutcome::ok("contents"));
    run
}

fn all() -> [(&'static str, Run); 3] {
    [("plain.jsonl", plain()), ("tools.jsonl", tools()), ("abort.jsonl", abort())]
}

fn encode(lines: &[Envelope]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        line.encode(&mut bytes).unwrap();
    }
    bytes
}

fn decode(bytes: &[u8]) -> Vec<Envelope> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| Envelope::decode(line).unwrap())
        .collect()
}

#[test]
fn core_20_golden_journals_decode_fold_and_encode_byte_for_byte() {
    for (name, run) in all() {
        let bytes = std::fs::read(folder().join(name)).unwrap();
        let lines = decode(&bytes);
        assert_eq!(encode(&lines), bytes, "{name} is written differently");
        let state = State::fold(&lines).unwrap();
        assert_eq!(state.turn, None, "{name} ends with its turn");
        assert_eq!(state, run.state, "{name} folds to another state than the run that wrote it");
        assert_eq!(lines, run.journal, "{name}: the same run writes another journal");
    }
}

#[test]
fn core_20_golden_journals_fold_at_every_length() {
    for (name, _) in all() {
        let lines = decode(&std::fs::read(folder().join(name)).unwrap());
        for length in 0..=lines.len() {
            let state = State::fold(&lines[..length]).unwrap();
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state, "{name} {length}");
        }
    }
}

#[test]
#[ignore = "writes the fixtures again: run it by name after a deliberate change of what is written"]
fn regenerate_golden_journals() {
    std::fs::create_dir_all(folder()).unwrap();
    for (name, run) in all() {
        std::fs::write(folder().join(name), encode(&run.journal)).unwrap();
    }
}
