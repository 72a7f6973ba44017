//! The questions, links and credential requirement for the set-up of a provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a provider needs a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialRequirement {
    /// The provider works only with a key.
    #[default]
    Required,
    /// The provider accepts a key and may work without one.
    Optional,
    /// The provider takes no key, such as a model server on this machine.
    None,
}

/// The setting that the answer to a set-up question fills.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SetupField {
    /// The id of the model to use by default.
    Model,
    /// The base URL of the service.
    BaseUrl,
    /// The key; hidden while the user types it.
    ApiKey,
    /// The provider option of this name.
    Option(String),
}

/// Asks one question of the set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupPrompt {
    /// The setting that the answer fills.
    pub field: SetupField,
    /// The text of the question, without the default.
    pub question: String,
    /// The value to use when the user enters an empty line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether the question must be answered.
    #[serde(default)]
    pub required: bool,
}

impl SetupPrompt {
    /// Returns whether the answer must be hidden.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        match self.field {
            SetupField::ApiKey => true,
            SetupField::Model | SetupField::BaseUrl | SetupField::Option(_) => false,
        }
    }
}

/// The kind of page that a help link opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HelpLinkKind {
    /// The page where users create keys.
    ApiKey,
    /// The provider's console, where users manage their account.
    Console,
    /// The provider's official pages, if there is nothing better.
    Official,
}

impl HelpLinkKind {
    /// Lists all kinds, the most useful for set-up first.
    pub const PREFERENCE: [Self; 3] = [Self::ApiKey, Self::Console, Self::Official];
}

/// An official page that helps with set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelpLink {
    /// What the page is for, which decides its rank.
    pub kind: HelpLinkKind,
    /// The text of the link, for example "Create an API key".
    pub label: String,
    /// The address that the link opens.
    pub url: String,
}
