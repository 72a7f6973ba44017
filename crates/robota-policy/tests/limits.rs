//! The calls that a list of tools leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use robota_core::permission::Class;
use robota_policy::{CallLimits, LexicalPaths, ToolCall, Workspace};
use serde_json::{Value, json};

fn refusal(tools: &[&str], tool: &str, input: &Value) -> Option<String> {
    let workspace = Workspace::new("/proj/app", "/home/ada");
    let (limits, _) = CallLimits::new(tools.iter().copied(), &workspace, &LexicalPaths);
    limits?.refusal(&ToolCall { tool, input, class: Class::Execute }, &LexicalPaths)
}

#[test]
fn a_call_must_match_an_entry_of_its_tool() {
    let bash = |command: &str| json!({ "command": command });
    let cases: &[(&[&str], &str, Value, bool)] = &[
        (&["Bash(git *)"], "Bash", bash("git push"), true),
        (&["Bash(git *)"], "Bash", bash("timeout 5 git status"), true),
        (&["Bash(git *)"], "Bash", bash("git -C x log | head"), false),
        (&["Bash(git *)", "Bash(head *)"], "Bash", bash("git log | head"), true),
        (&["Bash(git *)"], "Bash", bash("ls"), false),
        (&["Bash(git *)"], "Bash", bash("gitk"), false),
        (&["Bash(git *)"], "Bash", bash("$(echo rm) x"), false),
        (&["Bash(git *)"], "Bash", bash("sh -c 'rm x'"), false),
        (&["Bash(git *)"], "Bash", bash("git log > out.txt"), true),
        (&["Bash(git *)", "Edit"], "Bash", bash("git log > out.txt"), true),
        (&["Bash(git *)", "Edit"], "Bash", bash("touch out.txt"), false),
        (&["Bash(git *)", "Edit(docs/**)"], "Bash", bash("touch docs/a"), false),
        (&["Bash(git *)", "Bash"], "Bash", bash("ls"), true),
        (&["Bash(*)"], "Bash", bash("ls"), true),
        (&["Bash()"], "Bash", bash("ls"), true),
        (&["Bash(git *"], "Bash", bash("git status"), false),
        (&["Bash(rm *)"], "Bash", bash("rm -rf /"), true),
        (&["Read(src/**)"], "Read", json!({"file_path": "src/a.rs"}), true),
        (&["Read(src/**)"], "Read", json!({"file_path": "a.rs"}), false),
        (&["Write(docs/**)"], "Write", json!({"file_path": "docs/a.md", "content": ""}), true),
        (&["Write(docs/**)"], "Write", json!({"file_path": "a.md", "content": ""}), false),
        (&["Write(docs/**)"], "Edit", json!({"file_path": "a.md"}), false),
        (&["Write(docs/**)", "Edit"], "Edit", json!({"file_path": "a.md"}), true),
        (&["WebFetch(domain:a.example)"], "WebFetch", json!({"url": "https://a.example/x"}), true),
        (&["WebFetch(domain:a.example)"], "WebFetch", json!({"url": "https://b.example/x"}), false),
        (&["Agent(one)", "Bash(git *)"], "Agent", json!({"prompt": "x"}), true),
        (&["Bash(git *)"], "Read", json!({"file_path": "a.rs"}), true),
    ];
    for (tools, tool, input, left) in cases {
        let found = refusal(tools, tool, input);
        assert_eq!(found.is_none(), *left, "{tools:?} {tool} {input}: {found:?}");
    }
    let why = refusal(&["Bash(git *)", "Bash(ls)"], "Bash", &bash("rm x")).unwrap();
    assert_eq!(
        why,
        "this agent may use Bash only for calls of which every part matches Bash(git *) or Bash(ls)"
    );
}
