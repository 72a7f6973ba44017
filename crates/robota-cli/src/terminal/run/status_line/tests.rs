use robota_core::context::ContextState;
use robota_core::permission::Mode;
use serde_json::Value;

use super::*;

fn environment() -> Environment {
    Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin")
}

async fn run(command: &str, input: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let (supervisor, environment) = (Supervisor::new(), environment());
    let run = ShellRun {
        supervisor: &supervisor,
        environment: &environment,
        cwd: folder.path(),
        columns: 80,
    };
    run.run(command, input).await
}

#[tokio::test]
async fn a_command_reads_the_json_and_its_output_is_returned() {
    let text = run("read -r line; echo \"$COLUMNS <$line>\"", "{\"a\":1}\n").await.unwrap();
    assert_eq!(text, "80 <{\"a\":1}>\n");
}

#[tokio::test]
async fn a_failure_says_why() {
    let why = run("echo broken >&2; exit 3", "{}").await.unwrap_err();
    assert_eq!(why, "exit code 3: broken");
}

#[test]
fn the_input_has_the_documented_fields() {
    let measures = Measures::default();
    measures.count_lines(&crate::terminal::diff::between("a\n", "b\nc\n"));
    let context =
        ContextState { max_tokens: 1000, used_tokens: 250, used_percentage: 25.0, exact: true };
    let input = Input {
        session: "5f0c",
        name: Some("greeting"),
        transcript: Some("/tmp/t.jsonl".to_owned()),
        cwd: "/demo".to_owned(),
        added: vec!["/other".to_owned()],
        model: Model::named("model-x"),
        mode: Mode::Plan,
        output_style: None,
        context: Some(context),
        measured: measures.snapshot(),
    };
    let json = input.json();
    let at = |path: &str| json.pointer(path).cloned().unwrap_or(Value::Null);
    assert_eq!(at("/session_id"), "5f0c");
    assert_eq!(at("/session_name"), "greeting");
    assert_eq!(at("/transcript_path"), "/tmp/t.jsonl");
    assert_eq!((at("/cwd"), at("/workspace/current_dir")), ("/demo".into(), "/demo".into()));
    assert_eq!(at("/workspace/added_dirs/0"), "/other");
    assert_eq!((at("/model/id"), at("/model/display_name")), ("model-x".into(), "model-x".into()));
    assert_eq!(at("/output_style/name"), "default");
    assert_eq!(at("/permission_mode"), "plan");
    assert_eq!(
        (at("/cost/total_lines_added"), at("/cost/total_lines_removed")),
        (2.into(), 1.into())
    );
    assert_eq!(at("/context_window/context_window_size"), 1000);
    assert_eq!(at("/context_window/remaining_percentage"), 75.0);
    assert_eq!(at("/exceeds_200k_tokens"), false);
    for number in ["total_cost_usd", "total_duration_ms", "total_api_duration_ms"] {
        assert!(at(&format!("/cost/{number}")).is_number(), "{number}");
    }
    assert!(at("/version").is_string());
}
