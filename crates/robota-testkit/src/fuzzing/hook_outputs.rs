//! Fuzzes the output of hooks.

use robota_core::hook::{HookDefinition, HookEnd, HookEvent, HookExit, HookOutput, MAX_TEXT};

/// Reads the first byte as the exit of a hook and the rest as two outputs. For every event, reading
/// an output is deterministic and bounded, a failed hook blocks at a gate, and the merged outputs
/// are never more permissive than either of them.
pub fn hook_outputs(data: &[u8]) {
    let (end, output) = data.split_first().map_or((&0, data), |(end, output)| (end, output));
    // A zero byte separates the outputs, because JSON cannot contain it.
    let mut halves = output.splitn(2, |byte| *byte == 0);
    let exits: Vec<_> = halves.by_ref().map(|stdout| exit(*end, stdout)).collect();
    let hook = HookDefinition::unusable(serde_json::Value::Null, "fuzzed".to_owned());
    for event in HookEvent::ALL {
        let outputs: Vec<_> =
            exits.iter().map(|exit| HookOutput::read(event, &hook, exit)).collect();
        for (exit, output) in exits.iter().zip(&outputs) {
            check(event, exit, output);
            assert_eq!(*output, HookOutput::read(event, &hook, exit));
        }
        let all = HookOutput::merge(event, outputs.clone());
        for output in &outputs {
            assert!(all.block.is_some() || output.block.is_none(), "a block is kept");
            assert!(all.stop.is_some() || output.stop.is_none(), "a stop is kept");
            let says = |output: &HookOutput| output.permission.as_ref().map(|it| it.verdict);
            assert!(says(&all) >= says(output), "the strictest wins");
        }
    }
}

fn exit(end: u8, stdout: &[u8]) -> HookExit {
    match end {
        250 => HookExit { stdout: stdout.to_vec(), ..HookExit::silent(HookEnd::Signal(9)) },
        251 => HookExit { stdout: stdout.to_vec(), ..HookExit::silent(HookEnd::TimedOut) },
        252 => HookExit::failed(String::from_utf8_lossy(stdout)),
        253 => HookExit { stdout_cut: true, ..HookExit::code(0, stdout, "") },
        code => HookExit::code(i32::from(code), stdout, stdout),
    }
}

fn check(event: HookEvent, exit: &HookExit, output: &HookOutput) {
    let failed = match exit.end {
        // After a call, exit code 2 gives the model feedback, and the result of the call stays; so it
        // does after a timeout.
        HookEnd::Code(2) => event != HookEvent::PostToolUse,
        // Codes above 128 are deaths by a signal, as a shell reports them.
        HookEnd::Code(code) => matches!(code, 126 | 127 | 129..=192),
        HookEnd::TimedOut => event != HookEvent::PostToolUse,
        HookEnd::Signal(_) | HookEnd::Failed(_) => true,
    };
    assert!(!(failed && event.is_gate()) || output.block.is_some(), "{event}: it must block");
    // After a failed call a hook of the kind that must not fail withholds the result.
    let may_block = event.can_block() || event == HookEvent::PostToolUseFailure;
    assert!(may_block || output.block.is_none(), "{event}: it cannot block");
    if exit.end != HookEnd::Code(0) {
        let allows = matches!(&output.permission, Some(said) if said.verdict == robota_core::hook::HookVerdict::Allow);
        assert!(!allows, "only a successful hook may allow");
    }
    // A reason may be quoted inside a sentence, which adds characters.
    let most = MAX_TEXT + 300;
    let notices = output.notices.iter().map(|notice| &notice.text);
    for text in notices.chain(&output.block).chain(&output.stop).chain(&output.context) {
        assert!(text.chars().count() <= most, "{} characters", text.chars().count());
    }
}
