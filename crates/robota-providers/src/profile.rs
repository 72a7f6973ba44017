//! Vendors as data: the address of a service, its wire, and its compatibility options.
//!
//! A new built-in vendor is one file in `data/vendors`; users add vendors with
//! [`Vendors::with_user`].

mod quirks;
mod vendors;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use quirks::{
    EffortStyle, EmptyContent, GeminiSchema, GeminiThinking, MaxTokens, OutputStyle, Quirks,
    ReasoningReplay, RequiredChoice, SystemRole, TextCallForm, ThinkMark, ToolIds,
};
pub use vendors::Vendors;

use crate::definition::{
    CredentialRequirement, HelpLink, HelpLinkKind, ModelCatalogue, SetupPrompt,
};

/// Names the HTTP API that a service has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// The Messages API of Anthropic (`/v1/messages`).
    AnthropicMessages,
    /// OpenAI Chat Completions, which most other services also offer.
    #[default]
    ChatCompletions,
    /// OpenAI Responses (`/v1/responses`), without storage at the service.
    Responses,
    /// The streaming `generateContent` of the Gemini API.
    GeminiGenerateContent,
}

impl Wire {
    /// Lists every wire, for parsing and for tests.
    pub const ALL: [Self; 4] = [
        Self::AnthropicMessages,
        Self::ChatCompletions,
        Self::Responses,
        Self::GeminiGenerateContent,
    ];

    /// Returns the name used in settings, journals and payload events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::ChatCompletions => "chat-completions",
            Self::Responses => "responses",
            Self::GeminiGenerateContent => "gemini-generate-content",
        }
    }

    /// Returns the wire with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }
}

/// Names the header in which requests carry the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Auth {
    /// `authorization: Bearer KEY`, as OpenAI and most others.
    #[default]
    Bearer,
    /// `x-api-key: KEY`, as Anthropic.
    XApiKey,
    /// `api-key: KEY`, as Azure requires it.
    ApiKey,
    /// `x-goog-api-key: KEY`, as Google.
    XGoogApiKey,
    /// `?key=KEY` in the URL.
    QueryKey,
}

/// Credentials that are more than a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CredentialKind {
    /// Access keys of AWS, which sign requests.
    Aws,
    /// A service account of Google, or the login of a user, exchanged for a token.
    ServiceAccount,
    /// An application of Microsoft Entra, whose secret is exchanged for a token.
    Entra,
}

/// Overrides for an address whose host is not the vendor's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OffHostOverrides {
    /// The wire to use instead of the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// The compatibility options to use instead of the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quirks: Option<Quirks>,
}

/// Describes how the services of one vendor are reached and what they can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name that settings and arguments use for the vendor.
    #[serde(rename = "type")]
    pub vendor: String,
    /// The name to show to people.
    pub name: String,
    /// Its place in lists: vendors are shown in the order of their ranks.
    #[serde(default = "last_rank", skip_serializing_if = "is_last_rank")]
    pub rank: u32,
    /// Other names that [`Vendors::find`] accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The wire of the service; Chat Completions if the file names none.
    #[serde(default)]
    pub wire: Wire,
    /// The base URL of the service; absent if the user must set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The path of the API below the address of a server. It is added to an address that has neither it
    /// nor a version; absent if an address with a path is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_path: Option<String>,
    /// The environment variables that may hold another base URL, in order of preference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_url_env: Vec<String>,
    /// The environment variables that may hold the key, in order of preference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_key_env: Vec<String>,
    /// The address with `{NAME}` in place of variables that the user sets, for services whose address
    /// depends on a region or a project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url_template: Option<String>,
    /// The credentials that can take the place of a key; absent if the service takes only keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialKind>,
    /// Whether the service needs a key.
    #[serde(default)]
    pub credential: CredentialRequirement,
    /// The header in which requests carry the key.
    #[serde(default)]
    pub auth: Auth,
    /// The model to use when the settings name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The questions of set-up, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<SetupPrompt>,
    /// Pages where people get a key and documentation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub help_links: Vec<HelpLink>,
    /// The vendor in the built-in catalogue whose models this service offers; absent if it offers
    /// models of many vendors or of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue_vendor: Option<String>,
    /// Models in addition to those of the catalogue, with their origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelCatalogue>,
    /// The path of the models endpoint below the base URL; absent if there is no such endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models_path: Option<String>,
    /// The path, from the root of the server, of a page with the context window that the server
    /// really uses; absent if the list of models has it, or nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits_path: Option<String>,
    /// Whether the request for that page names one model, with POST and the field `model`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limits_of_model: bool,
    /// Headers of every request. They must not contain secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether the server runs on the user's own machine and is looked for there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local: bool,
    /// How the service differs from its wire's specification.
    #[serde(default)]
    pub quirks: Quirks,
    /// What changes at an address whose host is not the vendor's own.
    #[serde(rename = "elsewhere", default, skip_serializing_if = "Option::is_none")]
    pub off_host: Option<OffHostOverrides>,
    /// Fields of every request body; the settings override them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
}

impl Profile {
    /// Returns whether `name` is the type or an alias of this vendor, ignoring ASCII case.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        let name = name.trim();
        self.vendor.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }

    /// Returns the most useful page for set-up.
    #[must_use]
    pub fn help_link(&self) -> Option<&HelpLink> {
        HelpLinkKind::PREFERENCE
            .iter()
            .find_map(|kind| self.help_links.iter().find(|link| link.kind == *kind))
    }

    /// Returns the wire and the compatibility options at an address: the profile's own, or the
    /// overrides if the host is not the vendor's.
    #[must_use]
    pub fn at(&self, base_url: &str) -> (Wire, Quirks) {
        let own_host = self.base_url.as_deref().and_then(host);
        // A vendor without an address of its own has no other host to compare with.
        let is_off_host = own_host.is_some() && host(base_url) != own_host;
        match &self.off_host {
            Some(off_host) if is_off_host => (
                off_host.wire.unwrap_or(self.wire),
                off_host.quirks.clone().unwrap_or_else(|| self.quirks.clone()),
            ),
            _ => (self.wire, self.quirks.clone()),
        }
    }
}

fn last_rank() -> u32 {
    u32::MAX
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_last_rank(rank: &u32) -> bool {
    *rank == last_rank()
}

fn host(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.host_str().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests;
