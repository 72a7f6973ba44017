//! Creates agents from templates.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agent, AgentBuilder, Module, ModuleError, ModuleRegistry};
use crate::error::{Diagnose, ErrorKind};
use crate::into_arc::IntoArc;
use crate::provider::Provider;
use crate::tool::{Tool, ToolNameTaken};

/// Describes a kind of agent, which a factory builds on demand: its system prompt, model, tools and
/// round limit.
///
/// ```
/// use robota_core::agent::AgentTemplate;
///
/// let text = r#"{"id": "reviewer", "system": "Review changes.", "tools": ["Read"]}"#;
/// let template: AgentTemplate = serde_json::from_str(text)?;
/// assert_eq!(template.model, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "A kind of agent: its system prompt, model, tools and round limit.")]
pub struct AgentTemplate {
    /// The id that [`AgentFactory::create`] takes.
    pub id: String,
    /// What agents of this kind are for.
    #[serde(default)]
    pub description: String,
    /// The system prompt; the instructions of the template's modules follow it.
    pub system: String,
    /// The model; the factory's model when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The names of the tools; all tools of the factory when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The names of the factory's modules that agents of this kind have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// The round limit; the default when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
}

type Customise = dyn Fn(AgentBuilder) -> AgentBuilder + Send + Sync;

/// Creates agents from templates. All use the factory's provider and choose from its tools.
///
/// ```
/// use robota_core::agent::AgentFactory;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedProvider::new(Script::new().text("It is fine."));
/// let mut agents = AgentFactory::new(model, "any-model");
/// let template = serde_json::json!({"id": "reviewer", "system": "Review changes."});
/// agents.register(serde_json::from_value(template)?)?;
/// assert_eq!(agents.create("reviewer")?.run("Is it fine?").await.text, "It is fine.");
/// # Ok(()) }
/// ```
pub struct AgentFactory {
    provider: Arc<dyn Provider>,
    model: String,
    tools: Vec<Arc<dyn Tool>>,
    modules: ModuleRegistry,
    templates: IndexMap<String, AgentTemplate>,
    customise: Box<Customise>,
}

/// Why a template could not be registered or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// No template was registered with this id.
    #[error("there is no agent template `{id}`; there are: {known}")]
    Unknown {
        /// The id that was asked for.
        id: String,
        /// The ids of the templates there are.
        known: String,
    },
    /// A template with this id is already registered.
    #[error("there already is an agent template `{0}`")]
    Taken(String),
    /// The template names a tool the factory does not have.
    #[error("agent template `{template}` names a tool that does not exist: `{tool}`")]
    NoSuchTool {
        /// The id of the template that was to be registered.
        template: String,
        /// The name that no tool of the factory has.
        tool: String,
    },
    /// The template names a module that the factory does not have.
    #[error("agent template `{template}`: {error}")]
    Modules {
        /// The id of the template that names the module.
        template: String,
        /// What is wrong with its modules.
        error: ModuleError,
    },
    /// Two tools have the same name.
    #[error(transparent)]
    Tools(#[from] ToolNameTaken),
}

impl Diagnose for TemplateError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }
}

impl AgentFactory {
    /// Creates a factory whose agents use this provider, and this model unless their template names
    /// another.
    pub fn new(provider: impl IntoArc<dyn Provider>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into_arc(),
            model: model.into(),
            tools: Vec::new(),
            modules: ModuleRegistry::new(),
            templates: IndexMap::new(),
            customise: Box::new(|builder| builder),
        }
    }

    /// Sets the tools that templates choose from.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// Sets the modules that templates choose from.
    #[must_use]
    pub fn with_modules(mut self, modules: ModuleRegistry) -> Self {
        self.modules = modules;
        self
    }

    /// Sets a function that finishes the builder of every agent: gate, approver, hooks, clock.
    #[must_use]
    pub fn with_defaults(
        mut self,
        customise: impl Fn(AgentBuilder) -> AgentBuilder + Send + Sync + 'static,
    ) -> Self {
        self.customise = Box::new(customise);
        self
    }

    /// Registers a template.
    ///
    /// # Errors
    /// When its id is taken, or it names a tool or module that the factory does not have.
    pub fn register(&mut self, template: AgentTemplate) -> Result<(), TemplateError> {
        if self.templates.contains_key(&template.id) {
            return Err(TemplateError::Taken(template.id));
        }
        let missing = template
            .tools
            .iter()
            .flatten()
            .find(|name| !self.tools.iter().any(|tool| tool.spec().name == **name));
        if let Some(tool) = missing {
            return Err(TemplateError::NoSuchTool {
                template: template.id.clone(),
                tool: tool.clone(),
            });
        }
        self.modules_of(&template)?;
        self.templates.insert(template.id.clone(), template);
        Ok(())
    }

    /// Returns the registered templates, in the order of their registration.
    pub fn templates(&self) -> impl Iterator<Item = &AgentTemplate> {
        self.templates.values()
    }

    /// Creates an agent from a template. It shares only the provider and the tools with other agents.
    ///
    /// # Errors
    /// When there is no such template, or two of its tools have the same name.
    pub fn create(&self, id: &str) -> Result<Agent, TemplateError> {
        let template = self.templates.get(id).ok_or_else(|| TemplateError::Unknown {
            id: id.to_owned(),
            known: match self.templates.is_empty() {
                true => "none".to_owned(),
                false => self.templates.keys().cloned().collect::<Vec<_>>().join(", "),
            },
        })?;
        let modules = self.modules_of(template)?;
        let model = template.model.clone().unwrap_or_else(|| self.model.clone());
        let tools = self.tools.iter().filter(|tool| match &template.tools {
            Some(names) => names.contains(&tool.spec().name),
            None => true,
        });
        let mut builder = AgentBuilder::new(self.provider.clone(), model)
            .system(template.system.as_str())
            .tools(tools.cloned());
        for module in modules {
            builder = builder.module(module.clone());
        }
        if let Some(rounds) = template.max_rounds {
            builder = builder.max_rounds(rounds);
        }
        Ok((self.customise)(builder).build()?)
    }

    fn modules_of(&self, template: &AgentTemplate) -> Result<Vec<&Module>, TemplateError> {
        self.modules
            .resolve(template.modules.iter().map(String::as_str))
            .map_err(|error| TemplateError::Modules { template: template.id.clone(), error })
    }
}
