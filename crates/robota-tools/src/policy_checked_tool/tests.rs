use robota_core::permission::{Class, Mode};
use robota_exec::OsPaths;
use robota_policy::{PolicySpec, Workspace};
use robota_session::approver_fn;
use serde_json::json;

use super::*;

/// A tool whose calls a user must approve one by one.
struct Careful(ToolSpec);

#[async_trait::async_trait]
impl Tool for Careful {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn always_asks(&self) -> bool {
        true
    }

    fn offered(&self) -> bool {
        false
    }

    fn awaited(&self) -> Vec<AwaitedTools> {
        vec![AwaitedTools { prefix: "mcp__docs__".to_owned(), reason: "it starts".to_owned() }]
    }

    async fn run(&self, _: Value, _: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("ran")
    }
}

#[tokio::test]
async fn a_tool_that_always_asks_is_asked_about_although_the_mode_allows_everything() {
    let folder = tempfile::tempdir().unwrap();
    let spec = PolicySpec::new(Workspace::new(folder.path(), "/nonexistent"))
        .mode(Mode::BypassPermissions);
    let policy = Arc::new(Policy::new(&spec, &OsPaths).0);
    let tool = Arc::new(Careful(ToolSpec {
        name: "Careful".to_owned(),
        description: String::new(),
        input_schema: json!({}),
        class: Class::Modify,
    }));
    let tool = || PolicyCheckedTool::new(tool.clone(), policy.clone(), Arc::new(OsPaths));
    let refused = tool().run(json!({}), ToolContext::detached()).await;
    assert_eq!(refused.error_code.as_deref(), Some("denied"));
    let approver = approver_fn(|question: Question| async move {
        assert_eq!(question.reason, EACH_CALL_NEEDS_A_USER);
        Answer::Allow { note: None }
    });
    let allowed = tool().approver(approver);
    assert!(allowed.always_asks());
    assert!(!allowed.offered(), "a search finds it");
    assert_eq!(allowed.awaited()[0].prefix, "mcp__docs__");
    assert_eq!(allowed.run(json!({}), ToolContext::detached()).await.text(), "ran");
}
