#![cfg(unix)]

use robota_core::approve::{Answer, Question};
use robota_core::tool::{ToolContext, ToolOutcome};
use robota_exec::{Environment, Supervisor};
use serde_json::{Value, json};

use super::*;

fn workspace(dir: &tempfile::TempDir) -> ToolWorkspace {
    let env = Environment::new().with("PATH", "/usr/bin:/bin");
    ToolWorkspace::new(dir.path().canonicalize().unwrap(), Supervisor::new(), env)
}

async fn run(tools: &[Arc<dyn Tool>], name: &str, input: Value) -> ToolOutcome {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
    tool.run(input, ToolContext::detached()).await
}

fn code(outcome: &ToolOutcome) -> Option<&str> {
    outcome.error_code.as_deref()
}

#[tokio::test]
async fn tool_01_the_fs_bundle_denies_files_outside_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let rules = BundleRules { block: vec!["secret/**".to_owned()], ..BundleRules::default() };
    let tools = fs(&workspace(&dir), &rules).unwrap();
    let write = |path: &str| json!({"file_path": path, "content": "x"});
    assert!(run(&tools, "Write", write("a.txt")).await.ok);
    assert!(run(&tools, "Read", json!({"file_path": "a.txt"})).await.ok);
    assert_eq!(code(&run(&tools, "Write", write("../b.txt")).await), Some("denied"));
    assert_eq!(code(&run(&tools, "Write", write("secret/b.txt")).await), Some("denied"));
    assert_eq!(
        code(&run(&tools, "Read", json!({"file_path": "/etc/passwd"})).await),
        Some("denied")
    );
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
    assert_eq!(code(&run(&tools, "Read", json!({"file_path": "link"})).await), Some("denied"));
    let edits = json!({"edits": [{"file_path": "secret/x", "old_string": "a", "new_string": "b"}]});
    assert_eq!(code(&run(&tools, "MultiEdit", edits).await), Some("denied"));
}

struct Yes;

#[async_trait::async_trait]
impl Approver for Yes {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::Allow { note: None }
    }
}

#[tokio::test]
async fn tool_03_the_bash_bundle_blocks_allows_and_asks() {
    let dir = tempfile::tempdir().unwrap();
    let rules = BundleRules {
        block: vec!["rm *".to_owned()],
        allow: vec!["touch *".to_owned()],
        approver: None,
    };
    let bash = |command: &str| json!({"command": command});
    let tools = super::bash(&workspace(&dir), &rules).unwrap();
    assert!(run(&tools, "Bash", bash("touch a")).await.ok);
    assert!(run(&tools, "Bash", bash("ls")).await.ok, "the command is read-only");
    assert_eq!(code(&run(&tools, "Bash", bash("touch b; mkdir c")).await), Some("denied"));
    assert_eq!(code(&run(&tools, "Bash", bash("touch b; rm a")).await), Some("denied"));
    let rules = BundleRules { approver: Some(Arc::new(Yes)), ..rules };
    let tools = super::bash(&workspace(&dir), &rules).unwrap();
    assert!(run(&tools, "Bash", bash("mkdir c")).await.ok);
    assert_eq!(code(&run(&tools, "Bash", bash("rm a")).await), Some("denied"), "blocked");
    assert!(dir.path().join("a").exists() && dir.path().join("c").exists());
}
