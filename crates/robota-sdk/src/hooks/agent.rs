//! Runs agent hooks: a question to an agent that may look at the project first.

use std::sync::Arc;
use std::time::Duration;

use robota_config::AvailableModels;
use robota_core::agent::Agent;
use robota_core::gate::{Gate, ReadOnlyGate};
use robota_core::hook::{HookDefinition, HookExecutor, HookExit, PromptHook};
use robota_core::permission::Class;
use robota_core::provider::Provider;
use robota_core::redact::Redactor;
use robota_core::tool::Tool;

use super::answer::{self, INSTRUCTIONS};
use super::{OnHookUsage, within};

/// An agent hook ends after this many rounds: as many as in Claude Code, so that its hooks have the
/// same room.
pub const MAX_AGENT_ROUNDS: u32 = 50;

/// The tools of agent hooks. Other tools that change no file ask the user or end commands.
const TOOLS: [&str; 3] = ["Read", "Glob", "Grep"];

/// Describes what an agent hook has to do.
///
/// ```
/// use robota_sdk::hooks::{HookTask, MAX_AGENT_ROUNDS};
///
/// let task = HookTask {
///     system: "Answer with JSON.".to_owned(),
///     prompt: "Are the tests green?".to_owned(),
///     model: None,
///     max_rounds: MAX_AGENT_ROUNDS,
/// };
/// assert_eq!(task.model, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookTask {
    /// The system prompt: the form of the answer.
    pub system: String,
    /// The question of the hook, together with the event as JSON.
    pub prompt: String,
    /// The model that the hook names; `None` for the default.
    pub model: Option<String>,
    /// The most model calls of the agent; [`MAX_AGENT_ROUNDS`] for those of the settings.
    pub max_rounds: u32,
}

/// Runs the agents of agent hooks. Dropping the future ends the agent.
///
/// ```
/// use robota_sdk::hooks::{HookAgent, HookTask};
///
/// struct Agrees;
///
/// #[async_trait::async_trait]
/// impl HookAgent for Agrees {
///     async fn run(&self, _: HookTask) -> Result<String, String> {
///         Ok(r#"{"ok": true}"#.to_owned())
///     }
/// }
/// # let _ = Agrees;
/// ```
#[async_trait::async_trait]
pub trait HookAgent: Send + Sync {
    /// Runs an agent with read-only tools and returns the text of its last answer.
    ///
    /// # Errors
    /// When the agent fails; the text is for users.
    async fn run(&self, task: HookTask) -> Result<String, String>;
}

/// Runs each task with a new agent in memory. It gets only Read, Glob and Grep, no hooks and no
/// approver, so that nothing it does can ask the user or run a hook.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_sdk::hooks::{AgentHooks, ReadOnlyHookAgent};
///
/// let model = Arc::new(ScriptedProvider::new(Script::new().text("{}")));
/// let hooks = AgentHooks::new(Arc::new(ReadOnlyHookAgent::new(model, "any-model", [])));
/// # drop(hooks);
/// ```
pub struct ReadOnlyHookAgent {
    provider: Arc<dyn Provider>,
    model: String,
    tools: Vec<Arc<dyn Tool>>,
    gate: Arc<dyn Gate>,
    redactor: Redactor,
    on_usage: Option<OnHookUsage>,
    models: AvailableModels,
}

impl ReadOnlyHookAgent {
    /// Creates it with this provider and default model. Of the tools, Read, Glob and Grep are used.
    pub fn new(
        provider: Arc<dyn Provider>,
        model: impl Into<String>,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Self {
        let reads = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            // The class is checked besides the name: a tool of another source could have the name
            // Read.
            spec.class == Class::Inspect && TOOLS.contains(&spec.name.as_str())
        };
        let tools = tools.into_iter().filter(reads).collect();
        let gate = Arc::new(ReadOnlyGate);
        let redactor = Redactor::default();
        let models = AvailableModels::default();
        Self { provider, model: model.into(), tools, gate, redactor, on_usage: None, models }
    }

    /// Sets the models that hooks may name. A hook with another one fails.
    #[must_use]
    pub fn available_models(mut self, models: AvailableModels) -> Self {
        self.models = models;
        self
    }

    /// Sets the gate that judges the calls, for instance one with the user's permission rules.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// Sets what removes secrets from the results of its tools. Without it they contain what the files
    /// contain.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Sets the function that receives the tokens of each agent.
    #[must_use]
    pub fn on_usage(mut self, on_usage: OnHookUsage) -> Self {
        self.on_usage = Some(on_usage);
        self
    }
}

#[async_trait::async_trait]
impl HookAgent for ReadOnlyHookAgent {
    async fn run(&self, task: HookTask) -> Result<String, String> {
        if let Some(model) = &task.model {
            self.models.check(None, model).map_err(|error| error.to_string())?;
        }
        let model = task.model.unwrap_or_else(|| self.model.clone());
        let agent = Agent::builder(self.provider.clone(), model.clone())
            .system(task.system)
            .tools(self.tools.iter().cloned())
            .gate(self.gate.clone())
            .max_rounds(task.max_rounds)
            .configure(|config| config.redactor = self.redactor.clone())
            .build();
        let report = agent.map_err(|error| error.to_string())?.run(task.prompt).await;
        // Also when the agent failed: its calls cost the same.
        if let Some(on_usage) = &self.on_usage {
            on_usage(&model, report.usage);
        }
        match report.error {
            Some(error) => Err(format!("the agent failed: {}", error.message)),
            None if report.interrupted() => Err("the agent was interrupted".to_owned()),
            None => Ok(report.text),
        }
    }
}

/// Runs agent hooks. The agent answers like the model of a prompt hook.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_sdk::hooks::{AgentHooks, ReadOnlyHookAgent};
///
/// let model = Arc::new(ScriptedProvider::new(Script::new().text("{}")));
/// let hooks = AgentHooks::new(Arc::new(ReadOnlyHookAgent::new(model, "any-model", [])));
/// # drop(hooks);
/// ```
pub struct AgentHooks {
    agent: Arc<dyn HookAgent>,
}

impl AgentHooks {
    /// Creates an executor that gives its tasks to this agent.
    pub fn new(agent: Arc<dyn HookAgent>) -> Self {
        Self { agent }
    }

    async fn run(&self, hook: &PromptHook, payload: &str) -> Result<HookExit, String> {
        let task = HookTask {
            system: format!("{INSTRUCTIONS} You may use the tools to find out."),
            prompt: answer::prompt(hook, payload)?,
            model: hook.model.clone(),
            max_rounds: MAX_AGENT_ROUNDS,
        };
        Ok(answer::exit_of(&self.agent.run(task).await?, payload))
    }
}

#[async_trait::async_trait]
impl HookExecutor for AgentHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        let HookDefinition::Agent(hook) = definition else {
            return HookExit::failed("the hook is not a task for an agent");
        };
        within(timeout, self.run(hook, payload)).await
    }
}
