//! Agent: gives a task to another agent.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{EarlyOutcome, parse, schema_of};

/// A kind of agent that can be given tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKind {
    /// The name, which the model passes as `subagent_type`.
    pub name: String,
    /// When to use it; part of the tool description.
    pub when: String,
}

/// A task for another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRequest {
    /// A summary in a few words.
    pub description: String,
    /// The full instructions. The agent does not see the conversation.
    pub prompt: String,
    /// The name of the kind of agent.
    pub agent: String,
}

/// Runs other agents.
#[async_trait::async_trait]
pub trait TaskRunner: Send + Sync {
    /// Returns the available kinds. Must return the same kinds every time.
    fn kinds(&self) -> Vec<AgentKind>;

    /// Runs an agent to its end.
    async fn run(&self, request: TaskRequest, context: ToolContext) -> ToolOutcome;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A summary in a few words.
    description: String,
    /// What to do, in full.
    prompt: String,
    /// The name of the agent.
    subagent_type: String,
}

/// The Agent tool.
pub struct Task {
    spec: ToolSpec,
    runner: Arc<dyn TaskRunner>,
}

impl Task {
    /// Creates the tool for the agents of a runner.
    #[must_use]
    pub fn new(runner: Arc<dyn TaskRunner>) -> Self {
        let kinds: String =
            runner.kinds().iter().map(|kind| format!("\n- {}: {}", kind.name, kind.when)).collect();
        let description =
            format!("Gives a task to another agent and returns its answer. Agents:{kinds}");
        let spec = ToolSpec {
            name: "Agent".to_owned(),
            description,
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        Self { spec, runner }
    }

    async fn run_task(
        &self,
        input: Value,
        context: ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
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
        self.run_task(input, context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
