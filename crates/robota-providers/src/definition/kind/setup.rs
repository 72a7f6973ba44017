//! What setting a provider up takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a provider needs a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialRequirement {
    /// It works with a key only.
    #[default]
    Required,
    /// It takes one, and may work without.
    Optional,
    /// It has no keys.
    None,
}

/// Which setting a question of the set-up fills.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetupField {
    /// The model.
    Model,
    /// Where the service is.
    BaseUrl,
    /// The key; never shown while it is typed.
    ApiKey,
    /// One of the provider's own options.
    Option(String),
}

/// One question of the set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupPrompt {
    /// Which setting the answer fills.
    pub field: SetupField,
    /// The question.
    pub question: String,
    /// The answer to an empty line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether there must be an answer.
    #[serde(default)]
    pub required: bool,
}

impl SetupPrompt {
    /// Whether the answer must not be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        match self.field {
            SetupField::ApiKey => true,
            SetupField::Model | SetupField::BaseUrl | SetupField::Option(_) => false,
        }
    }
}

/// What a help link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HelpLinkKind {
    /// The page where keys are made.
    ApiKey,
    /// The provider's console.
    Console,
    /// The provider's official pages.
    Official,
}

impl HelpLinkKind {
    /// The most helpful kind first.
    pub const PREFERENCE: [Self; 3] = [Self::ApiKey, Self::Console, Self::Official];
}

/// An official page that helps with set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelpLink {
    /// What it leads to.
    pub kind: HelpLinkKind,
    /// What to call it.
    pub label: String,
    /// Where it is.
    pub url: String,
}
