//! The models of a provider, and the origin of that list.

use std::collections::BTreeSet;

use jiff::civil::Date;
use robota_core::catalogue::{Capability, Lifecycle};
use robota_core::error::ErrorData;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How current a list of models is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatalogueStatus {
    /// The service returned the list just now.
    Live,
    /// A tool generated the list from the provider's own data.
    Generated,
    /// The list was written by a person or is built in, and may be outdated.
    Fallback,
    /// The provider has no list of models.
    #[default]
    Unavailable,
}

/// One model of a provider, with what the source of the list says about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// The model id to send in requests.
    pub id: String,
    /// The name to show to people; absent if only the id is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the model is a preview, active, legacy, deprecated or retired.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// What the model supports, as far as the provider says.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Capability>,
    /// The context window in tokens, if the provider says; overrides the built-in catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The most output tokens of one answer, if the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
}

impl ModelEntry {
    /// Creates an entry of which only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            lifecycle: Lifecycle::default(),
            capabilities: BTreeSet::new(),
            context_window: None,
            max_output: None,
        }
    }

    /// Returns the name to show to people: the name, otherwise the id.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}

/// Lists the models of a provider, and says where the list is from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelCatalogue {
    /// The origin of the list, for people: "built in", "the models endpoint".
    pub source: String,
    /// Whether the service reported the list, or it is built in.
    pub status: CatalogueStatus,
    /// The date of the last manual check; absent if the list was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub verified_at: Option<Date>,
    /// The page the list was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// The models, in the order of the source.
    #[serde(default)]
    pub entries: Vec<ModelEntry>,
}

impl ModelCatalogue {
    /// Returns the models to offer to a user.
    pub fn selectable(&self) -> impl Iterator<Item = &ModelEntry> {
        self.entries.iter().filter(|entry| entry.lifecycle.selectable())
    }

    /// Marks the list as a fallback after a failed refresh, or as unavailable if it is empty.
    #[must_use]
    pub(super) fn into_fallback(mut self) -> Self {
        self.status = if self.entries.is_empty() {
            CatalogueStatus::Unavailable
        } else {
            CatalogueStatus::Fallback
        };
        self
    }
}

/// Reports what [`refresh_models`](super::ProviderDefinition::refresh_models) found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    /// The models from the service, or those that are known without a request.
    pub models: ModelCatalogue,
    /// Why the service's list is missing, if the request failed.
    pub error: Option<ErrorData>,
}
