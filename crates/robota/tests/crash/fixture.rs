//! The parts of the sessions: a scripted model, tools that record every run, hooks at every point
//! of a turn, and an approver.

use std::sync::{Arc, Mutex};

use robota_core::approve::Answer;
use robota_core::call::CallContext;
use robota_core::hook::{
    BatchDecision, HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use robota_core::permission::{Class, Verdict};
use robota_core::provider::{DeltaStream, ModelRequest, Provider, ProviderError};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_session::{Approvals, Session, SessionBuilder, approver_fn};
use robota_testkit::ScriptedGate;
use serde_json::{Value, json};

use crate::case_store::LineFile;

/// The answer of the model when no script is set.
pub(crate) const DEFAULT_ANSWER: &str = "Going on.";
/// The tools with an effect.
pub(crate) const TOOLS_WITH_EFFECTS: [&str; 3] = ["act", "asked", "big"];

/// A scripted model whose script can be changed.
pub(crate) struct Model(Mutex<ScriptedProvider>);

impl Model {
    /// Creates a model that always gives the default answer.
    pub(crate) fn new() -> Arc<Self> {
        let script = Script::new().text(DEFAULT_ANSWER).looped();
        Arc::new(Self(Mutex::new(ScriptedProvider::new(script))))
    }

    /// Sets the script of the next answers.
    pub(crate) fn set_script(&self, yaml: &str) {
        let script = Script::from_yaml(yaml).unwrap();
        *self.0.lock().unwrap() = ScriptedProvider::new(script);
    }

    pub(crate) fn set_default_script(&self) {
        self.set_script(&format!("{{loop: true, answers: [{DEFAULT_ANSWER}]}}"));
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

/// A tool that records each run with its call.
struct RecordingTool {
    spec: ToolSpec,
    effects: Option<LineFile>,
    text: String,
}

#[async_trait::async_trait]
impl Tool for RecordingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _input: Value, context: ToolContext) -> ToolOutcome {
        context.progress.show(format!("{} begins\n", self.spec.name));
        // Lets the session record the output before the effect.
        tokio::task::yield_now().await;
        if let Some(effects) = &self.effects {
            effects.add(&format!("{} {}", context.call, self.spec.name));
        }
        // Every output is different, so that each gets a blob of its own.
        ToolOutcome::ok(format!("{} ({})", self.text, context.call))
    }
}

fn tool(name: &str, class: Class, effects: &LineFile, text: &str) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: format!("{name}, for a test"),
        input_schema: json!({"type": "object"}),
        class,
    };
    let effects = TOOLS_WITH_EFFECTS.contains(&name).then(|| effects.clone());
    Arc::new(RecordingTool { spec, effects, text: text.to_owned() })
}

/// Hooks at every point; the one after a call adds a mark to its result.
struct AllHooks;

#[async_trait::async_trait]
impl Hooks for AllHooks {
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
            HookInput::PostToolBatch { .. } => {
                let context = Some("(batch)".to_owned());
                HookAnswer::PostToolBatch(BatchDecision::Continue { context }).into()
            }
            HookInput::Stop { .. } => HookAnswer::Stop(StopDecision::Finish).into(),
        }
    }
}

/// Returns the builder of a session with streaming, approvals, hooks, stored output and tools with
/// effects.
pub(crate) fn builder(model: &Arc<Model>, effects: &LineFile) -> SessionBuilder {
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
        .hooks(Arc::new(AllHooks))
        .output_limit(Some(1_000))
        .cwd("/random")
}
