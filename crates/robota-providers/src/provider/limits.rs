//! Asks the service for the limits of a model.

use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use robota_core::provider::ModelLimits;
use serde_json::{Value, json};

use super::models::read_page;
use super::{HttpProvider, MAX_RESPONSE_BODY};
use crate::http::Method;

/// A turn waits for the answer, so a slow service is not waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

impl HttpProvider {
    /// Returns the limits that the service reports, and asks only once for each model. Failures
    /// count as not reported here: the call of the model reports them.
    pub(super) async fn find_limits(&self, model: &str) -> Option<ModelLimits> {
        let known = || self.known_limits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limits) = known().get(model) {
            return *limits;
        }
        // Also a failure is remembered: every turn would otherwise wait for a service that has no
        // such page.
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
        let (method, body) = if self.limits_of_model {
            (Method::Post, Bytes::from(json!({"model": model}).to_string()))
        } else {
            (Method::Get, Bytes::new())
        };
        let response = self.send(method, url, body).await.ok()?;
        let text = response.text(MAX_RESPONSE_BODY).await.ok()?;
        let page: Value = serde_json::from_str(&text).ok()?;
        window_in(&page, model)
    }
}

/// Returns the context window that a page reports: what the server uses, or else what the model was
/// trained for.
fn window_in(page: &Value, model: &str) -> Option<u64> {
    let llama = || page.pointer("/default_generation_settings/n_ctx")?.as_u64();
    let listed = || read_page(page).into_iter().find(|entry| entry.id == model)?.context_window;
    // Ollama: the parameters of the model, as the lines of a Modelfile.
    let parameter = || {
        let lines = page.get("parameters")?.as_str()?.lines();
        lines.filter_map(|line| line.trim().strip_prefix("num_ctx")).next()?.trim().parse().ok()
    };
    let trained = || {
        // Ollama names the key after the architecture of the model: `llama.context_length`.
        let fields = page.get("model_info")?.as_object()?;
        fields.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()
    };
    llama().or_else(parameter).or_else(trained).or_else(listed)
}

#[cfg(test)]
mod tests;
