//! Task: hands a piece of work to another agent.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of};

/// A kind of agent that work can be handed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKind {
    /// Its name.
    pub name: String,
    /// What it is good for.
    pub when: String,
}

/// A piece of work for another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRequest {
    /// In a few words.
    pub description: String,
    /// What it is to do, in full: it knows nothing else.
    pub prompt: String,
    /// Which kind of agent.
    pub agent: String,
}

/// Somebody who runs other agents.
#[async_trait::async_trait]
pub trait TaskRunner: Send + Sync {
    /// The kinds there are; the same every time.
    fn kinds(&self) -> Vec<AgentKind>;

    /// Runs one to its end.
    async fn run(&self, request: TaskRequest, context: ToolContext) -> ToolOutcome;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// In a few words.
    description: String,
    /// What to do, in full.
    prompt: String,
    /// Which agent.
    subagent_type: String,
}

/// Hands work over.
pub struct Task {
    spec: ToolSpec,
    runner: Arc<dyn TaskRunner>,
}

impl Task {
    /// A tool for the agents of that runner.
    #[must_use]
    pub fn new(runner: Arc<dyn TaskRunner>) -> Self {
        let kinds: String =
            runner.kinds().iter().map(|kind| format!("\n- {}: {}", kind.name, kind.when)).collect();
        let description =
            format!("Hands a task to another agent and returns its answer. Agents:{kinds}");
        let spec = ToolSpec {
            name: "Agent".to_owned(),
            description,
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        Self { spec, runner }
    }

    async fn hand_over(&self, input: Value, context: ToolContext) -> Result<ToolOutcome, Early> {
        let Input { description, prompt, subagent_type: agent } = parse(input)?;
        let kinds = self.runner.kinds();
        if !kinds.iter().any(|kind| kind.name == agent) {
            let names: Vec<_> = kinds.iter().map(|kind| kind.name.as_str()).collect();
            let text = format!("there is no agent `{agent}` (known: {})", names.join(", "));
            return Err(InvalidInput(text).into());
        }
        Ok(self.runner.run(TaskRequest { description, prompt, agent }, context).await)
    }
}

#[async_trait::async_trait]
impl Tool for Task {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.hand_over(input, context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}
