//! The system prompt of an agent: its definition, the instructions of the project, and what its answer
//! is for.

use std::path::Path;

use robota_config::agents::AgentDefinition;
use robota_mcp::client::ServerInstructions;

use crate::mcp::compose_instructions;
use crate::prompt::Composer;

/// Ends the prompt of an agent.
const SUBAGENT: &str = "You work alone on one task: no user answers questions. The agent that gave you the \
    task sees nothing but your last message, so put everything it needs into it.";

/// Ends the prompt of a worker.
const WORKER: &str = "You are a worker for one part of a larger job: no user answers questions, and only your \
    last message is used. Answer in at most 500 words.";

/// Composes the system prompt. The pair `worker` and `preloaded` comes from the job; `servers` are
/// the MCP servers whose tools the agent has.
pub(super) fn compose(
    definition: &AgentDefinition,
    (instructions, servers): (&str, &[ServerInstructions]),
    cwd: &Path,
    (worker, preloaded): (bool, &[(String, String)]),
) -> String {
    let mut composer = Composer::default();
    composer.add("agent", &definition.prompt);
    for (name, text) in preloaded {
        composer.add(name.as_str(), text);
    }
    if definition.instructions {
        composer.add("instructions", instructions);
    }
    compose_instructions(&mut composer, servers);
    composer.add("facts", &format!("Working directory: {}", cwd.display()));
    composer.add("task", if worker { WORKER } else { SUBAGENT });
    composer.finish().0
}
