//! WebSearch: searches the web through a search service.

mod brave;
mod domains;
mod searxng;

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub use brave::Brave;
pub use searxng::Searxng;

use crate::arguments::{EarlyOutcome, HiddenArguments, parse, schema_of, whole_number};
use crate::tool_workspace::ToolWorkspace;
use crate::web::WebError;
use domains::Domains;

const DESCRIPTION: &str = "Searches the web and returns titles, URLs and excerpts.";

const DEFAULT_LIMIT: u64 = 10;
const MAX_LIMIT: u64 = 20;
/// The most bytes of an answer that are read.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// A page that a search service found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The title of the page, as the service has it.
    pub title: String,
    /// The URL of the page; never empty.
    pub url: String,
    /// An excerpt of the page; empty if the service has none.
    pub snippet: String,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The request to the service failed.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The service answered with an error or with invalid JSON.
    #[error("the search service answered {status}{}", .message.as_deref().map(|m| format!(": {m}")).unwrap_or_default())]
    Answer {
        /// The HTTP status of its answer.
        status: u16,
        /// The start of the response body; `None` if it is empty.
        message: Option<String>,
    },
}

/// A service that searches the web for the tool WebSearch.
#[async_trait::async_trait]
pub trait Searcher: Send + Sync {
    /// Returns up to `limit` results.
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, SearchError>;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    query: String,
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<u64>,
    /// Only results of these domains and their subdomains.
    #[serde(default)]
    allowed_domains: Option<Vec<String>>,
    /// No results of these domains and their subdomains.
    #[serde(default)]
    blocked_domains: Option<Vec<String>>,
}

/// The tool WebSearch: searches the web and returns the pages that were found.
pub struct WebSearch {
    spec: Arc<ToolSpec>,
    hidden: HiddenArguments,
    searcher: Arc<dyn Searcher>,
}

impl WebSearch {
    /// Creates the tool; `None` if the workspace has no search service.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Option<Self> {
        let mut spec = ToolSpec {
            name: "WebSearch".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // A query sends data to another host.
            class: Class::Execute,
        };
        let hidden = HiddenArguments::of(&mut spec, &["allowed_domains", "blocked_domains"]);
        Some(Self { spec: shared_spec(spec), hidden, searcher: workspace.searcher.clone()? })
    }

    async fn search(
        &self,
        input: Value,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        if input.query.trim().is_empty() {
            return Err(InvalidInput("`query` is empty".to_owned()).into());
        }
        let domains = Domains::new(input.allowed_domains, input.blocked_domains)?;
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // More than the limit is asked for, because the domains remove some.
        let (query, wanted) = (domains.query(&input.query), domains.wanted(limit));
        let hits = tokio::select! {
            hits = self.searcher.search(&query, wanted) => hits,
            () = context.scope.cancel.cancelled() => {
                return Err(ToolOutcome::failed("interrupted", "interrupted while searching").into());
            }
        };
        let mut hits = hits.map_err(|error| ToolOutcome::failed("search", error.to_string()))?;
        // Checked again here: services treat operators such as `site:` as a wish.
        hits.retain(|hit| domains.allow(&hit.url));
        hits.truncate(limit);
        let mut text: String = (1..)
            .zip(&hits)
            .map(|(number, hit)| {
                format!("{number}. {}\n   {}\n   {}\n", hit.title, hit.url, hit.snippet)
            })
            .collect();
        if hits.is_empty() {
            text.push_str("[no results]\n");
        }
        Ok(ToolOutcome::ok(text).with_metadata("results", hits.len()))
    }
}

/// Converts a JSON list of results. `snippet` is the service's name for the excerpt.
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

/// Parses the answer of a service.
fn parse_answer(status: u16, body: &[u8]) -> Result<Value, SearchError> {
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

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.hidden.check(input)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.search(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
