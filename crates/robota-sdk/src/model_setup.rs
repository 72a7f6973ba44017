//! The model of a session and the settings of its calls.

use std::sync::Arc;
use std::time::Duration;

use robota_config::SettingsFile;
use robota_core::driver::SessionConfig;
use robota_core::env_ref::Secret;
use robota_core::into_arc::IntoArc;
use robota_core::provider::{NativeWeb, Provider, Thinking};

/// How long a provider may send nothing before a call fails, unless a profile sets `timeout`.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Holds the provider and the model of a session.
///
/// ```
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_sdk::ModelSetup;
///
/// let setup = ModelSetup::new(ScriptedProvider::new(Script::new().text("Hello.")), "any-model");
/// assert_eq!(setup.model, "any-model");
/// ```
#[derive(Clone)]
pub struct ModelSetup {
    /// The provider that the session calls.
    pub provider: Arc<dyn Provider>,
    /// The id of the model, as the provider knows it.
    pub model: String,
    /// How long the provider may send nothing before a call fails.
    pub idle_timeout: Duration,
    /// The key and header values of the provider, which are redacted.
    pub secrets: Vec<Secret>,
    /// The retries, web tools and reasoning of its calls.
    pub calls: CallSettings,
    /// How hard the model thinks; none leaves it to the provider.
    pub effort: Option<String>,
}

impl ModelSetup {
    /// Creates the setup of a provider and a model, with default settings.
    pub fn new(provider: impl IntoArc<dyn Provider>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into_arc(),
            model: model.into(),
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            secrets: Vec::new(),
            calls: CallSettings::default(),
            effort: None,
        }
    }

    /// Applies the settings of model calls to a session.
    pub(crate) fn apply(&self, config: &mut SessionConfig) {
        self.calls.apply(config);
        if let Some(effort) = &self.effort {
            config.options.insert("effort".to_owned(), effort.clone().into());
        }
    }
}

/// Holds the settings of model calls; those that are not set keep their defaults.
///
/// ```
/// use std::time::Duration;
///
/// use robota_sdk::CallSettings;
///
/// let calls =
///     CallSettings { retry_budget: Some(Duration::from_secs(60)), ..CallSettings::default() };
/// assert_eq!(calls.max_repeats, None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallSettings {
    /// How long a series of failed calls may last; zero never retries.
    pub retry_budget: Option<Duration>,
    /// How many times a failed call is retried at most.
    pub max_retries: Option<u32>,
    /// The web tools that the service runs itself.
    pub native_web: NativeWeb,
    /// After how many rounds the same failing call ends the use of tools; 0 means never.
    pub max_repeats: Option<u32>,
    /// Whether the model reasons before it answers; none leaves it to the model.
    pub thinking: Option<Thinking>,
    /// Whether the service shows the reasoning: `summarized` or `omitted`.
    pub thinking_display: Option<String>,
}

impl CallSettings {
    /// Reads the settings files.
    #[must_use]
    pub fn new(settings: &SettingsFile) -> Self {
        let web = settings.native_web.clone().unwrap_or_default();
        let retry = settings.retry.clone().unwrap_or_default();
        Self {
            retry_budget: retry.budget.map(Duration::from_secs),
            max_retries: None,
            native_web: NativeWeb {
                search: web.search.unwrap_or(false),
                fetch: web.fetch.unwrap_or(false),
            },
            max_repeats: settings.max_repeated_failures,
            thinking: settings.always_thinking_enabled.map(|always| match always {
                true => Thinking::On,
                false => Thinking::Off,
            }),
            thinking_display: None,
        }
    }

    fn apply(&self, config: &mut SessionConfig) {
        if let Some(budget) = self.retry_budget {
            config.turn.retry.budget = budget;
        }
        config.turn.retry.max_retries = self.max_retries;
        config.native_web = self.native_web;
        if let Some(thinking) = self.thinking {
            config.options.insert(Thinking::OPTION.to_owned(), thinking.option());
        }
        if let Some(display) = &self.thinking_display {
            config.options.insert(Thinking::DISPLAY.to_owned(), display.clone().into());
        }
        if let Some(max_repeats) = self.max_repeats {
            config.turn.max_repeats = max_repeats;
        }
    }
}
