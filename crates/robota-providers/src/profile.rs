//! Vendors as data: where a service is, how it is spoken to, and what is odd about it.
//!
//! A new vendor is one file in `data/vendors`; users add theirs with [`Vendors::with_user`].

mod quirks;
mod vendors;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use quirks::{
    EffortStyle, EmptyContent, GeminiSchema, MaxTokens, Quirks, ReasoningReplay, SystemRole,
    TextCallForm, ThinkMark, ToolIds,
};
pub use vendors::Vendors;

use crate::definition::{
    CredentialRequirement, HelpLink, HelpLinkKind, ModelCatalogue, SetupPrompt,
};

/// Which of the four wires a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions, which most other services speak too.
    #[default]
    ChatCompletions,
    /// OpenAI Responses.
    Responses,
    /// Gemini's streaming `generateContent`.
    GeminiGenerateContent,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 4] = [
        Self::AnthropicMessages,
        Self::ChatCompletions,
        Self::Responses,
        Self::GeminiGenerateContent,
    ];

    /// Its name in settings, in journals and in payload events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::ChatCompletions => "chat-completions",
            Self::Responses => "responses",
            Self::GeminiGenerateContent => "gemini-generate-content",
        }
    }

    /// The wire of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }
}

/// How the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
    /// `api-key: KEY`.
    ApiKey,
    /// `x-goog-api-key: KEY`.
    XGoogApiKey,
    /// `?key=KEY` in the address.
    QueryKey,
}

/// What holds at an address that is not the vendor's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Elsewhere {
    /// The wire there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// What is odd there, in place of what is odd at home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quirks: Option<Quirks>,
}

/// One vendor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name in settings.
    #[serde(rename = "type")]
    pub vendor: String,
    /// Its name for people.
    pub name: String,
    /// Other names it is found by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The wire it speaks.
    #[serde(default)]
    pub wire: Wire,
    /// Where it is; absent when only the user knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Variables that may hold another address, the preferred one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_url_env: Vec<String>,
    /// Variables that may hold the key, the preferred one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_key_env: Vec<String>,
    /// Whether it needs a key.
    #[serde(default)]
    pub credential: CredentialRequirement,
    /// How the key is sent.
    #[serde(default)]
    pub auth: Auth,
    /// The model when none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// What set-up asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<SetupPrompt>,
    /// Where people get a key and read on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub help_links: Vec<HelpLink>,
    /// Whose models of the built-in catalogue it serves; absent when it serves many or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue_vendor: Option<String>,
    /// Models beside those, with where they come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelCatalogue>,
    /// Where it lists its models, below its address; absent when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models_path: Option<String>,
    /// Headers of every request. Nothing secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether it runs on the user's own machine, and is looked for there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local: bool,
    /// What is odd about it.
    #[serde(default)]
    pub quirks: Quirks,
    /// What changes at another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// What every request says, unless settings say otherwise.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
}

impl Profile {
    /// Whether this is its type or one of its aliases, in any case.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        let name = name.trim();
        self.vendor.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// The page that helps best with set-up.
    #[must_use]
    pub fn help_link(&self) -> Option<&HelpLink> {
        HelpLinkKind::PREFERENCE
            .iter()
            .find_map(|kind| self.help_links.iter().find(|link| link.kind == *kind))
    }

    /// The wire and the oddities at an address: those at home, or those elsewhere.
    #[must_use]
    pub fn at(&self, base_url: &str) -> (Wire, Quirks) {
        let home = self.base_url.as_deref().and_then(host);
        let away = home.is_some() && host(base_url) != home;
        match &self.elsewhere {
            Some(elsewhere) if away => (
                elsewhere.wire.unwrap_or(self.wire),
                elsewhere.quirks.clone().unwrap_or_else(|| self.quirks.clone()),
            ),
            _ => (self.wire, self.quirks.clone()),
        }
    }
}

fn host(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.host_str().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests;
