//! Notifies another program when runs end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use robota_core::error::ErrorData;
use robota_core::plugin::{Plugin, PluginCategory, RunSummary};
use robota_tools::web::{Proxies, WebClient, checked_headers};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The most requests that run at the same time. Notifications beyond that are dropped and counted.
const MAX_REQUESTS: usize = 8;
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 4096;

/// Sends a JSON object to a URL when a run ends or a model call fails: how it ended, and what it used,
/// without its content. Private addresses are refused unless they are allowed. A notification that
/// cannot be sent does not stop anything; [`WebhookPlugin::failed`] counts it.
///
/// ```
/// use robota_sdk::run_plugins::WebhookPlugin;
/// use robota_tools::web::Proxies;
///
/// let webhook = WebhookPlugin::new("https://example.com/runs", Proxies::default());
/// assert_eq!(webhook.failed(), 0);
/// ```
pub struct WebhookPlugin {
    inner: Arc<Inner>,
}

struct Inner {
    url: String,
    client: WebClient,
    private: AtomicBool,
    slots: Arc<Semaphore>,
    failed: AtomicU64,
}

impl WebhookPlugin {
    /// Creates a plugin that notifies this address when runs end.
    pub fn new(url: impl Into<String>, proxies: Proxies) -> Self {
        let client = WebClient::new().proxies(proxies);
        let slots = Arc::new(Semaphore::new(MAX_REQUESTS));
        let failed = AtomicU64::new(0);
        Self {
            inner: Arc::new(Inner {
                url: url.into(),
                client,
                private: AtomicBool::new(false),
                slots,
                failed,
            }),
        }
    }

    /// Allows a server on this machine or in a private network.
    #[must_use]
    pub fn allow_private(self) -> Self {
        self.inner.private.store(true, Ordering::Relaxed);
        self
    }

    /// Returns the number of notifications that were not sent.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.inner.failed.load(Ordering::Relaxed)
    }

    fn send(&self, message: Value) {
        let inner = self.inner.clone();
        // No waiting: a notification must not slow down the run.
        let slot = inner.slots.clone().try_acquire_owned();
        let (Ok(slot), Ok(runtime)) = (slot, tokio::runtime::Handle::try_current()) else {
            inner.failed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        drop(runtime.spawn(async move {
            let allowed = inner.private.load(Ordering::Relaxed);
            let private = move |_: &url::Url, _| allowed;
            let (url, body) = (inner.url.as_str(), message.to_string());
            let headers = checked_headers(Vec::new()).unwrap_or_default();
            let sent = inner.client.post_json(url, &headers, body, MAX_ANSWER, &private);
            let answer = tokio::time::timeout(TIMEOUT, sent).await;
            let ok = matches!(&answer, Ok(Ok(answer)) if (200..300).contains(&answer.status));
            if !ok {
                inner.failed.fetch_add(1, Ordering::Relaxed);
            }
            // Held until here, so that it counts requests that run and not those that were started.
            drop(slot);
        }));
    }
}

impl Plugin for WebhookPlugin {
    fn name(&self) -> &str {
        "webhook"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::Notification
    }

    fn after_run(&self, run: &RunSummary) {
        self.send(json!({
            "event": "run_ended",
            "at": run.at.to_string(),
            "end": run.end,
            "model": run.model,
            "rounds": run.rounds,
            "tools": run.tools,
            "usage": run.usage,
            "ms": u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX),
            // Only the code: the message of an error can repeat content of the conversation.
            "error": run.error.as_ref().map(|error| error.kind.code()),
        }));
    }

    fn on_error(&self, error: &ErrorData) {
        let (code, retryable) = (error.kind.code(), error.retryable);
        self.send(json!({"event": "model_call_failed", "error": code, "retryable": retryable}));
    }
}
