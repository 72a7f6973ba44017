//! What is known about models: limits, prices, capabilities.
//!
//! The built-in list is a data file. Each entry has the source of its facts and, if the source says
//! so, the date on which they were verified. Such a list becomes outdated: users add or replace
//! entries with [`Catalogue::with`], and a provider's own list of models takes precedence. An
//! unknown model gets [`DEFAULT_CONTEXT_WINDOW`] and [`DEFAULT_MAX_OUTPUT`].
//!
//! A model is found under the spellings that people use: with a vendor before the id, a date or tag
//! after it, dots instead of dashes.
//!
//! ```
//! use robota_core::catalogue::{Catalogue, ModelInfo};
//!
//! let catalogue = Catalogue::builtin().clone().with(ModelInfo {
//!     context_window: Some(32_000),
//!     ..ModelInfo::new("house-model", "Our own", "Us")
//! });
//! assert_eq!(catalogue.context_window("openrouter/us/house-model:latest"), 32_000);
//! assert_eq!(catalogue.context_window("an-unknown-model"), 200_000);
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::Usage;

mod lookup;
mod price;
mod sum;

pub use lookup::Precision;
pub use price::{LongPrompt, Prices, cost};
pub use sum::CostSum;

/// The context window in tokens that is assumed for an unknown model.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 200_000;
/// The output limit in tokens that is assumed for an unknown model.
pub const DEFAULT_MAX_OUTPUT: u64 = 16_384;

/// A capability of a model.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// Calls tools that the request describes (function calling).
    Tools,
    /// Accepts images in the messages of a request.
    Images,
    /// Accepts PDF files in the messages of a request.
    Pdf,
    /// Accepts audio in the messages of a request.
    Audio,
    /// Accepts video in the messages of a request.
    Video,
    /// Reasons before it answers, if the request asks for that.
    Thinking,
    /// Searches the web on the provider's side.
    WebSearch,
    /// Fetches pages on the provider's side.
    WebFetch,
    /// Answers according to a JSON schema.
    StructuredOutput,
}

/// Says at which stage a model is between its announcement and its shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Lifecycle {
    /// Available; the vendor may still change or withdraw it.
    Preview,
    /// Available without reservations; also an entry that names no stage.
    #[default]
    Active,
    /// Available; the vendor recommends another model.
    Legacy,
    /// Available; the vendor has announced its shutdown.
    Deprecated,
    /// No longer available; lists for users leave it out.
    Retired,
}

impl Lifecycle {
    /// Returns true if users should be offered a model of this stage.
    #[must_use]
    pub fn selectable(self) -> bool {
        match self {
            Self::Preview | Self::Active | Self::Legacy | Self::Deprecated => true,
            Self::Retired => false,
        }
    }
}

/// What is known about one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    /// The id that its vendor uses.
    pub id: String,
    /// The name that users see, for example in a list of models.
    pub name: String,
    /// The company that made the model, which may differ from the service that runs it.
    pub vendor: String,
    /// Other ids of the model, in addition to the spellings that the lookup accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The context window in tokens, prompt and answer together; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The maximum number of tokens of one answer; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// The vendor's prices; absent if not known or if they depend on who serves the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// The prices of long prompts, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_prompt: Option<LongPrompt>,
    /// What the model can do; empty if that is not known.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Capability>,
    /// Whether its weights are published. A server of one's own may run such a model with smaller
    /// limits, so the driver asks the server for them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open_weights: bool,
    /// Whether the model is current or on its way out; [`Lifecycle::Active`] if the entry does not
    /// say.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// When the source verified these facts; absent if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub verified_at: Option<Date>,
    /// The page or the list in which these facts were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A remark, such as a price that ends on a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ModelInfo {
    /// Creates an entry with only an id, a name and a vendor.
    pub fn new(id: impl Into<String>, name: impl Into<String>, vendor: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            vendor: vendor.into(),
            aliases: Vec::new(),
            context_window: None,
            max_output: None,
            prices: None,
            long_prompt: None,
            capabilities: BTreeSet::new(),
            open_weights: false,
            lifecycle: Lifecycle::default(),
            verified_at: None,
            source: None,
            note: None,
        }
    }

    /// Returns true if it is known to have this capability.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// The entry that was found for an id.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelMatch<'a> {
    /// The entry of the catalogue, whose id may be that of a variant: see `precision`.
    pub model: &'a ModelInfo,
    /// How well its id matches the requested one.
    pub precision: Precision,
}

/// Lists the known models with their limits and prices. Cloning is cheap; adding to a clone does
/// not change the original.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// By normalised id and alias; later entries replace earlier ones.
    by_key: Arc<IndexMap<String, Arc<ModelInfo>>>,
}

/// Parsed at first use, not at program start.
static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| {
    // A test checks that the file parses. If it did not, every model would get the defaults, which
    // is better than a program that cannot start.
    let models: Vec<ModelInfo> = serde_json::from_str(MODELS).unwrap_or_default();
    models.into_iter().fold(Catalogue::empty(), Catalogue::with)
});

const MODELS: &str = include_str!("../data/models.json");

impl Catalogue {
    /// Creates a catalogue without models; [`Catalogue::with`] adds some.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the models that this version knows.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Adds an entry. It replaces entries with the same id or aliases.
    #[must_use]
    pub fn with(mut self, model: ModelInfo) -> Self {
        let model = Arc::new(model);
        let entries = Arc::make_mut(&mut self.by_key);
        for name in model.aliases.iter().chain([&model.id]) {
            let key = lookup::key(name);
            if !key.is_empty() {
                entries.insert(key, Arc::clone(&model));
            }
        }
        self
    }

    /// Iterates over the models, each one once.
    pub fn models(&self) -> impl Iterator<Item = &ModelInfo> {
        self.by_key
            .iter()
            .filter(|(key, model)| **key == lookup::key(&model.id))
            .map(|(_, model)| model.as_ref())
    }

    /// Finds the best entry for an id: an exact match, or the longest known id that it continues.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<ModelMatch<'_>> {
        let (model, precision) = lookup::find(&self.by_key, id)?;
        Some(ModelMatch { model, precision })
    }

    /// Returns the entry of exactly this model or a snapshot of it, but not of a variant.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ModelInfo> {
        self.find(id).filter(|found| found.precision.same_model()).map(|found| found.model)
    }

    /// Returns the context window of a model in tokens, or [`DEFAULT_CONTEXT_WINDOW`].
    #[must_use]
    pub fn context_window(&self, id: &str) -> u64 {
        self.find(id).and_then(|found| found.model.context_window).unwrap_or(DEFAULT_CONTEXT_WINDOW)
    }

    /// Returns the output limit of a model in tokens, or [`DEFAULT_MAX_OUTPUT`].
    #[must_use]
    pub fn max_output(&self, id: &str) -> u64 {
        self.find(id).and_then(|found| found.model.max_output).unwrap_or(DEFAULT_MAX_OUTPUT)
    }

    /// Returns the display name of a model, or the id if it is not known.
    #[must_use]
    pub fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.get(id).map_or(id, |model| &model.name)
    }

    /// Returns the cost of a call in dollars, see [`cost()`]. Never uses the prices of a variant.
    #[must_use]
    pub fn cost(&self, id: &str, usage: Usage) -> Option<f64> {
        cost(self.get(id)?, usage)
    }
}

/// Formats a number of tokens for display: `950`, `200K`, `1M`, `1.5M`. It has at most one decimal,
/// truncated and not rounded up, so that a window never looks larger than it is.
///
/// ```
/// use robota_core::catalogue::format_tokens;
/// assert_eq!([950, 16_384, 200_000, 1_048_576].map(format_tokens), ["950", "16.3K", "200K", "1M"]);
/// ```
#[must_use]
pub fn format_tokens(tokens: u64) -> String {
    let (unit, suffix) = match tokens {
        0..1_000 => return tokens.to_string(),
        1_000..1_000_000 => (1_000, "K"),
        _ => (1_000_000, "M"),
    };
    let tenths = tokens / (unit / 10);
    match tenths % 10 {
        0 => format!("{}{suffix}", tenths / 10),
        tenth => format!("{}.{tenth}{suffix}", tenths / 10),
    }
}

#[cfg(test)]
mod tests;
