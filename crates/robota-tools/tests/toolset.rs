//! The set of built-in tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSet};
use robota_exec::{Environment, Supervisor};
use robota_tools::{Hit, SearchError, Searcher, ToolWorkspace, tools};
use serde_json::{Value, json};

/// A search service with fixed results.
struct FixedSearch;

#[async_trait::async_trait]
impl Searcher for FixedSearch {
    async fn search(&self, query: &str, _limit: usize) -> Result<Vec<Hit>, SearchError> {
        let hit = |url: &str| Hit {
            title: format!("About {query}"),
            url: url.to_owned(),
            snippet: "...".to_owned(),
        };
        Ok(vec![hit("https://a.example/"), hit("https://b.example/")])
    }
}

fn workspace_in(dir: &std::path::Path) -> ToolWorkspace {
    let env = Environment::new().with("PATH", "/usr/bin:/bin");
    ToolWorkspace::new(dir, Supervisor::new(), env).searcher(Arc::new(FixedSearch))
}

fn all() -> ToolSet {
    ToolSet::new(tools(&workspace_in("/".as_ref()))).unwrap()
}

#[test]
fn tool_01_names_arguments_and_classes_are_contract() {
    let summaries: Vec<_> = all()
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            let arguments = spec.input_schema["properties"].as_object().unwrap();
            let arguments: Vec<_> = arguments.keys().map(String::as_str).collect();
            assert_eq!(spec.input_schema["additionalProperties"], false);
            let class = match spec.class {
                Class::Inspect => "inspect",
                Class::Modify => "modify",
                Class::Execute => "execute",
            };
            format!("{} {class} {}", spec.name, arguments.join(" "))
        })
        .collect();
    assert_eq!(
        summaries,
        [
            "AskUserQuestion inspect questions",
            "Bash execute command timeout description run_in_background terminal",
            "BashInput execute bash_id input",
            "BashOutput inspect bash_id",
            "Edit modify file_path old_string new_string replace_all",
            "Glob inspect pattern path limit",
            "Grep inspect pattern path glob type output_mode -i -A -B -C multiline head_limit",
            "KillShell inspect bash_id",
            "MultiEdit modify edits",
            "Read inspect file_path offset limit",
            "TodoWrite inspect todos",
            "WebFetch execute url headers offset",
            "WebSearch execute query limit",
            "Write modify file_path content",
        ]
    );
}

/// The first request of every session sends all specs.
#[test]
fn the_specs_of_all_tools_are_small() {
    let bytes = serde_json::to_vec(&all().specs()).unwrap().len();
    assert!(bytes < 8 * 1024, "{bytes} bytes");
}

/// The arguments of Claude Code's tools, as models that were trained with it send them. Each is
/// accepted, whether or not the schema shows it.
#[test]
fn tool_01_the_arguments_of_claude_code_are_accepted() {
    let tools = all();
    for (name, input) in [
        (
            "Grep",
            json!({"pattern": "x", "path": ".", "glob": "*.rs", "type": "rust", "output_mode": "content",
                "-n": true, "-i": true, "-o": false, "-A": 1, "-B": 1, "-C": 1, "context": 1,
                "multiline": true, "head_limit": 0, "offset": 1}),
        ),
        ("Glob", json!({"pattern": "**/*", "path": "."})),
        ("WebFetch", json!({"url": "https://a.example", "prompt": "Summarise the page"})),
        (
            "WebSearch",
            json!({"query": "x", "allowed_domains": ["a.example"], "blocked_domains": []}),
        ),
        (
            "Bash",
            json!({"command": "ls", "description": "Lists", "timeout": 1000,
                "run_in_background": false, "dangerouslyDisableSandbox": false}),
        ),
        ("KillShell", json!({"shell_id": "bash_1"})),
        ("Read", json!({"file_path": "/a", "offset": 1, "limit": 2, "pages": "1-5"})),
        ("Write", json!({"file_path": "/a", "content": "x"})),
        (
            "Edit",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": true}),
        ),
        (
            "MultiEdit",
            json!({"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": false}]}),
        ),
        (
            "TodoWrite",
            json!({"todos": [{"content": "x", "status": "pending", "activeForm": "Doing x", "id": "1", "priority": "low"}]}),
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "x?", "header": "X", "multiSelect": false,
                "options": [{"label": "a", "description": "b"}]}]}),
        ),
    ] {
        let tool = tools.get(name).unwrap();
        assert_eq!(tool.check(&input), Ok(()), "{name}");
        let mut unknown = input.clone();
        unknown["nobody_sends_this"] = json!(1);
        let error = tool.check(&unknown).unwrap_err().to_string();
        assert!(error.contains("`nobody_sends_this` is not known"), "{name}: {error}");
    }
}

/// The main workflow: search, change, run.
#[cfg(unix)]
#[tokio::test]
async fn tool_05_the_tools_work_together_without_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let tools = ToolSet::new(tools(&workspace_in(&root))).unwrap();
    let run = async |name: &str, input: Value| {
        let tool = tools.get(name).unwrap();
        tool.check(&input).unwrap();
        let outcome: ToolOutcome = tool.run(input, ToolContext::detached()).await;
        assert!(outcome.ok, "{}", outcome.text());
        outcome.text()
    };
    run("Write", json!({"file_path": "run.sh", "content": "echo helo\n"})).await;
    assert_eq!(run("Glob", json!({"pattern": "*.sh"})).await, "run.sh\n");
    assert_eq!(run("Grep", json!({"pattern": "hel+o"})).await, "run.sh\n");
    assert_eq!(run("Read", json!({"file_path": "run.sh"})).await, "     1\techo helo\n");
    let input = json!({"file_path": "run.sh", "old_string": "helo", "new_string": "hello"});
    run("Edit", input).await;
    let edits = json!([
        {"file_path": "run.sh", "old_string": "hello", "new_string": "hello; cat"},
    ]);
    run("MultiEdit", json!({"edits": edits})).await;
    assert_eq!(run("Bash", json!({"command": "bash run.sh"})).await, "hello\n");
    let found = run("WebSearch", json!({"query": "rust", "limit": 1})).await;
    assert_eq!(found, "1. About rust\n   https://a.example/\n   ...\n");
    let found = run("WebSearch", json!({"query": "rust", "blocked_domains": ["a.example"]})).await;
    let query = "About rust -site:a.example";
    assert_eq!(found, format!("1. {query}\n   https://b.example/\n   ...\n"));

    // A background command that echoes its input, and is killed.
    let started =
        run("Bash", json!({"command": "bash run.sh; sleep 3600", "run_in_background": true})).await;
    assert!(started.starts_with("Runs in the background as bash_1."), "{started}");
    run("BashInput", json!({"bash_id": "bash_1", "input": "typed\n"})).await;
    let mut seen = String::new();
    while !seen.contains("typed") {
        let output = run("BashOutput", json!({"bash_id": "bash_1"})).await;
        assert!(output.ends_with("[still running]\n"), "{output}");
        seen.push_str(&output);
    }
    assert!(seen.contains("hello\n"), "{seen}");
    let end = run("KillShell", json!({"shell_id": "bash_1"})).await;
    assert!(end.ends_with("[it was ended]\n"), "{end}");
    let ended = tools.get("BashInput").unwrap();
    let outcome =
        ended.run(json!({"bash_id": "bash_1", "input": "x"}), ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("ended"));
    let outcome =
        ended.run(json!({"bash_id": "bash_9", "input": "x"}), ToolContext::detached()).await;
    assert!(outcome.text().contains("known: bash_1"), "{}", outcome.text());
}

#[test]
fn without_a_search_service_there_is_no_web_search() {
    let workspace = ToolWorkspace::new("/", Supervisor::new(), Environment::new());
    assert!(tools(&workspace).iter().all(|tool: &Arc<dyn Tool>| tool.spec().name != "WebSearch"));
}
