//! Tools from an OpenAPI 3 document: one tool per operation.
//!
//! [`OpenApi::parse`] reads a document; [`OpenApi::tools`] makes the tools. A tool sends one request
//! and returns the response. Private addresses are refused unless the options allow them,
//! redirects are not followed, and credentials go only to the server that they were given for.

mod auth;
mod document;
mod operation;
mod refs;
mod request;
mod tool;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use reqwest::header::HeaderMap;
use robota_core::env_ref::Secret;
use robota_core::tool::Tool;
use url::Url;

use crate::web::{WebClient, WebError};
pub use document::OpenApi;
pub use operation::SkippedOperation;

/// A document that has more bytes than this is refused.
pub const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;

/// How the tools of a document behave.
#[derive(Debug, Clone)]
pub struct OpenApiOptions {
    /// The name of the service. It starts the names of its tools: `petstore_getPet`.
    pub name: String,
    /// The address of the service; none for the first server of the document.
    pub server: Option<String>,
    /// Which operations become tools.
    pub filter: OperationFilter,
    /// The credentials, by the name of the security scheme in the document. The caller resolves
    /// references such as `$ENV:TOKEN`, so that no secret is written into a document or settings.
    pub credentials: BTreeMap<String, Secret>,
    /// Whether the service may have a private address; false by default.
    pub allow_private: bool,
    /// The size limit of a response in bytes; 256 KiB by default. The rest is cut.
    pub max_response_bytes: usize,
    /// The time limit of a request; 30 seconds by default.
    pub timeout: Duration,
}

impl OpenApiOptions {
    /// Returns the default options for a service.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            server: None,
            filter: OperationFilter::default(),
            credentials: BTreeMap::new(),
            allow_private: false,
            max_response_bytes: 256 * 1024,
            timeout: Duration::from_secs(30),
        }
    }
}

/// Which operations become tools. Patterns are globs over `METHOD /path`, the operation's id, and
/// its tags, such as `GET /pets/**`, `list*` or `tag:pets`.
#[derive(Debug, Clone, Default)]
pub struct OperationFilter {
    /// Only operations that match one of these; none for all.
    pub include: Vec<String>,
    /// No operation that matches one of these, also if it is included.
    pub exclude: Vec<String>,
}

/// Why a document gives no tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiError {
    /// The document cannot be read.
    #[error("cannot read the OpenAPI document {place}: {problem}")]
    Read {
        /// Where it is: the path or the address.
        place: String,
        /// The reason, as the operating system or the HTTP client reports it.
        problem: String,
    },
    /// The document is not a valid document of a known version.
    #[error("the OpenAPI document is not valid: {0}")]
    Invalid(String),
    /// The document cannot be fetched.
    #[error("cannot fetch the OpenAPI document")]
    Fetch(#[source] WebError),
    /// The service has no usable address.
    #[error("the service `{name}` has no address: {problem}")]
    Server {
        /// The name of the service in the options.
        name: String,
        /// The reason, for people.
        problem: String,
    },
    /// A pattern of the filter is not valid.
    #[error("the filter `{pattern}` is not valid: {problem}")]
    Filter {
        /// The pattern as it is written.
        pattern: String,
        /// Why it is not a glob.
        problem: String,
    },
    /// Credentials must not be sent to the address of the service.
    #[error(
        "the document of `{name}` comes from {from} and names the server {server}; to send \
         credentials there, set the server in the options"
    )]
    OtherOrigin {
        /// The name of the service in the options.
        name: String,
        /// The address that the document was fetched from.
        from: String,
        /// The server that the document names.
        server: String,
    },
}

/// The tools of a document, and the operations that could not become tools.
pub struct OpenApiTools {
    /// The tools, sorted by name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The operations that were left out, with the reason.
    pub skipped: Vec<SkippedOperation>,
}

/// Loads a document from a file, or from an `http` or `https` address. Private addresses are
/// refused unless `allow_private` is set.
///
/// # Errors
/// If it cannot be read, or is not valid.
pub async fn load(
    place: &str,
    client: &WebClient,
    allow_private: bool,
) -> Result<OpenApi, OpenApiError> {
    let is_url = place.starts_with("http://") || place.starts_with("https://");
    if !is_url {
        return load_file(Path::new(place)).await;
    }
    let may = move |_: &Url, _: std::net::IpAddr| allow_private;
    let fetched = client.get(place, &HeaderMap::new(), MAX_DOCUMENT_BYTES, &may).await;
    let fetched = fetched.map_err(OpenApiError::Fetch)?;
    let failed = |problem: String| OpenApiError::Read { place: place.to_owned(), problem };
    // Another host would decide which operations exist and where they are.
    if let Some(redirect_to) = &fetched.redirect_to {
        return Err(failed(format!("it redirects to {redirect_to}; use that address")));
    }
    if !(200..300).contains(&fetched.status) {
        return Err(failed(format!("the server answers with status {}", fetched.status)));
    }
    // The beginning of a document may be valid by chance.
    if fetched.cut {
        return Err(failed(format!("it is larger than {MAX_DOCUMENT_BYTES} bytes")));
    }
    let text = String::from_utf8(fetched.body).map_err(|error| failed(error.to_string()))?;
    Ok(OpenApi::parse(&text)?.fetched_from(fetched.url))
}

async fn load_file(path: &Path) -> Result<OpenApi, OpenApiError> {
    let place = path.display().to_string();
    let failed = |problem: String| OpenApiError::Read { place: place.clone(), problem };
    let path = path.to_owned();
    let read = crate::blocking::run_blocking(move || {
        let bytes = std::fs::metadata(&path)?.len();
        if bytes > MAX_DOCUMENT_BYTES as u64 {
            let problem = format!("it is larger than {MAX_DOCUMENT_BYTES} bytes");
            return Err(std::io::Error::other(problem));
        }
        std::fs::read_to_string(&path)
    });
    let text = match read.await {
        Ok(text) => text.map_err(|error| failed(error.to_string()))?,
        Err(_) => return Err(failed("the read was interrupted".to_owned())),
    };
    OpenApi::parse(&text)
}

/// Decides which operations become tools.
struct CompiledFilter {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl CompiledFilter {
    fn new(filter: &OperationFilter) -> Result<Self, OpenApiError> {
        let set = |patterns: &[String]| {
            let mut set = GlobSetBuilder::new();
            for pattern in patterns {
                let invalid = |error: globset::Error| OpenApiError::Filter {
                    pattern: pattern.clone(),
                    problem: error.to_string(),
                };
                set.add(Glob::new(pattern).map_err(invalid)?);
            }
            let failed = |error: globset::Error| OpenApiError::Filter {
                pattern: patterns.join(", "),
                problem: error.to_string(),
            };
            set.build().map_err(failed)
        };
        let include = if filter.include.is_empty() { None } else { Some(set(&filter.include)?) };
        Ok(Self { include, exclude: set(&filter.exclude)? })
    }

    /// Decides about an operation by all the names that it has.
    fn takes(&self, names: &[String]) -> bool {
        let any = |set: &GlobSet| names.iter().any(|name| set.is_match(name));
        self.include.as_ref().is_none_or(any) && !any(&self.exclude)
    }
}

#[cfg(test)]
mod tests;
