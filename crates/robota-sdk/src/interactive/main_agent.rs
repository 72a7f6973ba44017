//! The agent that the conversation itself runs as ([`AgentOptions::main`](crate::AgentOptions)).

use robota_config::agents::AgentDefinition;
use robota_config::project::is_linked_worktree;
use robota_core::task::Isolation;
use robota_policy::List;
use robota_session::PolicyGate;

use super::InteractiveSessionBuilder;
use crate::agents::{NamedServers, ToolLimits, agent_mode, hook_owner};
use crate::error::SdkError;
use crate::mcp::McpChoice;
use crate::notice::Notice;
use crate::project::Project;
use crate::skills::OwnHooks;

impl InteractiveSessionBuilder {
    /// Takes what the definition says, where the caller has not said otherwise.
    ///
    /// # Errors
    /// If the definition wants a worktree and the folder is none.
    pub(super) fn run_as(&mut self, agent: &AgentDefinition) -> Result<(), SdkError> {
        // The folder, its settings and its store are known before the agent is, so the conversation
        // cannot move to another one.
        if agent.isolation == Isolation::Worktree && !is_linked_worktree(self.project.cwd()) {
            let problem = format!(
                "`{}` works in a git worktree of its own (`isolation: worktree`), but {} is not one: create \
                 it with `git worktree add` and start there, or let a conversation start the agent",
                agent.name,
                self.project.cwd().display()
            );
            return Err(SdkError::Option { option: "agent", problem });
        }
        let of_user = self.project.settings.permissions.mode;
        self.mode.get_or_insert(agent_mode(of_user, agent.permission_mode));
        self.system.replace.get_or_insert_with(|| agent.prompt.clone());
        let limits = ToolLimits::of(agent);
        // Names of the caller replace the list of the definition.
        self.tool_limits = match self.only_tools {
            Some(_) => limits.with_calls(self.tool_limits.take_calls()),
            None => limits,
        };
        if self.max_rounds == 0 {
            self.max_rounds = agent.max_turns.unwrap_or(0);
        }
        if self.model.effort.is_none() {
            self.model.effort.clone_from(&agent.effort);
        }
        Ok(())
    }

    /// Uses only the MCP servers that the definition names, and starts its own. Those that the caller
    /// named for this run stay.
    pub(super) fn use_servers(&mut self, agent: &AgentDefinition) {
        let Some(named) = NamedServers::of(agent) else { return };
        self.mcp.only = Some(named.names.clone());
        match named.started(&McpChoice::from(&self.mcp), &self.project.settings) {
            None => {}
            Some(Ok(servers)) => self.mcp.arguments.push(servers),
            Some(Err(refused)) => {
                (self.on_notice)(Notice::Note(format!("the agent `{}`: {refused}", agent.name)));
            }
        }
    }
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
        hooks.add(project, &hook_owner(agent), own);
    }
    Ok(())
}
