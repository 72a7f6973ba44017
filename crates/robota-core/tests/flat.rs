//! A round costs the same for a conversation of any length. The benches measure the time; this test
//! checks the reason: no round copies the conversation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use robota_core::agent::Agent;
use robota_core::call::CallContext;
use robota_core::message::{Block, Message, ToolInput, ToolUse};
use robota_core::permission::Class;
use robota_core::provider::{
    Delta, DeltaStream, ModelRequest, Provider, ProviderError, StopReason,
};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_core::turn::FALLBACK;
use serde_json::{Value, json};

const ROUNDS: u32 = 100;

/// Where the conversation and its first message were, as one request saw them. Addresses, not
/// references: a reference would be a reason to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    view: usize,
    first: usize,
    messages: usize,
}

impl Seen {
    fn of(view: &Arc<Vec<Arc<Message>>>) -> Self {
        let view_at = Arc::as_ptr(view).addr();
        Self { view: view_at, first: Arc::as_ptr(&view[0]).addr(), messages: view.len() }
    }
}

/// Asks for a tool in every answer, and keeps each request until its answer ends, as real providers
/// do.
#[derive(Clone, Default)]
struct Asking(Arc<Mutex<Vec<Seen>>>);

#[async_trait::async_trait]
impl Provider for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        _context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        self.0.lock().unwrap().push(Seen::of(&request.messages));
        let mut answer = vec![Delta::Text("Looking.".to_owned())];
        if !request.tools.is_empty() {
            let input = ToolInput::Json(json!({}));
            answer.push(Delta::Block(Block::ToolUse(ToolUse::new("".into(), "1", "look", input))));
        }
        answer.push(Delta::End(StopReason::EndTurn));
        let deltas = futures::stream::iter(answer).map(move |delta| {
            let _kept = &request;
            Ok(delta)
        });
        Ok(deltas.boxed())
    }
}

struct Look(ToolSpec);

#[async_trait::async_trait]
impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("seen")
    }
}

#[tokio::test]
async fn no_round_copies_the_conversation() {
    let provider = Asking::default();
    let look: Arc<dyn Tool> = Arc::new(Look(ToolSpec {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        input_schema: json!({"type": "object"}),
        class: Class::Inspect,
    }));
    let mut agent =
        Agent::builder(provider.clone(), "model").tools([look]).max_rounds(ROUNDS).build().unwrap();
    let report = agent.run("Look at everything.").await;
    assert_eq!(report.tools_executed, ROUNDS);
    assert_ne!(report.text, FALLBACK);

    let seen = provider.0.lock().unwrap().clone();
    assert_eq!(seen.len(), ROUNDS as usize + 1);
    for (before, after) in seen.iter().zip(&seen[1..]) {
        // A copy would be at another address, because the original still exists.
        assert_eq!((before.view, before.first), (after.view, after.first));
        assert_eq!(after.messages, before.messages + 2, "an answer and its results");
    }
    let now = Seen::of(&agent.state().view.messages);
    assert_eq!((now.view, now.first), (seen[0].view, seen[0].first));
}

#[tokio::test]
async fn a_shared_conversation_is_copied_once() {
    let provider = Asking::default();
    let mut agent = Agent::builder(provider.clone(), "model").build().unwrap();
    agent.run("One.").await;
    let held = agent.messages();
    let before = Seen::of(&held);
    agent.run("Two.").await;
    agent.run("Three.").await;
    assert_eq!(Seen::of(&held), before, "what is held does not change");
    let seen = provider.0.lock().unwrap().clone();
    assert_ne!(seen[1].view, before.view, "copied");
    assert_eq!(seen[1].first, before.first, "the list, not the messages");
    assert_eq!(seen[2].view, seen[1].view, "once");
}
