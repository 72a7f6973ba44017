//! The agent that the conversation runs as: `--agent`, or the setting `agent`.

use robota_config::agents::AgentDefinition;
use robota_core::catalogue::Catalogue;

use crate::Usage;
use crate::setup::Setup;

/// Finds the agent, among the definitions of the arguments and those of files.
///
/// # Errors
/// If there is no such agent.
pub(crate) fn find(
    flag: Option<&str>,
    setup: &Setup,
    given: Vec<AgentDefinition>,
) -> Result<Option<AgentDefinition>, Usage> {
    let Some(name) = flag.or(setup.settings.values.agent.as_deref()) else { return Ok(None) };
    let agents = setup.listing(given).agents;
    let known: Vec<_> = agents.iter().map(|agent| agent.name.clone()).collect();
    let found = agents.into_iter().find(|agent| agent.name == name);
    let missing = || Usage(format!("there is no agent `{name}`; found: {}", known.join(", ")));
    found.map(Some).ok_or_else(missing)
}

/// Returns the model of the agent; none if it is the one that is used anyway.
pub(crate) fn model(agent: &AgentDefinition, current: &str) -> Option<String> {
    let model = agent.model.resolve(current, Catalogue::builtin());
    // None, so that callers do not build the same provider twice.
    (model != current).then(|| model.to_owned())
}
