//! Entry points for the fuzz targets: for any bytes there must be no panic and no violated
//! invariant.

use robota_core::permission::{Class, Mode, Verdict};
use serde_json::json;

use crate::{LexicalPaths, List, Policy, PolicySpec, RuleSource, ToolCall, Workspace};

/// Reads the bytes as rules, one per line, in every list. Their denials must hold even if the same
/// text allows a call.
///
/// # Panics
/// When it does not.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let policy = |lists: &[List]| {
        let mut spec = PolicySpec::new(Workspace::new("/w", "/home/u"));
        for list in lists {
            spec = spec.rules(*list, RuleSource::session(), text.split('\n'));
        }
        Policy::new(&spec, &LexicalPaths).0
    };
    let (deny, all) = (policy(&[List::Deny]), policy(&[List::Allow, List::Ask, List::Deny]));
    for (tool, input) in [
        ("Bash", json!({"command": "git push origin main"})),
        ("Read", json!({"file_path": "src/main.rs"})),
        ("WebFetch", json!({"url": "https://docs.rs/x"})),
        ("mcp__a__b", json!({"x": 1})),
    ] {
        let call = ToolCall { tool, input: &input, class: Class::Execute };
        let (denied, judged) = (deny.judge(&call, &LexicalPaths), all.judge(&call, &LexicalPaths));
        assert!(!judged.reasons.is_empty());
        if denied.verdict == Verdict::Deny {
            assert_eq!(judged.verdict, Verdict::Deny, "{tool}: {:?}", judged.reasons);
        }
    }
}

/// Judges the bytes as a shell command, under rules of every kind. Adding rules that forbid must
/// never make the verdict less strict.
///
/// # Panics
/// When they do.
pub fn shell(bytes: &[u8]) {
    let command = String::from_utf8_lossy(bytes);
    let input = json!({"command": command});
    let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
    for mode in Mode::ALL {
        let fewer = PolicySpec::new(Workspace::new("/w", "/home/u"))
            .mode(mode)
            .rules(List::Deny, RuleSource::session(), ["Bash(rm *)"])
            .rules(List::Allow, RuleSource::session(), ["Bash(git *)", "Edit(src/**)"]);
        let more = fewer.clone().rules(List::Deny, RuleSource::session(), ["Read(.env)"]).rules(
            List::Ask,
            RuleSource::session(),
            ["Bash(git push *)"],
        );
        let judge = |spec: &PolicySpec| {
            Policy::new(spec, &LexicalPaths).0.judge(&call, &LexicalPaths).verdict
        };
        assert!(judge(&fewer) <= judge(&more), "{mode}: {command:?}");
    }
}
