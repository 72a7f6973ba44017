//! Agent: gives tasks to other agents.

use std::sync::Arc;
use std::time::Duration;

use robota_core::ids::CallId;
use robota_core::permission::Class;
use robota_core::task::Isolation;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{EarlyOutcome, parse, schema_of};

/// Agents work for hours; watchdogs and the user end them, not a timeout of the call.
const TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The agent of a task that names none, if there is one of this name.
const DEFAULT_AGENT: &str = "general-purpose";

/// The most tasks of one call.
const MAX_JOBS: usize = 32;

/// A kind of agent that can be given tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKind {
    /// The name, which the model passes as `subagent_type`.
    pub name: String,
    /// When to use it; part of the tool description.
    pub when: String,
}

/// Asks another agent to do a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    /// What it is about, in a few words, for the user.
    pub description: String,
    /// The full instructions. The agent does not see the conversation.
    pub prompt: String,
    /// The name of the agent's type.
    pub agent: String,
    /// The model; none for that of the agent.
    pub model: Option<String>,
    /// Where the agent works; none for what the agent says.
    pub isolation: Option<Isolation>,
    /// Whether the call returns at once, and the result is reported when the agent ends.
    pub background: bool,
}

/// Runs the agents to which the Agent tool gives tasks.
#[async_trait::async_trait]
pub trait AgentRunner: Send + Sync {
    /// Returns the available kinds. Must return the same kinds every time.
    fn kinds(&self) -> Vec<AgentKind>;

    /// Returns the kinds that the description of the tool lists, and the number of the others. Must
    /// return the same every time. The default lists all kinds.
    fn listed(&self) -> (Vec<AgentKind>, usize) {
        (self.kinds(), 0)
    }

    /// Runs an agent to its end.
    async fn run(&self, request: AgentTask, context: ToolContext) -> ToolOutcome;

    /// Runs agents to their ends. The default runs one after the other.
    async fn run_all(&self, requests: Vec<AgentTask>, context: ToolContext) -> ToolOutcome {
        let mut results = Vec::new();
        for request in requests {
            let label = request.description.clone();
            let outcome = self.run(request, context.clone()).await;
            results.push(json!({"label": label, "success": outcome.ok, "output": outcome.text()}));
        }
        ToolOutcome::ok(json!({"results": results}).to_string())
    }
}

// Arguments that are not known are ignored. The schema is part of every request, so it is short.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    #[serde(flatten)]
    job: Job,
    /// Tasks that run at the same time, instead of `prompt`.
    #[serde(default)]
    jobs: Option<Vec<Job>>,
    /// Return at once; the result is reported when the agent ends.
    #[serde(default)]
    run_in_background: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Job {
    /// In a few words.
    #[serde(default, alias = "label")]
    description: Option<String>,
    /// What to do, in full.
    #[serde(default)]
    prompt: Option<String>,
    /// The name of the agent.
    #[serde(default)]
    subagent_type: Option<String>,
    #[serde(default)]
    model: Option<String>,
    /// `worktree`: in a git worktree of its own.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    isolation: Option<Isolation>,
}

/// The tool Agent: gives tasks to other agents and returns their answers.
pub struct AgentTool {
    spec: Arc<ToolSpec>,
    runner: Arc<dyn AgentRunner>,
}

impl AgentTool {
    /// Creates the tool for the agents of a runner.
    #[must_use]
    pub fn new(runner: Arc<dyn AgentRunner>) -> Self {
        let (listed, more) = runner.listed();
        let mut kinds: String =
            listed.iter().map(|kind| format!("\n- {}: {}", kind.name, kind.when)).collect();
        if more > 0 {
            kinds.push_str(&format!("\n- {more} more agents"));
        }
        let description = format!(
            "Gives a task to another agent, which does not see this conversation, and returns its \
             answer. `jobs` run at the same time. Agents:{kinds}"
        );
        let spec = ToolSpec {
            name: "Agent".to_owned(),
            description,
            input_schema: schema_of::<Input>(),
            // Starting an agent changes nothing: the gate judges each of its calls. So agents of
            // one answer run at the same time.
            class: Class::Inspect,
        };
        Self { spec: shared_spec(spec), runner }
    }

    async fn run_task(
        &self,
        input: Value,
        context: ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let Input { job, jobs, run_in_background } = parse(input)?;
        let kinds = self.runner.kinds();
        let Some(jobs) = jobs.filter(|jobs| !jobs.is_empty()) else {
            let request = request(job, &kinds, run_in_background, "prompt")?;
            return Ok(self.runner.run(request, context).await);
        };
        if jobs.len() > MAX_JOBS {
            let text = format!("`jobs` has {} tasks, at most {MAX_JOBS}", jobs.len());
            return Err(InvalidInput(text).into());
        }
        // All are checked before the first one starts.
        let requests: Result<Vec<_>, _> = jobs
            .into_iter()
            .map(|job| request(job, &kinds, run_in_background, "jobs[].prompt"))
            .collect();
        Ok(self.runner.run_all(requests?, context).await)
    }
}

fn request(
    job: Job,
    kinds: &[AgentKind],
    background: bool,
    field: &str,
) -> Result<AgentTask, InvalidInput> {
    let Job { description, prompt, subagent_type, model, isolation } = job;
    let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else {
        return Err(InvalidInput(format!("`{field}` is missing")));
    };
    let names = || kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(", ");
    let agent = subagent_type.filter(|name| !name.is_empty());
    let agent = agent.unwrap_or_else(|| DEFAULT_AGENT.to_owned());
    let Some(kind) = kinds.iter().find(|kind| kind.name == agent) else {
        return Err(InvalidInput(format!("there is no agent `{agent}` (known: {})", names())));
    };
    let short = || prompt.lines().next().unwrap_or_default().chars().take(60).collect();
    let model = model.filter(|model| !model.is_empty());
    let description = description.filter(|text| !text.is_empty()).unwrap_or_else(short);
    Ok(AgentTask { description, prompt, agent: kind.name.clone(), model, isolation, background })
}

#[async_trait::async_trait]
impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Returns `Task`, the name that models know from other programs.
    fn aliases(&self) -> &'static [&'static str] {
        &["Task"]
    }

    /// Adds the name of the agent that a task without one gets, so that rules apply to it.
    fn gate_input(&self, _: &CallId, input: &Value) -> Option<Value> {
        let mut judged = input.as_object()?.clone();
        let named = judged.get("subagent_type").and_then(Value::as_str);
        if named.is_some_and(|name| !name.is_empty()) {
            return None;
        }
        // Rules about the default agent must match a call that does not name it.
        judged.insert("subagent_type".to_owned(), Value::from(DEFAULT_AGENT));
        Some(Value::Object(judged))
    }

    fn timeout(&self) -> Option<Duration> {
        Some(TIMEOUT)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.run_task(input, context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
