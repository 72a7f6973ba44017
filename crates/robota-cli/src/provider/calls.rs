//! The settings of model calls that the arguments of a run change.

use std::time::Duration;

use robota_sdk::CallSettings;

use crate::args::{NativeWebArg, PrintArgs, ThinkingArg, ThinkingDisplayArg};
use crate::setup::Setup;
use robota_core::provider::Thinking;

/// The variable with which hosts limit how often a failed call is retried.
const MAX_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";

/// Returns the settings of model calls that files and the environment set.
pub(crate) fn of_settings(setup: &Setup) -> CallSettings {
    let max_retries = setup.environment.get(MAX_RETRIES).and_then(|text| text.parse().ok());
    CallSettings { max_retries, ..CallSettings::new(&setup.settings.values) }
}

/// Overrides the settings of model calls by the arguments of a run.
pub(crate) fn with_args(mut calls: CallSettings, args: &PrintArgs) -> CallSettings {
    if let Some(seconds) = args.retry_budget {
        calls.retry_budget = Some(Duration::from_secs(seconds));
    }
    // Added to the settings: no argument turns a web tool off.
    calls.native_web.search |= args.native_web.contains(&NativeWebArg::Search);
    calls.native_web.fetch |= args.native_web.contains(&NativeWebArg::Fetch);
    let given = args.thinking.map(|mode| match mode {
        ThinkingArg::Adaptive => Thinking::On,
        ThinkingArg::Disabled => Thinking::Off,
    });
    calls.thinking =
        given.or_else(|| args.max_thinking_tokens.map(Thinking::tokens)).or(calls.thinking);
    calls.thinking_display = args.thinking_display.map(|display| {
        match display {
            ThinkingDisplayArg::Summarized => "summarized",
            ThinkingDisplayArg::Omitted => "omitted",
        }
        .to_owned()
    });
    calls
}
