//! The model of an agent.

use robota_core::catalogue::{Catalogue, Lifecycle};
use serde::{Deserialize, Serialize};

/// The model that an agent uses.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentModel {
    /// The model of the parent.
    #[default]
    Inherit,
    /// The newest model of a family: `sonnet`, `haiku`, `opus` or `fable`.
    Family(String),
    /// A model id, which is sent as it is written.
    Id(String),
}

impl AgentModel {
    /// Returns the meaning of the field `model`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "inherit" => Self::Inherit,
            family @ ("sonnet" | "haiku" | "opus" | "fable") => Self::Family(family.to_owned()),
            _ => Self::Id(text.to_owned()),
        }
    }

    /// Returns the id of the model for an agent whose parent uses `parent`. A family is looked up
    /// among the models of the vendor of the parent; a vendor without it gives the parent's model.
    #[must_use]
    pub fn resolve<'a>(&'a self, parent: &'a str, catalogue: &'a Catalogue) -> &'a str {
        match self {
            Self::Inherit => parent,
            Self::Id(id) => id,
            Self::Family(family) => {
                let vendor = catalogue.get(parent).map(|model| model.vendor.as_str());
                // As a word: `opus` must not match in a longer name.
                let of_family = |id: &str| id.split('-').any(|word| word == family);
                let models = catalogue.models().filter(|model| {
                    Some(model.vendor.as_str()) == vendor
                        // Deprecated models are not chosen by a family, only by their id.
                        && model.lifecycle == Lifecycle::Active
                        && of_family(&model.id)
                });
                // As numbers: in the order of texts, version 10 would come before 9.
                let newest = models.max_by_key(|model| version(&model.id));
                newest.map_or(parent, |model| &model.id)
            }
        }
    }
}

/// Returns the numbers of an id, so that versions can be compared.
fn version(id: &str) -> Vec<u32> {
    id.split('-').filter_map(|word| word.parse().ok()).collect()
}
