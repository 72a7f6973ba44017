//! Structured output (`--json-schema`): the model answers by calling the tool `StructuredOutput`,
//! whose arguments have the schema of the caller. This works with every model that can call tools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::event::{Envelope, Event};
use robota_core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision, StopDecision,
};
use robota_core::ids::TurnId;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec, check_schema};
use serde_json::Value;

/// The tool's name.
pub(crate) const TOOL: &str = "StructuredOutput";

/// After this many calls with invalid arguments the turn ends.
// As many as in Claude Code, whose hosts know the error that follows.
pub(crate) const MAX_INVALID: u32 = 5;

const DESCRIPTION: &str = "Returns the final answer in the requested structure. Call this tool \
    exactly once, when everything else is done; its arguments are the answer.";

const ENFORCE: &str = "[structured-output-enforce] You MUST call the StructuredOutput tool to \
    complete this request. Call this tool now.";

/// The structured answer of the current turn.
#[derive(Default)]
pub(crate) struct Answer(Mutex<State>);

#[derive(Default)]
struct State {
    value: Option<Value>,
    invalid: u32,
    enforced: bool,
    /// The answers of turns that ended and were not printed yet.
    ended: HashMap<TurnId, Value>,
}

impl Answer {
    /// Takes an event of the session, in the session's own task: what is printed lags behind.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        let mut state = self.lock();
        match (&envelope.event, &envelope.turn) {
            (Event::TurnStarted(_), _) => {
                *state = State { ended: std::mem::take(&mut state.ended), ..State::default() };
            }
            (Event::TurnFinished(_), Some(turn)) => {
                if let Some(value) = state.value.take() {
                    state.ended.insert(turn.clone(), value);
                }
            }
            _ => {}
        }
    }

    /// Counts a call with invalid arguments. Returns whether the limit is reached.
    pub(crate) fn count_invalid(&self) -> bool {
        let mut state = self.lock();
        state.invalid += 1;
        state.invalid >= MAX_INVALID
    }

    /// Returns the answer of a turn that ended.
    pub(crate) fn take(&self, turn: &TurnId) -> Option<Value> {
        self.lock().ended.remove(turn)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tool that takes the structured answer.
pub(crate) struct StructuredOutput {
    spec: ToolSpec,
    answer: Arc<Answer>,
}

impl StructuredOutput {
    /// Creates the tool for a schema.
    pub(crate) fn new(schema: Value, answer: Arc<Answer>) -> Self {
        let spec = ToolSpec {
            name: TOOL.to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema,
            // It has no effects.
            class: Class::Inspect,
        };
        Self { spec, answer }
    }
}

#[async_trait::async_trait]
impl Tool for StructuredOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _: ToolContext) -> ToolOutcome {
        self.answer.lock().value = Some(input);
        ToolOutcome::ok("Structured output provided successfully")
    }
}

/// Ends the turn after a valid answer, and asks once more when the model answered in words.
pub(crate) struct StructuredHooks(pub(crate) Arc<Answer>);

#[async_trait::async_trait]
impl Hooks for StructuredHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        matches!(point, HookPoint::PostToolUse | HookPoint::Stop)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let mut state = self.0.lock();
        match input {
            HookInput::PostToolUse { tool_use, outcome, .. } => HookReply {
                stop: (tool_use.name == TOOL && outcome.ok)
                    .then(|| "the structured answer is complete".to_owned()),
                ..HookAnswer::PostToolUse(PostToolDecision::Continue).into()
            },
            HookInput::Stop { .. } if state.value.is_none() && !state.enforced => {
                // Only once: after a second answer in words hosts expect a result without the
                // structured answer.
                state.enforced = true;
                HookAnswer::Stop(StopDecision::Continue { reason: ENFORCE.to_owned() }).into()
            }
            HookInput::Stop { .. }
            | HookInput::UserPromptSubmit { .. }
            | HookInput::PostToolBatch { .. }
            | HookInput::PreToolUse { .. } => HookAnswer::Stop(StopDecision::Finish).into(),
        }
    }
}

/// Parses the value of `--json-schema`.
///
/// # Errors
/// When it is not a schema of an object, or refers to something that does not exist; the text is for
/// the user.
pub(crate) fn parse_schema(text: &str) -> Result<Value, String> {
    let mut schema: Value =
        serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    // Now and not at the first answer: with a typing error in the schema no answer would be valid.
    check_schema(&schema).map_err(|error| error.to_string())?;
    inline_root(&mut schema);
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Ok(schema),
        None if schema.get("properties").is_some() => Ok(schema),
        _ => Err("the schema must describe an object (\"type\": \"object\")".to_owned()),
    }
}

/// Replaces a reference at the root by the schema that it leads to. Generators write recursive types
/// in this way, and services accept only an object there.
fn inline_root(schema: &mut Value) {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
    let target = target.and_then(|pointer| schema.pointer(pointer)).cloned();
    if let (Some(Value::Object(target)), Some(fields)) = (target, schema.as_object_mut())
        // Where both say something, only the reference applies both.
        && target.keys().all(|key| key == "$defs" || !fields.contains_key(key))
    {
        fields.shift_remove("$ref");
        for (key, value) in target {
            fields.entry(key).or_insert(value);
        }
    }
}
