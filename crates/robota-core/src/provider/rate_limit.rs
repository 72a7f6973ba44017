//! What a service says about its rate limits.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Describes one limit of a service, as its last response reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateLimit {
    /// What is limited, as the service names it, for example `requests` or `input-tokens`.
    pub name: String,
    /// How much is allowed in a period; absent if the service does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How much is left in this period; absent if the service does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// The time from the response to the end of the period; absent if the service does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Duration>,
}

/// Lists the limits of a service, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RateLimits(pub Vec<RateLimit>);

impl RateLimits {
    /// Returns how long to wait until every limit that is used up has been reset; `None` if none is
    /// used up.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        let used_up = self.0.iter().filter(|limit| limit.remaining == Some(0));
        used_up.filter_map(|limit| limit.reset).max()
    }
}
