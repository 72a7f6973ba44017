//! The agent that the conversation itself runs as ([`AgentOptions::main`](crate::AgentOptions)).

use robota_config::agents::AgentDefinition;
use robota_policy::List;
use robota_session::PolicyGate;

use super::InteractiveSessionBuilder;
use crate::agents::{ToolLimits, agent_mode, hook_owner};
use crate::error::SdkError;
use crate::project::Project;
use crate::skills::OwnHooks;

impl InteractiveSessionBuilder {
    /// Takes what the definition says, where the caller has not said otherwise.
    ///
    /// # Errors
    /// If the definition has fields that only a started agent has.
    pub(super) fn run_as(&mut self, agent: &AgentDefinition) -> Result<(), SdkError> {
        let fields = only_when_started(agent);
        if !fields.is_empty() {
            let problem = format!(
                "`{}` cannot be the conversation: only an agent that a conversation starts has {}",
                agent.name,
                fields.join(", ")
            );
            return Err(SdkError::Option { option: "agent", problem });
        }
        let of_user = self.project.settings.permissions.mode;
        self.mode.get_or_insert(agent_mode(of_user, agent.permission_mode));
        self.system.replace.get_or_insert_with(|| agent.prompt.clone());
        self.tool_limits = ToolLimits::of(agent);
        if self.max_rounds == 0 {
            self.max_rounds = agent.max_turns.unwrap_or(0);
        }
        if self.model.effort.is_none() {
            self.model.effort.clone_from(&agent.effort);
        }
        Ok(())
    }
}

/// Returns the fields of a definition that a conversation cannot have.
fn only_when_started(agent: &AgentDefinition) -> Vec<&'static str> {
    let fields = [
        (!agent.skills.is_empty(), "`skills`"),
        (agent.mcp_servers.is_some(), "`mcpServers`"),
        (agent.memory.is_some(), "`memory`"),
    ];
    fields.into_iter().filter_map(|(given, name)| given.then_some(name)).collect()
}

/// Adds the hooks of the agent, and denies its tools and calls: tools that are not offered, too, because a
/// program of the conversation can name them, such as a hook or a skill.
pub(super) fn join(
    agent: &AgentDefinition,
    project: &Project,
    hooks: &OwnHooks,
    gate: &PolicyGate,
) -> Result<(), SdkError> {
    for rule in &agent.disallowed_tools {
        gate.add_session_rule(List::Deny, rule)
            .map_err(|error| SdkError::Rule { rule: rule.clone(), problem: error.to_string() })?;
    }
    hooks.runner.update_context(|context| context.agent_type = Some(agent.name.clone()));
    if let Some(own) = &agent.hooks {
        hooks.add(project, &hook_owner(&agent.name), own);
    }
    Ok(())
}
