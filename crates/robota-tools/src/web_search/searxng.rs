//! Any SearXNG.

use reqwest::header::HeaderMap;
use url::Url;

use super::{Hit, MOST_BODY, SearchError, Searcher, answer, hits};
use crate::web::{WebClient, WebError};

/// Searches with a SearXNG that answers in JSON.
pub struct Searxng {
    client: WebClient,
    base: String,
}

impl Searxng {
    /// The one at this place.
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
        // The user chose the place, so it may be anywhere.
        let fetched = self.client.get(url.as_str(), &HeaderMap::new(), MOST_BODY, true).await?;
        let answer = answer(fetched.status, &fetched.body)?;
        let mut found = hits(answer.get("results"), "content");
        found.truncate(limit);
        Ok(found)
    }
}
