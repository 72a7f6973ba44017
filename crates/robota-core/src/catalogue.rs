//! What is known about models: limits, prices, abilities.
//!
//! The built-in list is a data file with, for each entry, where its facts were read and, if
//! the source says so, when they were checked. It goes stale, as every such list does: users
//! add or replace entries with [`Catalogue::with`], and a provider's own list of models
//! beats it. An unknown model gets [`DEFAULT_CONTEXT_WINDOW`] and [`DEFAULT_MAX_OUTPUT`].
//!
//! A model is found under the names people use: with a vendor in front, a date or tag behind,
//! dots for dashes.
//!
//! ```
//! use robota_core::catalogue::{Catalogue, ModelInfo};
//!
//! let catalogue = Catalogue::builtin().clone().with(ModelInfo {
//!     context_window: Some(32_000),
//!     ..ModelInfo::new("house-model", "Our own", "Us")
//! });
//! assert_eq!(catalogue.context_window("openrouter/us/house-model:latest"), 32_000);
//! assert_eq!(catalogue.context_window("nobody-knows"), 200_000);
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

pub use lookup::Precision;
pub use price::{LongPrompt, Prices, cost};

/// The context window assumed for a model nobody knows.
pub const DEFAULT_CONTEXT_WINDOW: u64 = 200_000;
/// The output limit assumed for a model nobody knows.
pub const DEFAULT_MAX_OUTPUT: u64 = 16_384;

/// Something a model can do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Calls tools.
    Tools,
    /// Sees images.
    Images,
    /// Reads PDF files.
    Pdf,
    /// Hears audio.
    Audio,
    /// Sees video.
    Video,
    /// Thinks before it answers.
    Thinking,
    /// Searches the web on the provider's side.
    WebSearch,
    /// Fetches pages on the provider's side.
    WebFetch,
    /// Answers in a given JSON schema.
    StructuredOutput,
}

/// Where a model stands between its announcement and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// Can be used, may change.
    Preview,
    /// Can be used.
    #[default]
    Active,
    /// Can be used; its vendor recommends another.
    Legacy,
    /// Can still be used; its end is announced.
    Deprecated,
    /// Cannot be used any more.
    Retired,
}

impl Lifecycle {
    /// Whether a user should be offered such a model at all.
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
    /// The id its own vendor uses.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Who made it.
    pub vendor: String,
    /// Other ids it goes by, beyond what the lookup tolerates anyway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How many tokens fit, prompt and answer together; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens one answer may have; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// What its own vendor charges; absent when not known or when it depends on who serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// What a long prompt costs, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_prompt: Option<LongPrompt>,
    /// What it can do.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Capability>,
    /// Whether anybody may run it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open_weights: bool,
    /// Where it stands.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// When the source checked these facts; absent when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub verified_at: Option<Date>,
    /// Where these facts were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What else one should know, such as a price that ends on a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ModelInfo {
    /// A model about which only this is known.
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

    /// Whether it is known to be able to do this.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// A model that was found, and how surely it is the one asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found<'a> {
    /// The entry.
    pub model: &'a ModelInfo,
    /// How well its id fits.
    pub precision: Precision,
}

/// A list of models. Cloning is cheap; adding to a clone leaves the original alone.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// By normalised id and alias; later entries replace earlier ones.
    by_key: Arc<IndexMap<String, Arc<ModelInfo>>>,
}

/// Parsed at the first use, not at start-up; never changed after.
static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| {
    // A test holds that the file parses. Should it not, every model has its defaults, which
    // beats a process that cannot start.
    let models: Vec<ModelInfo> = serde_json::from_str(MODELS).unwrap_or_default();
    models.into_iter().fold(Catalogue::empty(), Catalogue::with)
});

const MODELS: &str = include_str!("../data/models.json");

impl Catalogue {
    /// A catalogue of nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The models this version knows.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The same catalogue with one entry more. It replaces what had its id or aliases.
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

    /// Every model, each once.
    pub fn models(&self) -> impl Iterator<Item = &ModelInfo> {
        self.by_key
            .iter()
            .filter(|(key, model)| **key == lookup::key(&model.id))
            .map(|(_, model)| model.as_ref())
    }

    /// The entry that fits an id best: exactly, or the longest known id that it continues.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Found<'_>> {
        let (model, precision) = lookup::find(&self.by_key, id)?;
        Some(Found { model, precision })
    }

    /// The entry of exactly this model, a snapshot of it included; no relatives.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ModelInfo> {
        self.find(id).filter(|found| found.precision.same_model()).map(|found| found.model)
    }

    /// The context window of a model, or [`DEFAULT_CONTEXT_WINDOW`].
    #[must_use]
    pub fn context_window(&self, id: &str) -> u64 {
        self.find(id).and_then(|found| found.model.context_window).unwrap_or(DEFAULT_CONTEXT_WINDOW)
    }

    /// The output limit of a model, or [`DEFAULT_MAX_OUTPUT`].
    #[must_use]
    pub fn max_output(&self, id: &str) -> u64 {
        self.find(id).and_then(|found| found.model.max_output).unwrap_or(DEFAULT_MAX_OUTPUT)
    }

    /// The name of a model for people, or the id when it is not known.
    #[must_use]
    pub fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.get(id).map_or(id, |model| &model.name)
    }

    /// What a call cost in dollars, see [`cost()`]. Never the price of a relative.
    #[must_use]
    pub fn cost(&self, id: &str, usage: Usage) -> Option<f64> {
        cost(self.get(id)?, usage)
    }
}

/// A count of tokens for people: `950`, `200K`, `1M`, `1.5M`. At most one decimal, cut off
/// rather than rounded up, so that a window never looks larger than it is.
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
