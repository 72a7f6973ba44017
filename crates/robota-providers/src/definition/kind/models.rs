//! The models a provider offers, and how fresh that list is.

use std::collections::BTreeSet;

use jiff::civil::Date;
use robota_core::catalogue::{Capability, Lifecycle};
use robota_core::error::ErrorData;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How fresh a list of models is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatalogueStatus {
    /// The provider was asked just now.
    Live,
    /// Made by a tool from the provider's own data.
    Generated,
    /// Written down at some time; may be stale.
    Fallback,
    /// There is no list.
    #[default]
    Unavailable,
}

/// One model a provider offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// The id to send.
    pub id: String,
    /// The name for people; absent when the id is all there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it stands.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// What it can do, as far as the provider says.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Capability>,
    /// How many tokens fit, where the provider says; beats the built-in catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens one answer may have, where the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
}

impl ModelEntry {
    /// A model of which only the id is known.
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

    /// The name for people.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}

/// The models of a provider, with where the list comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelCatalogue {
    /// Where the list comes from, for people: "built in", "the models endpoint".
    pub source: String,
    /// How fresh it is.
    pub status: CatalogueStatus,
    /// When somebody last checked it; absent when nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub verified_at: Option<Date>,
    /// The page it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// The models.
    #[serde(default)]
    pub entries: Vec<ModelEntry>,
}

impl ModelCatalogue {
    /// The models a user should be offered.
    pub fn selectable(&self) -> impl Iterator<Item = &ModelEntry> {
        self.entries.iter().filter(|entry| entry.lifecycle.selectable())
    }

    /// The list as what it is after a failed refresh: a fallback, or nothing.
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

/// What came of asking for the models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    /// The models: fresh ones, or those known without asking.
    pub models: ModelCatalogue,
    /// Why they are not fresh, when asking failed.
    pub error: Option<ErrorData>,
}
