//! The calls that a list of tools leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use robota_core::permission::Class;
use robota_policy::{CallLimits, LexicalPaths, ToolCall, Workspace};
use serde_json::{Value, json};

fn refusal(tools: &[&str], tool: &str, input: &Value) -> Option<String> {
    refusal_of(tools, tool, input, Class::Execute)
}

fn refusal_of(tools: &[&str], tool: &str, input: &Value, class: Class) -> Option<String> {
    let workspace = Workspace::new("/proj/app", "/home/ada");
    let (limits, _) = CallLimits::new(tools.iter().copied(), &workspace, &LexicalPaths);
    limits?.refusal(&ToolCall { tool, input, class }, &LexicalPaths)
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
        (&["Bash(rm *)"], "Bash", bash("rm -r build"), true),
        (&["Bash(git *)"], "Bash", bash("git -c alias.x='!touch pwned' x"), false),
        (&["Bash(git *)"], "Bash", bash("git --exec-path=/tmp status"), false),
        (&["Bash(find *)"], "Bash", bash("find . -exec touch pwned +"), false),
        (&["Bash(git *)"], "Bash", bash("PATH=. git status"), false),
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
        // An entry that is no valid rule leaves no call of the tools that it lists.
        (&["mcp__github(repo:x)"], "mcp__github__search", json!({}), false),
        (&["mcp__github__*(x)"], "mcp__github__search", json!({}), false),
        (&["Ba*(git *)"], "Bash", bash("git status"), false),
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

#[test]
fn a_call_that_only_reads_needs_an_entry_too() {
    let skill = |name: &str| {
        refusal_of(&["Skill(review)"], "Skill", &json!({"skill": name}), Class::Inspect)
    };
    assert_eq!(skill("review"), None);
    assert!(skill("deploy").is_some());
    let own = |tools: &[&str]| refusal_of(tools, "Lookup", &json!({"key": "a"}), Class::Inspect);
    assert!(own(&["Lookup(b)"]).is_some());
    assert_eq!(own(&["Lookup", "Bash(git *)"]), None);
}
