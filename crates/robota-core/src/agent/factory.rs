//! Agents from templates.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agent, AgentBuilder};
use crate::error::{Diagnose, ErrorKind};
use crate::provider::Provider;
use crate::tool::{Tool, ToolNameTaken};

/// What agents of one kind have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTemplate {
    /// Its name.
    pub id: String,
    /// What such agents are for.
    #[serde(default)]
    pub description: String,
    /// Their system prompt.
    pub system: String,
    /// Their model; the factory's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools they may use; all of the factory's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Their round limit; the default when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
}

type Customise = dyn Fn(AgentBuilder) -> AgentBuilder + Send + Sync;

/// Creates agents from templates, all with the same provider and from the same tools.
pub struct AgentFactory {
    provider: Arc<dyn Provider>,
    model: String,
    tools: Vec<Arc<dyn Tool>>,
    templates: IndexMap<String, AgentTemplate>,
    customise: Box<Customise>,
}

/// Why no agent was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no such template.
    #[error("there is no agent template `{id}`; there are: {known}")]
    Unknown {
        /// What was asked for.
        id: String,
        /// What there is.
        known: String,
    },
    /// There already is one of that name.
    #[error("there already is an agent template `{0}`")]
    Taken(String),
    /// The template names a tool the factory does not have.
    #[error("agent template `{template}` names a tool that does not exist: `{tool}`")]
    NoSuchTool {
        /// The template.
        template: String,
        /// The tool.
        tool: String,
    },
    /// Two tools have one name.
    #[error(transparent)]
    Tools(#[from] ToolNameTaken),
}

impl Diagnose for TemplateError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }
}

impl AgentFactory {
    /// A factory for agents on that provider, with that model unless a template says otherwise.
    pub fn new(provider: Arc<dyn Provider>, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            tools: Vec::new(),
            templates: IndexMap::new(),
            customise: Box::new(|builder| builder),
        }
    }

    /// The tools that templates choose from.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// What every agent gets beside its template: gate, approver, hooks, clock.
    #[must_use]
    pub fn with_defaults(
        mut self,
        customise: impl Fn(AgentBuilder) -> AgentBuilder + Send + Sync + 'static,
    ) -> Self {
        self.customise = Box::new(customise);
        self
    }

    /// Adds a template.
    ///
    /// # Errors
    /// When its name is taken or it names a tool that does not exist.
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
        self.templates.insert(template.id.clone(), template);
        Ok(())
    }

    /// The templates, in the order they were added.
    pub fn templates(&self) -> impl Iterator<Item = &AgentTemplate> {
        self.templates.values()
    }

    /// A new agent from a template. It shares nothing with others but the provider.
    ///
    /// # Errors
    /// When there is no such template.
    pub fn create(&self, id: &str) -> Result<Agent, TemplateError> {
        let template = self.templates.get(id).ok_or_else(|| TemplateError::Unknown {
            id: id.to_owned(),
            known: match self.templates.is_empty() {
                true => "none".to_owned(),
                false => self.templates.keys().cloned().collect::<Vec<_>>().join(", "),
            },
        })?;
        let model = template.model.clone().unwrap_or_else(|| self.model.clone());
        let tools = self.tools.iter().filter(|tool| match &template.tools {
            Some(names) => names.contains(&tool.spec().name),
            None => true,
        });
        let mut builder = AgentBuilder::new(self.provider.clone(), model)
            .system(template.system.as_str())
            .tools(tools.cloned())?;
        if let Some(rounds) = template.max_rounds {
            builder = builder.max_rounds(rounds);
        }
        Ok((self.customise)(builder).build())
    }
}
