//! Reads the list of models that a service reports.

use std::collections::BTreeSet;

use bytes::Bytes;
use robota_core::catalogue::{Capability, Lifecycle};
use robota_core::provider::ProviderError;
use serde_json::Value;
use url::Url;

use super::{HttpProvider, MAX_RESPONSE_BODY};
use crate::definition::{CatalogueStatus, ModelCatalogue, ModelEntry};
use crate::failure::Failure;
use crate::http::Method;
use crate::wire::encode::join_path;

/// The most pages of a list that are read.
const MAX_PAGES: usize = 20;

impl HttpProvider {
    /// Requests the list of models. Returns `None` if the service has no list.
    ///
    /// # Errors
    /// When the service rejects the request or cannot be reached.
    pub async fn models(&self) -> Result<Option<ModelCatalogue>, ProviderError> {
        let Some(path) = &self.models_path else { return Ok(None) };
        let first = list_url(&self.base, path);
        let service = self.service_for(self.model.as_deref().unwrap_or_default());
        let fail = |failure: Failure| failure.into_error(&service, &self.scrub);
        let mut entries: Vec<ModelEntry> = Vec::new();
        let mut url = first.clone();
        for _ in 0..MAX_PAGES {
            let response = self.send(Method::Get, url, Bytes::new()).await.map_err(fail)?;
            let text = response.text(MAX_RESPONSE_BODY).await.map_err(fail)?;
            let page: Value = serde_json::from_str(&text)
                .map_err(|error| fail(Failure::unreadable(&error, &text)))?;
            let before = entries.len();
            entries.extend(read_page(&page));
            match next_page(&first, &page) {
                // A service may return the same page again and again; one that adds nothing ends
                // the list.
                Some(next) if entries.len() > before => url = next,
                _ => break,
            }
        }
        Ok(Some(ModelCatalogue {
            source: "the service's list of models".to_owned(),
            status: CatalogueStatus::Live,
            verified_at: Some(self.host.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date()),
            source_url: None,
            entries,
        }))
    }
}

fn list_url(base: &Url, path: &str) -> Url {
    // The base URL may already contain the version.
    let versioned = base.path().trim_end_matches('/').ends_with("/v1");
    let path = if versioned { path.strip_prefix("/v1").unwrap_or(path) } else { path };
    join_path(base, path)
}

fn next_page(first: &Url, page: &Value) -> Option<Url> {
    let text = |key: &str| page.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (name, value) = match text("nextPageToken") {
        Some(token) => ("pageToken", token),
        None if page.get("has_more").and_then(Value::as_bool) == Some(true) => {
            ("after_id", text("last_id")?)
        }
        None => return None,
    };
    let mut url = first.clone();
    url.query_pairs_mut().append_pair(name, value);
    Some(url)
}

/// Reads the entries of one page in any service's form: `data`, `models`, or a bare list.
pub(super) fn read_page(page: &Value) -> Vec<ModelEntry> {
    let list = page
        .as_array()
        .or_else(|| ["data", "models"].iter().find_map(|key| page.get(key)?.as_array()));
    list.into_iter().flatten().filter_map(read_entry).collect()
}

fn read_entry(value: &Value) -> Option<ModelEntry> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let count = |keys: &[&str]| keys.iter().find_map(|key| value.pointer(key)?.as_u64());
    let id = text("id").or_else(|| text("name"))?;
    // Google lists models for embeddings and images, too.
    let methods = value.get("supportedGenerationMethods").and_then(Value::as_array);
    if methods.is_some_and(|all| !all.iter().any(|method| method == "generateContent")) {
        return None;
    }
    let mut entry = ModelEntry::new(id.strip_prefix("models/").unwrap_or(id));
    entry.name = ["display_name", "displayName", "name"]
        .iter()
        .find_map(|key| text(key))
        .filter(|name| *name != id)
        .map(str::to_owned);
    // What the server uses comes before what the model could do.
    entry.context_window = count(&[
        "/loaded_context_length",
        "/meta/n_ctx",
        "/max_input_tokens",
        "/inputTokenLimit",
        "/context_length",
        "/context_window",
        "/max_context_length",
        "/max_model_len",
    ]);
    entry.max_output = count(&[
        "/max_tokens",
        "/outputTokenLimit",
        "/max_completion_tokens",
        "/top_provider/max_completion_tokens",
    ]);
    entry.lifecycle = match text("lifecycle").or_else(|| text("deprecation")) {
        Some("deprecated") => Lifecycle::Deprecated,
        Some("retired") => Lifecycle::Retired,
        Some("legacy") => Lifecycle::Legacy,
        Some("preview" | "beta") => Lifecycle::Preview,
        _ => Lifecycle::Active,
    };
    entry.capabilities = capabilities(value);
    Some(entry)
}

fn capabilities(value: &Value) -> BTreeSet<Capability> {
    let mut capabilities = BTreeSet::new();
    if value.get("thinking").and_then(Value::as_bool) == Some(true) {
        capabilities.insert(Capability::Thinking);
    }
    let lists = ["supported_parameters"].iter().filter_map(|key| value.get(key)?.as_array());
    for name in lists.flatten().filter_map(Value::as_str) {
        match name {
            "tools" => drop(capabilities.insert(Capability::Tools)),
            "reasoning" => drop(capabilities.insert(Capability::Thinking)),
            "structured_outputs" => drop(capabilities.insert(Capability::StructuredOutput)),
            _ => {}
        }
    }
    let flags = value.get("capabilities").and_then(Value::as_object);
    for (name, on) in flags.into_iter().flatten() {
        if on.as_bool() == Some(true) {
            match name.as_str() {
                "function_calling" => drop(capabilities.insert(Capability::Tools)),
                "vision" => drop(capabilities.insert(Capability::Images)),
                "reasoning" => drop(capabilities.insert(Capability::Thinking)),
                _ => {}
            }
        }
    }
    capabilities
}

#[cfg(test)]
mod tests;
