//! The tool of one operation.

use std::sync::Arc;

use robota_core::error::Diagnose as _;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Map, Value};
use url::Url;

use super::OpenApiOptions;
use super::auth::Credentials;
use super::operation::Operation;
use super::request::prepare;
use crate::web::{Fetched, WebClient, WebError, WebRequest};

/// The most characters that one call returns.
const MAX_SHOWN_CHARS: usize = 50_000;

/// Sends the request of one operation.
pub(super) struct OpenApiTool {
    spec: ToolSpec,
    operation: Operation,
    server: Url,
    credentials: Credentials,
    client: Arc<WebClient>,
    options: Arc<OpenApiOptions>,
}

impl OpenApiTool {
    pub(super) fn new(
        name: String,
        operation: Operation,
        server: Url,
        credentials: Credentials,
        client: Arc<WebClient>,
        options: Arc<OpenApiOptions>,
    ) -> Self {
        let spec = ToolSpec {
            name,
            description: operation.description.clone(),
            input_schema: operation.schema.clone(),
            // A request sends data to another host.
            class: Class::Execute,
        };
        Self { spec, operation, server, credentials, client, options }
    }

    async fn send(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
        let empty = Map::new();
        let arguments = input.as_object().unwrap_or(&empty);
        let invalid = |problem: String| ToolOutcome::failed("invalid_input", problem);
        let mut prepared = prepare(&self.operation, &self.server, arguments).map_err(invalid)?;
        // After the arguments of the model: none of their headers can replace a credential.
        self.credentials.apply(&mut prepared.url, &mut prepared.headers).map_err(invalid)?;
        let request = WebRequest {
            method: self.operation.method.clone(),
            url: prepared.url.as_str(),
            headers: prepared.headers,
            body: prepared.body,
            timeout: self.options.timeout,
        };
        let allow = self.options.allow_private;
        let private = move |_: &Url, _: std::net::IpAddr| allow;
        let sending = self.client.request(request, self.options.max_response_bytes, &private);
        let fetched = tokio::select! {
            fetched = sending => fetched.map_err(|error| self.failure(&error))?,
            () = context.scope.cancel.cancelled() => {
                return Err(ToolOutcome::failed("interrupted", "interrupted; it may have had effects"));
            }
        };
        Ok(self.shown(&fetched))
    }

    fn shown(&self, fetched: &Fetched) -> ToolOutcome {
        let url = self.credentials.redact(fetched.url.as_str());
        let mut text = format!("[{} {} {url}]\n", fetched.status, self.operation.method);
        if let Some(redirect_to) = &fetched.redirect_to {
            text.push_str(&format!("It redirects to {redirect_to}, which was not followed.\n"));
        }
        match std::str::from_utf8(valid_prefix(fetched)) {
            Ok(body) => {
                // A service may repeat the key in its answer, for example in the text of an error.
                let body = self.credentials.redact(body);
                text.extend(body.chars().take(MAX_SHOWN_CHARS));
                if body.chars().count() > MAX_SHOWN_CHARS || fetched.cut {
                    text.push_str("\n[the response is longer; ask for less]\n");
                }
            }
            Err(_) => text.push_str(&format!(
                "It is not text ({}, {} bytes).\n",
                fetched.content_type,
                fetched.body.len()
            )),
        }
        let outcome = if (200..300).contains(&fetched.status) {
            ToolOutcome::ok(text)
        } else {
            ToolOutcome::failed("http_status", text)
        };
        outcome.with_metadata("status", fetched.status).with_metadata("url", url)
    }

    fn failure(&self, error: &WebError) -> ToolOutcome {
        let text = match (error, error.hint()) {
            (WebError::Private { .. }, _) => {
                format!("{error} (allow private addresses in the options of the service)")
            }
            (_, Some(hint)) => format!("{error} ({hint})"),
            (_, None) => error.to_string(),
        };
        ToolOutcome::failed(error.code(), self.credentials.redact(&text))
    }
}

/// Returns the body without a character that was cut in half.
fn valid_prefix(fetched: &Fetched) -> &[u8] {
    match std::str::from_utf8(&fetched.body) {
        Err(error) if fetched.cut && error.error_len().is_none() => {
            fetched.body.get(..error.valid_up_to()).unwrap_or_default()
        }
        _ => &fetched.body,
    }
}

#[async_trait::async_trait]
impl Tool for OpenApiTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.send(input, &context).await.unwrap_or_else(|outcome| outcome)
    }
}
