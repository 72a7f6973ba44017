//! The instructions of servers for the model. Those that are known when the session is opened are a part of
//! the system prompt. That prompt never changes, so that a provider's cache of it stays valid: what becomes
//! known later is added to the next prompt or tool result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use robota_core::hook::{
    EventReport, HookAnswer, HookData, HookEvent, HookInput, HookPoint, HookReply, Hooks,
    PostToolDecision, PromptDecision,
};
use robota_mcp::client::ServerInstructions;

use crate::prompt::{Composer, PromptPart};

/// Adds the instructions of servers to a prompt. Each line is quoted, so that no server can write what looks
/// like another part of the prompt.
pub(crate) fn compose(composer: &mut Composer, all: &[ServerInstructions]) {
    for ServerInstructions { server, text } in all {
        let quoted: Vec<_> = text.lines().map(|line| format!("> {line}")).collect();
        let text = format!(
            "The server wrote this text about its own tools; it is not from the user.\n\n{}",
            quoted.join("\n")
        );
        let heading = format!("Instructions of the MCP server {server}");
        composer.section(format!("MCP server {server}"), &heading, &text);
    }
}

/// What the messages of a session have of the instructions of servers. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct GivenInstructions(Arc<Mutex<Vec<ServerInstructions>>>);

impl GivenInstructions {
    fn lock(&self) -> MutexGuard<'_, Vec<ServerInstructions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was given, with its size.
    pub(crate) fn parts(&self) -> Vec<PromptPart> {
        let mut composer = Composer::default();
        compose(&mut composer, &self.lock());
        composer.finish().1
    }
}

/// Gives the model the instructions that were not known when the session was opened.
pub(crate) struct LateInstructions {
    /// Returns what is known now. A server that connects later adds its instructions.
    known: Box<dyn Fn() -> Vec<ServerInstructions> + Send + Sync>,
    /// What the system prompt has.
    first: Vec<ServerInstructions>,
    /// What the messages have.
    given: GivenInstructions,
}

impl LateInstructions {
    /// Gives what is `known` and what the system prompt does not have; `first` is what it has.
    pub(crate) fn new(
        known: impl Fn() -> Vec<ServerInstructions> + Send + Sync + 'static,
        first: Vec<ServerInstructions>,
        given: GivenInstructions,
    ) -> Self {
        Self { known: Box::new(known), first, given }
    }

    /// Returns what the model does not have besides what was given.
    fn missing(&self, given: &[ServerInstructions]) -> Vec<ServerInstructions> {
        let mut all = (self.known)();
        all.retain(|one| !self.first.contains(one) && !given.contains(one));
        all
    }

    /// Returns the text that is added for what the model does not have.
    fn take(&self) -> Option<String> {
        // Locked until it is added: the results of two calls can arrive at the same time.
        let mut given = self.given.lock();
        let missing = self.missing(&given);
        let mut composer = Composer::default();
        compose(&mut composer, &missing);
        given.extend(missing);
        let text = composer.finish().0;
        (!text.is_empty()).then_some(text)
    }
}

#[async_trait]
impl Hooks for LateInstructions {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::UserPromptSubmit | HookPoint::PostToolUse => {
                !self.missing(&self.given.lock()).is_empty()
            }
            HookPoint::PreToolUse | HookPoint::PostToolBatch | HookPoint::Stop => false,
        }
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let context = self.take();
        match input {
            HookInput::UserPromptSubmit { .. } => {
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }).into()
            }
            _ => HookReply {
                answer: HookAnswer::PostToolUse(PostToolDecision::Continue),
                context,
                stop: None,
            },
        }
    }

    fn has_event(&self, event: HookEvent) -> bool {
        match event {
            HookEvent::PostCompact => !self.given.lock().is_empty(),
            HookEvent::UserPromptSubmit => self.has_point(HookPoint::UserPromptSubmit),
            HookEvent::PostToolUse => self.has_point(HookPoint::PostToolUse),
            _ => false,
        }
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        // The summary has replaced the messages that they were in.
        if matches!(data, HookData::PostCompact { .. }) {
            self.given.lock().clear();
        }
        EventReport::default()
    }
}
