//! Imports sessions of other agents.

use serde_json::Value;

use crate::home::{Home, stderr, stdout};

const CLAUDE: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5f1c","cwd":"/app","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"What is in it?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"5f1c","timestamp":"2026-01-02T03:04:06Z","message":{"id":"m1","role":"assistant","model":"some-model","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"x"}}]}}
{"type":"unheard-of"}
{"type":"user","uuid":"u2","parent"#;

const CODEX: &str = r#"{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"9d2e","cwd":"/app"}}
{"timestamp":"2026-01-02T03:04:06Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello there"}]}}
"#;

fn run(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let output = home.command(args).output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn sessions_of_other_agents_are_listed_and_imported_once() {
    let home = Home::new();
    home.write("home/.claude/projects/-app/5f1c-aaaa.jsonl", CLAUDE)
        .write("home/.codex/sessions/2026/01/02/rollout-2026-9d2e.jsonl", CODEX);
    let import = |args: &[&str]| run(&home, &[&["sessions", "import", "--from"], args].concat());
    for (agent, name) in [("claude", "5f1c-aaaa.jsonl"), ("codex", "rollout-2026-9d2e.jsonl")] {
        let (code, list, _) = import(&[agent, "--list"]);
        assert!(code == Some(0) && list.contains("/app") && list.contains(name), "{list}");
    }
    let (code, out, err) = import(&["claude", "5f1c"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("imported 5f1c ("), "{out}");
    assert!(err.contains("1 lines are damaged") && err.contains("unheard-of 1"), "{err}");
    assert!(err.contains("call Read (t1) has no recorded result"), "{err}");
    let (_, out, _) = import(&["claude", "5f1c"]);
    assert!(out.contains("was already imported; nothing changed"), "{out}");
    let path = home.path("home/.codex/sessions/2026/01/02/rollout-2026-9d2e.jsonl");
    let (code, out, err) = import(&["codex", path.to_str().unwrap(), "--id", "mine", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let imported: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(imported["session"], "mine");
    let (_, shown, _) = run(&home, &["sessions", "show", "mine"]);
    assert!(shown.contains("Hello there"), "{shown}");

    // An imported session is the user's own and can be continued.
    home.write("project/script.yaml", "- text: Go on.");
    let args = ["-p", "More", "--resume", "5f1c", "--provider", "scripted:script.yaml"];
    let (code, out, err) = run(&home, &args);
    assert_eq!((code, out.as_str()), (Some(0), "Go on.\n"), "{err}");
}

#[test]
fn a_wrong_source_of_another_agent_is_explained() {
    let home = Home::new();
    home.write("project/empty.jsonl", "{}\n");
    for (args, code, text) in [
        (&["--from", "claude", "nothing"][..], 2, "is neither a file nor a session of claude"),
        (&["--from", "codex", "empty.jsonl"][..], 1, "it contains no message"),
        (&["--list"][..], 2, "--from"),
        (&["--from", "claude"][..], 2, "SOURCE"),
    ] {
        let (got, _, err) = run(&home, &[&["sessions", "import"], args].concat());
        assert_eq!(got, Some(code), "{args:?} {err}");
        assert!(err.contains(text), "{args:?} {err}");
    }
    let (code, _, err) = run(&home, &["sessions", "import", "--from", "codex", "--list"]);
    assert!(code == Some(0) && err.contains("no sessions"), "{err}");
}
