//! WebFetch: fetches a web page as Markdown.

use std::collections::BTreeMap;
use std::sync::Arc;

use robota_core::error::Diagnose as _;
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::arguments::{EarlyOutcome, HiddenArguments, parse, schema_of, whole_number};
use crate::blocking::run_blocking;
use crate::tool_workspace::ToolWorkspace;
use crate::web::{Fetched, Proxies, Readable, WebClient, WebError, checked_headers, readable};

const DESCRIPTION: &str = "Fetches a URL and returns its text; HTML becomes Markdown. A redirect \
    to another host is reported, not followed.";

/// The largest body that is read, in bytes.
const MAX_BODY_BYTES: usize = 5 * 1024 * 1024;
/// The most characters that one call returns.
const MAX_SHOWN_CHARS: usize = 50_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    url: String,
    #[serde(default)]
    headers: Option<BTreeMap<String, String>>,
    /// Where to continue in a long text, in characters.
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<u64>,
    /// What to find out about the page. It has no effect: the text is returned as it is.
    #[serde(default, rename = "prompt")]
    _prompt: Option<String>,
}

/// The tool WebFetch: fetches a web page as Markdown.
pub struct WebFetch {
    spec: Arc<ToolSpec>,
    hidden: HiddenArguments,
    workspace: ToolWorkspace,
    client: Arc<WebClient>,
}

impl WebFetch {
    /// Creates the tool. The access check of the workspace decides about private addresses.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let mut spec = ToolSpec {
            name: "WebFetch".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // A request sends data to another host.
            class: Class::Execute,
        };
        let client = WebClient::new().proxies(Proxies::of(&workspace.env));
        let hidden = HiddenArguments::of(&mut spec, &["prompt"]);
        Self {
            spec: shared_spec(spec),
            hidden,
            workspace: workspace.clone(),
            client: Arc::new(client),
        }
    }

    async fn fetch(
        &self,
        input: Value,
        context: &ToolContext,
    ) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let headers = checked_headers(input.headers.unwrap_or_default())
            .map_err(|why| InvalidInput(format!("`headers` contains {why}")))?;
        let access_check = &*self.workspace.access_check;
        let private = |url: &Url, address| access_check.may_connect_private(url.as_str(), address);
        let fetching = self.client.get(&input.url, &headers, MAX_BODY_BYTES, &private);
        let fetched = tokio::select! {
            fetched = fetching => fetched.map_err(|error| failure(&error))?,
            () = context.scope.cancel.cancelled() => {
                return Err(interrupted());
            }
        };
        let skip = usize::try_from(input.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let (head, body) = (heading(&fetched), fetched.body);
        let (status, redirect_to, cut) = (fetched.status, fetched.redirect_to, fetched.cut);
        let kind = fetched.content_type;
        let outcome = if let Some(redirect_to) = redirect_to {
            let text =
                format!("{head}It redirects to {redirect_to}: fetch that URL if you want it.\n");
            ToolOutcome::ok(text).with_metadata("redirect", redirect_to.to_string())
        } else {
            let bytes = body.len();
            let shown_kind = kind.clone();
            let cancel = context.scope.cancel.clone();
            let text =
                run_blocking(move || match readable(&kind, &body, &|| cancel.is_cancelled()) {
                    Readable::Text(text) => Ok(Some(page(&text, skip, cut))),
                    Readable::Binary => Ok(None),
                    Readable::Cancelled => Err(interrupted()),
                })
                .await??;
            match text {
                Some(text) if (200..300).contains(&status) => {
                    ToolOutcome::ok(format!("{head}{text}"))
                }
                // The text of an error page often says what is wrong, so the model gets it.
                Some(text) => ToolOutcome::failed("http_status", format!("{head}{text}")),
                None => {
                    let text =
                        format!("{head}It is not text ({shown_kind}, {bytes} bytes or more).\n");
                    ToolOutcome::failed("not_text", text)
                }
            }
            .with_metadata("bytes", bytes)
        };
        Ok(outcome
            .with_metadata("status", status)
            .with_metadata("url", fetched.url.to_string())
            .with_metadata("truncated", cut))
    }
}

fn interrupted() -> EarlyOutcome {
    ToolOutcome::failed("interrupted", "interrupted while fetching").into()
}

fn heading(fetched: &Fetched) -> String {
    let mut text = format!("[{} {}]\n", fetched.status, fetched.url);
    for hop in &fetched.hops {
        text.push_str(&format!("[redirected from {hop}]\n"));
    }
    text
}

/// Returns the part of a text that one call returns, with notes.
fn page(text: &str, skip: usize, cut: bool) -> String {
    let total = text.chars().count();
    let shown: String = text.chars().skip(skip).take(MAX_SHOWN_CHARS).collect();
    let end = skip.saturating_add(shown.chars().count());
    let mut page = shown;
    if !page.ends_with('\n') {
        page.push('\n');
    }
    if end < total {
        page.push_str(&format!(
            "[{end} of {total} characters shown; continue with offset {end}]\n"
        ));
    }
    if cut {
        page.push_str(&format!("[only the first {MAX_BODY_BYTES} bytes were read]\n"));
    }
    page
}

fn failure(error: &WebError) -> ToolOutcome {
    let text = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    ToolOutcome::failed(error.code(), text)
}

#[async_trait::async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.hidden.check(input)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.fetch(input, &context).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}
