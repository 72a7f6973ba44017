//! What a provider can do, as data, so that nobody has to know its name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProviderError;
use crate::error::ErrorKind;

/// What a provider can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Whether models can call tools.
    pub function_calling: bool,
    /// A web search that the service runs itself.
    pub web_search: WebSupport,
    /// A web fetch that the service runs itself.
    pub web_fetch: WebSupport,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            function_calling: true,
            web_search: WebSupport::Unsupported,
            web_fetch: WebSupport::Unsupported,
        }
    }
}

/// Whether a native web tool exists and is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebSupport {
    /// There is none.
    Unsupported,
    /// There is one, switched off.
    Supported,
    /// There is one, switched on.
    Enabled,
}

/// Which native web tools a call, or an instance, is to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NativeWeb {
    /// Search.
    pub search: bool,
    /// Fetch.
    pub fetch: bool,
}

/// A native web tool, for error texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeWebTool {
    /// Search.
    Search,
    /// Fetch.
    Fetch,
}

/// Fails before anything is sent when a native web tool is asked for that the provider does
/// not have.
///
/// # Errors
/// When one is unsupported.
pub fn check_native_web(capabilities: &Capabilities, web: NativeWeb) -> Result<(), ProviderError> {
    let missing = [
        (web.search, capabilities.web_search, NativeWebTool::Search),
        (web.fetch, capabilities.web_fetch, NativeWebTool::Fetch),
    ]
    .into_iter()
    .find(|(wanted, support, _)| *wanted && *support == WebSupport::Unsupported);
    match missing {
        None => Ok(()),
        Some((_, _, tool)) => {
            let name = match tool {
                NativeWebTool::Search => "web search",
                NativeWebTool::Fetch => "web fetch",
            };
            Err(ProviderError::new(
                ErrorKind::Configuration,
                format!("this provider has no native {name}"),
            )
            .with_hint("use the local WebSearch and WebFetch tools instead"))
        }
    }
}
