//! The document.

use std::collections::HashSet;
use std::sync::Arc;

use robota_core::tool::Tool;
use serde_json::Value;
use url::Url;

use super::auth::{self, Credentials};
use super::operation::{self, Operation, SkippedOperation};
use super::tool::OpenApiTool;
use super::{CompiledFilter, MAX_DOCUMENT_BYTES, OpenApiError, OpenApiOptions, OpenApiTools};
use crate::web::WebClient;

/// How many operations of a document become tools at most.
const MAX_OPERATIONS: usize = 512;

/// Makes tools from an OpenAPI 3 document.
#[derive(Debug, Clone)]
pub struct OpenApi {
    document: Value,
    /// Where it was fetched from.
    from: Option<Url>,
}

impl OpenApi {
    /// Reads a document that is JSON or YAML.
    ///
    /// # Errors
    /// If it is neither, or its version is not 3.
    pub fn parse(text: &str) -> Result<Self, OpenApiError> {
        let invalid = |problem: String| OpenApiError::Invalid(problem);
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(invalid(format!("it is larger than {MAX_DOCUMENT_BYTES} bytes")));
        }
        // JSON is YAML too, but its own parser is faster for large documents.
        let document: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?
        } else {
            yaml(text).map_err(invalid)?
        };
        let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
        if !version.starts_with("3.") {
            let problem = match document.get("swagger") {
                Some(_) => "it is Swagger 2; convert it to OpenAPI 3".to_owned(),
                None => format!("`openapi` must be a version 3, not `{version}`"),
            };
            return Err(invalid(problem));
        }
        if !document.get("paths").is_some_and(Value::is_object) {
            return Err(invalid("it has no `paths`".to_owned()));
        }
        Ok(Self { document, from: None })
    }

    /// Says where the document was fetched from. Relative servers are relative to it, and
    /// credentials are not sent to a server of another origin that only the document names.
    #[must_use]
    pub fn fetched_from(mut self, url: Url) -> Self {
        self.from = Some(url);
        self
    }

    /// Makes a tool of each operation that the filter takes.
    ///
    /// # Errors
    /// If the service has no usable address, the filter is not valid, or credentials would go to a
    /// server that only the document names.
    pub fn tools(
        &self,
        client: &Arc<WebClient>,
        options: &OpenApiOptions,
    ) -> Result<OpenApiTools, OpenApiError> {
        let filter = CompiledFilter::new(&options.filter)?;
        let server = self.server(options)?;
        let options = Arc::new(options.clone());
        let (mut tools, mut skipped) = (Vec::<Arc<dyn Tool>>::new(), Vec::new());
        let mut names = HashSet::new();
        for found in operation::all(&self.document) {
            if !filter.takes(&found.names()) {
                continue;
            }
            if tools.len() == MAX_OPERATIONS {
                let problem = format!("a document gives at most {MAX_OPERATIONS} tools");
                skipped.push(SkippedOperation { operation: found.title(), problem });
                continue;
            }
            let made = Operation::read(&self.document, &found).and_then(|operation| {
                let credentials = self.credentials(found.definition, &options)?;
                Ok((operation, credentials))
            });
            match made {
                Ok((operation, credentials)) => {
                    let name = unique(&mut names, &options.name, &operation.id);
                    tools.push(Arc::new(OpenApiTool::new(
                        name,
                        operation,
                        server.clone(),
                        credentials,
                        client.clone(),
                        options.clone(),
                    )));
                }
                Err(problem) => {
                    skipped.push(SkippedOperation { operation: found.title(), problem });
                }
            }
        }
        // A fixed order, because a change of it would cost services their cache of the prompt.
        tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        Ok(OpenApiTools { tools, skipped })
    }

    /// Returns the address of the service.
    fn server(&self, options: &OpenApiOptions) -> Result<Url, OpenApiError> {
        let failed = |problem: String| OpenApiError::Server { name: options.name.clone(), problem };
        let named = match &options.server {
            Some(server) => server.clone(),
            None => self.named_server().map_err(failed)?,
        };
        let url = match &self.from {
            Some(from) if options.server.is_none() => from.join(&named),
            _ => Url::parse(&named),
        };
        let url = url.map_err(|error| failed(format!("`{named}`: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(failed(format!("`{named}` is not an HTTP address")));
        }
        // A document could otherwise name a host of its author, which would get the credentials.
        let other_origin = |from: &&Url| from.origin() != url.origin();
        if let (None, Some(from)) = (&options.server, self.from.as_ref().filter(other_origin))
            && !options.credentials.is_empty()
        {
            return Err(OpenApiError::OtherOrigin {
                name: options.name.clone(),
                from: from.to_string(),
                server: url.to_string(),
            });
        }
        Ok(url)
    }

    /// Returns the first server of the document, with the default values of its variables.
    fn named_server(&self) -> Result<String, String> {
        let server = self.document.pointer("/servers/0");
        let named = server.and_then(|server| server.get("url")?.as_str());
        // The standard: a document without servers means the host that it comes from.
        let mut url = match (named, &self.from) {
            (Some(url), _) => url.to_owned(),
            (None, Some(_)) => "/".to_owned(),
            (None, None) => return Err("the document names no server; set one".to_owned()),
        };
        let variables = server.and_then(|server| server.get("variables")?.as_object());
        for (name, variable) in variables.into_iter().flatten() {
            let value = variable.get("default").and_then(Value::as_str).unwrap_or_default();
            url = url.replace(&format!("{{{name}}}"), value);
        }
        Ok(url)
    }

    /// Returns the credentials that an operation needs and the options have.
    fn credentials(
        &self,
        operation: &Value,
        options: &OpenApiOptions,
    ) -> Result<Credentials, String> {
        let needed = operation.get("security").or_else(|| self.document.get("security"));
        let schemes = self.document.pointer("/components/securitySchemes");
        auth::choose(needed, schemes, &options.credentials)
    }
}

/// Parses YAML within limits. Aliases are refused, because they can expand a small text to a huge
/// one.
fn yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_nodes: 500_000,
            max_events: 2_000_000,
            max_total_scalar_bytes: MAX_DOCUMENT_BYTES,
            max_documents: 1,
            // An alias is a copy: a short document with a few of them could fill the memory.
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// Returns a name for a tool that no other tool has.
fn unique(names: &mut HashSet<String>, service: &str, operation: &str) -> String {
    let clean = |text: &str| -> String {
        let valid = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        text.chars().map(valid).collect()
    };
    let full = format!("{}_{}", clean(service), clean(operation));
    // Services of models accept 64 characters; the rest is for a number.
    let cut: String = full.chars().take(60).collect();
    let mut name = cut.clone();
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("{cut}_{number}");
        number += 1;
    }
    name
}
