//! The set of tools as a session gets it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use robota_core::permission::Class;
use robota_core::tool::{ToolContext, ToolSet};
use robota_exec::{Environment, Supervisor};
use robota_tools::toolset;
use serde_json::json;

#[test]
fn names_arguments_and_classes_are_contract() {
    let tools = ToolSet::new(toolset("/", Supervisor::new(), Environment::new())).unwrap();
    let said: Vec<_> = tools
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            let arguments = spec.input_schema["properties"].as_object().unwrap();
            let arguments: Vec<_> = arguments.keys().map(String::as_str).collect();
            assert_eq!(spec.input_schema["additionalProperties"], false);
            format!("{} {:?} {}", spec.name, spec.class, arguments.join(" "))
        })
        .collect();
    assert_eq!(
        said,
        [
            format!("Bash {:?} command timeout description", Class::Execute),
            format!("Edit {:?} file_path old_string new_string replace_all", Class::Modify),
            format!("Read {:?} file_path offset limit", Class::Inspect),
        ]
    );
}

/// What every first request pays for.
#[test]
fn the_tools_describe_themselves_briefly() {
    let tools = ToolSet::new(toolset("/", Supervisor::new(), Environment::new())).unwrap();
    let bytes = serde_json::to_vec(&tools.specs()).unwrap().len();
    assert!(bytes < 3_000, "{bytes} bytes");
}

/// The main job: look, change, run.
#[cfg(unix)]
#[tokio::test]
async fn tool_05_the_tools_work_together_without_a_session() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("run.sh"), "echo helo\n").unwrap();
    let env = Environment::new().with("PATH", "/usr/bin:/bin");
    let tools = ToolSet::new(toolset(dir.path(), Supervisor::new(), env)).unwrap();
    let run = async |name: &str, input| {
        let outcome = tools.get(name).unwrap().run(input, ToolContext::detached()).await;
        assert!(outcome.ok, "{}", outcome.text());
        outcome.text()
    };
    assert_eq!(run("Read", json!({"file_path": "run.sh"})).await, "     1\techo helo\n");
    let input = json!({"file_path": "run.sh", "old_string": "helo", "new_string": "hello"});
    run("Edit", input).await;
    assert_eq!(run("Bash", json!({"command": "bash run.sh"})).await, "hello\n");
}
