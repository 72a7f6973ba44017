//! Templates of a pool from agent files.

use std::sync::Arc;

use robota_config::agents::AgentDefinition;
use robota_core::catalogue::Catalogue;
use robota_core::tool::{Tool, ToolFactory, ToolScope};
use robota_runtime::Template;
use robota_session::SessionBuilder;

use crate::agents::{filter_tools, remove_partly_denied};

/// Makes a template for a pool from an agent file (Markdown with frontmatter).
///
/// The file gives the prompt, the description, the model, the permission mode, the most rounds of a
/// turn, and which of `tools` the agent has; `Agent(dev, qa)` or `Task(dev, qa)` among its tools
/// names the templates that it may delegate to. `disallowedTools: Bash(git push *)` removes the whole
/// tool Bash: a template has no gate of its own that could deny the call. Everything else (the provider, the gate, hooks of
/// code) is that of `base`; `parent` is the model for `model: inherit`.
#[must_use]
pub fn template_of(
    definition: &AgentDefinition,
    base: SessionBuilder,
    parent: &str,
    tools: Arc<dyn ToolFactory>,
) -> Template {
    let model = definition.model.resolve(parent, Catalogue::builtin()).to_owned();
    let chosen = ChosenTools { all: tools, definition: definition.clone() };
    let mut builder = base
        .system(definition.prompt.clone())
        .tool_factory(Arc::new(chosen) as Arc<dyn ToolFactory>)
        .configure(|config| config.turn.set_model(model));
    if let Some(mode) = definition.permission_mode {
        builder = builder.mode(mode);
    }
    if let Some(rounds) = definition.max_turns {
        builder = builder.max_rounds(rounds);
    }
    Template::new(definition.name.clone(), builder)
        .description(definition.description.clone())
        .sub_agents(sub_agents(definition))
}

/// Returns the templates that `Agent(a, b)` names.
fn sub_agents(definition: &AgentDefinition) -> Vec<String> {
    let listed = definition.tools.iter().flatten();
    let named = listed.filter_map(|entry| {
        let inside = entry.trim().strip_suffix(')')?;
        inside.strip_prefix("Agent(").or_else(|| inside.strip_prefix("Task("))
    });
    let names = named.flat_map(|list| list.split(','));
    names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The tools that an agent file selects, as for an agent of a session.
struct ChosenTools {
    all: Arc<dyn ToolFactory>,
    definition: AgentDefinition,
}

impl ToolFactory for ChosenTools {
    fn make(&self, session: &ToolScope) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.all.make(session);
        filter_tools(&mut tools, &self.definition, None);
        // The gate is that of the caller, so a denied call is denied with its tool.
        remove_partly_denied(&mut tools, &self.definition);
        tools
    }
}

#[cfg(test)]
mod tests;
