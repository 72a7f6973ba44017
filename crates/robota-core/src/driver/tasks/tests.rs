use serde_json::json;

use super::*;
use crate::approve::NoApprover;
use crate::gate::AllowAll;
use crate::hook::NoHooks;
use crate::ids::CountingIds;
use crate::message::ToolInput;
use crate::provider::{DeltaStream, ModelRequest, Provider, ProviderError};
use crate::tool::{ToolSet, ToolSpec};

struct NoProvider;

#[async_trait::async_trait]
impl Provider for NoProvider {
    fn name(&self) -> &str {
        "none"
    }

    async fn stream(&self, _: ModelRequest, _: CallContext) -> Result<DeltaStream, ProviderError> {
        Err(ProviderError::truncated())
    }
}

/// Panics when its arguments say so.
struct Fragile(ToolSpec);

#[async_trait::async_trait]
impl Tool for Fragile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, input: serde_json::Value, _context: ToolContext) -> ToolOutcome {
        assert!(input != json!("panic"), "as the test asks");
        ToolOutcome::ok("fine")
    }
}

fn ports() -> Ports {
    let spec = ToolSpec {
        name: "fragile".to_owned(),
        description: String::new(),
        input_schema: json!({}),
        class: Class::Inspect,
    };
    let tools: [Arc<dyn Tool>; 1] = [Arc::new(Fragile(spec))];
    Ports {
        provider: Arc::new(NoProvider),
        tools: ToolSet::new(tools).unwrap(),
        live_tools: None,
        gate: Arc::new(AllowAll),
        approver: Arc::new(NoApprover),
        hooks: Arc::new(NoHooks),
        compactor: None,
        blobs: None,
        ids: Arc::new(CountingIds::default()),
    }
}

#[tokio::test]
async fn nothing_is_kept_of_tasks_that_ended() {
    let (ports, state) = (ports(), State::default());
    let config = SessionConfig::new(crate::turn::TurnRules::new("m"));
    let mut tasks = Tasks::new(TaskEventQueue::default(), CallContext::detached());
    for (round, argument) in ["go", "panic", "go"].into_iter().enumerate() {
        let input = ToolInput::Json(json!(argument));
        let call = CallId::from(format!("call-{round}"));
        let tool_use = ToolUse::new(call.clone(), "id", "fragile", input);
        let judge = Effect::Judge { tool_use: tool_use.clone(), author: ArgumentsAuthor::Model };
        tasks.start(judge, &ports, &config, &state, &Span::none());
        let question = Question {
            call: tool_use.clone(),
            class: Class::Inspect,
            reason: String::new(),
            rules: Vec::new(),
            needs_user: false,
            metadata: serde_json::Map::new(),
            agent: None,
            task: None,
        };
        tasks.start(Effect::AskPermission(question), &ports, &config, &state, &Span::none());
        tasks.start(Effect::Wait(Duration::ZERO), &ports, &config, &state, &Span::none());
        tasks.start(
            Effect::RunTool { tool_use, class: Class::Inspect, grant: crate::gate::Grant::Full },
            &ports,
            &config,
            &state,
            &Span::none(),
        );
        let before = state.context(1_000);
        tasks.start(Effect::Compact(before), &ports, &config, &state, &Span::none());
        tasks.cancel(&Target::Compaction);
        let mut ended = 0;
        while tasks.next().await.is_some() {
            ended += 1;
        }
        assert_eq!(ended, 4, "all but the one that was cancelled");
        assert!(tasks.fallback.is_empty() && tasks.abortable.is_empty() && tasks.tools.is_empty());
    }
}

/// Panics when it is dropped.
struct Faulty;

impl Drop for Faulty {
    fn drop(&mut self) {
        panic!("on purpose")
    }
}

/// Otherwise the machine would take the answer for that of what it started next.
#[tokio::test]
async fn a_task_that_was_cancelled_sends_no_input_however_it_ends() {
    let mut tasks = Tasks::new(TaskEventQueue::default(), CallContext::detached());
    let refused = || Input::Hooked {
        call: None,
        reply: refusal(HookPoint::UserPromptSubmit, "it panicked").into(),
    };
    let faulty = Faulty;
    tasks.spawn(Some(Target::Hook(None)), refused(), async move {
        let _faulty = faulty;
        std::future::pending().await
    });
    // This one ends before it is cancelled.
    let (done, ended) = tokio::sync::oneshot::channel();
    tasks.spawn(Some(Target::Hook(None)), refused(), async move {
        let _ = done.send(());
        Input::Hooked { call: None, reply: refusal(HookPoint::Stop, "early").into() }
    });
    ended.await.unwrap();
    tasks.cancel(&Target::Hook(None));
    tasks.spawn(Some(Target::Wait), Input::WaitOver, async { Input::WaitOver });
    assert!(matches!(tasks.next().await, Some(Input::WaitOver)));
    assert!(tasks.next().await.is_none());
    assert!(tasks.fallback.is_empty() && tasks.abortable.is_empty());
}
