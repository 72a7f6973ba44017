//! `/agents`: lists the agent definitions.

use async_trait::async_trait;
use serde_json::json;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct AgentsCommand;

#[async_trait]
impl SystemCommand for AgentsCommand {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("agents", "Lists the agent definitions and what is wrong with them")
            .reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let Some(runs) = session.agent_runs() else {
            return CommandResult::ok("This session has no settings.");
        };
        let agents = runs.definitions();
        let mut lines: Vec<_> = agents
            .iter()
            .map(|agent| format!("{}  {}  {}", agent.name, agent.description, agent.origin))
            .collect();
        // A definition that is missing from the list usually has a problem.
        lines.extend(agents.report.problems.iter().map(ToString::to_string));
        let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
        CommandResult::ok(lines.join("\n")).with("agents", json!(names))
    }
}
