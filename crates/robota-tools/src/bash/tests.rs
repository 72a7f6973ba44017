#![cfg(unix)]

use serde_json::json;

use super::*;

fn tool() -> Bash {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    Bash::new("/", Supervisor::new(), env)
}

async fn run(input: Value) -> ToolOutcome {
    let bash = tool();
    bash.check(&input).unwrap();
    bash.run(input, ToolContext::detached()).await
}

async fn bash(command: &str) -> ToolOutcome {
    run(json!({"command": command, "description": "test"})).await
}

#[tokio::test]
async fn tool_05_bash_works_without_a_session() {
    let outcome = bash("pwd; echo oops >&2; echo end").await;
    assert!(outcome.ok);
    assert_eq!(outcome.text(), "/\noops\nend\n");
    assert_eq!(outcome.metadata["exit_code"], 0);
    assert_eq!(outcome.metadata["truncated"], false);
    assert_eq!(outcome.metadata["description"], "test");
}

#[tokio::test]
async fn exit_codes_are_told_and_are_not_failures() {
    let outcome = bash("printf partial; exit 3").await;
    assert_eq!((outcome.ok, outcome.text()), (true, "partial\n[exit code 3]\n".to_owned()));
    assert_eq!(outcome.metadata["exit_code"], 3);
    assert_eq!(bash("true").await.text(), "[no output]\n");
    let outcome = bash("kill -9 $$").await;
    assert_eq!(outcome.error_code.as_deref(), Some("signal"));
    assert_eq!(outcome.text(), "[no output]\n[ended by signal 9]\n");
}

#[tokio::test]
async fn time_limits_are_honoured_and_told() {
    let outcome = run(json!({"command": "sleep 3600", "timeout": 1})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("timeout"));
    assert_eq!(outcome.text(), "[no output]\n[ended after 1 ms: it took too long]\n");
    assert_eq!(outcome.ran, Ran::Yes);
}

#[tokio::test]
async fn long_output_keeps_both_ends() {
    let outcome = bash("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    let text = outcome.text();
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n"));
    assert!(text.contains(" of 1000012 bytes cut"));
    assert!(text.len() < 31_000);
    assert_eq!(outcome.metadata["truncated"], true);
    assert_eq!(outcome.metadata["output_bytes"], 1_000_012);
}

#[tokio::test]
async fn interrupted_before_and_while_running() {
    let context = ToolContext::detached();
    context.cancel.cancel();
    let outcome = tool().run(json!({"command": "echo ran"}), context).await;
    assert_eq!((outcome.ran, outcome.error_code.as_deref()), (Ran::No, Some("interrupted")));

    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(bash(&format!("mkfifo '{}'", pipe.display())).await.ok);
    let context = ToolContext::detached();
    let cancel = context.cancel.clone();
    let command = format!("echo up > '{}'; sleep 3600", pipe.display());
    let (tool, input) = (tool(), json!({"command": command}));
    let (outcome, ()) = tokio::join!(tool.run(input, context), async {
        tokio::task::spawn_blocking(move || std::fs::read(pipe).unwrap()).await.unwrap();
        cancel.cancel();
    });
    assert_eq!((outcome.ran, outcome.error_code.as_deref()), (Ran::Yes, Some("interrupted")));
}

#[tokio::test]
async fn what_cannot_run_says_so() {
    let outcome = bash("  \n").await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
    let lost = Bash::new("/no/such/dir", Supervisor::new(), Environment::new());
    let outcome = lost.run(json!({"command": "true"}), ToolContext::detached()).await;
    assert_eq!((outcome.ran, outcome.error_code.as_deref()), (Ran::No, Some("cannot_run")));
    assert!(outcome.text().contains("/no/such/dir"), "{}", outcome.text());
}
