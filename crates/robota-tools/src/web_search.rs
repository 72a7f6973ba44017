//! WebSearch: pages by words, through whoever searches.

mod brave;
mod searxng;

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub use brave::Brave;
pub use searxng::Searxng;

use crate::arguments::{Early, parse, schema_of, whole_number};
use crate::web::WebError;
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Searches the web and returns titles, URLs and excerpts.";

const DEFAULT_LIMIT: u64 = 10;
const MOST_LIMIT: u64 = 20;
/// The largest answer that is read.
const MOST_BODY: usize = 2 * 1024 * 1024;

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What it says about the words.
    pub snippet: String,
}

/// A failure to search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The service could not be reached.
    #[error(transparent)]
    Web(#[from] WebError),
    /// It answered something else.
    #[error("the search service answered {status}{}", .message.as_deref().map(|m| format!(": {m}")).unwrap_or_default())]
    Answer {
        /// The status.
        status: u16,
        /// What it said.
        message: Option<String>,
    },
}

/// Somebody who searches the web.
#[async_trait::async_trait]
pub trait Searcher: Send + Sync {
    /// Up to `limit` pages for these words.
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, SearchError>;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    query: String,
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<u64>,
}

/// Searches the web.
pub struct WebSearch {
    spec: ToolSpec,
    searcher: Arc<dyn Searcher>,
}

impl WebSearch {
    /// A tool for whoever searches in the workplace; `None` if nobody does.
    #[must_use]
    pub fn new(place: &Workplace) -> Option<Self> {
        let spec = ToolSpec {
            name: "WebSearch".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Execute,
        };
        Some(Self { spec, searcher: place.searcher.clone()? })
    }

    async fn search(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        if input.query.trim().is_empty() {
            return Err(InvalidInput("`query` is empty".to_owned()).into());
        }
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let hits = tokio::select! {
            hits = self.searcher.search(&input.query, limit) => hits,
            () = context.scope.cancel.cancelled() => {
                return Err(ToolOutcome::failed("interrupted", "interrupted while searching").into());
            }
        };
        let mut hits = hits.map_err(|error| ToolOutcome::failed("search", error.to_string()))?;
        hits.truncate(limit);
        let mut text: String = (1..)
            .zip(&hits)
            .map(|(number, hit)| {
                format!("{number}. {}\n   {}\n   {}\n", hit.title, hit.url, hit.snippet)
            })
            .collect();
        if hits.is_empty() {
            text.push_str("[nothing found]\n");
        }
        Ok(ToolOutcome::ok(text).with_metadata("results", hits.len()))
    }
}

/// The fields of a list of results, by the names a service gives them.
fn hits(results: Option<&Value>, snippet: &str) -> Vec<Hit> {
    let field = |item: &Value, name: &str| {
        item.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
    };
    let items = results.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .map(|item| Hit {
            title: field(item, "title"),
            url: field(item, "url"),
            snippet: field(item, snippet),
        })
        .filter(|hit| !hit.url.is_empty())
        .collect()
}

/// The answer as JSON, if it is one.
fn answer(status: u16, body: &[u8]) -> Result<Value, SearchError> {
    let message = || {
        let text = String::from_utf8_lossy(&body[..body.len().min(300)]).trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    if !(200..300).contains(&status) {
        return Err(SearchError::Answer { status, message: message() });
    }
    serde_json::from_slice(body).map_err(|_| SearchError::Answer { status, message: message() })
}

#[async_trait::async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.search(input, &context).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}
