use std::sync::Arc;
use std::time::{Duration, SystemTime};

use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

fn tree(files: &[&str]) -> (tempfile::TempDir, ToolWorkspace) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (age, name) in files.iter().enumerate() {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        // The first file is the newest.
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age as u64);
        file.set_modified(time).unwrap();
    }
    (dir, ToolWorkspace::new(root, Supervisor::new(), Environment::new()))
}

async fn glob(workspace: &ToolWorkspace, input: Value) -> ToolOutcome {
    let tool = Glob::new(workspace);
    tool.check(&input).unwrap();
    tool.run(input, ToolContext::detached()).await
}

async fn names(workspace: &ToolWorkspace, pattern: &str) -> Vec<String> {
    let text = glob(workspace, json!({"pattern": pattern})).await.text();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn patterns_match_like_globs() {
    let files = ["z.ts", "src/b.ts", "src/deep/a.tsx", "src/c.rs", "a.ts"];
    let (_dir, workspace) = tree(&files);
    assert_eq!(names(&workspace, "*.ts").await, ["z.ts", "a.ts"]);
    assert_eq!(
        names(&workspace, "**/*.{ts,tsx}").await,
        ["z.ts", "src/b.ts", "src/deep/a.tsx", "a.ts"]
    );
    assert_eq!(names(&workspace, "src/*").await, ["src/b.ts", "src/c.rs"]);
    assert_eq!(names(&workspace, "src/deep/a.tsx").await, ["src/deep/a.tsx"]);
    assert_eq!(names(&workspace, "*.none").await, ["[no file matches]"]);
    let outcome = glob(&workspace, json!({"pattern": "*.ts", "path": "src"})).await;
    assert_eq!(outcome.text(), "src/b.ts\n");
    let outcome = glob(&workspace, json!({"pattern": "**/*", "limit": 2})).await;
    assert_eq!(outcome.text(), "z.ts\nsrc/b.ts\n[2 of 5 shown, newest first]\n");
    assert_eq!(outcome.metadata["truncated"], true);
    let outcome = glob(&workspace, json!({"pattern": "a[", "path": "nowhere"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
    let outcome = glob(&workspace, json!({"pattern": "a["})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
}

#[tokio::test]
async fn ignored_and_hidden_files_are_skipped() {
    let files = ["a.js", "node_modules/x.js", ".hidden/y.js", ".github/w.yml", ".git/z.js"];
    let (dir, workspace) = tree(&files);
    std::fs::write(dir.path().join(".gitignore"), "node_modules\n").unwrap();
    assert_eq!(names(&workspace, "**/*.js").await, ["a.js"]);
    assert_eq!(names(&workspace, ".github/*.yml").await, [".github/w.yml"]);
    assert_eq!(names(&workspace, "**/.git*").await, [".gitignore"]);
}

struct NoKeys;

impl crate::AccessCheck for NoKeys {
    fn may_read(&self, path: &Path) -> bool {
        path.extension().is_none_or(|extension| extension != "key")
    }

    fn may_connect_private(&self, _: &str, _: std::net::IpAddr) -> bool {
        false
    }
}

#[tokio::test]
async fn files_that_may_not_be_read_are_not_listed() {
    let (_dir, workspace) = tree(&["a.key", "b.txt"]);
    let workspace = workspace.access_check(Arc::new(NoKeys));
    assert_eq!(names(&workspace, "*").await, ["b.txt"]);
}
