//! Brave Search.

use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

use super::{Hit, MOST_BODY, SearchError, Searcher, answer, hits};
use crate::web::{WebClient, WebError};

const BASE: &str = "https://api.search.brave.com";

/// Searches with Brave; needs a key.
pub struct Brave {
    client: WebClient,
    base: String,
    key: String,
}

impl Brave {
    /// With this key.
    pub fn new(key: impl Into<String>) -> Self {
        Self::at(BASE, key)
    }

    /// At another place, such as a gateway.
    pub fn at(base: impl Into<String>, key: impl Into<String>) -> Self {
        Self { client: WebClient::new(), base: base.into(), key: key.into() }
    }
}

#[async_trait::async_trait]
impl Searcher for Brave {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, SearchError> {
        let bad = |why: String| WebError::BadUrl { url: self.base.clone(), why };
        let base = format!("{}/res/v1/web/search", self.base.trim_end_matches('/'));
        let count = limit.to_string();
        let url = Url::parse_with_params(&base, [("q", query), ("count", count.as_str())])
            .map_err(|error| bad(error.to_string()))?;
        let mut key = HeaderValue::try_from(&self.key)
            .map_err(|_| bad("the key has characters that no header may have".to_owned()))?;
        key.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert("x-subscription-token", key);
        // The user chose the place, so it may be anywhere.
        let fetched = self.client.get(url.as_str(), &headers, MOST_BODY, true).await?;
        let answer = answer(fetched.status, &fetched.body)?;
        Ok(hits(answer.pointer("/web/results"), "description"))
    }
}
