use std::sync::Arc;

use robota_core::hook::{
    AfterChange, HookAnswer, HookInput, HookQuestion, HookReply, Hooks, PromptDecision,
    StopDecision,
};
use robota_core::message::{Block, ToolInput};
use robota_core::permission::Verdict;
use serde_json::json;

use super::*;

struct Pre(&'static str, PreToolDecision);

#[async_trait::async_trait]
impl CodeHook for Pre {
    fn name(&self) -> &str {
        self.0
    }

    async fn pre_tool(&self, _call: &ToolUse, _scope: &HookScope) -> PreToolDecision {
        self.1.clone()
    }
}

/// Returns the same reply at every hook point.
struct Reply(HookReply);

#[async_trait::async_trait]
impl Hooks for Reply {
    fn has_point(&self, _point: HookPoint) -> bool {
        true
    }

    async fn run(&self, _input: HookInput) -> HookReply {
        self.0.clone()
    }
}

fn chain(code: Vec<PreToolDecision>, settings: Vec<HookReply>) -> HookChain {
    let scope = HookScope { session: "s".into(), cwd: None, files: None };
    let code = code.into_iter().map(|said| Arc::new(Pre("pre", said)) as Arc<dyn CodeHook>);
    let settings = settings.into_iter().map(|reply| Arc::new(Reply(reply)) as Arc<dyn Hooks>);
    HookChain::new(scope, code.collect(), settings.collect())
}

fn call() -> HookInput {
    let tool_use = ToolUse::new("c".into(), "id", "bash", ToolInput::Json(json!({"n": 0})));
    HookInput::PreToolUse { tool_use, verdict: Verdict::Allow }
}

async fn pre(code: Vec<PreToolDecision>) -> PreToolDecision {
    match chain(code, vec![]).run(call()).await.answer {
        HookAnswer::PreToolUse(decision) => decision,
        other => panic!("{other:?}"),
    }
}

fn ask(reason: &str) -> PreToolDecision {
    PreToolDecision::Ask(HookQuestion::new(reason))
}

#[tokio::test]
async fn kode_06_the_strictest_hook_wins_in_any_order() {
    let allow = || PreToolDecision::Allow { reason: None };
    let deny = || PreToolDecision::Deny { reason: "no".to_owned() };
    assert_eq!(pre(vec![]).await, PreToolDecision::Continue);
    assert_eq!(pre(vec![allow(), PreToolDecision::Continue]).await, allow());
    assert_eq!(pre(vec![allow(), ask("why")]).await, ask("why"));
    assert_eq!(pre(vec![ask("first"), allow(), ask("second")]).await, ask("first"));
    assert_eq!(pre(vec![allow(), ask("why"), deny()]).await, deny());
    let input = json!({"n": 1});
    let change = PreToolDecision::Change { input: input.clone(), then: AfterChange::Judge };
    let then = AfterChange::Ask(HookQuestion::new("why"));
    let both = PreToolDecision::Change { input, then };
    assert_eq!(pre(vec![change, ask("why")]).await, both);
}

#[tokio::test]
async fn kode_06_settings_hooks_that_answer_for_another_point_refuse() {
    let wrong_answer = HookReply::from(HookAnswer::Stop(StopDecision::Finish));
    let chain = chain(vec![PreToolDecision::Allow { reason: None }], vec![wrong_answer]);
    let reply = chain.run(call()).await;
    assert!(matches!(reply.answer, HookAnswer::PreToolUse(PreToolDecision::Deny { .. })));
    let content = vec![Block::text("Hi")];
    let reply = chain.run(HookInput::UserPromptSubmit { content }).await;
    assert!(matches!(reply.answer, HookAnswer::UserPromptSubmit(PromptDecision::Block { .. })));
    let HookInput::PreToolUse { tool_use, .. } = call() else { panic!() };
    let outcome = ToolOutcome::ok("secret");
    let reply = chain.run(HookInput::PostToolUse { tool_use, outcome, duration_ms: None }).await;
    assert!(matches!(reply.answer, HookAnswer::PostToolUse(PostToolDecision::Block { .. })));
}

/// Decides about the calls of an answer.
struct Batch(BatchDecision);

#[async_trait::async_trait]
impl CodeHook for Batch {
    fn name(&self) -> &str {
        "batch"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::PostToolBatch]
    }

    async fn post_batch(&self, calls: &[EndedCall], _scope: &HookScope) -> BatchDecision {
        assert_eq!(calls.len(), 1);
        self.0.clone()
    }
}

#[tokio::test]
async fn kode_06_hooks_in_code_decide_about_all_calls_of_an_answer() {
    let scope = HookScope { session: "s".into(), cwd: None, files: None };
    let (mind, stop) = (
        BatchDecision::Continue { context: Some("mind the branch".to_owned()) },
        BatchDecision::Stop { reason: "enough".to_owned() },
    );
    for (decisions, expected) in
        [(vec![mind.clone()], mind.clone()), (vec![stop.clone(), mind], stop)]
    {
        let code = decisions.into_iter().map(|it| Arc::new(Batch(it)) as Arc<dyn CodeHook>);
        let chain = HookChain::new(scope.clone(), code.collect(), Vec::new());
        assert!(chain.has_point(HookPoint::PostToolBatch) && !chain.has_point(HookPoint::Stop));
        let HookInput::PreToolUse { tool_use, .. } = call() else { panic!() };
        let calls = vec![EndedCall { tool_use, outcome: ToolOutcome::ok("text") }];
        let reply = chain.run(HookInput::PostToolBatch { calls }).await;
        assert_eq!(reply.answer, HookAnswer::PostToolBatch(expected));
    }
    assert!(
        !self::chain(vec![PreToolDecision::Continue], vec![]).has_point(HookPoint::PostToolBatch)
    );
}

#[tokio::test]
async fn sess_15_contexts_of_several_hooks_are_joined() {
    let reply_with = |text: &str| {
        let context = Some(text.to_owned());
        HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }).into()
    };
    let chain = chain(vec![], vec![reply_with("one"), reply_with("two")]);
    chain.set_start_context(Some("started".to_owned()));
    let prompt = || HookInput::UserPromptSubmit { content: vec![] };
    let context = |reply: HookReply| match reply.answer {
        HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }) => context,
        other => panic!("{other:?}"),
    };
    assert_eq!(context(chain.run(prompt()).await).as_deref(), Some("started\none\ntwo"));
    assert_eq!(context(chain.run(prompt()).await).as_deref(), Some("one\ntwo"), "started once");
}
