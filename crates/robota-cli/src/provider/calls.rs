//! The settings of model calls that the arguments of a run change.

use std::time::Duration;

use robota_sdk::CallSettings;

use crate::args::{NativeWebArg, PrintArgs};

/// Overrides the settings of model calls by the arguments of a run.
pub(crate) fn with_args(mut calls: CallSettings, args: &PrintArgs) -> CallSettings {
    if let Some(seconds) = args.retry_budget {
        calls.retry_budget = Some(Duration::from_secs(seconds));
    }
    calls.native_web.search |= args.native_web.contains(&NativeWebArg::Search);
    calls.native_web.fetch |= args.native_web.contains(&NativeWebArg::Fetch);
    calls
}
