//! The settings of model calls.

use std::time::Duration;

use robota_config::SettingsFile;
use robota_core::driver::SessionConfig;
use robota_core::provider::NativeWeb;

use crate::args::{NativeWebArg, PrintArgs};

/// The settings of model calls; those that are not set keep their defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallSettings {
    /// How long a series of failed calls may last; zero never retries.
    pub(crate) retry_budget: Option<Duration>,
    /// The web tools that the service runs itself.
    pub(crate) native_web: NativeWeb,
    /// After how many rounds the same failing call ends the use of tools; 0 means never.
    pub(crate) max_repeats: Option<u32>,
}

impl CallSettings {
    /// Reads the settings files.
    pub(crate) fn new(settings: &SettingsFile) -> Self {
        let web = settings.native_web.clone().unwrap_or_default();
        let retry = settings.retry.clone().unwrap_or_default();
        Self {
            retry_budget: retry.budget.map(Duration::from_secs),
            native_web: NativeWeb {
                search: web.search.unwrap_or(false),
                fetch: web.fetch.unwrap_or(false),
            },
            max_repeats: settings.max_repeated_failures,
        }
    }

    /// Overrides them by the arguments of a run.
    pub(crate) fn with_args(mut self, args: &PrintArgs) -> Self {
        if let Some(seconds) = args.retry_budget {
            self.retry_budget = Some(Duration::from_secs(seconds));
        }
        self.native_web.search |= args.native_web.contains(&NativeWebArg::Search);
        self.native_web.fetch |= args.native_web.contains(&NativeWebArg::Fetch);
        self
    }

    /// Applies them to a session.
    pub(crate) fn apply(&self, config: &mut SessionConfig) {
        if let Some(budget) = self.retry_budget {
            config.turn.retry.budget = budget;
        }
        config.native_web = self.native_web;
        if let Some(max_repeats) = self.max_repeats {
            config.turn.max_repeats = max_repeats;
        }
    }
}
