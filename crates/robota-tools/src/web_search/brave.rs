//! The Brave Search service.

use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

use super::{Hit, MAX_BODY_BYTES, SearchError, Searcher, hits, parse_answer};
use crate::web::{WebClient, WebError};

const BASE: &str = "https://api.search.brave.com";

/// Searches with Brave. Needs an API key.
pub struct Brave {
    client: WebClient,
    base: String,
    key: String,
}

impl Brave {
    /// Creates a client with an API key.
    pub fn new(key: impl Into<String>) -> Self {
        Self::with_base_url(BASE, key)
    }

    /// Creates a client for another base URL, such as a gateway.
    pub fn with_base_url(base: impl Into<String>, key: impl Into<String>) -> Self {
        Self { client: WebClient::new(), base: base.into(), key: key.into() }
    }
}

#[async_trait::async_trait]
impl Searcher for Brave {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, SearchError> {
        let invalid = |why: String| WebError::BadUrl { url: self.base.clone(), why };
        let base = format!("{}/res/v1/web/search", self.base.trim_end_matches('/'));
        let count = limit.to_string();
        let url = Url::parse_with_params(&base, [("q", query), ("count", count.as_str())])
            .map_err(|error| invalid(error.to_string()))?;
        let mut key = HeaderValue::try_from(&self.key).map_err(|_| {
            invalid("the API key has characters that are not allowed in a header".to_owned())
        })?;
        key.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert("x-subscription-token", key);
        // The user configured this URL, so private addresses are allowed.
        let fetched = self.client.get(url.as_str(), &headers, MAX_BODY_BYTES, &|_, _| true).await?;
        let answer = parse_answer(fetched.status, &fetched.body)?;
        Ok(hits(answer.pointer("/web/results"), "description"))
    }
}
