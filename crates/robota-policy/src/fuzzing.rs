//! Entry points for the fuzz targets: any bytes in, no panic out.

use robota_core::permission::{Class, Mode};
use serde_json::json;

use crate::{LexicalPaths, List, Policy, PolicySpec, RuleSource, ToolCall, Workspace};

/// Reads the bytes as rules, one per line, in every list.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut spec = PolicySpec::new(Workspace::new("/w", "/home/u"));
    for list in [List::Allow, List::Ask, List::Deny] {
        spec = spec.rules(list, RuleSource::session(), text.split('\n'));
    }
    let (policy, _) = Policy::new(&spec, &LexicalPaths);
    for (tool, input) in [
        ("Bash", json!({"command": "git push origin main"})),
        ("Read", json!({"file_path": "src/main.rs"})),
        ("WebFetch", json!({"url": "https://docs.rs/x"})),
        ("mcp__a__b", json!({"x": 1})),
    ] {
        let call = ToolCall { tool, input: &input, class: Class::Execute };
        let _ = policy.judge(&call, &LexicalPaths);
    }
}

/// Judges the bytes as a shell command, under rules of every kind.
pub fn shell(bytes: &[u8]) {
    let command = String::from_utf8_lossy(bytes);
    for mode in Mode::ALL {
        let spec = PolicySpec::new(Workspace::new("/w", "/home/u"))
            .mode(mode)
            .rules(List::Deny, RuleSource::session(), ["Bash(rm *)", "Read(.env)"])
            .rules(List::Ask, RuleSource::session(), ["Bash(git push *)"])
            .rules(List::Allow, RuleSource::session(), ["Bash(git *)", "Edit(src/**)"]);
        let (policy, _) = Policy::new(&spec, &LexicalPaths);
        let input = json!({"command": command});
        let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
        let _ = policy.judge(&call, &LexicalPaths);
    }
}
