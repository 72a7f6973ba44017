use std::pin::pin;

use futures::poll;
use robota_core::error::ErrorData;
use robota_core::gate::{Grant, Judgement, Source};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::{Class, Verdict};
use robota_core::tool::ToolSpec;
use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::hooks::HookScope;

/// Saves a rule when the test says so.
#[derive(Default)]
struct SlowSink {
    saving: Notify,
    release: Notify,
}

#[async_trait::async_trait]
impl RuleSink for SlowSink {
    async fn save(&self, _update: &PermissionUpdate) -> Result<(), ErrorData> {
        self.saving.notify_one();
        self.release.notified().await;
        Ok(())
    }
}

/// Accepts every rule.
struct RememberingGate;

#[async_trait::async_trait]
impl Gate for RememberingGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        Judgement {
            verdict: Verdict::Ask,
            class: tool.class,
            reason: "the test asks".to_owned(),
            source: Source::Rule,
            rules: vec!["act(*)".to_owned()],
            grant: Grant::Full,
        }
    }

    fn remember(&self, _rules: &[String]) -> Result<(), String> {
        Ok(())
    }
}

fn question() -> Question {
    Question {
        call: ToolUse::new("call".into(), "id", "act", ToolInput::Json(json!({}))),
        class: Class::Execute,
        reason: "the test asks".to_owned(),
        rules: vec!["act(*)".to_owned()],
        needs_user: false,
        metadata: serde_json::Map::new(),
        agent: None,
        task: None,
    }
}

fn no_hooks() -> Arc<HookChain> {
    let scope = HookScope { session: "s".into(), cwd: None, files: None };
    Arc::new(HookChain::new(scope, Vec::new(), Vec::new()))
}

/// A client decided first, and its rule is still being saved when the handler answers: the client's
/// decision counts, because the caller of `decide` and the saved rule say so.
#[tokio::test]
async fn sess_04_who_takes_a_question_first_decides_it() {
    let denied = Arc::new(Notify::new());
    let handler = {
        let denied = Arc::clone(&denied);
        approver_fn(move |_| {
            let denied = Arc::clone(&denied);
            async move {
                denied.notified().await;
                Answer::Deny { note: None }
            }
        })
    };
    let sink = Arc::new(SlowSink::default());
    let queue = Arc::new(ApprovalQueue::new(
        "s".into(),
        Approvals::Handler(handler),
        no_hooks(),
        Arc::new(RememberingGate),
        Some(sink.clone()),
    ));
    queue.announce(&question());
    let mut asking = pin!(queue.ask(question()));
    assert!(poll!(&mut asking).is_pending(), "nobody has answered");
    let call = question().call.call;
    let mut deciding = pin!(queue.decide(&call, Decision::Allow(Scope::Always), None, None));
    assert!(poll!(&mut deciding).is_pending());
    sink.saving.notified().await;

    denied.notify_one();
    assert!(poll!(&mut asking).is_pending(), "the client has decided");
    sink.release.notify_one();
    deciding.await.unwrap();
    assert!(matches!(asking.await, Answer::Remember { scope: Scope::Always, .. }));
    assert!(queue.pending().is_empty());
}
