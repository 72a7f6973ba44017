//! A SearXNG instance.

use reqwest::header::HeaderMap;
use url::Url;

use super::{Hit, MAX_BODY_BYTES, SearchError, Searcher, hits, parse_answer};
use crate::web::{WebClient, WebError};

/// Searches with a SearXNG instance, which must have its JSON format enabled.
pub struct Searxng {
    client: WebClient,
    base: String,
}

impl Searxng {
    /// Creates a client for the instance with this base URL.
    pub fn new(base: impl Into<String>) -> Self {
        Self { client: WebClient::new(), base: base.into() }
    }
}

#[async_trait::async_trait]
impl Searcher for Searxng {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, SearchError> {
        let base = format!("{}/search", self.base.trim_end_matches('/'));
        let url = Url::parse_with_params(&base, [("q", query), ("format", "json")])
            .map_err(|error| WebError::BadUrl { url: self.base.clone(), why: error.to_string() })?;
        // The user configured this URL, so private addresses are allowed.
        let fetched =
            self.client.get(url.as_str(), &HeaderMap::new(), MAX_BODY_BYTES, &|_, _| true).await?;
        let answer = parse_answer(fetched.status, &fetched.body)?;
        let mut results = hits(answer.get("results"), "content");
        results.truncate(limit);
        Ok(results)
    }
}
