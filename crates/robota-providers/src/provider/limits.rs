//! Asks the service for the limits of a model.

use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use robota_core::provider::ModelLimits;
use serde_json::Value;

use super::models::read_page;
use super::{HttpProvider, MAX_RESPONSE_BODY};
use crate::http::Method;

/// A turn waits for the answer, so a slow service is not waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

impl HttpProvider {
    /// Returns the limits that the service tells, and asks only once for each model. Failures count as
    /// not told: the call of the model reports them.
    pub(super) async fn find_limits(&self, model: &str) -> Option<ModelLimits> {
        let known = || self.known_limits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limits) = known().get(model) {
            return *limits;
        }
        let found = tokio::time::timeout(TIMEOUT, self.ask_limits(model)).await.ok().flatten();
        known().insert(model.to_owned(), found);
        found
    }

    async fn ask_limits(&self, model: &str) -> Option<ModelLimits> {
        // What the server really uses: a list often has what the model was trained for.
        let used = match &self.limits_path {
            Some(path) => self.used_window(path, model).await,
            None => None,
        };
        let list = self.models().await.ok().flatten();
        let entry = list.and_then(|list| list.entries.into_iter().find(|one| one.id == model));
        let limits = ModelLimits {
            context_window: used.or_else(|| entry.as_ref()?.context_window),
            max_output: entry.and_then(|entry| entry.max_output),
        };
        (limits != ModelLimits::default()).then_some(limits)
    }

    async fn used_window(&self, path: &str, model: &str) -> Option<u64> {
        let mut url = self.base.clone();
        url.set_path(path);
        let response = self.send(Method::Get, url, Bytes::new()).await.ok()?;
        let text = response.text(MAX_RESPONSE_BODY).await.ok()?;
        let page: Value = serde_json::from_str(&text).ok()?;
        page.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64).or_else(|| {
            read_page(&page).into_iter().find(|entry| entry.id == model)?.context_window
        })
    }
}
