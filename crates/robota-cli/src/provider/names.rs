//! Short names of models.

use robota_config::agents::AgentModel;
use robota_core::catalogue::Catalogue;

use crate::setup::Setup;

/// A model of the company whose families have short names.
const OF_FAMILY: &str = "claude-sonnet-4-5";

/// Returns the id of the model that a name stands for: the newest model of a family for `sonnet`,
/// `opus` and `haiku`, none for `default`, and every other name as it is.
pub(super) fn full_name(name: &str) -> Option<String> {
    // The size of the context window, which some programs add, is not a part of the id.
    let family = name.strip_suffix("[1m]").unwrap_or(name);
    match AgentModel::parse(family) {
        _ if name == "default" => None,
        family @ AgentModel::Family(_) => {
            Some(family.resolve(OF_FAMILY, Catalogue::builtin()).to_owned())
        }
        AgentModel::Inherit | AgentModel::Id(_) => Some(name.to_owned()),
    }
}

/// Returns the model of the settings.
pub(super) fn model_of_settings(setup: &Setup) -> Option<String> {
    setup.settings.values.model.as_deref().and_then(full_name)
}

#[cfg(test)]
mod tests;
