//! What a session is made of here: a model that says what the step at hand wants, tools that
//! leave a line for every run, hooks at every point of a turn, somebody who approves.

use std::sync::{Arc, Mutex};

use robota_core::approve::Answer;
use robota_core::call::CallContext;
use robota_core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision, PreToolDecision,
    PromptDecision, StopDecision,
};
use robota_core::permission::{Class, Verdict};
use robota_core::provider::{DeltaStream, ModelRequest, Provider, ProviderError};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_session::{Approvals, Session, SessionBuilder, approver_fn};
use robota_testkit::ScriptedGate;
use serde_json::{Value, json};

use crate::place::Notes;

/// What the model says when it has nothing else to say.
pub(crate) const GOING_ON: &str = "Going on.";
/// Tools that do something.
pub(crate) const DOERS: [&str; 3] = ["act", "asked", "big"];

/// A scripted model whose script can be changed.
pub(crate) struct Model(Mutex<ScriptedProvider>);

impl Model {
    /// Always says that it goes on.
    pub(crate) fn new() -> Arc<Self> {
        let script = Script::new().text(GOING_ON).looped();
        Arc::new(Self(Mutex::new(ScriptedProvider::new(script))))
    }

    /// Says this from now on.
    pub(crate) fn play(&self, yaml: &str) {
        let script = Script::from_yaml(yaml).unwrap();
        *self.0.lock().unwrap() = ScriptedProvider::new(script);
    }

    pub(crate) fn go_on(&self) {
        self.play(&format!("{{loop: true, answers: [{GOING_ON}]}}"));
    }
}

#[async_trait::async_trait]
impl Provider for Model {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let now = self.0.lock().unwrap().clone();
        now.stream(request, context).await
    }
}

/// A tool that notes that it ran, and for which call.
struct Doer {
    spec: ToolSpec,
    effects: Option<Notes>,
    says: String,
}

#[async_trait::async_trait]
impl Tool for Doer {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _input: Value, context: ToolContext) -> ToolOutcome {
        context.progress.show(format!("{} begins\n", self.spec.name));
        // So that what it shows can be kept before it does something.
        tokio::task::yield_now().await;
        if let Some(effects) = &self.effects {
            effects.add(&format!("{} {}", context.call, self.spec.name));
        }
        // No two outputs are the same, so that each is kept for itself.
        ToolOutcome::ok(format!("{} ({})", self.says, context.call))
    }
}

fn tool(name: &str, class: Class, effects: &Notes, says: &str) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: format!("{name}, for a test"),
        input_schema: json!({"type": "object"}),
        class,
    };
    let effects = DOERS.contains(&name).then(|| effects.clone());
    Arc::new(Doer { spec, effects, says: says.to_owned() })
}

/// Hooks at every point; the one after a call stamps what it saw.
struct Everywhere;

#[async_trait::async_trait]
impl Hooks for Everywhere {
    fn has_point(&self, _point: HookPoint) -> bool {
        true
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::UserPromptSubmit { .. } => {
                let context = Some("(hooked) ".to_owned());
                HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }).into()
            }
            HookInput::PreToolUse { .. } => {
                HookAnswer::PreToolUse(PreToolDecision::Continue).into()
            }
            HookInput::PostToolUse { outcome, .. } => {
                let mut stamped = outcome;
                let stamp = robota_core::message::ResultBlock::text("(stamped)");
                stamped.content.push(stamp);
                HookAnswer::PostToolUse(PostToolDecision::Replace { outcome: stamped }).into()
            }
            HookInput::Stop { .. } => HookAnswer::Stop(StopDecision::Finish).into(),
        }
    }
}

/// A session that streams, asks, hooks, spills and does things.
pub(crate) fn builder(model: &Arc<Model>, effects: &Notes) -> SessionBuilder {
    let yes = approver_fn(|_| async {
        tokio::task::yield_now().await;
        Answer::Allow { note: Some("fine".to_owned()) }
    });
    Session::builder(model.clone(), "some-model")
        .system("Be brief.")
        .tools([
            tool("look", Class::Inspect, effects, "a view"),
            tool("act", Class::Execute, effects, "done"),
            tool("asked", Class::Execute, effects, "done as approved"),
            tool("big", Class::Execute, effects, &"much to tell ".repeat(400)),
        ])
        .gate(Arc::new(ScriptedGate::new(Verdict::Allow).on("asked", Verdict::Ask)))
        .approvals(Approvals::Handler(yes))
        .hooks(Arc::new(Everywhere))
        .output_limit(Some(1_000))
        .cwd("/somewhere")
}
